/* SPDX-License-Identifier: Apache-2.0
 * Compiling: each node becomes a step over numbered slots; where a strided value meets an operator that wants it dense,
 * a copying step is put between. Weight bytes are not touched. */
#include "exec/program.h"

#include <stdlib.h>
#include <string.h>

#include "exec/step.h"

/* What lives only while compiling. */
struct sc_compiler {
    struct sc_program *program;
    int *slot_of_value; /* by graph value; -1: not yet a slot */
    int *dense_of_slot; /* by slot; -1: no dense copy yet */
    int cap_dense;
};

static enum sc_status grow(void **array, int *capacity, int wanted, size_t size)
{
    if (wanted <= *capacity) {
        return SC_OK;
    }
    const int next = wanted > 2 * *capacity ? wanted + 16 : 2 * *capacity;
    void *bigger = realloc(*array, (size_t)next * size);
    if (!bigger) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %d entries of %zu bytes", next, size);
    }
    memset((char *)bigger + (size_t)*capacity * size, 0, (size_t)(next - *capacity) * size);
    *array = bigger;
    *capacity = next;
    return SC_OK;
}

static enum sc_status new_slot(struct sc_program *program, enum sc_slot_kind kind, int value, int *slot)
{
    void *slots = program->slots;
    SC_TRY(grow(&slots, &program->cap_slots, program->n_slots + 1, sizeof *program->slots));
    program->slots = slots;
    *slot = program->n_slots++;
    program->slots[*slot] = (struct sc_slot){.kind = kind, .value = value, .weight = -1, .step = -1, .last_use = -1};
    return SC_OK;
}

static enum sc_status new_step(struct sc_program *program, int n_in, int n_out, struct sc_step **step)
{
    void *steps = program->steps;
    SC_TRY(grow(&steps, &program->cap_steps, program->n_steps + 1, sizeof *program->steps));
    program->steps = steps;
    struct sc_step *made = &program->steps[program->n_steps];
    memset(made, 0, sizeof *made);
    made->n_in = n_in;
    made->n_out = n_out;
    made->in = sc_arena_array(&program->arena, (size_t)n_in, sizeof *made->in);
    made->out = sc_arena_array(&program->arena, (size_t)n_out, sizeof *made->out);
    if (!made->in || !made->out) {
        return SC_NO_MEMORY;
    }
    program->n_steps++;
    *step = made;
    return SC_OK;
}

/* The slot that holds a value which a step of this program reads. */
static enum sc_status read_slot(struct sc_compiler *compiler, int value, int *slot)
{
    struct sc_program *program = compiler->program;
    const struct sc_graph_value *v = &program->spec.graph->values[value];
    if (compiler->slot_of_value[value] < 0) {
        if (v->weight < 0) {
            return sc_fail(SC_INTERNAL, "value '%s' is read by a stage that neither makes nor receives it", v->name);
        }
        SC_TRY(new_slot(program, SC_SLOT_WEIGHT, value, &compiler->slot_of_value[value]));
        program->slots[compiler->slot_of_value[value]].weight = v->weight;
    }
    *slot = compiler->slot_of_value[value];
    return SC_OK;
}

static const struct sc_node dense_node = {.name = "", .domain = "sc", .op = "Dense", .version = 1, .index = -1};

/* The dense copy of a strided slot, made by a step of its own the first time. */
static enum sc_status dense_slot(struct sc_compiler *compiler, int slot, int *dense)
{
    struct sc_program *program = compiler->program;
    if (!program->slots[slot].strided) {
        *dense = slot;
        return SC_OK;
    }
    void *known = compiler->dense_of_slot;
    const int before = compiler->cap_dense;
    SC_TRY(grow(&known, &compiler->cap_dense, slot + 1, sizeof *compiler->dense_of_slot));
    compiler->dense_of_slot = known;
    for (int i = before; i < compiler->cap_dense; i++) {
        compiler->dense_of_slot[i] = -1;
    }
    if (compiler->dense_of_slot[slot] < 0) {
        struct sc_step *step;
        SC_TRY(new_step(program, 1, 1, &step));
        step->node = &dense_node;
        step->op = &sc_op_dense;
        step->in[0] = slot;
        SC_TRY(new_slot(program, SC_SLOT_STEP, program->slots[slot].value, &compiler->dense_of_slot[slot]));
        step->out[0] = compiler->dense_of_slot[slot];
        program->slots[step->out[0]].step = program->n_steps - 1;
    }
    *dense = compiler->dense_of_slot[slot];
    return SC_OK;
}

static enum sc_status compile_body(struct sc_compiler *compiler, const struct sc_graph *graph, struct sc_body *body)
{
    struct sc_program *program = compiler->program;
    body->graph = graph;
    int n_outer = 0;
    for (int v = 0; v < graph->n_values; v++) {
        n_outer += graph->values[v].place == SC_PLACE_OUTER;
    }
    const int n_inputs = graph->n_inputs + n_outer;
    int *inputs = sc_arena_array(&program->arena, (size_t)n_inputs, sizeof *inputs);
    body->captured = sc_arena_array(&program->arena, (size_t)n_outer, sizeof *body->captured);
    if (!inputs || !body->captured) {
        return SC_NO_MEMORY;
    }
    memcpy(inputs, graph->inputs, (size_t)graph->n_inputs * sizeof *inputs);
    for (int v = 0; v < graph->n_values; v++) {
        if (graph->values[v].place != SC_PLACE_OUTER) {
            continue;
        }
        inputs[graph->n_inputs + body->n_captured] = v;
        int slot;
        SC_TRY(read_slot(compiler, graph->values[v].outer, &slot));
        SC_TRY(dense_slot(compiler, slot, &slot));
        program->slots[slot].needed = true;
        body->captured[body->n_captured++] = slot;
    }
    const struct sc_program_spec spec = {.model = program->spec.model,
        .graph = graph,
        .n_inputs = n_inputs,
        .inputs = inputs,
        .n_outputs = graph->n_outputs,
        .outputs = graph->outputs,
        .kernels = program->spec.kernels,
        .blas = program->spec.blas,
        .seed = program->spec.seed};
    return sc_program_compile(&spec, &body->program);
}

static bool has_body(const struct sc_attribute *attribute)
{
    return attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
}

/* Compiled before the step itself is made, since captured values may need dense copies that run earlier. */
static enum sc_status compile_bodies(
    struct sc_compiler *compiler, const struct sc_node *node, int *n, struct sc_body **bodies)
{
    *n = 0;
    for (int a = 0; a < node->n_attributes; a++) {
        *n += has_body(&node->attributes[a]) ? node->attributes[a].n : 0;
    }
    *bodies = sc_arena_array(&compiler->program->arena, (size_t)*n, sizeof **bodies);
    if (!*bodies) {
        return SC_NO_MEMORY;
    }
    int made = 0;
    for (int a = 0; a < node->n_attributes; a++) {
        for (int g = 0; has_body(&node->attributes[a]) && g < node->attributes[a].n; g++) {
            const enum sc_status status = compile_body(compiler, &node->attributes[a].u.graph[g], &(*bodies)[made++]);
            if (status != SC_OK) {
                for (int i = 0; i < made; i++) {
                    sc_program_free((*bodies)[i].program);
                }
                return status;
            }
        }
    }
    return SC_OK;
}

/* Kernel choice and packing, from what is known without any data. */
static enum sc_status prepare_step(struct sc_program *program, struct sc_step *step)
{
    if (!step->op->prepare) {
        return SC_OK;
    }
    const struct sc_fact **in = sc_arena_array(&program->arena, (size_t)step->n_in, sizeof *in);
    bool *constant = sc_arena_array(&program->arena, (size_t)step->n_in, sizeof *constant);
    if (!in || !constant) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < step->n_in; i++) {
        const struct sc_slot *slot = step->in[i] < 0 ? NULL : &program->slots[step->in[i]];
        in[i] = slot ? &program->spec.graph->values[slot->value].fact : NULL;
        constant[i] = slot && slot->kind == SC_SLOT_WEIGHT;
    }
    struct sc_prepare prepare = {.graph = program->spec.graph,
        .node = step->node,
        .params = step->params,
        .n_in = step->n_in,
        .in = in,
        .constant = constant,
        .kernels = program->spec.kernels,
        .blas = program->spec.blas};
    SC_TRY(step->op->prepare(&prepare));
    step->choice = prepare.choice;
    step->packed_inputs = prepare.packed_inputs;
    step->packed_bytes = prepare.packed_bytes;
    return SC_OK;
}

static enum sc_status compile_inputs(
    struct sc_compiler *compiler, const struct sc_node *node, const struct sc_op *op, int *in)
{
    for (int i = 0; i < node->n_in; i++) {
        in[i] = -1;
        if (node->in[i] < 0) {
            continue;
        }
        SC_TRY(read_slot(compiler, node->in[i], &in[i]));
        if (i >= 32 || !(op->strided >> i & 1)) {
            SC_TRY(dense_slot(compiler, in[i], &in[i]));
        }
    }
    return SC_OK;
}

static enum sc_status compile_node(struct sc_compiler *compiler, const struct sc_node *node)
{
    struct sc_program *program = compiler->program;
    const struct sc_graph *graph = program->spec.graph;
    const struct sc_op *op = sc_op_find(node->domain, node->op, node->version);
    if (!op) {
        return sc_node_fail(graph, node, SC_UNSUPPORTED, "operator %s%s%s in opset %d is not supported", node->domain,
            node->domain[0] ? "." : "", node->op, node->version);
    }
    int *in = sc_arena_array(&program->arena, (size_t)node->n_in, sizeof *in);
    if (!in) {
        return SC_NO_MEMORY;
    }
    SC_TRY(compile_inputs(compiler, node, op, in));
    int n_bodies;
    struct sc_body *bodies;
    SC_TRY(compile_bodies(compiler, node, &n_bodies, &bodies));
    struct sc_step *step;
    SC_TRY(new_step(program, node->n_in, node->n_out, &step));
    step->node = node;
    step->op = op;
    step->bodies = bodies;
    step->n_bodies = n_bodies;
    memcpy(step->in, in, (size_t)node->n_in * sizeof *in);
    for (int o = 0; o < node->n_out; o++) {
        step->out[o] = -1;
    }
    if (op->params) {
        SC_TRY(op->params(graph, node, &program->arena, &step->params));
    }
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] >= 0) {
            SC_TRY(new_slot(program, SC_SLOT_STEP, node->out[o], &step->out[o]));
            program->slots[step->out[o]].step = program->n_steps - 1;
            compiler->slot_of_value[node->out[o]] = step->out[o];
        }
    }
    /* a view that takes any strides may also give any; one that wants a dense input gives a dense output */
    if (op->flags & SC_OP_VIEW && op->strided & 1 && step->out[0] >= 0) {
        program->slots[step->out[0]].strided = true;
    }
    return prepare_step(program, step);
}

static enum sc_status compile_outputs(struct sc_compiler *compiler)
{
    struct sc_program *program = compiler->program;
    const struct sc_program_spec *spec = &program->spec;
    program->n_outputs = spec->n_outputs;
    program->outputs = sc_arena_array(&program->arena, (size_t)spec->n_outputs, sizeof *program->outputs);
    if (!program->outputs) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < spec->n_outputs; o++) {
        SC_TRY(read_slot(compiler, spec->outputs[o], &program->outputs[o]));
        SC_TRY(dense_slot(compiler, program->outputs[o], &program->outputs[o]));
    }
    return SC_OK;
}

/* Last readers, and which weights somebody reads unpacked. */
static void find_uses(struct sc_program *program)
{
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        for (int i = 0; i < step->n_in; i++) {
            if (step->in[i] >= 0) {
                program->slots[step->in[i]].last_use = s;
                program->slots[step->in[i]].needed |= i >= 32 || !(step->packed_inputs >> i & 1);
            }
        }
        for (int b = 0; b < step->n_bodies; b++) {
            for (int c = 0; c < step->bodies[b].n_captured; c++) {
                program->slots[step->bodies[b].captured[c]].last_use = s;
            }
        }
    }
    for (int o = 0; o < program->n_outputs; o++) {
        program->slots[program->outputs[o]].last_use = program->n_steps;
        program->slots[program->outputs[o]].needed = true;
    }
}

static enum sc_status compile(struct sc_compiler *compiler)
{
    struct sc_program *program = compiler->program;
    const struct sc_program_spec *spec = &program->spec;
    for (int i = 0; i < spec->n_inputs; i++) {
        SC_TRY(new_slot(program, SC_SLOT_INPUT, spec->inputs[i], &program->inputs[i]));
        compiler->slot_of_value[spec->inputs[i]] = program->inputs[i];
    }
    const int n_nodes = spec->nodes ? spec->n_nodes : spec->graph->n_nodes;
    for (int n = 0; n < n_nodes; n++) {
        const struct sc_node *node = &spec->graph->nodes[spec->nodes ? spec->nodes[n] : n];
        if (!node->dead) {
            SC_TRY(compile_node(compiler, node));
        }
    }
    SC_TRY(compile_outputs(compiler));
    find_uses(program);
    return SC_OK;
}

struct sc_program_spec sc_program_whole(const struct sc_model *model, const struct sc_kernels *kernels)
{
    const struct sc_graph *graph = model->graph;
    return (struct sc_program_spec){.model = model,
        .graph = graph,
        .n_inputs = graph->n_inputs,
        .inputs = graph->inputs,
        .n_outputs = graph->n_outputs,
        .outputs = graph->outputs,
        .kernels = kernels};
}

enum sc_status sc_program_compile(const struct sc_program_spec *spec, struct sc_program **out)
{
    struct sc_program *program = calloc(1, sizeof *program);
    struct sc_compiler compiler = {.program = program};
    enum sc_status status = SC_NO_MEMORY;
    if (!program) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a program");
    }
    program->spec = *spec;
    program->n_inputs = spec->n_inputs;
    program->inputs = sc_arena_array(&program->arena, (size_t)spec->n_inputs, sizeof *program->inputs);
    compiler.slot_of_value = malloc(((size_t)spec->graph->n_values + 1) * sizeof *compiler.slot_of_value);
    if (!program->inputs || !compiler.slot_of_value) {
        sc_fail(SC_NO_MEMORY, "out of memory for a program of %d values", spec->graph->n_values);
        goto out;
    }
    for (int v = 0; v < spec->graph->n_values; v++) {
        compiler.slot_of_value[v] = -1;
    }
    status = compile(&compiler);
    if (status == SC_OK) {
        *out = program;
        program = NULL;
    }
out:
    free(compiler.slot_of_value);
    free(compiler.dense_of_slot);
    sc_program_free(program);
    return status;
}

void sc_program_free(struct sc_program *program)
{
    if (!program) {
        return;
    }
    for (int s = 0; s < program->n_steps; s++) {
        for (int b = 0; b < program->steps[s].n_bodies; b++) {
            sc_program_free(program->steps[s].bodies[b].program);
        }
    }
    free(program->slots);
    free(program->steps);
    sc_arena_release(&program->arena);
    sc_arena_release(&program->weights);
    free(program);
}

int sc_program_n_steps(const struct sc_program *program)
{
    return program->n_steps;
}

int sc_program_output_step(const struct sc_program *program, int i)
{
    const struct sc_slot *slot = &program->slots[program->outputs[i]];
    return slot->kind == SC_SLOT_STEP ? slot->step : -1;
}

const char *sc_program_step_name(const struct sc_program *program, int step)
{
    const struct sc_node *node = program->steps[step].node;
    int o = 0;
    while (o < node->n_out && node->out[o] < 0) {
        o++;
    }
    return node->name[0] || o == node->n_out ? node->name : program->spec.graph->values[node->out[o]].name;
}

const struct sc_body *sc_step_body(const struct sc_step *step, const struct sc_graph *graph)
{
    for (int b = 0; b < step->n_bodies; b++) {
        if (step->bodies[b].graph == graph) {
            return &step->bodies[b];
        }
    }
    return NULL;
}

void sc_step_call(const struct sc_program *program, const struct sc_step *step, struct sc_call *call)
{
    memset(call, 0, sizeof *call);
    call->graph = program->spec.graph;
    call->node = step->node;
    call->op = step->op;
    call->params = step->params;
    call->packed = step->packed;
    call->choice = step->choice;
    call->n_in = step->n_in;
    call->n_out = step->n_out;
    call->kernels = program->spec.kernels;
    call->random.seed = program->spec.seed;
    call->random.stream = (uint64_t)step->node->index;
}
