/* SPDX-License-Identifier: Apache-2.0
 * Operators that make values of new dims: ranges, constants, products, splits. */
#include <string.h>

#include "passes/symbolic_parts.h"

static enum sc_status range(struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_size from[SC_SYMBOLIC_MOST], to[SC_SYMBOLIC_MOST], n;
    int64_t step[SC_SYMBOLIC_MOST];
    int n_from, n_to, n_step;
    if (!sc_symbolic_list(sc_symbolic_in(s, node, 0), &n_from, from) ||
        !sc_symbolic_list(sc_symbolic_in(s, node, 1), &n_to, to) ||
        !sc_symbolic_ints(sc_symbolic_in(s, node, 2), &n_step, step) || n_from != 1 || n_to != 1 || n_step != 1 ||
        step[0] != 1 || !sc_size_add(&to[0], &from[0], -1, &n) || !sc_size_not_negative(s, &n)) {
        return SC_OK;
    }
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    const struct sc_form form = {.base = from[0], .index = {1}};
    SC_TRY(sc_symbolic_set(s, out, 1, &n));
    return sc_symbolic_set_form(s, out, SC_SYMBOLIC_FORM, &form);
}

static enum sc_status constant_of_shape(struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_size dims[SC_SYMBOLIC_MOST];
    int n;
    if (!sc_symbolic_list(sc_symbolic_in(s, node, 0), &n, dims) || n > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    SC_TRY(sc_symbolic_set(s, out, n, dims));
    const struct sc_attribute *attribute = sc_node_attribute(node, "value");
    const struct sc_tensor *value = attribute && attribute->type == SC_ATTRIBUTE_TENSOR ? attribute->u.tensor : NULL;
    struct sc_form form = {.base = {0}};
    if (!value) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &form);
    }
    if (value->type == SC_F32 || value->type == SC_F16) {
        struct sc_symbolic one = {.rank = -1};
        const struct sc_size single = {.constant = 1};
        SC_TRY(sc_symbolic_set(s, &one, 1, &single));
        SC_TRY(sc_symbolic_of_constant(s, value, &one));
        return one.kind == SC_SYMBOLIC_CHOICE ? sc_symbolic_set_like(s, out, &one) : SC_OK;
    }
    if (value->type == SC_BOOL) {
        form.base.constant = *(const uint8_t *)value->data ? 0 : -1;
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &form);
    }
    if ((value->type == SC_I64 || value->type == SC_I32) && sc_index_at(value, 0) < INT32_MAX &&
        sc_index_at(value, 0) > -INT32_MAX) {
        form.base.constant = sc_index_at(value, 0);
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_FORM, &form);
    }
    return SC_OK;
}

/* Floats or booleans that are the same everywhere, above or below a diagonal: another number there, 0 elsewhere. */
static enum sc_status trilu(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    int64_t upper, k[SC_SYMBOLIC_MOST] = {0};
    int n = 1;
    if (!in || in->rank < 2 || sc_node_int(node, "upper", 1, &upper) != SC_OK ||
        (sc_symbolic_in(s, node, 1) && !sc_symbolic_ints(sc_symbolic_in(s, node, 1), &n, k)) || n != 1) {
        return SC_OK;
    }
    SC_TRY(sc_symbolic_set(s, out, in->rank, in->dims));
    if (in->kind == SC_SYMBOLIC_ANY || in->kind == SC_SYMBOLIC_LIST) {
        return SC_OK;
    }
    const int holds = sc_form_holds(s, in->form, in->rank, in->dims);
    struct sc_form form = {.base = {.constant = upper ? -k[0] : k[0]}};
    form.index[in->rank - 1] = upper ? 1 : -1;
    form.index[in->rank - 2] = upper ? -1 : 1;
    if (in->kind == SC_SYMBOLIC_CHOICE && holds >= 0) {
        out->yes = holds ? in->yes : in->no;
        out->no = 0;
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &form);
    }
    return in->kind == SC_SYMBOLIC_TEST && holds == 1 ? sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &form) : SC_OK;
}

/* The indices are those of the first dims in order, up to `last` of the element: a Concat of each dim's own places. */
static bool are_places(const struct sc_symbolics *s, const struct sc_graph *graph, int indices, int rank)
{
    const struct sc_graph_value *value = indices < 0 ? NULL : &graph->values[indices];
    const struct sc_node *concat =
        value && value->place == SC_PLACE_NODE && value->producer >= 0 ? &graph->nodes[value->producer] : NULL;
    const struct sc_symbolic *all = indices < 0 ? NULL : &s->values[indices];
    if (!concat || strcmp(concat->op, "Concat") != 0 || concat->domain[0] || concat->n_in != rank ||
        all->rank != rank + 1 || sc_symbolic_axis(concat, "axis", 0, all->rank) != rank) {
        return false;
    }
    for (int d = 0; d < rank; d++) {
        struct sc_form form, want = {{0}, {0}};
        want.index[d] = !sc_size_is(&all->dims[d], 1);
        if (!sc_symbolic_form(&s->values[concat->in[d]], &form) || memcmp(&form, &want, sizeof form) != 0) {
            return false;
        }
    }
    return true;
}

/* Every element of the data is replaced by its own update: the updates are what comes out. */
static enum sc_status scatter(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *data = sc_symbolic_in(s, node, 0), *updates = sc_symbolic_in(s, node, 2);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    const char *reduction;
    if (!data || data->rank < 1 || node->n_in != 3 || sc_node_text(node, "reduction", "none", &reduction) != SC_OK) {
        return SC_OK;
    }
    SC_TRY(sc_symbolic_set(s, out, data->rank, data->dims));
    const bool whole = updates && updates->rank == data->rank && strcmp(reduction, "none") == 0 &&
        memcmp(updates->dims, data->dims, (size_t)data->rank * sizeof *data->dims) == 0 &&
        are_places(s, s->graph, node->in[1], data->rank) &&
        memcmp(s->values[node->in[1]].dims, data->dims, (size_t)data->rank * sizeof *data->dims) == 0;
    return whole && updates->kind >= SC_SYMBOLIC_FORM ? sc_symbolic_set_like(s, out, updates) : SC_OK;
}

static enum sc_status matmul(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *a = sc_symbolic_in(s, node, 0), *b = sc_symbolic_in(s, node, 1);
    struct sc_size dims[SC_SYMBOLIC_RANK];
    int rank;
    if (!a || !b || a->rank < 2 || b->rank < 2 ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){a->rank - 2, a->dims}, &(struct sc_shape){b->rank - 2, b->dims}, &rank, dims) ||
        rank + 2 > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    dims[rank] = a->dims[a->rank - 2];
    dims[rank + 1] = b->dims[b->rank - 1];
    return sc_symbolic_set(s, sc_symbolic_out(s, node, 0), rank + 2, dims);
}

/* Heads as dims; present keys and values are the past ones and the new. */
static enum sc_status attention(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *q = sc_symbolic_in(s, node, 0);
    for (int i = 1; i <= 2; i++) {
        const struct sc_symbolic *new = sc_symbolic_in(s, node, i), *past = sc_symbolic_in(s, node, i + 3);
        struct sc_size dims[4];
        if (!q || !new || q->rank != 4 || new->rank != 4 || (past && past->rank != 4)) {
            return SC_OK;
        }
        memcpy(dims, new->dims, sizeof dims);
        if (past && !sc_size_add(&dims[2], &past->dims[2], 1, &dims[2])) {
            return SC_OK;
        }
        SC_TRY(sc_symbolic_set(s, sc_symbolic_out(s, node, i), 4, dims));
        const struct sc_size y[4] = {q->dims[0], q->dims[1], q->dims[2], new->dims[3]};
        SC_TRY(i == 2 ? sc_symbolic_set(s, sc_symbolic_out(s, node, 0), 4, y) : SC_OK);
    }
    return SC_OK;
}

static enum sc_status gemm(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *a = sc_symbolic_in(s, node, 0), *b = sc_symbolic_in(s, node, 1);
    int64_t turned_a, turned_b;
    if (!a || !b || a->rank != 2 || b->rank != 2 || sc_node_int(node, "transA", 0, &turned_a) != SC_OK ||
        sc_node_int(node, "transB", 0, &turned_b) != SC_OK) {
        return SC_OK;
    }
    const struct sc_size dims[2] = {a->dims[turned_a ? 1 : 0], b->dims[turned_b ? 0 : 1]};
    return sc_symbolic_set(s, sc_symbolic_out(s, node, 0), 2, dims);
}

static enum sc_status split(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    if (!in || in->rank < 1) {
        return SC_OK;
    }
    const int axis = sc_symbolic_axis(node, "axis", 0, in->rank);
    int64_t sizes[SC_SYMBOLIC_MOST];
    const int64_t *given = sizes;
    int n = -1;
    if (axis < 0 ||
        (sc_symbolic_in(s, node, 1) ? !sc_symbolic_ints(sc_symbolic_in(s, node, 1), &n, sizes)
                                    : sc_node_ints(node, "split", &n, &given) != SC_OK)) {
        return SC_OK;
    }
    const int64_t all = sc_size_constant(&in->dims[axis]) ? in->dims[axis].constant : -1;
    if (n >= 0 ? n != node->n_out : all < 0 || all % node->n_out != 0) {
        return SC_OK;
    }
    for (int o = 0; o < node->n_out; o++) {
        struct sc_size dims[SC_SYMBOLIC_RANK];
        memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
        dims[axis] = (struct sc_size){.constant = n >= 0 ? given[o] : all / node->n_out};
        SC_TRY(sc_symbolic_set(s, sc_symbolic_out(s, node, o), in->rank, dims));
    }
    return SC_OK;
}

static enum sc_status tile(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_size repeats[SC_SYMBOLIC_MOST], dims[SC_SYMBOLIC_RANK];
    const struct sc_size zero = {0};
    bool once = true; /* one copy of the elements */
    int n;
    if (!in || in->rank < 0 || !sc_symbolic_list(sc_symbolic_in(s, node, 1), &n, repeats) || n != in->rank) {
        return SC_OK;
    }
    for (int d = 0; d < n; d++) {
        once &= sc_size_is(&repeats[d], 1);
        const bool by_count = sc_size_constant(&repeats[d]); /* which of the two is the factor */
        const struct sc_size *factor = by_count ? &repeats[d] : &in->dims[d];
        if (!sc_size_constant(factor) ||
            !sc_size_add(&zero, by_count ? &in->dims[d] : &repeats[d], factor->constant, &dims[d])) {
            return SC_OK;
        }
    }
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    if (once) {
        *out = *in;
        return SC_OK;
    }
    return sc_symbolic_set(s, out, n, dims);
}

/* A piece of the data for each index, which stands along the last dim. */
static enum sc_status gather_nd(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *data = sc_symbolic_in(s, node, 0), *at = sc_symbolic_in(s, node, 1);
    struct sc_size dims[2 * SC_SYMBOLIC_RANK];
    int64_t batch;
    if (!data || !at || data->rank < 1 || at->rank < 1 || sc_node_int(node, "batch_dims", 0, &batch) != SC_OK) {
        return SC_OK;
    }
    const struct sc_size *picked = &at->dims[at->rank - 1];
    if (!sc_size_constant(picked) || picked->constant < 1 || batch < 0 || batch >= at->rank ||
        picked->constant > data->rank - batch) {
        return SC_OK;
    }
    const int rest = data->rank - (int)batch - (int)picked->constant, rank = at->rank - 1 + rest;
    memcpy(dims, at->dims, (size_t)(at->rank - 1) * sizeof *dims);
    memcpy(dims + at->rank - 1, data->dims + data->rank - rest, (size_t)rest * sizeof *dims);
    return sc_symbolic_set(s, sc_symbolic_out(s, node, 0), rank, dims);
}

/* An element for each index. */
static enum sc_status gather_elements(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *at = sc_symbolic_in(s, node, 1);
    return at && at->rank >= 0 ? sc_symbolic_set(s, sc_symbolic_out(s, node, 0), at->rank, at->dims) : SC_OK;
}

sc_symbolic_op sc_symbolic_make_op(const char *name)
{
    static const struct {
        const char *name;
        sc_symbolic_op op;
    } table[] = {{"Range", range}, {"ConstantOfShape", constant_of_shape}, {"Trilu", trilu}, {"MatMul", matmul},
        {"Gemm", gemm}, {"ScatterND", scatter}, {"Attention", attention}, {"Split", split}, {"Tile", tile},
        {"GatherElements", gather_elements}, {"GatherND", gather_nd}};
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        if (strcmp(table[k].name, name) == 0) {
            return table[k].op;
        }
    }
    return NULL;
}
