/* SPDX-License-Identifier: Apache-2.0
 * A Gradient becomes the nodes of reverse-mode differentiation of what lies between its xs and its y.
 *
 *   x ─┬─ Exp ── e ── Mul ── y                        x ── Exp ── e ─┬─ Mul ── y
 *      │              w ─┘            becomes         1 ── Mul ── de ┴─ Mul ── dx
 *      └─ Gradient(xs=[x], zs=[w], y=y) ── dx         w ───┘
 *
 * Where a tensor is fed that is not the one that its symbol names, or where y is made after the Gradient, what depends
 * on it is computed once more, on what is fed. y of several elements counts as their sum. */
#include <string.h>

#include "ops/kernels/kernels.h"
#include "passes/gradient.h"
#include "passes/passes.h"

#define MAX_WORK (1 << 24) /* nodes visited for all Gradients of a model */

struct gradient {
    struct sc_edit edit;
    struct sc_arena scratch;
    struct sc_graph *graph;
    int64_t work;
};

/* One Gradient: what its names name. */
struct target {
    const struct sc_node *node;
    int at; /* its place among the nodes */
    int n_xs, n; /* xs come first, then zs */
    int *symbols; /* values by the names */
    int y;
    bool *symbol; /* per value: is one of them */
    bool *needed; /* per value: y depends on it, symbols cutting the way */
};

static bool is_gradient(const struct sc_node *node)
{
    return !node->dead && strcmp(node->op, "Gradient") == 0 && strcmp(node->domain, "ai.onnx.preview.training") == 0;
}

static enum sc_status find_value(
    struct gradient *g, const struct target *t, const char *what, struct sc_string name, int *value)
{
    const char *text = sc_arena_text(&g->scratch, name.data, name.bytes);
    if (!text) {
        return SC_NO_MEMORY;
    }
    *value = strlen(text) == name.bytes ? sc_graph_find(g->graph, text) : -1;
    return *value >= 0
        ? SC_OK
        : sc_node_fail(g->graph, t->node, SC_BAD_MODEL, "%s names '%s', which is no tensor here", what, text);
}

static enum sc_status read_list(struct gradient *g, struct target *t, const char *name)
{
    const struct sc_attribute *list = sc_node_attribute(t->node, name);
    for (int i = 0; list && i < list->n; i++) {
        int value;
        SC_TRY(find_value(g, t, name, list->u.strings[i], &value));
        if (t->symbol[value]) {
            return sc_node_fail(g->graph, t->node, SC_BAD_MODEL, "'%s' is named twice", g->graph->values[value].name);
        }
        t->symbol[value] = true;
        t->symbols[t->n++] = value;
    }
    return SC_OK;
}

static enum sc_status read_target(struct gradient *g, int at, struct target *t)
{
    *t = (struct target){.node = &g->graph->nodes[at], .at = at};
    const struct sc_attribute *xs = sc_node_attribute(t->node, "xs"), *zs = sc_node_attribute(t->node, "zs");
    const int n = xs->n + (zs ? zs->n : 0);
    const size_t n_values = (size_t)g->graph->n_values + 1;
    t->symbols = sc_arena_array(&g->scratch, (size_t)n + 1, sizeof *t->symbols);
    t->symbol = sc_arena_array(&g->scratch, n_values, sizeof *t->symbol);
    t->needed = sc_arena_array(&g->scratch, n_values, sizeof *t->needed);
    if (!t->symbols || !t->symbol || !t->needed) {
        return SC_NO_MEMORY;
    }
    if (t->node->index >= g->edit.model->n_file_nodes) {
        return sc_node_fail(g->graph, t->node, SC_UNSUPPORTED,
            "comes out of a function or a branch, whose tensors have other names now");
    }
    if (t->node->n_in != n || t->node->n_out > xs->n) {
        return sc_node_fail(g->graph, t->node, SC_BAD_MODEL,
            "has %d inputs and %d outputs, want %d and at most %d: one for each of xs and zs, and of xs", t->node->n_in,
            t->node->n_out, n, xs->n);
    }
    SC_TRY(read_list(g, t, "xs"));
    t->n_xs = t->n;
    SC_TRY(read_list(g, t, "zs"));
    return find_value(g, t, "y", sc_node_attribute(t->node, "y")->u.s, &t->y);
}

/* Marks what `marked` depends on; the way ends at symbols when `cut`. *gradient: a Gradient lies on it. */
static enum sc_status mark_back(struct gradient *g, const struct target *t, bool *marked, bool cut, bool *gradient)
{
    g->work += g->graph->n_nodes;
    if (g->work > MAX_WORK) {
        return sc_fail(SC_LIMIT, "the model's Gradients visit more than %d nodes", MAX_WORK);
    }
    for (int n = g->graph->n_nodes - 1; n >= 0; n--) {
        const struct sc_node *node = &g->graph->nodes[n];
        bool live = false;
        for (int o = 0; o < node->n_out; o++) {
            const int out = node->out[o];
            live |= out >= 0 && marked[out] && !(cut && t->symbol[out]);
        }
        if (live) {
            sc_node_mark_reads(node, marked);
            *gradient |= is_gradient(node);
        }
    }
    return SC_OK;
}

/* Symbols are independent of each other, and with constants they determine y. */
static enum sc_status check_independent(struct gradient *g, const struct target *t)
{
    bool gradient = false;
    bool *marked = sc_arena_array(&g->scratch, (size_t)g->graph->n_values + 1, sizeof *marked);
    if (!marked) {
        return SC_NO_MEMORY;
    }
    const struct sc_graph_value *values = g->graph->values;
    for (int i = 0; i < t->n; i++) {
        const int producer = values[t->symbols[i]].place == SC_PLACE_NODE ? values[t->symbols[i]].producer : -1;
        for (int k = 0; producer >= 0 && k < g->graph->nodes[producer].n_in; k++) {
            const int in = g->graph->nodes[producer].in[k];
            if (in >= 0) {
                marked[in] = true;
            }
        }
    }
    SC_TRY(mark_back(g, t, marked, false, &gradient));
    for (int i = 0; i < t->n; i++) {
        if (marked[t->symbols[i]]) {
            return sc_node_fail(g->graph, t->node, SC_BAD_MODEL,
                "another of xs and zs follows from '%s': they are not independent", values[t->symbols[i]].name);
        }
    }
    for (int v = 0; v < g->graph->n_values; v++) {
        if (t->needed[v] && !t->symbol[v] && values[v].place == SC_PLACE_INPUT) {
            return sc_node_fail(g->graph, t->node, SC_BAD_MODEL,
                "'%s' depends on '%s', which is neither in xs nor in zs", values[t->y].name, values[v].name);
        }
    }
    return SC_OK;
}

/* Has to be computed once more, on what is fed: it depends on a symbol that is replaced, or comes too late. */
static bool is_copied(const struct target *t, const struct sc_node *node, int n, const int *map)
{
    bool live = false, copied = n >= t->at;
    for (int o = 0; o < node->n_out; o++) {
        live |= node->out[o] >= 0 && t->needed[node->out[o]] && !t->symbol[node->out[o]];
    }
    for (int i = 0; i < node->n_in; i++) {
        copied |= node->in[i] >= 0 && map[node->in[i]] != node->in[i];
    }
    return live && copied;
}

static enum sc_status copy_node(struct gradient *g, const struct target *t, const struct sc_node *node, int *map)
{
    struct sc_node copy = *node;
    const struct sc_op *op = sc_op_find(node->domain, node->op, node->version);
    bool once = op && op->flags & SC_OP_RANDOM;
    for (int a = 0; a < node->n_attributes; a++) {
        once |= node->attributes[a].type == SC_ATTRIBUTE_GRAPH || node->attributes[a].type == SC_ATTRIBUTE_GRAPHS;
    }
    if (once) {
        return sc_node_fail(g->graph, t->node, SC_UNSUPPORTED,
            "would have to run '%s' (%s) once more, which has a body or draws", node->name, node->op);
    }
    copy.in = sc_arena_array(g->graph->arena, (size_t)node->n_in, sizeof *copy.in);
    copy.out = sc_arena_array(g->graph->arena, (size_t)node->n_out, sizeof *copy.out);
    if (!copy.in || !copy.out) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < node->n_in; i++) {
        copy.in[i] = node->in[i] < 0 ? -1 : map[node->in[i]];
    }
    for (int o = 0; o < node->n_out; o++) {
        copy.out[o] = -1;
        if (node->out[o] >= 0) {
            const char *name = g->graph->values[node->out[o]].name;
            SC_TRY(sc_edit_value(&g->edit, sc_edit_label(g->graph, t->node), name, &copy.out[o]));
            map[node->out[o]] = copy.out[o];
        }
    }
    copy.origins = t->node->origins;
    copy.n_origins = t->node->n_origins;
    copy.index = g->edit.next_index++;
    return sc_edit_append(&g->edit, &copy);
}

/* Appends what y needs before the Gradient; afterwards symbols and y are values that hold what was fed. */
static enum sc_status copy_forward(struct gradient *g, struct target *t, const struct sc_node *nodes, int n)
{
    int *map = sc_arena_array(&g->scratch, (size_t)g->graph->n_values + 1, sizeof *map);
    if (!map) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < g->graph->n_values; v++) {
        map[v] = v;
    }
    for (int i = 0; i < t->n; i++) {
        const int fed = t->node->in[i];
        if (fed != t->symbols[i]) { /* a value of its own: the same one may be fed twice */
            struct sc_node own;
            int *now = &map[t->symbols[i]];
            SC_TRY(sc_edit_value(&g->edit, sc_edit_label(g->graph, t->node), "fed", now));
            SC_TRY(sc_edit_node(&g->edit, t->node, "Identity", 13, 1, &fed, 1, now, &own));
            SC_TRY(sc_edit_append(&g->edit, &own));
        }
    }
    for (int k = 0; k < n; k++) {
        if (is_copied(t, &nodes[k], k, map)) {
            SC_TRY(copy_node(g, t, &nodes[k], map));
        }
    }
    for (int i = 0; i < t->n; i++) {
        t->symbols[i] = map[t->symbols[i]];
    }
    t->y = map[t->y];
    return SC_OK;
}

static bool is_float(const struct sc_fact *fact)
{
    return fact->type == SC_F32 || fact->type == SC_F64 || fact->type == SC_F16 || fact->type == SC_BF16;
}

/* Gradients by value as the walk goes back, and which values depend on xs. */
struct walk {
    struct sc_backward b;
    int *gradient;
    bool *active;
};

static void add_gradient(struct walk *w, int value, int gradient)
{
    const int before = w->gradient[value];
    w->gradient[value] = before < 0 ? gradient : sc_backward_emit(&w->b, "Add", 2, (const int[]){before, gradient});
}

static void go_back(struct gradient *g, const struct target *t, struct walk *w, const struct sc_node *node)
{
    int *dx = sc_arena_array(&g->scratch, (size_t)node->n_in + 1, sizeof *dx);
    int *dy = sc_arena_array(&g->scratch, (size_t)node->n_out + 1, sizeof *dy);
    if (!dx || !dy) {
        w->b.status = SC_NO_MEMORY;
        return;
    }
    bool any_in = false, any_out = false;
    for (int o = 0; o < node->n_out; o++) {
        const bool passes = node->out[o] >= 0 && w->active[node->out[o]] && !t->symbol[node->out[o]];
        dy[o] = passes ? w->gradient[node->out[o]] : -1;
        any_out |= dy[o] >= 0;
    }
    for (int i = 0; i < node->n_in; i++) {
        const bool wanted = node->in[i] >= 0 && w->active[node->in[i]];
        dx[i] = wanted ? SC_WANTED : -1;
        any_in |= wanted;
    }
    if (!any_out) {
        return;
    }
    if (!any_in) {
        sc_backward_refuse(&w->b, node, "it depends on them through a body");
        return;
    }
    sc_backward_node(&w->b, node, dy, dx);
    for (int i = 0; i < node->n_in && w->b.status == SC_OK; i++) {
        if (dx[i] >= 0) {
            add_gradient(w, node->in[i], dx[i]);
        }
    }
}

static bool reads_active(const struct sc_node *node, const bool *active)
{
    bool any = false;
    for (int i = 0; i < node->n_in; i++) {
        any |= node->in[i] >= 0 && active[node->in[i]];
    }
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        const bool bodies = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
        for (int v = 0; bodies && v < attribute->u.graph->n_values; v++) {
            const struct sc_graph_value *value = &attribute->u.graph->values[v];
            any |= value->place == SC_PLACE_OUTER && active[value->outer];
        }
    }
    return any;
}

/* Floats that y needs and that depend on xs. */
static void mark_active(const struct target *t, struct walk *w, const struct sc_node *nodes)
{
    for (int i = 0; i < t->n_xs; i++) {
        w->active[t->symbols[i]] = true;
    }
    for (int n = 0; n < t->at; n++) {
        for (int o = 0; o < nodes[n].n_out && reads_active(&nodes[n], w->active); o++) {
            const int out = nodes[n].out[o];
            if (out >= 0 && t->needed[out] && !t->symbol[out] && is_float(&w->b.facts[out])) {
                w->active[out] = true;
            }
        }
    }
}

/* The number in the shape and type of a value: 0 or 1. */
static int filled_like(struct sc_backward *b, int like, double number)
{
    const struct sc_backward_name name = {"x", like};
    return sc_backward_formula(
        b, number != 0.0 ? "1 x Shape Expand" : "0 x Shape Expand", sc_backward_fact(b, like)->type, 1, &name);
}

/* The nodes of the way back, and one Identity for each output of the Gradient. */
static enum sc_status append_backward(
    struct gradient *g, const struct target *t, struct walk *w, const struct sc_node *nodes)
{
    for (int v = 0; v < w->b.n_facts; v++) {
        w->gradient[v] = -1;
    }
    mark_active(t, w, nodes);
    w->gradient[t->y] = filled_like(&w->b, t->y, 1.0);
    for (int n = t->at - 1; n >= 0 && w->b.status == SC_OK; n--) {
        go_back(g, t, w, &nodes[n]);
    }
    for (int i = 0; i < t->node->n_out && w->b.status == SC_OK; i++) {
        const int x = t->symbols[i];
        if (t->node->out[i] >= 0) {
            const int made = w->gradient[x] >= 0 ? w->gradient[x] : filled_like(&w->b, x, 0.0);
            struct sc_node copy;
            SC_TRY(w->b.status);
            SC_TRY(sc_edit_node(&g->edit, t->node, "Identity", 13, 1, &made, 1, &t->node->out[i], &copy));
            SC_TRY(sc_edit_append(&g->edit, &copy));
        }
    }
    return w->b.status;
}

static enum sc_status append_range(struct gradient *g, const struct sc_node *nodes, int from, int to)
{
    for (int n = from; n < to; n++) {
        SC_TRY(sc_edit_append(&g->edit, &nodes[n]));
    }
    return SC_OK;
}

static enum sc_status check_floats(const struct gradient *g, const struct target *t, const struct sc_fact *facts)
{
    for (int i = 0; i <= t->n_xs; i++) {
        const int value = i < t->n_xs ? t->symbols[i] : t->y;
        if (!is_float(&facts[value])) {
            return sc_node_fail(g->graph, t->node, SC_BAD_MODEL, "'%s' has type %s, which has no derivative",
                g->graph->values[value].name, sc_type_name(facts[value].type));
        }
    }
    return SC_OK;
}

static enum sc_status go_backward(struct gradient *g, struct target *t)
{
    const size_t n_values = (size_t)g->graph->n_values + 1;
    struct sc_fact *facts = sc_arena_array(&g->scratch, n_values, sizeof *facts);
    struct walk w = {.b = {.edit = &g->edit, .like = t->node, .facts = facts, .n_facts = g->graph->n_values}};
    w.gradient = sc_arena_array(&g->scratch, n_values, sizeof *w.gradient);
    w.active = sc_arena_array(&g->scratch, n_values, sizeof *w.active);
    t->symbol = sc_arena_array(&g->scratch, n_values, sizeof *t->symbol);
    t->needed = sc_arena_array(&g->scratch, n_values, sizeof *t->needed);
    if (!facts || !w.gradient || !w.active || !t->symbol || !t->needed) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < g->graph->n_values; v++) {
        facts[v] = g->graph->values[v].fact;
    }
    SC_TRY(sc_infer_graph(g->graph, sc_kernels_at(SC_ISA_BASE), &g->scratch, NULL, facts));
    SC_TRY(check_floats(g, t, facts));
    for (int i = 0; i < t->n; i++) {
        t->symbol[t->symbols[i]] = true;
    }
    bool gradient = false;
    t->needed[t->y] = true;
    SC_TRY(mark_back(g, t, t->needed, true, &gradient));
    int n;
    const struct sc_node *nodes = sc_edit_graph(&g->edit, g->graph, &n);
    SC_TRY(append_range(g, nodes, 0, t->at));
    SC_TRY(append_backward(g, t, &w, nodes));
    return append_range(g, nodes, t->at + 1, n);
}

static enum sc_status go_forward(struct gradient *g, struct target *t)
{
    const struct sc_graph_value *y = &g->graph->values[t->y];
    bool copies = y->place == SC_PLACE_NODE && y->producer > t->at;
    for (int i = 0; i < t->n; i++) {
        copies |= t->node->in[i] != t->symbols[i];
    }
    if (!copies) {
        return SC_OK;
    }
    int n;
    const int at = t->at;
    const struct sc_node *nodes = sc_edit_graph(&g->edit, g->graph, &n);
    SC_TRY(append_range(g, nodes, 0, at));
    SC_TRY(copy_forward(g, t, nodes, n));
    t->at = g->graph->n_nodes;
    return append_range(g, nodes, at, n);
}

/* Replaces the Gradient at `at` unless its y comes out of another one. */
static enum sc_status replace(struct gradient *g, int at, bool *replaced)
{
    struct target t;
    bool gradient = false;
    SC_TRY(read_target(g, at, &t));
    t.needed[t.y] = true;
    SC_TRY(mark_back(g, &t, t.needed, true, &gradient));
    if (gradient) {
        return SC_OK;
    }
    *replaced = true;
    SC_TRY(check_independent(g, &t));
    SC_TRY(go_forward(g, &t));
    return go_backward(g, &t);
}

enum sc_status sc_pass_gradient(struct sc_model *model)
{
    struct gradient g = {.graph = model->graph};
    enum sc_status status = SC_OK;
    sc_edit_open(&g.edit, model);
    for (bool again = true; again && status == SC_OK;) {
        const struct sc_node *stuck = NULL;
        again = false;
        for (int n = 0; n < g.graph->n_nodes && !again && status == SC_OK; n++) {
            if (is_gradient(&g.graph->nodes[n])) {
                stuck = stuck ? stuck : &g.graph->nodes[n];
                status = replace(&g, n, &again);
                sc_arena_reset(&g.scratch);
            }
        }
        if (!again && stuck && status == SC_OK) {
            status = sc_node_fail(g.graph, stuck, SC_BAD_MODEL, "its y depends on itself");
        }
    }
    sc_arena_release(&g.scratch);
    return status;
}
