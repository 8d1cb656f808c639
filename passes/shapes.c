/* SPDX-License-Identifier: Apache-2.0
 * Inference that knows dims by name, and shape arithmetic that is the same for every size.
 *
 *   x [batch,seq,768] ─┬─────────────────────────────────────────────── Reshape ── y ?
 *                      └ Shape ─┬ Gather(0) ─ Unsqueeze ─┐                │
 *                               └ Gather(1) ─ Unsqueeze ─┴ Concat(12, 64) ┘
 *
 *   becomes   x [batch,seq,768] ── Reshape(0, 0, 12, 64) ── y [batch,seq,12,64]
 *
 * So do targets of Expand; a Reshape or Expand to the dims that are there already, a Cast to the type that is, and a
 * Slice of everything become Identity. What nobody reads any more is left for the dead pass. The same bits. */
#include <string.h>

#include "ops/schema.h"
#include "passes/edit.h"
#include "passes/passes.h"

struct shapes {
    struct sc_edit edit;
    struct sc_arena scratch;
    struct sc_symbolics symbolics;
};

/* The content of a short list that is the same for every size. */
static enum sc_status known_list(struct shapes *x, const struct sc_symbolic *known, struct sc_fact *fact)
{
    int n;
    int64_t ints[SC_SYMBOLIC_MOST];
    if (fact->value || known->kind != SC_SYMBOLIC_LIST || !sc_fact_dims_known(fact) ||
        !sc_symbolic_ints(known, &n, ints) || sc_dims_product(fact->dims, 0, fact->rank) != n) {
        return SC_OK;
    }
    struct sc_tensor *tensor = sc_arena_alloc(&x->scratch, sizeof *tensor);
    if (!tensor || (fact->type != SC_I64 && fact->type != SC_I32)) {
        return tensor ? SC_OK : SC_NO_MEMORY;
    }
    SC_TRY(sc_tensor_new(&x->scratch, fact->type, fact->rank, fact->dims, tensor));
    for (int i = 0; i < n; i++) {
        if (fact->type == SC_I64) {
            ((int64_t *)tensor->data)[i] = ints[i];
        } else {
            ((int32_t *)tensor->data)[i] = (int32_t)ints[i];
        }
    }
    fact->value = tensor;
    return SC_OK;
}

/* Dims that inference left open, from what is known by name. */
static enum sc_status improve(struct shapes *x, const struct sc_symbolic *known, struct sc_fact *fact)
{
    if (known->rank < 0 || fact->kind != SC_KIND_TENSOR || (fact->rank >= 0 && fact->rank != known->rank)) {
        return SC_OK;
    }
    for (int d = 0; d < known->rank; d++) {
        if (fact->rank < 0 || fact->dims[d] < 0) {
            SC_TRY(sc_symbolics_dim(&x->symbolics, &known->dims[d], &fact->dims[d]));
        }
    }
    fact->rank = known->rank;
    return known_list(x, known, fact);
}

static enum sc_status seen(void *arg, const struct sc_node *node, struct sc_fact *const *out)
{
    struct shapes *x = arg;
    struct sc_symbolics *s = &x->symbolics;
    for (int o = 0; o < node->n_out; o++) {
        if (out[o]) {
            s->facts[node->out[o]] = *out[o];
        }
    }
    SC_TRY(sc_symbolics_step(s, node));
    for (int o = 0; o < node->n_out; o++) {
        if (out[o]) {
            SC_TRY(improve(x, &s->values[node->out[o]], out[o]));
            s->facts[node->out[o]] = *out[o];
        }
    }
    return SC_OK;
}

static enum sc_status start(struct shapes *x)
{
    struct sc_symbolics *s = &x->symbolics;
    const struct sc_graph *graph = s->graph;
    s->facts = sc_arena_array(&x->scratch, (size_t)graph->n_values + 1, sizeof *s->facts);
    if (!s->facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        s->facts[v] = graph->values[v].fact;
        if (graph->values[v].place == SC_PLACE_NODE) {
            sc_fact_init(&s->facts[v]); /* what the file says of it is not relied on */
        }
    }
    SC_TRY(sc_symbolics_open(s));
    return sc_symbolics_start(s);
}

static void make_identity(struct sc_node *node)
{
    node->op = "Identity";
    node->n_in = node->n_out = 1;
    node->n_attributes = 0;
}

/* Not of every type that a Cast takes. */
static bool can_be_identity(const struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_node copy = *node;
    const struct sc_fact *in[1] = {&s->facts[node->in[0]]};
    make_identity(&copy);
    return sc_check_types(s->graph, &copy, 1, in) == SC_OK;
}

/* A new constant list in place of input 1. */
static enum sc_status set_target(struct shapes *x, struct sc_node *node, int64_t n, const int64_t *target)
{
    struct sc_graph *graph = x->edit.graph;
    struct sc_weight weight = {.file = -1};
    int value;
    SC_TRY(sc_tensor_new(graph->arena, SC_I64, 1, &n, &weight.shape));
    if (n) {
        memcpy(weight.shape.data, target, (size_t)n * sizeof *target);
    }
    weight.decoded = weight.shape.data;
    SC_TRY(sc_edit_value(&x->edit, sc_edit_label(graph, node), "target", &value));
    SC_TRY(sc_graph_add_weight(graph, &weight, value));
    node->in[1] = value;
    return SC_OK;
}

/* 0 copies a dim, -1 is what is left. -1 means nothing where the others come to no element, so it goes with none that
 * may be 0. */
static bool reshape_target(const struct shapes *x, const struct sc_node *node, const struct sc_symbolic *in,
    const struct sc_symbolic *out, int64_t *target)
{
    int64_t keeps_zero;
    int rest = -1;
    bool some = true; /* all other dims are at least 1 */
    if (sc_node_int(node, "allowzero", 0, &keeps_zero) != SC_OK || keeps_zero) {
        return false;
    }
    for (int d = 0; d < out->rank; d++) {
        const struct sc_size *dim = &out->dims[d];
        struct sc_size less = *dim;
        less.constant--;
        if (sc_size_constant(dim) && dim->constant > 0) {
            target[d] = dim->constant;
        } else if (d < in->rank && sc_size_equal(dim, &in->dims[d])) {
            target[d] = 0;
            some &= sc_size_not_negative(&x->symbolics, &less);
        } else if (rest < 0) {
            rest = d;
            target[d] = -1;
        } else {
            return false;
        }
    }
    return rest < 0 || some;
}

/* A dim of 1 in the target leaves the input's as it is. */
static bool expand_target(const struct sc_symbolic *in, const struct sc_symbolic *out, int64_t *target)
{
    for (int d = 0; d < out->rank; d++) {
        const int at = d - (out->rank - in->rank);
        if (at >= 0 && sc_size_equal(&out->dims[d], &in->dims[at])) {
            target[d] = 1;
        } else if (sc_size_constant(&out->dims[d])) {
            target[d] = out->dims[d].constant;
        } else {
            return false;
        }
    }
    return true;
}

static bool same_dims(const struct sc_symbolic *a, const struct sc_symbolic *b)
{
    return a->rank >= 0 && a->rank == b->rank &&
        (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

/* Without steps a slice of the whole is in order. */
static bool forward(const struct sc_node *node, const struct sc_fact *facts)
{
    const struct sc_tensor *steps = node->n_in > 4 && node->in[4] >= 0 ? facts[node->in[4]].value : NULL;
    if (node->n_in <= 4 || node->in[4] < 0) {
        return true;
    }
    for (int64_t i = 0; steps && i < sc_tensor_count(steps); i++) {
        if (sc_index_at(steps, i) != 1) {
            return false;
        }
    }
    return steps != NULL;
}

static bool does_nothing(const struct shapes *x, const struct sc_node *node)
{
    const struct sc_symbolics *s = &x->symbolics;
    const struct sc_symbolic *in = &s->values[node->in[0]], *out = &s->values[node->out[0]];
    const enum sc_type from = s->facts[node->in[0]].type, to = s->facts[node->out[0]].type;
    if (strcmp(node->op, "Cast") == 0) {
        return from == to && from != SC_TYPE_NONE;
    }
    const bool reshapes = strcmp(node->op, "Reshape") == 0 && node->version >= 5;
    const bool slices = strcmp(node->op, "Slice") == 0 && node->version >= 10 && forward(node, s->facts);
    return (reshapes || slices || strcmp(node->op, "Expand") == 0) && same_dims(in, out);
}

static enum sc_status simplify(struct shapes *x, struct sc_node *node)
{
    const struct sc_symbolics *s = &x->symbolics;
    int64_t target[SC_SYMBOLIC_RANK];
    if (node->dead || node->domain[0] || node->n_in < 1 || node->in[0] < 0 || node->n_out < 1 || node->out[0] < 0 ||
        s->facts[node->in[0]].kind != SC_KIND_TENSOR) {
        return SC_OK;
    }
    if (does_nothing(x, node) && can_be_identity(s, node)) {
        make_identity(node);
        return SC_OK;
    }
    const struct sc_symbolic *in = &s->values[node->in[0]], *out = &s->values[node->out[0]];
    if (node->n_in != 2 || node->in[1] < 0 || in->rank < 0 || out->rank < 0 || s->facts[node->in[1]].value) {
        return SC_OK;
    }
    const bool made = strcmp(node->op, "Reshape") == 0
        ? reshape_target(x, node, in, out, target)
        : strcmp(node->op, "Expand") == 0 && expand_target(in, out, target);
    return made ? set_target(x, node, out->rank, target) : SC_OK;
}

enum sc_status sc_pass_shapes(struct sc_model *model, const struct sc_kernels *kernels)
{
    struct sc_graph *graph = model->graph;
    struct shapes x = {.symbolics = {.graph = graph, .model = model}};
    x.symbolics.arena = &x.scratch;
    enum sc_status status = start(&x);
    if (status == SC_OK) {
        status = sc_pass_infer_watched(graph, kernels, &(struct sc_infer_watch){seen, &x});
    }
    for (int v = 0; v < graph->n_values && status == SC_OK; v++) {
        x.symbolics.facts[v] = graph->values[v].fact; /* contents that inference had were its own, and are gone */
    }
    if (status == SC_OK) {
        sc_edit_open(&x.edit, model);
        x.edit.graph = graph;
    }
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        status = simplify(&x, &graph->nodes[n]);
    }
    sc_arena_release(&x.scratch);
    return status;
}

enum sc_status sc_pass_describe(
    struct sc_model *model, const struct sc_kernels *kernels, struct sc_arena *arena, struct sc_fact **facts)
{
    struct shapes x = {.symbolics = {.graph = model->graph, .model = model}};
    x.symbolics.arena = &x.scratch;
    for (int k = 0; k < SC_SYMBOLS; k++) {
        x.symbolics.least[k] = 1;
    }
    struct sc_fact *made = sc_arena_array(arena, (size_t)model->graph->n_values + 1, sizeof *made);
    enum sc_status status = made ? start(&x) : SC_NO_MEMORY;
    if (status == SC_OK) {
        memcpy(made, x.symbolics.facts, (size_t)model->graph->n_values * sizeof *made);
        status = sc_infer_graph(model->graph, kernels, &x.scratch, &(struct sc_infer_watch){seen, &x}, made);
    }
    for (int v = 0; v < model->graph->n_values && status == SC_OK; v++) {
        made[v].value = NULL; /* what is known goes with the scratch */
    }
    sc_arena_release(&x.scratch);
    if (status == SC_OK) {
        *facts = made;
    }
    return status;
}
