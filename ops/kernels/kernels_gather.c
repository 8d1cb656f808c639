/* SPDX-License-Identifier: Apache-2.0
 * Windows of sixteen positions as columns. The places of one kernel entry at these positions differ from those of
 * another by a constant: so lanes whose places lie one after the other, or every second one, are found once, as pieces
 * (a row of positions that ends begins another one), and are loaded together for every entry and channel. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

enum { LANES = 16, MOST_PIECES = 4 };

struct pieces {
    int step; /* elements between lanes of a piece; 0: there are too many pieces, or further apart */
    int n;
    int32_t base[MOST_PIECES]; /* where lane 0 of each would be, for kernel entry 0 */
    w16 number; /* of each lane's piece, from 1; 0: no position */
    w16 places; /* of lanes, for kernel entry 0 */
};

static int find_pieces(const int32_t *places, int n, int step, struct pieces *p)
{
    int32_t number[LANES] = {0};
    p->n = 0;
    p->step = step;
    for (int j = 0; j < n; j++) {
        const int32_t base = places[j] - step * j;
        int piece = 0;
        while (piece < p->n && p->base[piece] != base) {
            piece++;
        }
        if (piece == MOST_PIECES) {
            return 0;
        }
        p->base[piece] = base;
        p->n += piece == p->n;
        number[j] = piece + 1;
    }
    p->number = w_load(number);
    return 1;
}

static void open_pieces(const struct sc_windows *w, struct pieces *p)
{
    int32_t places[LANES] = {0}, number[LANES] = {0};
    for (int j = 0; j < w->n; j++) {
        for (int d = 0; d < w->axes; d++) {
            places[j] += w->starts[d][j] * (int32_t)w->strides[d];
        }
        number[j] = 1;
    }
    p->places = w_load(places);
    if (!find_pieces(places, w->n, 1, p) && !find_pieces(places, w->n, 2, p)) {
        p->step = 0;
        p->number = w_load(number);
    }
}

/* The piece of each lane whose window's entry `k` is inside, 0 for the others; *shift: from entry 0 to this one. */
SC_INLINE w16 find_inside(const struct sc_windows *w, const struct pieces *p, const int64_t *k, int32_t *shift)
{
    w16 number = p->number;
    *shift = 0;
    for (int d = 0; d < w->axes; d++) {
        const int32_t add = (int32_t)(k[d] * w->dilation[d]);
        const w16 at = w_add(w_load(w->starts[d]), w_set(add));
        const m16 outside = m_or(w_gt(w_set(0), at), w_gt(at, w_set((int32_t)w->in[d] - 1)));
        number = w_select(outside, w_set(0), number);
        *shift += add * (int32_t)w->strides[d];
    }
    return number;
}

SC_INLINE v16 v_join(v16 x, v16 y)
{
    return w_bits(w_or(v_bits(x), v_bits(y)));
}

/* The piece's lanes of each channel; `first`: or they join what is there. */
SC_INLINE void gather_near(const struct sc_windows *w, const float *x, m16 mask, int first, float *to, int64_t step)
{
    for (int64_t c = 0; c < w->channels; c++, x += w->plane, to += step) {
        const v16 lanes = v_load_mask(x, mask);
        v_store(to, first ? lanes : v_join(lanes, v_load(to)));
    }
}

SC_INLINE void gather_even(const struct sc_windows *w, const float *x, m16 mask, int first, float *to, int64_t step)
{
    m16 low, high;
    m_spread(mask, &low, &high);
    for (int64_t c = 0; c < w->channels; c++, x += w->plane, to += step) {
        const v16 lanes = v_even(v_load_mask(x, low), v_load_mask(x + LANES, high));
        v_store(to, first ? lanes : v_join(lanes, v_load(to)));
    }
}

SC_INLINE void gather_far(const struct sc_windows *w, w16 at, m16 mask, float *to, int64_t step)
{
    const float *x = w->x;
    for (int64_t c = 0; c < w->channels; c++, x += w->plane, to += step) {
        v_store(to, v_gather(x, at, mask));
    }
}

/* Kernel entry `k` of every channel. */
static void gather_entry(const struct sc_windows *w, const struct pieces *p, const int64_t *k, float *to, int64_t step)
{
    int32_t shift;
    const w16 number = find_inside(w, p, k, &shift);
    if (p->step == 0) {
        gather_far(w, w_add(p->places, w_set(shift)), w_gt(number, w_set(0)), to, step);
        return;
    }
    for (int piece = 0; piece < p->n; piece++) {
        const m16 mask = w_gt(w_set(1), w_xor(number, w_set(piece + 1)));
        const float *x = w->x + p->base[piece] + shift;
        if (p->step == 2) {
            gather_even(w, x, mask, piece == 0, to, step);
        } else if (piece == 0) {
            gather_near(w, x, mask, 1, to, step);
        } else {
            gather_near(w, x, mask, 0, to, step);
        }
    }
}

void K(gather_windows)(const struct sc_windows *w)
{
    struct pieces pieces;
    open_pieces(w, &pieces);
    int64_t taps = 1, k[LANES] = {0};
    for (int d = 0; d < w->axes; d++) {
        taps *= w->kernel[d];
    }
    for (int64_t t = 0; t < taps; t++) {
        gather_entry(w, &pieces, k, w->to + t * w->row_step, taps * w->row_step);
        for (int d = w->axes - 1; d >= 0 && ++k[d] == w->kernel[d]; d--) {
            k[d] = 0;
        }
    }
}
