/* SPDX-License-Identifier: Apache-2.0
 * GatherBlockQuantized: slices of a table that stays quantised along one axis, widened as they are picked. */
#include <string.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum input { DATA, INDICES, SCALES, ZEROS };

struct params {
    int64_t bits, block, gather_axis, quantize_axis;
};

static enum sc_status params_gather(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "bits", 4, &p->bits));
    SC_TRY(sc_node_int(node, "block_size", 128, &p->block));
    SC_TRY(sc_node_int(node, "gather_axis", 0, &p->gather_axis));
    SC_TRY(sc_node_int(node, "quantize_axis", 1, &p->quantize_axis));
    const bool known_bits = p->bits == 2 || p->bits == 4 || p->bits == 8;
    const bool known_block =
        p->block == 0 || (p->block >= 16 && p->block <= 1 << 20 && (p->block & (p->block - 1)) == 0);
    return known_bits && known_block
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL,
              "%lld bits in blocks of %lld, want 2, 4 or 8 in blocks of a power of two from 16 to %d",
              (long long)p->bits, (long long)p->block, 1 << 20);
}

/* Elements that have no codes: scales alone, which may be the same along other axes. */
static bool is_small_float(enum sc_type type)
{
    return type != SC_U8 && type != SC_I4 && type != SC_U4;
}

/* The table by its elements; unknown dims are SC_DIM_UNKNOWN. Bytes hold several elements of the last axis. */
struct table {
    enum sc_type type;
    int bits; /* of an element in a byte; the 4-bit types and floats have one each */
    int rank, gather, quantize;
    int64_t dims[SC_MAX_RANK], scale_dims[SC_MAX_RANK];
    int64_t block;
};

static enum sc_status find_axes(const struct sc_infer *infer, struct table *t)
{
    const struct params *p = infer->params;
    const struct sc_fact *data = infer->in[DATA];
    SC_TRY(sc_axis(infer->graph, infer->node, "gather_axis", p->gather_axis, data->rank, &t->gather));
    SC_TRY(sc_axis(infer->graph, infer->node, "quantize_axis", p->quantize_axis, data->rank, &t->quantize));
    if (is_small_float(data->type)) {
        return SC_OK;
    }
    if (p->block == 0 || (data->type == SC_U8 && (t->gather != 0 || t->quantize == 0)) ||
        (data->type != SC_U8 && p->bits != 4)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL,
            "a table of %s gathered along axis %d and quantised along axis %d, %lld bits in blocks of %lld",
            sc_type_name(data->type), t->gather, t->quantize, (long long)p->bits, (long long)p->block);
    }
    return SC_OK;
}

/* From facts whose rank is known. */
static enum sc_status find_table(const struct sc_infer *infer, struct table *t)
{
    const struct params *p = infer->params;
    const struct sc_fact *data = infer->in[DATA], *scales = infer->in[SCALES];
    const bool same = is_small_float(data->type); /* a scale may be the same for all of an axis */
    *t = (struct table){.type = data->type, .bits = data->type == SC_U8 ? (int)p->bits : 8, .rank = data->rank};
    SC_TRY(find_axes(infer, t));
    for (int d = 0; d < t->rank; d++) {
        const int64_t dim = data->dims[d];
        t->dims[d] = dim >= 0 && d == t->rank - 1 ? dim * (8 / t->bits) : dim;
        const int64_t block = p->block > 0 ? p->block : t->dims[d] > 0 ? t->dims[d] : 1;
        t->block = d == t->quantize ? block : t->block;
        const int64_t want = d == t->quantize && t->dims[d] >= 0 ? (t->dims[d] + block - 1) / block : t->dims[d];
        const bool spread = same && d != t->quantize && scales->rank == t->rank && scales->dims[d] == 1;
        t->scale_dims[d] = spread ? 1 : want;
    }
    return sc_infer_want(infer, SCALES, "scales", t->rank, t->scale_dims);
}

static enum sc_status check_zeros(const struct sc_infer *infer, const struct table *t)
{
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, t->scale_dims, sizeof dims);
    if (sc_infer_in(infer, ZEROS) && is_small_float(t->type)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "zero_points of a table of %s", sc_type_name(t->type));
    }
    int64_t *last = &dims[t->rank - 1];
    *last = *last >= 0 ? (*last * t->bits + 7) / 8 : *last;
    return sc_infer_want(infer, ZEROS, "zero_points", t->rank, dims);
}

static enum sc_status infer_gather(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *data = infer->in[DATA], *indices = infer->in[INDICES], *scales = infer->in[SCALES];
    sc_fact_of_type(sc_infer_out(infer, 0), scales->type);
    if (data->rank < 0 || indices->rank < 0) {
        return SC_OK;
    }
    if (data->rank < 1 || indices->rank + data->rank - 1 > SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "data has rank %d and indices %d, want a result of rank up to %d", data->rank, indices->rank, SC_MAX_RANK);
    }
    struct table t;
    SC_TRY(find_table(infer, &t));
    SC_TRY(check_zeros(infer, &t));
    int64_t dims[SC_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < t.rank; d++) {
        for (int i = 0; d == t.gather && i < indices->rank; i++) {
            dims[rank++] = indices->dims[i];
        }
        if (d != t.gather) {
            dims[rank++] = t.dims[d];
        }
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], scales->type, rank, dims);
    }
    return SC_OK;
}

static struct table call_table(const struct sc_call *call)
{
    struct sc_call_facts facts;
    struct table t;
    sc_call_facts_init(&facts, call);
    (void)find_table(&facts.infer, &t); /* infer has checked it */
    return t;
}

static int read_bits(const void *data, int bits, int64_t at)
{
    const int64_t bit = at * bits;
    return ((const uint8_t *)data)[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

/* Code or number `at` of the table. */
static float element(const struct table *t, const void *data, int64_t at)
{
    float number;
    if (t->type == SC_I4) {
        return (float)((const int8_t *)data)[at];
    }
    if (!is_small_float(t->type)) {
        return (float)read_bits(data, t->bits, at);
    }
    sc_convert(t->type, sc_const_at(data, at, sc_type_bytes(t->type)), SC_F32, &number, 1, 0);
    return number;
}

/* Of scale `at`: codes of a row of zero points are packed alone. */
static float zero_of(const struct table *t, const struct sc_tensor *zeros, int64_t at)
{
    const int64_t row = t->scale_dims[t->rank - 1], row_bytes = (row * t->bits + 7) / 8;
    if (!zeros) {
        return t->type == SC_U8 ? (float)(1 << (t->bits - 1)) : 0.0F;
    }
    return element(t, (const uint8_t *)zeros->data + at / row * row_bytes, at % row);
}

/* Steps of scales along each axis: of an element where it isn't the quantised one. */
static void find_steps(const struct table *t, int64_t steps[SC_MAX_RANK])
{
    int64_t step = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        steps[d] = t->scale_dims[d] == 1 ? 0 : step;
        step *= t->scale_dims[d];
    }
}

struct widening {
    const struct sc_call *call;
    const struct table *table;
    int64_t steps[SC_MAX_RANK]; /* of scales */
};

/* n elements of the last axis, from element `first` of the table on. */
static void widen_run(const struct widening *w, int64_t first, int64_t n, float *to)
{
    const struct table *t = w->table;
    const struct sc_tensor *scales = sc_call_in(w->call, SCALES), *zeros = sc_call_in(w->call, ZEROS);
    const void *data = sc_call_in(w->call, DATA)->data;
    const int last = t->rank - 1;
    const int64_t start = first % t->dims[last], block = t->quantize == last ? t->block : 1;
    int64_t base = 0, rest = first / t->dims[last], held = -1;
    float scale = 0, zero = 0;
    for (int d = last - 1; d >= 0; d--) {
        const int64_t place = rest % t->dims[d];
        base += (d == t->quantize ? place / t->block : place) * w->steps[d];
        rest /= t->dims[d];
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = base + (start + i) / block * w->steps[last];
        if (at != held) {
            sc_convert(scales->type, sc_const_at(scales->data, at, sc_type_bytes(scales->type)), SC_F32, &scale, 1, 0);
            zero = zero_of(t, zeros, at);
            held = at;
        }
        to[i] = (element(t, data, first + i) - zero) * scale;
    }
}

static size_t scratch_gather(const struct sc_call *call)
{
    const struct table t = call_table(call);
    return (size_t)sc_dims_product(t.dims, t.gather + 1, t.rank) * sizeof(float);
}

/* An index outside of the axis gives zeros. */
static void run_gather(const struct sc_call *call)
{
    const struct sc_tensor *indices = sc_call_in(call, INDICES), *out = sc_call_out(call, 0);
    const struct table t = call_table(call);
    const int64_t before = sc_dims_product(t.dims, 0, t.gather), n = sc_tensor_count(indices);
    const int64_t inner = sc_dims_product(t.dims, t.gather + 1, t.rank), length = t.dims[t.gather];
    const int64_t run = t.gather == t.rank - 1 ? 1 : t.dims[t.rank - 1];
    struct widening w = {.call = call, .table = &t};
    float *slice = call->scratch;
    find_steps(&t, w.steps);
    for (int64_t i = 0; i < before * n; i++) {
        const int64_t index = sc_index_at(indices, i % n);
        const int64_t at = index < 0 ? index + length : index;
        if (at < 0 || at >= length) {
            memset(slice, 0, (size_t)inner * sizeof(float));
        }
        for (int64_t first = 0; first < inner && at >= 0 && at < length; first += run) {
            widen_run(&w, (i / n * length + at) * inner + first, run, slice + first);
        }
        sc_convert(SC_F32, slice, out->type, sc_at(out->data, i * inner, sc_type_bytes(out->type)), inner, 0);
    }
}

const struct sc_op sc_ops_quant_gather_blocks[] = {
    {.domain = "com.microsoft",
        .name = "GatherBlockQuantized",
        .since = 1,
        .flags = SC_OP_PURE,
        .params = params_gather,
        .infer = infer_gather,
        .scratch = scratch_gather,
        .resolve = sc_resolve_by_infer,
        .run = run_gather,
        .cost = sc_cost_picked},
    {.name = NULL},
};
