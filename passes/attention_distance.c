/* SPDX-License-Identifier: Apache-2.0
 * Biases that depend on a key's distance from the query, and on the head, alone. A line along the keys becomes a slope
 * per head. Anything else becomes a table, if beyond some distance the bias is proven to be one number on either side:
 * the recipe of the bias, made of a few distances in place of all queries and keys.
 *
 *   keys - queries [q, k] ── Abs ── Log ── Min ── Gather(buckets) ── Transpose ── bias [heads, q, k]
 *
 *   becomes    [-before .. after] ── Abs ── Log ── Min ── Gather(buckets) ── Transpose ── table [heads, distances]
 *
 * which reads constants alone, so that other passes make it a weight of each stage that reads it. */
#include <math.h>
#include <string.h>

#include "passes/attention_parts.h"
#include "passes/interval.h"
#include "passes/symbolic_parts.h"
#include "tensor/convert.h"

enum { MOST_DISTANCES = 4096 };
#define FAR ((int64_t)1 << 30) /* no text is longer */

/* What a value is to the recipe. Its form is sign times the distance, and shift. */
struct place {
    enum { UNSEEN, LEAF, MADE } role;
    int64_t sign, shift;
    struct sc_interval interval; /* MADE: between what its elements lie, of the distances looked at last */
    int copy; /* the value made of all distances; -1: not yet */
};

/* Passes renumber nodes as they append them: what is asked of the graph is asked before. */
struct recipe {
    struct sc_attention_recipe is;
    const struct sc_symbolics *s;
    struct place *places; /* by value of the graph */
    int n_nodes, *nodes; /* that make it, the last one first */
    int result;
    int64_t sign, shift;
};

static const struct sc_symbolic *known(const struct recipe *r, int value)
{
    return &r->s->values[value];
}

static bool is_move(const struct sc_node *node)
{
    static const char *const names[] = {"Expand", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
    bool listed = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        listed |= strcmp(names[i], node->op) == 0;
    }
    return listed && !node->domain[0];
}

static bool is_look_up(const struct sc_node *node)
{
    return strcmp(node->op, "Gather") == 0;
}

/* The value has a part in the recipe, at these distances. false: it has another part already, or nobody knows it. */
static bool place_value(struct recipe *r, int value, int64_t sign, int64_t shift)
{
    struct place *place = &r->places[value];
    const struct sc_symbolic *x = known(r, value);
    if (place->role != UNSEEN) {
        return place->sign == sign && place->shift == shift;
    }
    const bool made = x->kind == SC_SYMBOLIC_FUNCTION;
    const struct sc_graph_value *v = &r->s->graph->values[value];
    *place = (struct place){.role = made ? MADE : LEAF, .sign = sign, .shift = shift, .copy = -1};
    return !made || (v->place == SC_PLACE_NODE && v->producer >= 0 && v->output == 0);
}

/* The inputs of a node that makes part of it: what they are of the distance follows from what the output is. */
static bool place_inputs(struct recipe *r, const struct sc_node *node)
{
    const struct sc_symbolic *out = known(r, node->out[0]);
    const struct place *place = &r->places[node->out[0]];
    double number;
    if (is_move(node)) {
        return place_value(r, node->in[0], place->sign, place->shift);
    }
    if (sc_symbolic_looks_up(r->s, node)) {
        return place_value(r, node->in[1], place->sign, place->shift);
    }
    bool all = sc_interval_knows(node);
    for (int i = 0; i < node->n_in && all; i++) {
        struct sc_form form;
        int64_t sign, shift;
        if (node->in[i] < 0 || sc_symbolic_number(r->s, known(r, node->in[i]), &number)) {
            continue;
        }
        const struct sc_symbolic *in = known(r, node->in[i]);
        all = sc_symbolic_is_function(in);
        if (all) {
            form = *in->form;
            sc_symbolic_lift(&form, in->rank, in->dims, out->rank);
            all = sc_form_along(&form, out->form, &sign, &shift) &&
                place_value(r, node->in[i], sign * place->sign, sign * place->shift + shift);
        }
    }
    return all;
}

/* What the value is made of, back to places and numbers. false: of something else too. */
static bool follow(struct recipe *r)
{
    const struct sc_graph *graph = r->s->graph;
    if (!place_value(r, r->result, r->sign, r->shift)) {
        return false;
    }
    for (int n = graph->values[r->result].producer; n >= 0; n--) {
        const struct sc_node *node = &graph->nodes[n];
        if (node->dead || node->n_out < 1 || node->out[0] < 0 || r->places[node->out[0]].role != MADE) {
            continue;
        }
        if (!place_inputs(r, node)) {
            return false;
        }
        r->nodes[r->n_nodes++] = n;
    }
    return true;
}

/* The element of a leaf where its form is `at`: rising or falling along it. */
static double leaf_element(const struct sc_symbolic *leaf, int64_t at)
{
    switch (leaf->kind) {
    case SC_SYMBOLIC_TEST:
        return at >= 0;
    case SC_SYMBOLIC_CHOICE:
        return at >= 0 ? leaf->yes : leaf->no;
    case SC_SYMBOLIC_SLOPES:
        return (double)(*leaf->scale * (float)at);
    default:
        return (double)at;
    }
}

/* Input i over distances from `least` to `most`. false: it is absent. */
static bool operand(
    const struct recipe *r, const struct sc_node *node, int i, const int64_t range[2], struct sc_interval *x)
{
    const int value = i < node->n_in ? node->in[i] : -1;
    double number;
    if (value < 0) {
        return false;
    }
    const struct place *place = &r->places[value];
    if (place->role == MADE) {
        *x = place->interval;
    } else if (place->role == LEAF) {
        const double a = leaf_element(known(r, value), place->sign * range[0] + place->shift);
        const double b = leaf_element(known(r, value), place->sign * range[1] + place->shift);
        *x = (struct sc_interval){a < b ? a : b, a < b ? b : a, a == b};
    } else {
        (void)sc_symbolic_number(r->s, known(r, value), &number);
        *x = (struct sc_interval){number, number, true};
    }
    return true;
}

/* Goes through the recipe for all distances of a range at once. false: a run with some of them might fail. */
static bool evaluate(struct recipe *r, int64_t least, int64_t most)
{
    const int64_t range[2] = {least, most};
    for (int n = r->n_nodes - 1; n >= 0; n--) {
        const struct sc_node *node = &r->s->graph->nodes[r->nodes[n]];
        struct sc_interval in[SC_INTERVAL_MOST], *out = &r->places[node->out[0]].interval;
        const struct sc_interval *at[SC_INTERVAL_MOST] = {NULL};
        if (is_move(node)) {
            (void)operand(r, node, 0, range, out);
        } else if (is_look_up(node)) {
            const double rows = (double)known(r, node->in[0])->dims[0].constant;
            (void)operand(r, node, 1, range, &in[0]);
            *out = (struct sc_interval){-INFINITY, INFINITY, in[0].same};
            if (!(in[0].least >= -rows && in[0].most < rows)) {
                return false;
            }
        } else {
            for (int i = 0; i < SC_INTERVAL_MOST; i++) {
                at[i] = operand(r, node, i, range, &in[i]) ? &in[i] : NULL;
            }
            *out = sc_interval_of(node, r->s->facts[node->out[0]].type, at);
        }
    }
    return true;
}

/* From how far on, towards keys before the query (-1) or after it (1), it is one number; -1: not known. */
static int64_t find_end(struct recipe *r, int side)
{
    for (int64_t from = 0; from <= MOST_DISTANCES; from = from ? 2 * from : 1) {
        if (evaluate(r, side < 0 ? -FAR : from, side < 0 ? -from : FAR) && r->places[r->result].interval.same) {
            return from;
        }
    }
    return -1;
}

enum sc_status sc_attention_settle_slopes(struct sc_attention_finder *f, int value, double factor, bool *settled)
{
    struct sc_attention_match *match = f->match;
    const struct sc_symbolic *bias = &f->s->values[value];
    const int lift = 4 - bias->rank;
    *settled = false;
    if (bias->kind != SC_SYMBOLIC_SLOPES || lift < 0 || lift > 3 || match->slopes ||
        f->s->facts[match->q].type != SC_F32 || (bias->slope >= 0 && bias->slope + lift != 1) ||
        !sc_attention_spreads(f, value)) {
        return SC_OK;
    }
    for (int d = 0; d + 1 < bias->rank; d++) {
        if (bias->form->index[d] != 0 && d + lift != 2) {
            return SC_OK;
        }
    }
    match->n_slopes = (int)f->dims[1].constant;
    match->slopes = sc_arena_array(f->s->arena, (size_t)match->n_slopes, sizeof *match->slopes);
    if (!match->slopes) {
        return SC_NO_MEMORY;
    }
    for (int h = 0; h < match->n_slopes; h++) {
        match->slopes[h] =
            (float)((double)bias->scale[bias->slope < 0 ? 0 : h] * (double)bias->form->index[bias->rank - 1] * factor);
    }
    *settled = true;
    return SC_OK;
}

/* One number on either side of some distances, and none that a run might fail with. */
static bool find_ends(struct recipe *r)
{
    const int64_t before = find_end(r, -1), after = before < 0 ? -1 : find_end(r, 1);
    bool good = after >= 0;
    for (int64_t d = -before; good && d <= after; d++) {
        good = evaluate(r, d, d);
    }
    r->is = (struct sc_attention_recipe){.before = before, .n = before + 1 + after, .table = -1};
    return good;
}

static enum sc_status open_recipe(
    const struct sc_symbolics *s, int value, int64_t sign, int64_t shift, struct sc_attention_recipe **opened)
{
    struct recipe *r = sc_arena_alloc(s->arena, sizeof *r);
    struct place *places = sc_arena_array(s->arena, (size_t)s->graph->n_values + 1, sizeof *places);
    int *nodes = sc_arena_array(s->arena, (size_t)s->graph->n_nodes + 1, sizeof *nodes);
    if (!r || !places || !nodes) {
        return SC_NO_MEMORY;
    }
    *r = (struct recipe){.s = s, .places = places, .nodes = nodes, .result = value, .sign = sign, .shift = shift};
    *opened = follow(r) && find_ends(r) ? &r->is : NULL;
    return SC_OK;
}

enum sc_status sc_attention_settle_table(struct sc_attention_finder *f, int value, double factor, bool *settled)
{
    struct sc_attention_match *match = f->match;
    const struct sc_symbolic *bias = &f->s->values[value];
    const struct sc_form distance = sc_attention_distance(f);
    const int lift = 4 - bias->rank;
    int64_t sign, shift;
    *settled = false;
    if (bias->rank < 0 || bias->kind != SC_SYMBOLIC_FUNCTION || lift < 0 || match->distances || factor != 1 ||
        f->s->facts[value].type != f->s->facts[match->q].type || (bias->slope >= 0 && bias->slope + lift != 1) ||
        !sc_attention_spreads(f, value)) {
        return SC_OK;
    }
    struct sc_form form = *bias->form;
    sc_symbolic_lift(&form, bias->rank, bias->dims, 4);
    if (!sc_form_along(&form, &distance, &sign, &shift)) {
        return SC_OK;
    }
    if (!f->recipes[value]) { /* layers share one */
        SC_TRY(open_recipe(f->s, value, sign, shift, &f->recipes[value]));
    }
    match->distances = f->recipes[value];
    *settled = match->distances != NULL;
    return SC_OK;
}

/* A leaf of all distances, [n, 1]. */
static enum sc_status append_leaf(struct sc_edit *edit, const struct recipe *r, const struct sc_node *like, int value)
{
    const int64_t n = r->is.n, dims[2] = {n, 1};
    const enum sc_type type = r->s->facts[value].type;
    struct place *place = &r->places[value];
    struct sc_tensor tensor;
    SC_TRY(sc_tensor_new(edit->graph->arena, type, 2, dims, &tensor));
    for (int64_t d = 0; d < n; d++) {
        const double element = leaf_element(known(r, value), place->sign * (d - r->is.before) + place->shift);
        sc_convert(SC_F64, &element, type, (char *)tensor.data + d * (int64_t)sc_type_bytes(type), 1, 0);
    }
    const struct sc_weight added = {.shape = tensor, .decoded = tensor.data, .file = -1};
    SC_TRY(sc_edit_value(edit, sc_edit_label(edit->graph, like), "distances", &place->copy));
    return sc_graph_add_weight(edit->graph, &added, place->copy);
}

/* What the recipe reads for `value`. */
static enum sc_status append_operand(
    struct sc_edit *edit, const struct recipe *r, const struct sc_node *like, int value, int *copy)
{
    const struct place *place = &r->places[value];
    double number;
    if (place->role == UNSEEN) {
        (void)sc_symbolic_number(r->s, known(r, value), &number);
        return sc_edit_number(
            edit, sc_edit_label(edit->graph, like), "number", r->s->facts[value].type, 0, number, copy);
    }
    SC_TRY(place->role == LEAF && place->copy < 0 ? append_leaf(edit, r, like, value) : SC_OK);
    *copy = place->copy;
    return SC_OK;
}

/* Rows from the table of each distance, [n, heads]. */
static enum sc_status append_look_up(struct sc_edit *edit, const struct sc_node *like, enum sc_type type, int *value)
{
    const char *label = sc_edit_label(edit->graph, like);
    struct sc_node gather;
    int rows, in[2] = {like->in[0], *value};
    SC_TRY(sc_edit_value(edit, label, "rows", &rows));
    edit->graph->values[rows].fact.kind = SC_KIND_TENSOR;
    edit->graph->values[rows].fact.type = type;
    SC_TRY(sc_edit_node(edit, like, "Gather", like->version, 2, in, 1, &rows, &gather));
    gather.attributes = like->attributes;
    gather.n_attributes = like->n_attributes;
    SC_TRY(sc_edit_append(edit, &gather));
    in[0] = rows;
    SC_TRY(sc_edit_number(edit, label, "axis", SC_I64, 1, 1, &in[1]));
    return sc_attention_append_node(edit, like, "Squeeze", 13, 2, in, type, value);
}

static enum sc_status append_copy(struct sc_edit *edit, const struct recipe *r, const struct sc_node *like)
{
    const enum sc_type type = r->s->facts[like->out[0]].type;
    int *copy = &r->places[like->out[0]].copy, in[SC_INTERVAL_MOST];
    struct sc_node node;
    if (is_move(like)) {
        return append_operand(edit, r, like, like->in[0], copy);
    }
    if (is_look_up(like)) {
        SC_TRY(append_operand(edit, r, like, like->in[1], copy));
        return append_look_up(edit, like, type, copy);
    }
    for (int i = 0; i < like->n_in; i++) {
        in[i] = -1;
        SC_TRY(like->in[i] < 0 ? SC_OK : append_operand(edit, r, like, like->in[i], &in[i]));
    }
    SC_TRY(sc_edit_value(edit, sc_edit_label(edit->graph, like), "by distance", copy));
    edit->graph->values[*copy].fact.kind = SC_KIND_TENSOR;
    edit->graph->values[*copy].fact.type = type;
    SC_TRY(sc_edit_node(edit, like, like->op, like->version, like->n_in, in, 1, copy, &node));
    node.attributes = like->attributes;
    node.n_attributes = like->n_attributes;
    return sc_edit_append(edit, &node);
}

enum sc_status sc_attention_append_table(
    struct sc_edit *edit, const struct sc_node *final, struct sc_attention_recipe *recipe)
{
    static const int64_t swap[2] = {1, 0};
    struct recipe *r = (struct recipe *)recipe;
    if (recipe->table >= 0) {
        return SC_OK;
    }
    for (int n = r->n_nodes - 1; n >= 0; n--) {
        SC_TRY(append_copy(edit, r, &r->s->graph->nodes[r->nodes[n]]));
    }
    recipe->table = r->places[r->result].copy;
    return sc_attention_append_transpose(edit, final, r->s->facts[r->result].type, 2, swap, &recipe->table);
}
