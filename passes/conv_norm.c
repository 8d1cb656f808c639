/* SPDX-License-Identifier: Apache-2.0
 * What follows a product and only scales and shifts its channels by constants goes into its weights and bias.
 *
 *   W ─┐
 *   x ─┴ Conv ── BatchNormalization ── Mul(m) ── Add(a) ── y
 *
 *   becomes   y = Conv(x, W', b'),  W' = recipe: W[c] times f[c],  f = m · scale / sqrt(var + epsilon),  b' constant
 *
 * Also ConvTranspose of one group, and Gemm. Constants of channels are small and read here; W may be large: the rank
 * that owns it makes W' when it loads. Factors round the weights instead of the sums, so the bits are others than
 * without the pass, though the same on all ranks; a shift alone into a product without bias gives the same bits. f16
 * and bf16 are left alone: rounding weights anew costs them more than a step does. */
#include <math.h>
#include <string.h>

#include "passes/edit.h"
#include "passes/passes.h"
#include "tensor/convert.h"

struct fusion {
    struct sc_edit edit;
    struct sc_arena scratch;
    int *n_reads; /* per value */
    int *reader; /* per value read once: node */
};

/* A product and what it is multiplied and shifted by, per channel. */
struct product {
    struct sc_node *node;
    int axis; /* of the weights: channels */
    int rank; /* of the result, whose channels are axis 1 */
    int64_t channels;
    enum sc_type type;
    bool scaled, shifted;
    double *factor, *shift;
};

static bool is(const struct sc_node *node, const char *op)
{
    return !node->dead && !node->domain[0] && strcmp(node->op, op) == 0;
}

static void count_read(struct fusion *f, int value, int node)
{
    f->n_reads[value]++;
    f->reader[value] = node;
}

static enum sc_status count_reads(struct fusion *f, const struct sc_graph *graph)
{
    f->n_reads = sc_arena_array(&f->scratch, (size_t)graph->n_values + 1, sizeof *f->n_reads);
    f->reader = sc_arena_array(&f->scratch, (size_t)graph->n_values + 1, sizeof *f->reader);
    bool *in_body = sc_arena_array(&f->scratch, (size_t)graph->n_values + 1, sizeof *in_body);
    if (!f->n_reads || !f->reader || !in_body) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        count_read(f, graph->outputs[o], -1);
    }
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        for (int i = 0; i < node->n_in && !node->dead; i++) {
            if (node->in[i] >= 0) {
                count_read(f, node->in[i], n);
            }
        }
        if (!node->dead) {
            sc_node_mark_captures(node, in_body);
        }
    }
    for (int v = 0; v < graph->n_values; v++) {
        f->n_reads[v] += in_body[v] ? 2 : 0;
    }
    return SC_OK;
}

/* The content of a constant as doubles: one for each channel, or one for all. false: it is something else. */
static bool read_channels(const struct sc_graph *graph, int value, int64_t n, double *to)
{
    const struct sc_tensor *known = value < 0 ? NULL : graph->values[value].fact.value;
    if (!known || !sc_type_is_float(known->type) || known->storage != SC_STORAGE_PLAIN || !sc_tensor_is_dense(known)) {
        return false;
    }
    const int64_t count = sc_tensor_count(known);
    if (count != n && count != 1) {
        return false;
    }
    sc_convert(known->type, known->data, SC_F64, to, count, 0);
    for (int64_t i = count; i < n; i++) {
        to[i] = to[0];
    }
    return true;
}

/* A constant that broadcasts to [.., channels, 1, ..] without adding dims. */
static bool read_broadcast(const struct sc_graph *graph, const struct product *p, int value, double *to)
{
    const struct sc_fact *fact = &graph->values[value].fact;
    for (int d = 0; d < fact->rank; d++) {
        const int at = d + p->rank - fact->rank;
        if (at < 0 || (at != 1 && fact->dims[d] != 1)) {
            return false;
        }
    }
    return fact->rank >= 0 && read_channels(graph, value, p->channels, to);
}

/* Gemm adds beta times C: only 1 is taken. */
static bool whole_bias(const struct sc_node *node)
{
    float beta;
    return sc_node_float(node, "beta", 1.0F, &beta) == SC_OK && beta == 1.0F;
}

/* The axis of the channels in a product's weights; -1: not a product that is known here. */
static int channel_axis(const struct sc_node *node)
{
    int64_t number;
    if (is(node, "Conv")) {
        return 0;
    }
    if (is(node, "ConvTranspose")) {
        return sc_node_int(node, "group", 1, &number) == SC_OK && number == 1 ? 1 : -1;
    }
    if (is(node, "Gemm") && node->version >= 7 && whole_bias(node)) {
        return sc_node_int(node, "transB", 0, &number) != SC_OK ? -1 : number ? 0 : 1;
    }
    return -1;
}

/* true: the node is a product of constant weights, and a bias that is none or one constant for each channel. */
static bool open_product(const struct sc_graph *graph, struct sc_node *node, struct product *p)
{
    *p = (struct product){.node = node, .axis = channel_axis(node)};
    if (p->axis < 0 || node->n_in < 2 || node->n_in > 3 || node->in[1] < 0 || node->out[0] < 0) {
        return false;
    }
    const struct sc_graph_value *w = &graph->values[node->in[1]];
    p->type = w->fact.type;
    if (w->place != SC_PLACE_INITIALIZER || (p->type != SC_F32 && p->type != SC_F64) || w->fact.rank <= p->axis) {
        return false;
    }
    p->rank = w->fact.rank;
    p->channels = w->fact.dims[p->axis];
    p->shifted = node->n_in == 3 && node->in[2] >= 0;
    const struct sc_fact *bias = p->shifted ? &graph->values[node->in[2]].fact : NULL;
    return p->channels > 0 && (!bias || (bias->rank == 1 && bias->dims[0] == p->channels && bias->value));
}

static enum sc_status start_product(struct fusion *f, struct product *p)
{
    p->factor = sc_arena_array(f->edit.graph->arena, (size_t)p->channels, sizeof *p->factor);
    p->shift = sc_arena_array(&f->scratch, (size_t)p->channels, sizeof *p->shift);
    if (!p->factor || !p->shift) {
        return SC_NO_MEMORY;
    }
    for (int64_t c = 0; c < p->channels; c++) {
        p->factor[c] = 1;
        p->shift[c] = -0.0; /* plus x is x, for -0 too */
    }
    if (p->shifted) {
        (void)read_channels(f->edit.graph, p->node->in[2], p->channels, p->shift);
    }
    return SC_OK;
}

/* Inference with the running statistics, by any version: old ones train when somebody names a second output. */
static bool normalises(const struct sc_node *node)
{
    int64_t training, spatial, is_test;
    if (!is(node, "BatchNormalization") || node->n_in != 5 ||
        sc_node_int(node, "training_mode", 0, &training) != SC_OK || training ||
        sc_node_int(node, "spatial", 1, &spatial) != SC_OK || !spatial ||
        sc_node_int(node, "is_test", 0, &is_test) != SC_OK) {
        return false;
    }
    for (int o = 1; o < node->n_out; o++) {
        if (node->out[o] >= 0) {
            return false;
        }
    }
    return node->n_out == 1 || node->version >= 14 || is_test;
}

/* y = x · step[c] + add[c]; false: the node is something else. room: 4 for each channel. */
static bool read_norm(
    const struct sc_graph *graph, const struct product *p, const struct sc_node *node, double *step, double *add)
{
    const int64_t n = p->channels;
    double *mean = add + n, *variance = mean + n;
    float epsilon;
    if (!normalises(node) || sc_node_float(node, "epsilon", 1e-5F, &epsilon) != SC_OK ||
        !read_channels(graph, node->in[1], n, step) || !read_channels(graph, node->in[2], n, add) ||
        !read_channels(graph, node->in[3], n, mean) || !read_channels(graph, node->in[4], n, variance)) {
        return false;
    }
    for (int64_t c = 0; c < n; c++) {
        step[c] /= sqrt(variance[c] + (double)epsilon);
        add[c] -= mean[c] * step[c];
    }
    return true;
}

static bool read_step(
    const struct sc_graph *graph, const struct product *p, const struct sc_node *node, int x, double *step, double *add)
{
    const bool norm = read_norm(graph, p, node, step, add);
    if (norm || node->version < 7 || node->n_in != 2) {
        return norm && node->in[0] == x;
    }
    const int other = node->in[0] == x ? node->in[1] : node->in[0];
    const bool ordered = node->in[0] == x;
    const bool scales = is(node, "Mul") || (is(node, "Div") && ordered);
    const bool shifts = is(node, "Add") || (is(node, "Sub") && ordered);
    if ((!scales && !shifts) || !read_broadcast(graph, p, other, scales ? step : add)) {
        return false;
    }
    for (int64_t c = 0; c < p->channels; c++) {
        if (scales) {
            step[c] = is(node, "Div") ? 1 / step[c] : step[c];
            add[c] = -0.0;
        } else {
            step[c] = 1;
            add[c] = is(node, "Sub") ? -add[c] : add[c];
        }
    }
    return true;
}

/* Takes the step in; false: it leads out of the numbers of the type, and is left. */
static bool join(struct product *p, const double *step, const double *add)
{
    const double most = p->type == SC_F32 ? 1e30 : 1e300; /* weights and sums that are multiplied stay finite */
    bool scaled = false;
    for (int64_t c = 0; c < p->channels; c++) {
        const double factor = p->factor[c] * step[c], shift = p->shift[c] * step[c] + add[c];
        if (!(fabs(factor) < most) || !(fabs(shift) < most)) {
            return false;
        }
        scaled |= step[c] != 1;
    }
    for (int64_t c = 0; c < p->channels; c++) {
        p->factor[c] *= step[c];
        p->shift[c] = p->shift[c] * step[c] + add[c];
        p->shifted |= p->shift[c] != 0;
    }
    p->scaled |= scaled;
    return true;
}

static enum sc_status join_origins(const struct sc_graph *graph, struct sc_node *to, const struct sc_node *node)
{
    int *origins = sc_arena_array(graph->arena, (size_t)(to->n_origins + node->n_origins), sizeof *origins);
    if (!origins) {
        return SC_NO_MEMORY;
    }
    memcpy(origins, to->origins, (size_t)to->n_origins * sizeof *origins);
    memcpy(origins + to->n_origins, node->origins, (size_t)node->n_origins * sizeof *origins);
    to->origins = origins;
    to->n_origins += node->n_origins;
    return SC_OK;
}

static enum sc_status scale_weights(struct fusion *f, const struct product *p)
{
    struct sc_graph *graph = f->edit.graph;
    const struct sc_weight *old = &graph->weights[graph->values[p->node->in[1]].weight];
    struct sc_recipe *recipe = sc_arena_alloc(graph->arena, sizeof *recipe);
    int value;
    if (!recipe) {
        return SC_NO_MEMORY;
    }
    *recipe = (struct sc_recipe){.source = *old, .axis = p->axis, .factors = p->factor};
    struct sc_weight weight = {.shape = old->shape, .file = -1, .recipe = recipe};
    weight.shape.data = NULL;
    SC_TRY(sc_edit_value(&f->edit, sc_edit_label(graph, p->node), "weights", &value));
    SC_TRY(sc_graph_add_weight(graph, &weight, value));
    p->node->in[1] = value;
    return SC_OK;
}

static enum sc_status set_bias(struct fusion *f, const struct product *p)
{
    struct sc_graph *graph = f->edit.graph;
    struct sc_weight weight = {.file = -1};
    int value, *in = sc_arena_array(graph->arena, 3, sizeof *in);
    if (!in) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_tensor_new(graph->arena, p->type, 1, &p->channels, &weight.shape));
    sc_convert(SC_F64, p->shift, p->type, weight.shape.data, p->channels, 0);
    weight.decoded = weight.shape.data;
    SC_TRY(sc_edit_value(&f->edit, sc_edit_label(graph, p->node), "bias", &value));
    SC_TRY(sc_graph_add_weight(graph, &weight, value));
    memcpy(in, p->node->in, 2 * sizeof *in);
    in[2] = value;
    p->node->in = in;
    p->node->n_in = 3;
    return SC_OK;
}

/* Takes in as many nodes as follow. */
static enum sc_status fuse(struct fusion *f, struct product *p)
{
    struct sc_graph *graph = f->edit.graph;
    const int producer = (int)(p->node - graph->nodes);
    double *room = sc_arena_array(&f->scratch, 4 * (size_t)p->channels, sizeof *room);
    bool any = false;
    if (!room) {
        return SC_NO_MEMORY;
    }
    SC_TRY(start_product(f, p));
    for (int x = p->node->out[0]; f->n_reads[x] == 1 && f->reader[x] >= 0; x = p->node->out[0]) {
        struct sc_node *next = &graph->nodes[f->reader[x]];
        if (!read_step(graph, p, next, x, room, room + p->channels) || !join(p, room, room + p->channels)) {
            break;
        }
        SC_TRY(join_origins(graph, p->node, next));
        graph->values[x].producer = -1;
        p->node->out[0] = next->out[0];
        graph->values[next->out[0]].producer = producer;
        graph->values[next->out[0]].output = 0;
        next->dead = true;
        any = true;
    }
    if (!any) {
        return SC_OK;
    }
    SC_TRY(p->scaled ? scale_weights(f, p) : SC_OK);
    return p->shifted ? set_bias(f, p) : SC_OK;
}

enum sc_status sc_pass_conv_norm(struct sc_model *model)
{
    struct sc_graph *graph = model->graph;
    struct fusion f = {0};
    sc_edit_open(&f.edit, model);
    f.edit.graph = graph;
    enum sc_status status = count_reads(&f, graph);
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        struct product p;
        const bool starts = open_product(graph, &graph->nodes[n], &p);
        const int out = starts ? p.node->out[0] : -1;
        if (starts && f.n_reads[out] == 1 && f.reader[out] >= 0) {
            status = fuse(&f, &p);
        }
    }
    sc_arena_release(&f.scratch);
    return status;
}
