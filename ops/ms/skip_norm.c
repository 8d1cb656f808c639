/* SPDX-License-Identifier: Apache-2.0
 * Normalisations with what stands before them: SkipLayerNormalization and SkipSimplifiedLayerNormalization add first,
 * EmbedLayerNormalization looks embeddings up and adds; SimplifiedLayerNormalization is RMSNormalization under its old
 * name. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

struct params {
    float epsilon;
    int64_t axis;
    bool centre;
};

static enum sc_status params_norm(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->centre = strstr(node->op, "Simplified") == NULL;
    SC_TRY(sc_node_int(node, "axis", -1, &p->axis));
    return sc_node_float(node, "epsilon", node->domain[0] ? 1e-12F : 1e-5F, &p->epsilon);
}

/* Outputs of the two with skip. */
enum { MEANS = 1, INVERSES, SUMS };

static enum sc_status infer_skip(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *skip = infer->in[1];
    sc_infer_shape_of(infer, 0, x, x->type);
    sc_infer_shape_of(infer, SUMS, x, x->type);
    for (int i = MEANS; i < SUMS; i++) {
        sc_infer_shape_of(infer, i, x, SC_F32);
        if (sc_infer_out(infer, i) && x->rank > 0) {
            infer->out[i]->dims[x->rank - 1] = 1;
        }
    }
    if (x->rank < 0) {
        return SC_OK;
    }
    if (x->rank < 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank 0, want 1 or more");
    }
    bool fits = skip->rank < 0 || skip->rank <= x->rank;
    for (int i = 0; fits && i < skip->rank; i++) {
        const int64_t dim = x->dims[x->rank - skip->rank + i];
        fits = dim < 0 || skip->dims[i] < 0 || skip->dims[i] == dim || skip->dims[i] == 1;
    }
    if (!fits) {
        char a[128], b[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "skip %s does not broadcast to %s",
            sc_dims_text(skip->rank, skip->dims, a, sizeof a), sc_dims_text(x->rank, x->dims, b, sizeof b));
    }
    for (int i = 2; i < infer->n_in; i++) {
        const struct sc_fact *vector = infer->in[i];
        const int64_t n = vector && vector->rank >= 0 ? sc_fact_product(vector, 0, vector->rank) : SC_DIM_UNKNOWN;
        if (n >= 0 && x->dims[x->rank - 1] >= 0 && n != x->dims[x->rank - 1]) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d has %lld entries, rows have %lld", i,
                (long long)n, (long long)x->dims[x->rank - 1]);
        }
    }
    return SC_OK;
}

/* Rows that are sums of up to four rows, each found by a function of the row's number; then normalised in place of the
 * sum's room. */
struct sum {
    const struct sc_call *call;
    enum sc_type type;
    int64_t rows, n;
    void *to; /* the sums, of `type` */
    float *rooms; /* two rows per worker */
    void (*find)(const struct sum *sum, int64_t row, const void *addends[4]);
};

static void sum_part(void *arg, int64_t row, int worker)
{
    const struct sum *sum = arg;
    const struct sc_kernels *k = sum->call->kernels;
    float *total = sum->rooms + (size_t)worker * 2 * (size_t)sum->n;
    const void *addends[4] = {NULL};
    sum->find(sum, row, addends);
    memset(total, 0, (size_t)sum->n * sizeof(float));
    bool first = true;
    for (int i = 0; i < 4; i++) {
        if (!addends[i]) {
            continue;
        }
        const float *x = sc_norm_widen(k, sum->type, addends[i], total + sum->n, sum->n);
        if (first) {
            memcpy(total, x, (size_t)sum->n * sizeof(float));
        } else {
            k->binary[SC_BINARY_add](total, 1, x, 1, total, sum->n);
        }
        first = false;
    }
    sc_norm_narrow(k, sum->type, total, sc_at(sum->to, row * sum->n, sc_type_bytes(sum->type)), sum->n);
}

static void find_skip(const struct sum *sum, int64_t row, const void *addends[4])
{
    const struct params *p = sum->call->params;
    const struct sc_tensor *x = sc_call_in(sum->call, 0);
    const struct sc_tensor *skip = sc_call_in(sum->call, 1);
    const struct sc_tensor *bias = sc_call_in(sum->call, p->centre ? 4 : 3);
    const size_t bytes = sc_type_bytes(x->type);
    const int64_t skip_rows = sc_tensor_count(skip) / sum->n; /* fewer: it repeats over the batch */
    addends[0] = sc_const_at(x->data, row * sum->n, bytes);
    addends[1] = sc_const_at(skip->data, row % skip_rows * sum->n, bytes);
    addends[2] = bias ? bias->data : NULL;
}

/* Scratch: sums when no output takes them, rows of workers, the normalisation's. */
static size_t sums_bytes(const struct sc_call *call, int output, int64_t count, enum sc_type type)
{
    return sc_call_out(call, output) ? 0 : sc_room_round((size_t)count * sc_type_bytes(type));
}

static size_t rooms_bytes(const struct sc_call *call, int64_t n)
{
    return sc_room_round((size_t)n * 2 * sizeof(float) * (size_t)sc_team_size(call->team));
}

static float *floats_out(const struct sc_call *call, int output)
{
    const struct sc_tensor *out = sc_call_out(call, output);
    return out ? out->data : NULL;
}

/* The statistics are outputs beside the sums of the two with skip. */
static void sum_and_norm(const struct sc_call *call, struct sum *sum, int sum_output, const struct sc_tensor *scale,
    const struct sc_tensor *bias)
{
    const struct params *p = call->params;
    const bool tells = sum_output == SUMS;
    const struct sc_tensor *taken = sc_call_out(call, sum_output);
    const size_t sums = sums_bytes(call, sum_output, sum->rows * sum->n, sum->type);
    char *rooms = (char *)call->scratch + sums;
    sum->to = taken ? taken->data : call->scratch;
    sum->rooms = (float *)(void *)rooms;
    if (sum->n == 0 || sum->rows == 0) {
        return;
    }
    sc_team_for(call->team, sum->rows, sum_part, sum);
    const struct sc_norm norm = {.kernels = call->kernels,
        .type = sum->type,
        .out_type = sum->type,
        .rows = sum->rows,
        .n = sum->n,
        .x = sum->to,
        .y = sc_call_out(call, 0)->data,
        .epsilon = p->epsilon,
        .centre = p->centre,
        .scale = scale->data,
        .bias = bias ? bias->data : NULL,
        .mean = tells ? floats_out(call, MEANS) : NULL, /* 0 without centring */
        .inverse = tells ? floats_out(call, INVERSES) : NULL,
        .scratch = rooms + rooms_bytes(call, sum->n)};
    sc_norm_run(&norm, call->team);
}

static size_t scratch_skip(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int64_t n = x->dims[x->rank - 1];
    return sums_bytes(call, SUMS, sc_tensor_count(x), x->type) + rooms_bytes(call, n) +
        sc_norm_scratch_bytes(n, sc_team_size(call->team));
}

static enum sc_status resolve_skip(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0);
    const struct sc_tensor *skip = sc_call_in(call, 1);
    const int64_t n = x->dims[x->rank - 1];
    if (skip->rank < 1 || skip->dims[skip->rank - 1] != n ||
        (n > 0 && sc_tensor_count(x) > 0 && sc_tensor_count(skip) == 0)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "skip does not fit the input");
    }
    return SC_OK;
}

static void run_skip(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    struct sum sum = {.call = call, .type = x->type, .n = x->dims[x->rank - 1], .find = find_skip};
    sum.rows = sum.n > 0 ? sc_tensor_count(x) / sum.n : 0;
    sum_and_norm(call, &sum, SUMS, sc_call_in(call, 2), p->centre ? sc_call_in(call, 3) : NULL);
}

enum embed_input { IDS, SEGMENTS, WORDS, PLACES, SEGMENT_TABLE, GAMMA, BETA, MASK, PLACE_IDS };

static enum sc_status infer_embed(struct sc_infer *infer)
{
    const struct sc_fact *ids = sc_infer_in(infer, IDS);
    const struct sc_fact *words = sc_infer_in(infer, WORDS);
    if (!ids || !words || !sc_infer_in(infer, PLACES) || !sc_infer_in(infer, GAMMA) || !sc_infer_in(infer, BETA)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "an input is missing");
    }
    if ((ids->rank >= 0 && ids->rank != 2) || (words->rank >= 0 && words->rank != 2)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input_ids and word_embedding are not of rank 2");
    }
    const int64_t batch = ids->rank == 2 ? ids->dims[0] : SC_DIM_UNKNOWN;
    const int64_t dims[3] = {
        batch, ids->rank == 2 ? ids->dims[1] : SC_DIM_UNKNOWN, words->rank == 2 ? words->dims[1] : SC_DIM_UNKNOWN};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], words->type, 3, dims);
    }
    if (sc_infer_out(infer, 1)) {
        sc_fact_tensor(infer->out[1], SC_I32, 1, &batch);
    }
    if (sc_infer_out(infer, 2)) {
        sc_fact_tensor(infer->out[2], words->type, 3, dims);
    }
    return SC_OK;
}

static enum sc_status check_ids(
    const struct sc_call *call, const struct sc_tensor *ids, int64_t want, const struct sc_tensor *table)
{
    const int64_t n = sc_tensor_count(ids);
    const struct sc_tensor *words = sc_call_in(call, WORDS);
    if (!table || table->rank != 2 || table->dims[1] != words->dims[1] || n != want) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "%lld ids do not fit their table", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = sc_index_at(ids, i);
        if (id < 0 || id >= table->dims[0]) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "id %lld is outside of a table of %lld rows",
                (long long)id, (long long)table->dims[0]);
        }
    }
    return SC_OK;
}

static enum sc_status resolve_embed(const struct sc_call *call)
{
    struct sc_call few = *call; /* the ninth input has no part in the dims */
    few.n_in = call->n_in < 8 ? call->n_in : 8;
    SC_TRY(sc_resolve_by_infer(&few));
    const struct sc_tensor *ids = sc_call_in(call, IDS);
    const struct sc_tensor *segments = sc_call_in(call, SEGMENTS);
    const struct sc_tensor *places = sc_call_in(call, PLACES);
    const struct sc_tensor *place_ids = sc_call_in(call, PLACE_IDS);
    const int64_t n = sc_tensor_count(ids);
    const int64_t hidden = sc_call_in(call, WORDS)->dims[1];
    SC_TRY(check_ids(call, ids, n, sc_call_in(call, WORDS)));
    if (segments) {
        SC_TRY(check_ids(call, segments, n, sc_call_in(call, SEGMENT_TABLE)));
    }
    if (place_ids) {
        SC_TRY(check_ids(call, place_ids, place_ids->rank == 2 && place_ids->dims[0] == 1 ? ids->dims[1] : n, places));
    } else if (places->rank != 2 || places->dims[0] < ids->dims[1] || places->dims[1] != hidden) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "position_embedding has no %lld rows of %lld",
            (long long)ids->dims[1], (long long)hidden);
    }
    if (sc_tensor_count(sc_call_in(call, GAMMA)) != hidden || sc_tensor_count(sc_call_in(call, BETA)) != hidden) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "gamma or beta do not have %lld entries", (long long)hidden);
    }
    return SC_OK;
}

static void find_embed(const struct sum *sum, int64_t row, const void *addends[4])
{
    const struct sc_call *call = sum->call;
    const struct sc_tensor *ids = sc_call_in(call, IDS);
    const struct sc_tensor *segments = sc_call_in(call, SEGMENTS);
    const struct sc_tensor *place_ids = sc_call_in(call, PLACE_IDS);
    const size_t bytes = sc_type_bytes(sum->type);
    const int64_t column = row % ids->dims[1];
    int64_t place = column;
    if (place_ids) {
        place = sc_index_at(place_ids, sc_tensor_count(place_ids) == ids->dims[1] ? column : row);
    }
    addends[0] = sc_const_at(sc_call_in(call, WORDS)->data, sc_index_at(ids, row) * sum->n, bytes);
    addends[1] = sc_const_at(sc_call_in(call, PLACES)->data, place * sum->n, bytes);
    if (segments) {
        addends[2] = sc_const_at(sc_call_in(call, SEGMENT_TABLE)->data, sc_index_at(segments, row) * sum->n, bytes);
    }
}

static size_t scratch_embed(const struct sc_call *call)
{
    const struct sc_tensor *words = sc_call_in(call, WORDS);
    const int64_t n = words->dims[1];
    return sums_bytes(call, 2, sc_tensor_count(sc_call_in(call, IDS)) * n, words->type) + rooms_bytes(call, n) +
        sc_norm_scratch_bytes(n, sc_team_size(call->team));
}

/* The number of ones in each row of the mask; 0 without one. */
static void put_mask_index(const struct sc_call *call)
{
    const struct sc_tensor *mask = sc_call_in(call, MASK);
    const struct sc_tensor *out = sc_call_out(call, 1);
    for (int64_t b = 0; out && b < out->dims[0]; b++) {
        int32_t n = 0;
        const int64_t length = mask && mask->rank == 2 && mask->dims[0] == out->dims[0] ? mask->dims[1] : 0;
        for (int64_t i = 0; i < length; i++) {
            n += sc_index_at(mask, b * length + i) == 1;
        }
        ((int32_t *)out->data)[b] = n;
    }
}

static void run_embed(const struct sc_call *call)
{
    const struct sc_tensor *words = sc_call_in(call, WORDS);
    struct sum sum = {.call = call,
        .type = words->type,
        .rows = sc_tensor_count(sc_call_in(call, IDS)),
        .n = words->dims[1],
        .find = find_embed};
    put_mask_index(call);
    sum_and_norm(call, &sum, 2, sc_call_in(call, GAMMA), sc_call_in(call, BETA));
}

static enum sc_status infer_simplified(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0];
    sc_infer_shape_of(infer, 0, x, infer->in[1]->type);
    sc_infer_shape_of(infer, 1, x, SC_F32);
    if (x->rank < 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, x->rank, &axis));
    for (int d = axis; d < x->rank && sc_infer_out(infer, 1); d++) {
        infer->out[1]->dims[d] = 1;
    }
    return sc_norm_check_scale(infer, x, infer->in[1]);
}

static int simplified_axis(const struct sc_call *call)
{
    const struct params *p = call->params;
    return (int)(p->axis < 0 ? p->axis + sc_call_in(call, 0)->rank : p->axis);
}

static size_t scratch_simplified(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int axis = simplified_axis(call);
    return sc_norm_expand_bytes(x, axis, sc_call_in(call, 1)) +
        sc_norm_scratch_bytes(sc_dims_product(x->dims, axis, x->rank), sc_team_size(call->team));
}

static void run_simplified(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const struct sc_tensor *scale = sc_call_in(call, 1);
    const int axis = simplified_axis(call);
    struct sc_norm norm = {.kernels = call->kernels,
        .type = x->type,
        .out_type = scale->type,
        .rows = sc_dims_product(x->dims, 0, axis),
        .n = sc_dims_product(x->dims, axis, x->rank),
        .x = x->data,
        .y = sc_call_out(call, 0)->data,
        .epsilon = p->epsilon,
        .inverse = floats_out(call, 1),
        .scratch = (char *)call->scratch + sc_norm_expand_bytes(x, axis, scale)};
    norm.scale = sc_norm_expand(x, axis, scale, call->scratch, &norm.scale_step);
    sc_norm_run(&norm, call->team);
}

#define MS(op, infer_fn, scratch_fn, resolve_fn, run_fn)                                                               \
    {                                                                                                                  \
        .domain = "com.microsoft", .name = #op, .since = 1, .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_norm,  \
        .infer = infer_fn, .scratch = scratch_fn, .resolve = resolve_fn, .run = run_fn                                 \
    }

const struct sc_op sc_ops_ms_skip_norm[] = {
    MS(SkipLayerNormalization, infer_skip, scratch_skip, resolve_skip, run_skip),
    MS(SkipSimplifiedLayerNormalization, infer_skip, scratch_skip, resolve_skip, run_skip),
    MS(EmbedLayerNormalization, infer_embed, scratch_embed, resolve_embed, run_embed),
    {.domain = "",
        .name = "SimplifiedLayerNormalization",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_norm,
        .infer = infer_simplified,
        .scratch = scratch_simplified,
        .run = run_simplified},
    {.name = NULL},
};
