/* SPDX-License-Identifier: Apache-2.0
 * Resize at work. Nearest moves elements of any type. The others go axis by axis, the last one first, within blocks:
 * the part of the tensor below the axes that stay as they are. */
#include <math.h>
#include <string.h>

#include "ops/nn/resize.h"
#include "ops/room.h"
#include "tensor/convert.h"

/* One axis of the run at hand. */
struct axis {
    struct sc_resize_axis about;
    int64_t taps;
    int64_t *from;
    double *weights;
    bool doubles; /* element i is of place i / 2: what pictures grow by */
    int64_t inner; /* parts of elements below this axis when it is resized: inputs above it, outputs below */
};

struct resize {
    const struct sc_resize_params *params;
    const struct sc_kernels *kernels;
    const struct sc_tensor *x, *y;
    enum sc_type type; /* in which sums are made: SC_F32 or SC_F64 */
    enum sc_type part; /* the elements' own; that of their parts where they are complex and filtered */
    int64_t parts; /* in an element: 2 when complex, else 1 */
    int rank, first; /* axes before `first` are passed on as they are */
    struct axis axes[SC_MAX_RANK];
    int64_t blocks, in_count, out_count, room_count; /* elements of a block: before, after, and the most on the way */
    int64_t per_part; /* blocks */
    size_t bytes, list_bytes, room_bytes;
    char *rooms;
};

/* What follows from dims alone: sizes of what is needed on the way. Taps are bounds. */
static void measure(const struct sc_call *call, struct resize *r)
{
    memset(r, 0, sizeof(*r));
    r->params = call->params;
    r->kernels = call->kernels;
    r->x = sc_call_in(call, 0);
    r->y = sc_call_out(call, 0);
    r->rank = r->x->rank;
    r->first = call->choice < r->rank ? call->choice : r->rank;
    r->part = r->x->type;
    r->parts = 1;
    if ((r->x->type == SC_C64 || r->x->type == SC_C128) && r->params->mode != SC_RESIZE_NEAREST) {
        r->part = r->x->type == SC_C64 ? SC_F32 : SC_F64;
        r->parts = 2;
    }
    r->bytes = sc_type_bytes(r->part);
    r->type = r->part == SC_F32 || r->part == SC_F16 || r->part == SC_BF16 ? SC_F32 : SC_F64;
    r->blocks = sc_dims_product(r->x->dims, 0, r->first);
    r->in_count = r->parts * sc_dims_product(r->x->dims, r->first, r->rank);
    r->out_count = r->parts * sc_dims_product(r->y->dims, r->first, r->rank);
    int64_t count = r->in_count;
    int64_t inner = r->parts;
    r->room_count = count;
    for (int i = r->rank - 1; i >= 0; i--) {
        struct axis *axis = &r->axes[i];
        const int64_t in = r->x->dims[i];
        const int64_t out = r->y->dims[i];
        axis->taps = sc_resize_most_taps(r->params, in, out);
        axis->inner = inner;
        inner *= out;
        r->list_bytes += (size_t)(out * axis->taps) * (r->params->mode == SC_RESIZE_NEAREST ? 8U : 16U);
        if (i >= r->first && in > 0) {
            count = count / in * out;
            r->room_count = count > r->room_count ? count : r->room_count;
        }
    }
    r->list_bytes = sc_room_round(r->list_bytes);
    r->room_bytes = sc_room_round((size_t)r->room_count * sc_type_bytes(r->type));
}

size_t sc_resize_scratch(const struct sc_call *call)
{
    struct resize r;
    measure(call, &r);
    const size_t rooms = r.params->mode == SC_RESIZE_NEAREST ? 0 : 2 * (size_t)sc_team_size(call->team);
    return r.out_count * r.blocks == 0 ? 0 : r.list_bytes + rooms * r.room_bytes;
}

/* The axes again, from the content of the inputs, which infer has checked. */
static enum sc_status find_axes(const struct sc_call *call, struct sc_resize_axis axes[SC_MAX_RANK])
{
    struct sc_fact facts[4];
    const struct sc_fact *in[4] = {NULL};
    for (int i = 0; i < call->n_in && i < 4; i++) {
        if (call->in[i]) {
            sc_fact_of(&facts[i], call->in[i]);
            in[i] = &facts[i];
        }
    }
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = call->n_in, .in = in};
    const struct sc_tensor *x = sc_call_in(call, 0);
    bool known;
    return sc_resize_axes(&infer, x->rank, x->dims, axes, &known);
}

#define TYPE float
#define NAME pass_f32
#define ADD(r, weight, x, y, n) (r)->kernels->axpy((weight), (x), (y), (n))
#include "ops/nn/resize_pass.inc.h"

static void add_f64(double weight, const double *x, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += weight * x[i];
    }
}

#define TYPE double
#define NAME pass_f64
#define ADD(r, weight, x, y, n) add_f64((weight), (x), (y), (n))
#include "ops/nn/resize_pass.inc.h"

/* Integers round to the nearest, halves to even, and saturate. The clause leaves this open: the evaluator of the onnx
 * package rounds so, ONNX Runtime 1.32 cuts linear results towards zero, rounds them with antialias, halves away from
 * zero, and refuses cubic ones without. */
static void store(const struct resize *r, double *from, void *to)
{
    const enum sc_type type = r->part;
    const int bits = type == SC_BOOL ? 1 : 8 * (int)r->bytes;
    const bool is_signed = type == SC_I8 || type == SC_I16 || type == SC_I32 || type == SC_I64;
    const double low = is_signed ? -ldexp(1.0, bits - 1) : 0.0;
    const double past = ldexp(1.0, is_signed ? bits - 1 : bits);
    const double high = bits < 64 ? past - 1.0 : nextafter(past, 0.0);
    const int64_t n = sc_type_is_int(type) ? r->out_count : 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = from[i] < high ? from[i] : high;
        from[i] = x > low ? x : low;
    }
    if (bits < 64) { /* adding 1.5 * 2^52 rounds to a whole number */
        for (int64_t i = 0; i < n; i++) {
            from[i] = from[i] + 0x1.8p52 - 0x1.8p52;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            from[i] = nearbyint(from[i]);
        }
    }
    sc_convert(SC_F64, from, type, to, r->out_count, 0);
}

static void filter_block(const struct resize *r, int64_t block, int worker)
{
    char *rooms[2];
    rooms[0] = r->rooms + 2 * (size_t)worker * r->room_bytes;
    rooms[1] = rooms[0] + r->room_bytes;
    const void *x = sc_const_at(r->x->data, block * r->in_count, r->bytes);
    void *y = sc_at(r->y->data, block * r->out_count, r->bytes);
    int room = 0;
    if (r->part != r->type) {
        sc_convert(r->part, x, r->type, rooms[0], r->in_count, 0);
        x = rooms[0];
        room = 1;
    }
    int64_t outer = r->in_count / r->parts;
    for (int i = r->rank - 1; i >= r->first; i--) {
        const struct axis *axis = &r->axes[i];
        outer /= axis->about.in;
        if (!sc_resize_moves(r->params, &axis->about)) {
            continue;
        }
        void *to = i == r->first && r->part == r->type ? y : rooms[room];
        if (r->type == SC_F32) {
            pass_f32(r, axis, outer, x, to);
        } else {
            pass_f64(r, axis, outer, x, to);
        }
        x = to;
        room ^= 1;
    }
    if (r->part != r->type && r->type == SC_F32) {
        sc_convert(SC_F32, x, r->part, y, r->out_count, 0);
    } else if (r->part != r->type) {
        store(r, (double *)(void *)rooms[room ^ 1], y);
    }
}

static void filter_part(void *arg, int64_t part, int worker)
{
    const struct resize *r = arg;
    const int64_t first = part * r->per_part;
    for (int64_t block = first; block < first + r->per_part && block < r->blocks; block++) {
        filter_block(r, block, worker);
    }
}

static void run_filtered(struct resize *r, struct sc_team *team)
{
    r->per_part = sc_parts(1 << 14, r->out_count);
    sc_team_for(team, sc_parts(r->blocks, r->per_part), filter_part, r);
}

/* n elements of a row from their places; -1 is `fill`. Inlined where the size of an element is known. */
static inline void pick(const void *x, const int64_t *from, int64_t n, const void *fill, const size_t bytes, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(sc_at(y, i, bytes), from[i] < 0 ? fill : sc_const_at(x, from[i], bytes), bytes);
    }
}

/* The same where each of n elements is taken twice. */
static inline void pick_twice(const void *x, int64_t n, const size_t bytes, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(sc_at(y, 2 * i, bytes), sc_const_at(x, i, bytes), bytes);
        memcpy(sc_at(y, 2 * i + 1, bytes), sc_const_at(x, i, bytes), bytes);
    }
}

static inline void pick_either(const struct axis *axis, const void *x, const void *fill, const size_t bytes, void *y)
{
    if (axis->doubles) {
        pick_twice(x, axis->about.in, bytes, y);
    } else {
        pick(x, axis->from, axis->about.out, fill, bytes, y);
    }
}

/* A row along the last axis: elements of one input row, or of none. */
static void pick_row(const struct resize *r, const void *x, void *y)
{
    const struct axis *axis = &r->axes[r->rank - 1];
    unsigned char fill[16] = {0};
    if (sc_convertible(r->x->type)) {
        sc_convert(SC_F32, &r->params->extrapolation, r->x->type, fill, 1, 0);
    }
    if (!x) {
        sc_fill(y, fill, r->bytes, axis->about.out);
        return;
    }
    if (!sc_resize_moves(r->params, &axis->about)) {
        memcpy(y, x, (size_t)axis->about.out * r->bytes);
        return;
    }
    switch (r->bytes) {
    case 1:
        pick_either(axis, x, fill, 1, y);
        break;
    case 2:
        pick_either(axis, x, fill, 2, y);
        break;
    case 4:
        pick_either(axis, x, fill, 4, y);
        break;
    case 8:
        pick_either(axis, x, fill, 8, y);
        break;
    default:
        pick_either(axis, x, fill, 16, y);
        break;
    }
}

static void pick_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct resize *r = arg;
    const int last = r->rank - 1;
    const int64_t n = r->axes[last].about.out;
    const int64_t first = part * r->per_part;
    int64_t before = -2; /* where the row above came from: growing an axis repeats rows */
    for (int64_t row = first; row < first + r->per_part && row < r->blocks; row++) {
        int64_t from = 0;
        int64_t rest = row;
        bool inside = true;
        for (int i = last - 1; i >= 0; i--) {
            const int64_t at = r->axes[i].from[rest % r->axes[i].about.out];
            rest /= r->axes[i].about.out;
            inside = inside && at >= 0;
            from += at * r->x->strides[i];
        }
        char *y = sc_at(r->y->data, row * n, r->bytes);
        if (inside && from == before) {
            memcpy(y, y - (size_t)n * r->bytes, (size_t)n * r->bytes);
        } else {
            pick_row(r, inside ? sc_const_at(r->x->data, from, r->bytes) : NULL, y);
        }
        before = inside ? from : -2;
    }
}

static void run_nearest(struct resize *r, struct sc_team *team)
{
    const int last = r->rank - 1;
    struct axis *axis = &r->axes[last];
    axis->doubles = axis->about.out == 2 * axis->about.in;
    for (int64_t i = 0; i < axis->about.out && axis->doubles; i++) {
        axis->doubles = axis->from[i] == i / 2;
    }
    r->blocks = sc_dims_product(r->y->dims, 0, last);
    r->per_part = sc_parts(1 << 15, r->y->dims[last]);
    sc_team_for(team, sc_parts(r->blocks, r->per_part), pick_part, r);
}

/* Taps and weights of every axis, in scratch. */
static void fill_lists(const struct sc_call *call, const struct sc_resize_axis *axes, struct resize *r)
{
    int64_t *from = call->scratch;
    for (int i = 0; i < r->rank; i++) {
        r->axes[i].about = axes[i];
        r->axes[i].taps = sc_resize_taps(r->params, &axes[i]);
        r->axes[i].from = from;
        from += axes[i].out * r->axes[i].taps;
    }
    double *weights = r->params->mode == SC_RESIZE_NEAREST ? NULL : (double *)(void *)from;
    for (int i = 0; i < r->rank; i++) {
        r->axes[i].weights = weights;
        sc_resize_find(r->params, &axes[i], r->axes[i].from, weights);
        weights = weights ? weights + axes[i].out * r->axes[i].taps : NULL;
    }
    r->rooms = (char *)call->scratch + r->list_bytes;
}

void sc_resize_run(const struct sc_call *call)
{
    struct resize r;
    struct sc_resize_axis axes[SC_MAX_RANK];
    measure(call, &r);
    if (r.out_count * r.blocks == 0 || find_axes(call, axes) != SC_OK) {
        return; /* nothing to do, or infer has refused it */
    }
    while (r.first < r.rank && !sc_resize_moves(r.params, &axes[r.first])) {
        r.blocks *= r.x->dims[r.first];
        r.in_count /= r.x->dims[r.first];
        r.out_count /= r.x->dims[r.first];
        r.first++;
    }
    if (r.first == r.rank) {
        memcpy(r.y->data, r.x->data, (size_t)(sc_tensor_count(r.x) * r.parts) * r.bytes);
        return;
    }
    fill_lists(call, axes, &r);
    if (r.params->mode == SC_RESIZE_NEAREST) {
        run_nearest(&r, call->team);
    } else {
        run_filtered(&r, call->team);
    }
}
