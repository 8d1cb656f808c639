/* SPDX-License-Identifier: Apache-2.0
 * What constants are: a few whole numbers, one number everywhere, a triangle of booleans, or a line per head. */
#include <math.h>
#include <string.h>

#include "passes/symbolic_parts.h"
#include "tensor/narrow.h"

enum { MOST_HEADS = 1024 };

static enum sc_status listed(
    struct sc_symbolics *s, const struct sc_tensor *known, int64_t n, bool whole, struct sc_symbolic *out)
{
    struct sc_size list[SC_SYMBOLIC_MOST] = {{0}};
    for (int i = 0; i < n; i++) {
        list[i].constant = whole ? sc_index_at(known, i) : ((const uint8_t *)known->data)[i] != 0;
        if (!sc_size_safe(&list[i])) {
            return SC_OK;
        }
    }
    return sc_symbolic_set_list(s, out, (int)n, list);
}

static double element(const struct sc_tensor *known, int64_t i)
{
    return known->type == SC_F16 ? (double)sc_f16_to_f32(((const uint16_t *)known->data)[i])
                                 : (double)((const float *)known->data)[i];
}

/* The last two dims are a square that is true on the diagonal and in so many places before it, and the others are 1:
 * how many with the diagonal; 0: it is something else. */
static int64_t band_of(const struct sc_tensor *known, int64_t n)
{
    const int64_t side = known->rank < 2 ? 0 : known->dims[known->rank - 1];
    if (side < 2 || known->dims[known->rank - 2] != side || n != side * side) {
        return 0;
    }
    const uint8_t *x = known->data;
    int64_t band = 0;
    while (band < side && x[band * side] != 0) {
        band++;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t back = i / side - i % side;
        if ((x[i] != 0) != (back >= 0 && back < band)) {
            return 0;
        }
    }
    return band;
}

/* A float per element of one dim, times 1; or, with more than one element in the last dim, times their places in
 * line. */
static enum sc_status lines(struct sc_symbolics *s, const struct sc_tensor *known, int64_t n, struct sc_symbolic *out)
{
    const int last = known->rank - 1;
    int slope = -1;
    for (int d = 0; d < last; d++) {
        if (known->dims[d] != 1 && slope >= 0) {
            return SC_OK;
        }
        slope = known->dims[d] != 1 ? d : slope;
    }
    const bool single = slope < 0 || known->dims[last] == 1; /* of the two dims */
    slope = slope < 0 ? last : slope;
    const int64_t heads = known->dims[slope], length = single ? 1 : known->dims[last];
    const float *x = known->data;
    if (heads > MOST_HEADS || length == 2) {
        return SC_OK;
    }
    float *scale = sc_arena_array(s->arena, (size_t)heads, sizeof *scale);
    if (!scale) {
        return SC_NO_MEMORY;
    }
    const float first = single ? 1 : x[0] / (x[1] - x[0]);
    if (!(first == floorf(first) && fabsf(first) < 0x1p24F)) {
        return SC_OK;
    }
    for (int64_t h = 0; h < heads; h++) {
        scale[h] = single ? x[h] : x[h * length + 1] - x[h * length];
        for (int64_t i = 0; i < length; i++) {
            if (x[h * length + i] != scale[h] * (first + (float)i)) {
                return SC_OK;
            }
        }
    }
    struct sc_form form = {.base.constant = (int64_t)first};
    form.index[last] = single ? 0 : 1;
    const struct sc_symbolic like = {.kind = SC_SYMBOLIC_SLOPES, .form = &form, .slope = slope, .scale = scale};
    return n == heads * length ? sc_symbolic_set_like(s, out, &like) : SC_OK;
}

enum sc_status sc_symbolic_of_constant(struct sc_symbolics *s, const struct sc_tensor *known, struct sc_symbolic *out)
{
    const int64_t n = sc_tensor_count(known);
    if (n < 1 || !sc_tensor_is_dense(known) || known->storage != SC_STORAGE_PLAIN) {
        return SC_OK;
    }
    const bool whole = known->type == SC_I64 || known->type == SC_I32;
    if ((whole || known->type == SC_BOOL) && known->rank <= 1 && n <= SC_SYMBOLIC_MOST) {
        return listed(s, known, n, whole, out);
    }
    const int64_t band = known->type == SC_BOOL ? band_of(known, n) : 0;
    if (band > 0) {
        struct sc_form form = {{0}, {0}}, also = {{.constant = band - 1}, {0}};
        form.index[known->rank - 2] = also.index[known->rank - 1] = 1;
        form.index[known->rank - 1] = also.index[known->rank - 2] = -1;
        return sc_symbolic_set_both(s, out, SC_SYMBOLIC_TEST, &form, &also);
    }
    if (known->type != SC_F32 && known->type != SC_F16) {
        return SC_OK;
    }
    for (int64_t i = 1; i < n; i++) {
        if (element(known, i) != element(known, 0)) {
            return known->type == SC_F32 ? lines(s, known, n, out) : SC_OK;
        }
    }
    out->yes = out->no = element(known, 0); /* the same everywhere: a choice with one outcome */
    return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &(struct sc_form){{0}, {0}});
}
