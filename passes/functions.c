/* SPDX-License-Identifier: Apache-2.0
 * A node that calls a local function of the model becomes the nodes of that function. Calls within functions and within
 * bodies are followed with stacks of their own, since a file says how deep they go.
 *
 *   function twice_plus(a, b) { t = Add(a, a); y = Add(t, b) }
 *
 *   x ─┐                                                  x ── Add ── call/t ─┐
 *      ├─ twice_plus ── z          becomes                                    ├─ Add ── z
 *   w ─┘                                                  w ──────────────────┘
 *
 * Each of them is a unit that plans can place. Attributes that refer to the caller's take its values, or the function's
 * defaults; those that neither has are left out. Values of the function that the caller does not name get new names. */
#include <string.h>

#include "passes/edit.h"
#include "passes/passes.h"

enum {
    ABSENT = -1,
    UNMADE = -2, /* a value of a function that no node emitted so far makes */
    MAX_WORK = 1 << 22 /* nodes and values that calls may come to: 30 functions that call each other twice are a
                          thousand million */
};

/* A list of nodes that is being copied into the edited graph. */
struct frame {
    const struct sc_graph *from;
    const struct sc_node *nodes;
    int n, next;
    int *map; /* value of `from` → value of the edited graph, ABSENT or UNMADE; NULL: the same values */
    const struct sc_node *call; /* whose attributes are referred to; NULL: in no function */
};

/* A graph whose nodes are to be rewritten. */
struct job {
    struct sc_graph *graph;
    int *map; /* as in frame; bodies of functions may read an input that the call leaves out */
    const struct sc_node *call;
    struct job *next;
};

struct expander {
    struct sc_edit edit;
    struct sc_arena scratch;
    struct job *jobs;
    struct frame *frames; /* as many as there are functions, and one: none calls itself */
    int depth;
    int64_t work;
};

static enum sc_status count_work(struct expander *x, int n)
{
    x->work += n;
    return x->work <= MAX_WORK
        ? SC_OK
        : sc_fail(SC_LIMIT, "the model's functions come to more than %d nodes and values", MAX_WORK);
}

static enum sc_status push_job(struct expander *x, struct sc_graph *graph, int *map, const struct sc_node *call)
{
    struct job *job = sc_arena_alloc(&x->scratch, sizeof *job);
    if (!job) {
        return SC_NO_MEMORY;
    }
    *job = (struct job){graph, map, call, x->jobs};
    x->jobs = job;
    return SC_OK;
}

static int mapped(const int *map, int value)
{
    return value < 0 || !map ? value : map[value];
}

/* A copy of a body within a function, to be a body of the edited graph. Its nodes are rewritten by a job of its own. */
static enum sc_status clone_body(
    struct expander *x, const struct frame *frame, const struct sc_graph *body, struct sc_graph **clone)
{
    struct sc_graph *graph = sc_model_new_graph(x->edit.model);
    int *map = sc_arena_array(&x->scratch, (size_t)body->n_values, sizeof *map);
    if (!graph || !map) {
        return SC_NO_MEMORY;
    }
    SC_TRY(count_work(x, body->n_values));
    graph->name = body->name;
    graph->outer = x->edit.graph;
    for (int v = 0; v < body->n_values; v++) {
        const struct sc_graph_value *value = &body->values[v];
        int index;
        SC_TRY(sc_graph_add_value(graph, value->name, &index));
        graph->values[v] = (struct sc_graph_value){.name = graph->values[v].name,
            .fact = value->fact,
            .place = value->place,
            .producer = value->producer,
            .output = value->output,
            .weight = value->weight,
            .outer = value->place == SC_PLACE_OUTER ? mapped(frame->map, value->outer) : -1};
        map[v] = v;
        if (value->place == SC_PLACE_OUTER && graph->values[v].outer < 0) {
            map[v] = ABSENT;
            graph->values[v].place = SC_PLACE_NODE;
            graph->values[v].producer = -1;
        } else if (value->place == SC_PLACE_OUTER) {
            graph->values[v].fact = x->edit.graph->values[graph->values[v].outer].fact;
        }
    }
    for (int o = 0; o < body->n_outputs; o++) {
        if (map[body->outputs[o]] == ABSENT) {
            return sc_fail(SC_BAD_MODEL, "output '%s' of a body is an input that the call of the function leaves out",
                body->values[body->outputs[o]].name);
        }
    }
    graph->weights = body->weights;
    graph->n_weights = graph->cap_weights = body->n_weights;
    graph->inputs = body->inputs;
    graph->n_inputs = body->n_inputs;
    graph->outputs = body->outputs;
    graph->n_outputs = body->n_outputs;
    graph->nodes = body->nodes;
    graph->n_nodes = graph->cap_nodes = body->n_nodes;
    *clone = graph;
    return push_job(x, graph, map, frame->call);
}

/* The attribute of the call, or the function's default, that `attribute` refers to; NULL: neither has it. */
static const struct sc_attribute *referred(const struct sc_node *call, const char *name)
{
    const struct sc_attribute *given = sc_node_attribute(call, name);
    for (int d = 0; !given && d < call->function->n_defaults; d++) {
        given = strcmp(call->function->defaults[d].name, name) == 0 ? &call->function->defaults[d] : NULL;
    }
    return given;
}

static enum sc_status copy_attributes(struct expander *x, const struct frame *frame, struct sc_node *node)
{
    const struct sc_attribute *from = node->attributes;
    const int n = node->n_attributes;
    node->attributes = sc_arena_array(x->edit.graph->arena, (size_t)n, sizeof *node->attributes);
    node->n_attributes = 0;
    if (!node->attributes) {
        return SC_NO_MEMORY;
    }
    for (int a = 0; a < n; a++) {
        struct sc_attribute *to = &node->attributes[node->n_attributes];
        *to = from[a];
        const struct sc_attribute *given = from[a].ref ? referred(frame->call, from[a].ref) : &from[a];
        if (!given) {
            continue;
        }
        if (from[a].ref && (given->type != from[a].type || given->type == SC_ATTRIBUTE_GRAPH)) {
            return sc_node_fail(x->edit.graph, node, SC_BAD_MODEL,
                "attribute '%s' of function '%s' is of another type, or a graph", given->name,
                frame->call->function->name);
        }
        *to = *given;
        to->name = from[a].name;
        if (to->type == SC_ATTRIBUTE_GRAPH) {
            SC_TRY(clone_body(x, frame, from[a].u.graph, &to->u.graph));
        }
        node->n_attributes++;
    }
    return SC_OK;
}

static enum sc_status copy_ports(struct expander *x, const struct frame *frame, struct sc_node *node)
{
    struct sc_arena *arena = x->edit.graph->arena;
    const int *in = node->in, *out = node->out;
    node->in = sc_arena_array(arena, (size_t)node->n_in, sizeof *node->in);
    node->out = sc_arena_array(arena, (size_t)node->n_out, sizeof *node->out);
    if (!node->in || !node->out) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < node->n_in; i++) {
        node->in[i] = mapped(frame->map, in[i]);
    }
    for (int o = 0; o < node->n_out; o++) {
        node->out[o] = mapped(frame->map, out[o]);
        if (out[o] >= 0 && node->out[o] == UNMADE) {
            const char *base = sc_edit_label(x->edit.graph, x->frames[0].nodes + x->frames[0].next - 1);
            SC_TRY(sc_edit_value(&x->edit, base, frame->from->values[out[o]].name, &node->out[o]));
            frame->map[out[o]] = node->out[o];
        }
    }
    return SC_OK;
}

/* A node as it stands in the edited graph: its own struct, with what it refers to in the caller put in. */
static enum sc_status copy_node(struct expander *x, const struct frame *frame, struct sc_node *node)
{
    if (!frame->call) {
        for (int a = 0; a < node->n_attributes; a++) {
            if (node->attributes[a].type == SC_ATTRIBUTE_GRAPH) {
                SC_TRY(push_job(x, node->attributes[a].u.graph, NULL, NULL));
            }
        }
        return SC_OK;
    }
    SC_TRY(count_work(x, 1));
    node->origins = frame->call->origins;
    node->n_origins = frame->call->n_origins;
    node->index = x->edit.next_index++;
    SC_TRY(copy_ports(x, frame, node));
    SC_TRY(x->edit.graph->outer ? SC_OK : sc_edit_unit(&x->edit, node)); /* bodies go with the node that has them */
    return copy_attributes(x, frame, node);
}

static enum sc_status open_call(struct expander *x, const struct sc_node *node)
{
    const struct sc_graph *body = node->function->body;
    if (node->n_in > body->n_inputs || node->n_out > body->n_outputs) {
        return sc_node_fail(x->edit.graph, node, SC_BAD_MODEL,
            "gives function '%s' %d inputs and %d outputs, want at most %d and %d", node->function->name, node->n_in,
            node->n_out, body->n_inputs, body->n_outputs);
    }
    struct sc_node *call = sc_arena_alloc(&x->scratch, sizeof *call);
    int *map = sc_arena_array(&x->scratch, (size_t)body->n_values, sizeof *map);
    if (!call || !map) {
        return SC_NO_MEMORY;
    }
    SC_TRY(count_work(x, body->n_values));
    *call = *node;
    if (!x->edit.graph->outer) {
        sc_edit_replaced(&x->edit, node);
    }
    for (int v = 0; v < body->n_values; v++) {
        map[v] = UNMADE;
    }
    for (int i = 0; i < body->n_inputs; i++) {
        map[body->inputs[i]] = i < node->n_in ? node->in[i] : ABSENT;
    }
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] >= 0 && map[body->outputs[o]] == UNMADE) {
            map[body->outputs[o]] = node->out[o];
        }
    }
    x->frames[x->depth++] =
        (struct frame){.from = body, .nodes = body->nodes, .n = body->n_nodes, .map = map, .call = call};
    return SC_OK;
}

/* Outputs that are an input of the function, or another output, are copies of that. */
static enum sc_status close_call(struct expander *x, const struct frame *frame)
{
    const struct sc_node *call = frame->call;
    const int version = sc_model_opset(x->edit.model, "");
    for (int o = 0; o < call->n_out; o++) {
        const int made = frame->map[frame->from->outputs[o]];
        if (call->out[o] < 0 || made == call->out[o]) {
            continue;
        }
        if (made < 0) {
            return sc_node_fail(x->edit.graph, call, SC_BAD_MODEL,
                "output '%s' is an input of function '%s' that the call leaves out",
                x->edit.graph->values[call->out[o]].name, call->function->name);
        }
        struct sc_node copy;
        SC_TRY(sc_edit_node(&x->edit, call, "Identity", version ? version : 13, 1, &made, 1, &call->out[o], &copy));
        SC_TRY(x->edit.graph->outer ? SC_OK : sc_edit_unit(&x->edit, &copy));
        SC_TRY(sc_edit_append(&x->edit, &copy));
    }
    return SC_OK;
}

static enum sc_status run_job(struct expander *x, const struct job *job)
{
    struct sc_graph *graph = job->graph;
    bool calls = job->call != NULL;
    for (int n = 0; n < graph->n_nodes && !calls; n++) {
        calls = graph->nodes[n].function != NULL;
    }
    x->edit.graph = graph;
    if (!calls) {
        const struct frame frame = {.from = graph};
        for (int n = 0; n < graph->n_nodes; n++) {
            SC_TRY(copy_node(x, &frame, &graph->nodes[n]));
        }
        return SC_OK;
    }
    x->frames[0] = (struct frame){.from = graph, .map = job->map, .call = job->call};
    x->frames[0].nodes = sc_edit_graph(&x->edit, graph, &x->frames[0].n);
    x->depth = 1;
    while (x->depth > 0) {
        struct frame *frame = &x->frames[x->depth - 1];
        if (frame->next == frame->n) {
            SC_TRY(x->depth > 1 ? close_call(x, frame) : SC_OK);
            x->depth--;
            continue;
        }
        struct sc_node node = frame->nodes[frame->next++];
        SC_TRY(copy_node(x, frame, &node));
        SC_TRY(node.function ? open_call(x, &node) : sc_edit_append(&x->edit, &node));
    }
    return SC_OK;
}

enum sc_status sc_pass_functions(struct sc_model *model)
{
    if (model->n_functions == 0) {
        return SC_OK;
    }
    struct expander x = {0};
    sc_edit_open(&x.edit, model);
    x.frames = sc_arena_array(&x.scratch, (size_t)model->n_functions + 1, sizeof *x.frames);
    enum sc_status status = x.frames ? push_job(&x, model->graph, NULL, NULL) : SC_NO_MEMORY;
    while (status == SC_OK && x.jobs) {
        const struct job *job = x.jobs;
        x.jobs = job->next;
        status = run_job(&x, job);
    }
    sc_arena_release(&x.scratch);
    return status == SC_OK || !model->path ? status : sc_fail_in("'%s'", model->path);
}
