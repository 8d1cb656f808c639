/* SPDX-License-Identifier: Apache-2.0
 * Whether rows of several requests may be in one batch: a proof that each row of the result is made of that row alone.
 * Changes nothing. One new token a row; pasts differ in length, so what depends on the past by anything but a cache is
 * no row.
 *
 *   input_ids [B,1] ── Gather ── [B,1,768] ── Reshape(-1, 768) ── [B,768] ── MatMul ── ... ── logits [B,1,50257]
 *                 axis 0                 axis 0                       axis 0                  axis 0
 *
 * Each value has the axis along which rows lie, followed through operators that are known to keep rows apart; an
 * operator that is not known ends the proof for whatever depends on it. */
#include <string.h>

#include "ops/kernels/kernels.h"
#include "passes/passes.h"
#include "passes/symbolic_parts.h"

enum { BATCH, PAST }; /* symbols */

/* What a value is to the rows. */
enum part {
    PART_PLAIN, /* the same for every batch */
    PART_SIZES, /* whole numbers that tell how many rows there are */
    PART_ROWS, /* row r of it, along `axis`, is made of row r of the inputs */
    PART_CACHE, /* a paged state: row r is row r's */
    PART_MIXED /* nothing is proven */
};

struct place {
    enum part part;
    int axis;
};

struct walk {
    struct sc_symbolics symbolics;
    struct sc_arena scratch;
    struct sc_fact *facts;
    struct place *places; /* by value */
};

static const struct place mixed = {PART_MIXED, 0}, plain = {PART_PLAIN, 0};

static struct place rows_at(int axis)
{
    return (struct place){PART_ROWS, axis};
}

static struct place place_in(const struct walk *w, const struct sc_node *node, int i)
{
    return i < node->n_in && node->in[i] >= 0 ? w->places[node->in[i]] : plain;
}

static const struct sc_symbolic *known_in(const struct walk *w, const struct sc_node *node, int i)
{
    return i < node->n_in && node->in[i] >= 0 ? &w->symbolics.values[node->in[i]] : NULL;
}

static int rank_in(const struct walk *w, const struct sc_node *node, int i)
{
    const struct sc_symbolic *known = known_in(w, node, i);
    return known ? known->rank : -1;
}

static bool is_batch(const struct sc_size *size)
{
    struct sc_size batch = {0};
    batch.symbol[BATCH] = 1;
    return sc_size_equal(size, &batch);
}

/* The dim that is the batch, when all others are constants; -1: there is none. *before: elements of the dims left of
 * it. */
static int batch_axis(const struct sc_symbolic *value, int64_t *before)
{
    int axis = -1;
    int64_t product = 1;
    for (int d = 0; d < value->rank; d++) {
        if (axis < 0 && is_batch(&value->dims[d])) {
            axis = d;
            *before = product;
        } else if (!sc_size_constant(&value->dims[d])) {
            return -1;
        } else {
            product = product < INT32_MAX ? product * value->dims[d].constant : product;
        }
    }
    return axis;
}

/* Element by element, broadcast from the right: rows lie along one axis in all inputs that have rows. */
static struct place of_elements(const struct walk *w, const struct sc_node *node)
{
    int from_right = -1;
    bool sizes = false;
    int rank = 0;
    for (int i = 0; i < node->n_in; i++) {
        const struct place place = place_in(w, node, i);
        rank = rank_in(w, node, i) > rank ? rank_in(w, node, i) : rank;
        sizes |= place.part == PART_SIZES;
        if (place.part == PART_PLAIN || place.part == PART_SIZES) {
            continue;
        }
        const int right = rank_in(w, node, i) - place.axis;
        if (place.part != PART_ROWS || rank_in(w, node, i) < 0 || (from_right >= 0 && right != from_right)) {
            return mixed;
        }
        from_right = right;
    }
    if (from_right < 0) {
        return sizes ? (struct place){PART_SIZES, 0} : plain;
    }
    return sizes ? mixed : rows_at(rank - from_right);
}

/* Dims of one element come and go, others are joined or cut, and what stands left of the rows stays there. */
static struct place of_reshape(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    const struct sc_symbolic *in = known_in(w, node, 0), *out = &w->symbolics.values[node->out[0]];
    int64_t before = 0, after = 0;
    if (place.part == PART_SIZES) {
        return place;
    }
    const bool fits = place.part == PART_ROWS && in && in->rank >= 0 && out->rank >= 0 &&
        batch_axis(in, &before) == place.axis && batch_axis(out, &after) >= 0 && before == after;
    return fits ? rows_at(batch_axis(out, &after)) : mixed;
}

/* To dims that have the batch: rows that are all the same, or rows that are there already. */
static struct place of_expand(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    const struct sc_symbolic *in = known_in(w, node, 0), *out = &w->symbolics.values[node->out[0]];
    int64_t before;
    const int axis = out->rank >= 0 ? batch_axis(out, &before) : -1;
    if (axis < 0 || !in || in->rank < 0 || place.part == PART_SIZES) {
        return mixed;
    }
    const int at = axis - (out->rank - in->rank);
    if (place.part == PART_ROWS) {
        return at == place.axis ? rows_at(axis) : mixed;
    }
    return place.part == PART_PLAIN && (at < 0 || sc_size_is(&in->dims[at], 1)) ? rows_at(axis) : mixed;
}

static struct place of_filled(const struct walk *w, const struct sc_node *node)
{
    int64_t before;
    const struct sc_symbolic *out = &w->symbolics.values[node->out[0]];
    const int axis = out->rank >= 0 ? batch_axis(out, &before) : -1;
    return axis >= 0 ? rows_at(axis) : mixed;
}

/* Dims of a list of sizes are its length. */
static struct place of_shape(const struct walk *w, const struct sc_node *node)
{
    const enum part part = place_in(w, node, 0).part;
    return part == PART_ROWS || part == PART_SIZES ? (struct place){PART_SIZES, 0} : mixed;
}

static struct place of_transpose(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    const int rank = rank_in(w, node, 0);
    const int64_t *perm;
    int n;
    if (place.part != PART_ROWS || rank < 0 || sc_node_ints(node, "perm", &n, &perm) != SC_OK ||
        (n >= 0 && n != rank)) {
        return mixed;
    }
    for (int d = 0; d < rank; d++) {
        if (n < 0 ? rank - 1 - d == place.axis : perm[d] == place.axis) {
            return rows_at(d);
        }
    }
    return mixed;
}

static struct place of_gather(const struct walk *w, const struct sc_node *node)
{
    const struct place data = place_in(w, node, 0), indices = place_in(w, node, 1);
    const int rank = rank_in(w, node, 0), n_indices = rank_in(w, node, 1);
    const int axis = rank < 0 ? -1 : sc_symbolic_axis(node, "axis", 0, rank);
    if (data.part == PART_SIZES && indices.part == PART_PLAIN) {
        return data;
    }
    if (axis < 0 || n_indices < 0) {
        return mixed;
    }
    if (data.part == PART_PLAIN && indices.part == PART_ROWS) {
        return rows_at(axis + indices.axis);
    }
    if (data.part == PART_ROWS && indices.part == PART_PLAIN && data.axis != axis) {
        return rows_at(data.axis < axis ? data.axis : data.axis - 1 + n_indices);
    }
    return mixed;
}

/* Along an axis of the attribute that is not the rows'. Several inputs are joined. */
static struct place of_axis(const struct walk *w, const struct sc_node *node, int64_t otherwise)
{
    const struct place joined = of_elements(w, node); /* inputs have one rank, and rows at one place */
    if (joined.part != PART_ROWS) {
        return joined;
    }
    const int rank = rank_in(w, node, 0);
    const int axis = rank < 0 ? -1 : sc_symbolic_axis(node, "axis", otherwise, rank);
    for (int i = 0; i < node->n_in; i++) {
        if (place_in(w, node, i).part != PART_ROWS || rank_in(w, node, i) != rank) {
            return mixed; /* a part that is the same for all rows would have to be as many */
        }
    }
    return axis >= 0 && axis != joined.axis ? joined : mixed;
}

static struct place of_concat(const struct walk *w, const struct sc_node *node)
{
    return of_axis(w, node, 0);
}

/* From the axis on, which is the last by default: rows lie before it. Split, and Softmax since 13, too. */
static struct place of_last_axis(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    const int rank = rank_in(w, node, 0);
    const int64_t otherwise = strcmp(node->op, "Split") == 0 ? 0 : -1;
    const int axis = rank < 0 ? -1 : sc_symbolic_axis(node, "axis", otherwise, rank);
    const bool one = strcmp(node->op, "Split") == 0; /* along that axis alone */
    const bool old = strcmp(node->op, "Softmax") == 0 && node->version < 13;
    for (int i = 1; i < node->n_in; i++) {
        if (place_in(w, node, i).part != PART_PLAIN) {
            return mixed;
        }
    }
    return place.part == PART_ROWS && axis >= 0 && !old && (one ? axis != place.axis : axis > place.axis) ? place
                                                                                                          : mixed;
}

/* Axes by input 1 or attribute: none of them the rows'. Dims are kept, or known to go. */
static struct place of_reduction(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    const int rank = rank_in(w, node, 0);
    int64_t list[SC_SYMBOLIC_MOST], keeps;
    const int64_t *axes = list;
    int n, gone = 0;
    const bool told = node->n_in > 1 && node->in[1] >= 0;
    const bool read = told ? sc_symbolic_ints(known_in(w, node, 1), &n, list)
                           : sc_node_ints(node, "axes", &n, &axes) == SC_OK && n > 0;
    if (place.part != PART_ROWS || rank < 0 || !read || n < 1 || sc_node_int(node, "keepdims", 1, &keeps) != SC_OK) {
        return mixed;
    }
    for (int i = 0; i < n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis == place.axis) {
            return mixed;
        }
        gone += axis < place.axis;
    }
    return rows_at(keeps ? place.axis : place.axis - gone);
}

/* Axes of input 3, which are others than the rows'. */
static struct place of_slice(const struct walk *w, const struct sc_node *node)
{
    const struct place place = place_in(w, node, 0);
    int64_t axes[SC_SYMBOLIC_MOST];
    int n;
    if (place.part == PART_SIZES) {
        return place_in(w, node, 1).part == PART_PLAIN && place_in(w, node, 2).part == PART_PLAIN ? place : mixed;
    }
    const int rank = rank_in(w, node, 0);
    if (place.part != PART_ROWS || rank < 0 || node->n_in < 4 || node->in[3] < 0 ||
        !sc_symbolic_ints(known_in(w, node, 3), &n, axes)) {
        return mixed;
    }
    for (int i = 1; i < node->n_in; i++) {
        if (place_in(w, node, i).part != PART_PLAIN) {
            return mixed;
        }
    }
    for (int i = 0; i < n; i++) {
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == place.axis) {
            return mixed;
        }
    }
    return place;
}

/* Rows by a weight, or two products of rows side by side. */
static struct place of_product(const struct walk *w, const struct sc_node *node)
{
    const struct place a = place_in(w, node, 0), b = place_in(w, node, 1);
    const int rank_a = rank_in(w, node, 0), rank_b = rank_in(w, node, 1);
    const int rank = rank_a > rank_b ? rank_a : rank_b;
    if (rank_a < 2 || rank_b < 2) {
        return mixed;
    }
    const int from_a = rank_a - a.axis, from_b = rank_b - b.axis; /* from the right: 1 is summed over, 2 a row of A */
    if (a.part == PART_ROWS && b.part == PART_PLAIN && from_a >= 2) {
        return rows_at(rank - from_a);
    }
    if (a.part == PART_PLAIN && b.part == PART_ROWS && from_b >= 3) {
        return rows_at(rank - from_b);
    }
    return a.part == PART_ROWS && b.part == PART_ROWS && from_a == from_b && from_a >= 3 ? rows_at(rank - from_a)
                                                                                         : mixed;
}

static struct place of_fused_product(const struct walk *w, const struct sc_node *node)
{
    static const char *const turns[] = {"transA", "transBatchA", "transBatchB"};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        int64_t turned;
        if (sc_node_int(node, turns[i], 0, &turned) != SC_OK || turned) {
            return mixed;
        }
    }
    return of_product(w, node);
}

static struct place of_gemm(const struct walk *w, const struct sc_node *node)
{
    const struct place a = place_in(w, node, 0), c = place_in(w, node, 2);
    int64_t turned;
    return a.part == PART_ROWS && a.axis == 0 && sc_node_int(node, "transA", 0, &turned) == SC_OK && !turned &&
            place_in(w, node, 1).part == PART_PLAIN && c.part == PART_PLAIN && rank_in(w, node, 2) < 2
        ? a
        : mixed;
}

/* Input 0 has rows first; each other one has rows first too, or is a cache, or the same for all. */
static struct place of_rows_first(const struct walk *w, const struct sc_node *node)
{
    for (int i = 0; i < node->n_in; i++) {
        const struct place place = place_in(w, node, i);
        const bool first = place.part == PART_ROWS && place.axis == 0;
        if (!first && place.part != PART_CACHE && (i == 0 || place.part != PART_PLAIN)) {
            return mixed;
        }
    }
    return rows_at(0);
}

/* A mask is as long as the past, of one row. */
static struct place of_attention(const struct walk *w, const struct sc_node *node)
{
    return node->n_in > 3 && node->in[3] >= 0 ? mixed : of_rows_first(w, node);
}

/* Slopes and the table of distances are of heads, and the same for all rows. */
static struct place of_own_attention(const struct walk *w, const struct sc_node *node)
{
    enum { DISTANCES = 7 };
    return place_in(w, node, DISTANCES).part == PART_PLAIN ? of_attention(w, node) : mixed;
}

/* Of com.microsoft: inputs, as bits, that are a mask or a bias of one row, as long as its past, or that tell lengths,
 * which come from the cache alone. */
static const struct {
    const char *op;
    unsigned none;
} of_one_row[] = {{"Attention", 1U << 3 | 1U << 5 | 1U << 6}, {"DecoderMaskedMultiHeadAttention", 3U << 3 | 7U << 7},
    {"GroupQueryAttention", 3U << 5 | 1U << 10 | 1U << 16}, {"MultiHeadAttention", 3U << 4 | 3U << 8}};

static struct place of_cached(const struct walk *w, const struct sc_node *node)
{
    for (size_t o = 0; o < sizeof of_one_row / sizeof of_one_row[0]; o++) {
        for (int i = 0; i < node->n_in && strcmp(node->op, of_one_row[o].op) == 0; i++) {
            if (node->in[i] >= 0 && i < 32 && of_one_row[o].none >> i & 1) {
                return mixed;
            }
        }
    }
    return of_rows_first(w, node);
}

/* Of ids, and of positions that each row has: without them rows are counted. */
static struct place of_embeddings(const struct walk *w, const struct sc_node *node)
{
    enum { MASK = 7, POSITIONS = 8 };
    const bool masked = node->n_in > MASK && node->in[MASK] >= 0;
    return place_in(w, node, POSITIONS).part == PART_ROWS && !masked ? of_rows_first(w, node) : mixed;
}

/* Positions of each row, or cosines of each row. */
static struct place of_rotation(const struct walk *w, const struct sc_node *node)
{
    const bool ms = node->domain[0];
    const struct place cosine = place_in(w, node, ms ? 2 : 1), positions = place_in(w, node, ms ? 1 : 3);
    return cosine.part == PART_ROWS || positions.part == PART_ROWS ? of_rows_first(w, node) : mixed;
}

typedef struct place rule_fn(const struct walk *w, const struct sc_node *node);

static const struct {
    const char *domain, *op;
    rule_fn *rule;
} rules[] = {{"", "Attention", of_attention}, {"", "Concat", of_concat}, {"", "ConstantOfShape", of_filled},
    {"", "Expand", of_expand}, {"", "Flatten", of_reshape}, {"", "Gather", of_gather}, {"", "Gemm", of_gemm},
    {"", "LayerNormalization", of_last_axis}, {"", "MatMul", of_product}, {"", "RMSNormalization", of_last_axis},
    {"", "ReduceMax", of_reduction}, {"", "ReduceMean", of_reduction}, {"", "ReduceSum", of_reduction},
    {"", "Reshape", of_reshape}, {"", "RotaryEmbedding", of_rotation}, {"", "Shape", of_shape},
    {"", "SimplifiedLayerNormalization", of_last_axis}, {"", "Slice", of_slice}, {"", "Softmax", of_last_axis},
    {"", "Split", of_last_axis}, {"", "Squeeze", of_reshape}, {"", "TensorScatter", of_rows_first},
    {"", "Transpose", of_transpose}, {"", "Unsqueeze", of_reshape}, {"com.microsoft", "Attention", of_cached},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", of_cached},
    {"com.microsoft", "EmbedLayerNormalization", of_embeddings}, {"com.microsoft", "FusedMatMul", of_fused_product},
    {"com.microsoft", "GatherBlockQuantized", of_gather}, {"com.microsoft", "GroupQueryAttention", of_cached},
    {"com.microsoft", "MatMulNBits", of_last_axis}, {"com.microsoft", "MoE", of_rows_first},
    {"com.microsoft", "MultiHeadAttention", of_cached}, {"com.microsoft", "QMoE", of_rows_first},
    {"com.microsoft", "RotaryEmbedding", of_rotation}, {"com.microsoft", "SimplifiedLayerNormalization", of_last_axis},
    {"com.microsoft", "SkipLayerNormalization", of_rows_first},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", of_rows_first}, {"sc", "Attention", of_own_attention}};

static const char *const elementwise[] = {"Abs", "Add", "And", "BiasGelu", "Cast", "Clip", "Cos", "Div", "Equal", "Erf",
    "Exp", "FastGelu", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "Identity", "IsNaN", "Less", "LessOrEqual",
    "Log", "Max", "Min", "Mul", "Neg", "Not", "Or", "Pow", "QuickGelu", "Reciprocal", "Relu", "Sigmoid", "Sin",
    "Softplus", "Sqrt", "Sub", "Swish", "Tanh", "Where"};

static struct place judge(const struct walk *w, const struct sc_node *node)
{
    bool all_plain = true;
    for (int i = 0; i < node->n_in; i++) {
        const enum part part = place_in(w, node, i).part;
        all_plain &= part == PART_PLAIN;
        if (part == PART_MIXED) {
            return mixed;
        }
    }
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        if (!all_plain && strcmp(rules[r].op, node->op) == 0 && strcmp(rules[r].domain, node->domain) == 0) {
            return rules[r].rule(w, node);
        }
    }
    for (size_t e = 0; e < sizeof elementwise / sizeof elementwise[0]; e++) {
        if (!all_plain && strcmp(elementwise[e], node->op) == 0) {
            return of_elements(w, node);
        }
    }
    return all_plain ? plain : mixed;
}

static bool has_body(const struct sc_node *node)
{
    for (int a = 0; a < node->n_attributes; a++) {
        if (node->attributes[a].type == SC_ATTRIBUTE_GRAPH || node->attributes[a].type == SC_ATTRIBUTE_GRAPHS) {
            return true;
        }
    }
    return false;
}

/* Dims of rows where evaluation does not know the operator: those of inference, with the batch along the axis. */
static enum sc_status complete(struct walk *w, int value, int axis)
{
    struct sc_symbolic *known = &w->symbolics.values[value];
    const struct sc_fact *fact = &w->facts[value];
    struct sc_size dims[SC_SYMBOLIC_RANK] = {{0}};
    if (known->rank >= 0 || fact->kind != SC_KIND_TENSOR || fact->rank <= axis || fact->rank > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    for (int d = 0; d < fact->rank; d++) {
        if (d != axis && fact->dims[d] < 0) {
            return SC_OK;
        }
        dims[d].constant = d == axis ? 0 : fact->dims[d];
        dims[d].symbol[BATCH] = d == axis;
    }
    return sc_symbolic_set(&w->symbolics, known, fact->rank, dims);
}

/* Attention's first output has the dims of Q, and the width of V, which may be a cache, where heads have an axis. */
static enum sc_status complete_attention(struct walk *w, const struct sc_node *node)
{
    const struct sc_symbolic *q = known_in(w, node, 0);
    struct sc_symbolic *out = &w->symbolics.values[node->out[0]];
    struct sc_size dims[SC_SYMBOLIC_RANK];
    const bool ours = !node->domain[0] || strcmp(node->domain, "sc") == 0;
    if (strcmp(node->op, "Attention") != 0 || !ours || out->rank >= 0 || q->rank != 4) {
        return SC_OK;
    }
    const struct sc_symbolic *v = known_in(w, node, 2);
    const struct sc_fact *fact = &w->facts[node->in[2]];
    if (v->rank != 4 && (fact->rank != 4 || fact->dims[3] < 0)) {
        return SC_OK;
    }
    memcpy(dims, q->dims, 3 * sizeof *dims);
    dims[3] = v->rank == 4 ? v->dims[3] : (struct sc_size){.constant = fact->dims[3]};
    return sc_symbolic_set(&w->symbolics, out, 4, dims);
}

static enum sc_status step(struct walk *w, const struct sc_node *node)
{
    int n;
    int64_t ints[SC_SYMBOLIC_MOST];
    SC_TRY(sc_symbolics_step(&w->symbolics, node));
    const struct place place = node->n_out > 0 && node->out[0] >= 0 && !has_body(node) ? judge(w, node) : mixed;
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] < 0) {
            continue;
        }
        struct place *to = &w->places[node->out[o]];
        if (to->part != PART_CACHE || place.part != PART_ROWS) { /* a cache's next content is a cache */
            *to = place;
        }
        if (to->part == PART_SIZES && sc_symbolic_ints(&w->symbolics.values[node->out[o]], &n, ints)) {
            *to = plain; /* one that does not tell how many rows there are */
        }
        if (to->part == PART_ROWS) {
            SC_TRY(o == 0 ? complete_attention(w, node) : SC_OK);
            SC_TRY(complete(w, node->out[o], to->axis));
        }
    }
    return SC_OK;
}

/* A row for each request. false: it cannot be, as the model has the size of the batch. */
static enum sc_status set_input(struct walk *w, const struct sc_pass_input *input)
{
    struct sc_fact *fact = &w->facts[input->value];
    struct sc_size dims[SC_SYMBOLIC_RANK] = {{0}};
    bool rows = input->next < 0 && fact->rank == input->rank && input->rank > 0 && fact->dims[0] < 0;
    if (fact->type == SC_BOOL) { /* a mode */
        w->places[input->value] = plain;
        return SC_OK;
    }
    for (int d = 0; d < input->rank; d++) {
        rows = rows && input->dims[d].symbol[SC_PASS_PAST] == 0 && input->dims[d].symbol[SC_PASS_SOURCE] == 0;
        dims[d].constant = d > 0 ? input->dims[d].constant + input->dims[d].symbol[SC_PASS_NEW] : 0;
        dims[d].symbol[BATCH] = d == 0;
    }
    w->places[input->value] = rows ? rows_at(0) : mixed;
    if (!rows) {
        return SC_OK;
    }
    for (int d = 1; d < input->rank; d++) {
        fact->dims[d] = dims[d].constant;
    }
    return sc_symbolic_set(&w->symbolics, &w->symbolics.values[input->value], input->rank, dims);
}

static enum sc_status start(struct walk *w, const struct sc_graph *graph, const struct sc_rows_question *question)
{
    w->facts = sc_arena_array(&w->scratch, (size_t)graph->n_values + 1, sizeof *w->facts);
    w->places = sc_arena_array(&w->scratch, (size_t)graph->n_values + 1, sizeof *w->places);
    if (!w->facts || !w->places) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        w->facts[v] = graph->values[v].fact;
        w->places[v] = graph->values[v].weight >= 0 ? plain : mixed;
    }
    w->symbolics = (struct sc_symbolics){.graph = graph, .facts = w->facts, .arena = &w->scratch};
    SC_TRY(sc_symbolics_open(&w->symbolics));
    w->symbolics.n_symbols = PAST + 1;
    w->symbolics.least[BATCH] = 1;
    for (int i = 0; i < question->n_inputs; i++) {
        SC_TRY(set_input(w, &question->inputs[i]));
    }
    for (int c = 0; c < question->n_caches; c++) {
        w->places[question->caches[c]] = (struct place){PART_CACHE, 0};
    }
    SC_TRY(sc_infer_graph(graph, sc_kernels_at(SC_ISA_BASE), &w->scratch, NULL, w->facts));
    return sc_symbolics_start(&w->symbolics);
}

enum sc_status sc_pass_rows(const struct sc_graph *graph, const struct sc_rows_question *question, bool *apart)
{
    struct walk w = {0};
    enum sc_status status = start(&w, graph, question);
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        status = graph->nodes[n].dead ? SC_OK : step(&w, &graph->nodes[n]);
    }
    if (status == SC_OK) {
        const struct place result = w.places[question->result];
        *apart = result.part == PART_ROWS && result.axis == 0;
    }
    for (int c = 0; c < question->n_caches && status == SC_OK; c++) {
        *apart = *apart && w.places[question->caches[c]].part == PART_CACHE;
    }
    sc_arena_release(&w.scratch);
    return status;
}
