/* SPDX-License-Identifier: Apache-2.0
 * Facts flow through the steps of a program; small pure steps on known values are run on the spot, which is how chains
 * of shape arithmetic become known dims without a second implementation of any operator. */
#include "exec/infer.h"

#include <string.h>

#include "exec/step.h"

#define SC_EVALUATE_BYTES ((size_t)64 << 10)

/* What infer_body needs to find its way back. */
struct sc_infer_context {
    const struct sc_program *program;
    const struct sc_step *step;
    struct sc_fact *facts;
};

static enum sc_status show(
    const struct sc_infer_watch *watch, const struct sc_step *step, struct sc_arena *arena, struct sc_fact *facts)
{
    struct sc_fact **out = sc_arena_array(arena, (size_t)step->n_out, sizeof *out);
    if (!out) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < step->n_out; o++) {
        out[o] = step->out[o] < 0 ? NULL : &facts[step->out[o]];
    }
    return watch->seen(watch->arg, step->node, out);
}

static enum sc_status infer_program(
    const struct sc_program *program, struct sc_arena *arena, const struct sc_infer_watch *watch, struct sc_fact *facts)
{
    sc_program_weight_facts(program, facts);
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        SC_TRY(sc_step_infer(program, step, arena, SC_INFER_CHECK | SC_INFER_EVALUATE, facts));
        SC_TRY(watch && step->op != &sc_op_dense ? show(watch, step, arena, facts) : SC_OK);
    }
    return SC_OK;
}

static enum sc_status infer_body(
    struct sc_infer *infer, const struct sc_graph *graph, const struct sc_fact *const *in, struct sc_fact *out)
{
    const struct sc_infer_context *context = infer->exec;
    const struct sc_body *body = sc_step_body(context->step, graph);
    if (!body) {
        return sc_fail(SC_INTERNAL, "a body of node '%s' was not compiled", infer->node->name);
    }
    const struct sc_program *program = body->program;
    struct sc_fact *facts = sc_arena_array(infer->arena, (size_t)program->n_slots, sizeof *facts);
    if (!facts) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < program->n_slots; s++) {
        sc_fact_init(&facts[s]);
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        if (in[i]) {
            facts[program->inputs[i]] = *in[i];
        }
    }
    for (int c = 0; c < body->n_captured; c++) {
        facts[program->inputs[graph->n_inputs + c]] = context->facts[body->captured[c]];
    }
    SC_TRY(infer_program(program, infer->arena, NULL, facts));
    for (int o = 0; o < program->n_outputs; o++) {
        out[o] = facts[program->outputs[o]];
    }
    return SC_OK;
}

void sc_program_weight_facts(const struct sc_program *program, struct sc_fact *facts)
{
    for (int s = 0; s < program->n_slots; s++) {
        if (program->slots[s].kind != SC_SLOT_WEIGHT) {
            continue;
        }
        const struct sc_weight *weight = &program->spec.graph->weights[program->slots[s].weight];
        sc_fact_tensor(&facts[s], weight->shape.type, weight->shape.rank, weight->shape.dims);
        if (weight->shape.data && weight->shape.storage == SC_STORAGE_PLAIN) {
            facts[s].value = &weight->shape;
        }
    }
}

static bool can_evaluate(const struct sc_step *step, const struct sc_infer *infer)
{
    if (!(step->op->flags & SC_OP_PURE) || step->op->exec || step->n_bodies) {
        return false;
    }
    size_t bytes = 0;
    for (int i = 0; i < step->n_in; i++) {
        if (infer->in[i] && !infer->in[i]->value) {
            return false;
        }
    }
    for (int o = 0; o < step->n_out; o++) {
        const struct sc_fact *out = infer->out[o];
        if (!out) {
            continue;
        }
        if (out->kind != SC_KIND_TENSOR || !sc_fact_dims_known(out) || out->type == SC_TYPE_NONE) {
            return false;
        }
        bytes += sc_type_bytes(out->type) * (size_t)sc_dims_product(out->dims, 0, out->rank);
    }
    return bytes <= SC_EVALUATE_BYTES;
}

/* The choice that prepare makes when nothing is packed. */
static enum sc_status evaluation_choice(
    const struct sc_program *program, const struct sc_step *step, const struct sc_infer *infer, int *choice)
{
    *choice = 0;
    if (!step->op->prepare) {
        return SC_OK;
    }
    bool *constant = sc_arena_array(infer->arena, (size_t)step->n_in, sizeof *constant);
    if (!constant) {
        return SC_NO_MEMORY;
    }
    struct sc_prepare prepare = {.graph = program->spec.graph,
        .node = step->node,
        .params = step->params,
        .n_in = step->n_in,
        .in = infer->in,
        .constant = constant,
        .kernels = program->spec.kernels};
    SC_TRY(step->op->prepare(&prepare));
    *choice = prepare.choice;
    return SC_OK;
}

static enum sc_status evaluate(
    const struct sc_program *program, const struct sc_step *step, const struct sc_infer *infer)
{
    struct sc_arena *arena = infer->arena;
    struct sc_value *in = sc_arena_array(arena, (size_t)step->n_in, sizeof *in);
    struct sc_value *out = sc_arena_array(arena, (size_t)step->n_out, sizeof *out);
    const struct sc_value **ins = sc_arena_array(arena, (size_t)step->n_in, sizeof *ins);
    struct sc_value **outs = sc_arena_array(arena, (size_t)step->n_out, sizeof *outs);
    struct sc_call call;
    sc_step_call(program, step, &call);
    if (!in || !out || !ins || !outs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < step->n_in; i++) {
        if (infer->in[i]) {
            in[i].kind = SC_KIND_TENSOR;
            in[i].u.tensor = *infer->in[i]->value;
            ins[i] = &in[i];
        }
    }
    for (int o = 0; o < step->n_out; o++) {
        if (infer->out[o]) {
            out[o].kind = SC_KIND_TENSOR;
            sc_tensor_init(&out[o].u.tensor, infer->out[o]->type, infer->out[o]->rank, infer->out[o]->dims);
            outs[o] = &out[o];
        }
    }
    call.in = ins;
    call.out = outs;
    call.arena = arena;
    call.packed = NULL;
    SC_TRY(evaluation_choice(program, step, infer, &call.choice));
    if (step->op->resolve) {
        SC_TRY(step->op->resolve(&call));
    }
    for (int o = 0; o < step->n_out; o++) {
        struct sc_tensor *tensor = &out[o].u.tensor;
        if (outs[o]) {
            SC_TRY(sc_tensor_new(arena, tensor->type, tensor->rank, tensor->dims, tensor));
        }
    }
    const size_t scratch_bytes = step->op->scratch ? step->op->scratch(&call) : 0;
    call.scratch = sc_arena_alloc(arena, scratch_bytes);
    if (!call.scratch) {
        return SC_NO_MEMORY;
    }
    step->op->run(&call);
    for (int o = 0; o < step->n_out; o++) {
        if (!outs[o]) {
            continue;
        }
        struct sc_tensor *known = sc_arena_alloc(arena, sizeof *known);
        if (!known) {
            return SC_NO_MEMORY;
        }
        *known = out[o].u.tensor;
        if (!sc_tensor_is_dense(known)) {
            SC_TRY(sc_tensor_new(arena, known->type, known->rank, known->dims, known));
            sc_tensor_copy_dense(&out[o].u.tensor, known->data);
        }
        infer->out[o]->value = known;
    }
    return SC_OK;
}

enum sc_status sc_step_infer(const struct sc_program *program, const struct sc_step *step, struct sc_arena *arena,
    unsigned ways, struct sc_fact *facts)
{
    const struct sc_fact **in = sc_arena_array(arena, (size_t)step->n_in, sizeof *in);
    struct sc_fact **out = sc_arena_array(arena, (size_t)step->n_out, sizeof *out);
    if (!in || !out) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < step->n_in; i++) {
        in[i] = step->in[i] < 0 ? NULL : &facts[step->in[i]];
    }
    for (int o = 0; o < step->n_out; o++) {
        out[o] = step->out[o] < 0 ? NULL : &facts[step->out[o]];
        if (out[o]) {
            sc_fact_init(out[o]);
        }
    }
    struct sc_infer_context context = {.program = program, .step = step, .facts = facts};
    struct sc_infer infer = {.graph = program->spec.graph,
        .node = step->node,
        .params = step->params,
        .n_in = step->n_in,
        .n_out = step->n_out,
        .in = in,
        .out = out,
        .arena = arena,
        .infer_body = infer_body,
        .exec = &context};
    if (ways & SC_INFER_CHECK && step->op != &sc_op_dense) { /* the internal copy has no schema */
        SC_TRY(sc_check_types(program->spec.graph, step->node, step->n_in, in));
    }
    SC_TRY(step->op->infer(&infer));
    bool done = true;
    for (int o = 0; o < step->n_out; o++) {
        done &= !out[o] || out[o]->value;
    }
    return ways & SC_INFER_EVALUATE && !done && can_evaluate(step, &infer) ? evaluate(program, step, &infer) : SC_OK;
}

/* What the caller knows: inputs, and outer values. */
static enum sc_status find_given(const struct sc_graph *graph, struct sc_arena *arena, struct sc_program_spec *spec)
{
    int *given = sc_arena_array(arena, (size_t)graph->n_values + (size_t)graph->n_inputs + 1, sizeof *given);
    if (!given) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        given[spec->n_inputs++] = graph->inputs[i];
    }
    for (int v = 0; v < graph->n_values; v++) {
        if (graph->values[v].place == SC_PLACE_OUTER) {
            given[spec->n_inputs++] = v;
        }
    }
    spec->inputs = given;
    return SC_OK;
}

enum sc_status sc_infer_graph(const struct sc_graph *graph, const struct sc_kernels *kernels, struct sc_arena *arena,
    const struct sc_infer_watch *watch, struct sc_fact *facts)
{
    struct sc_program *program = NULL;
    struct sc_fact *by_slot = NULL;
    struct sc_program_spec spec = {.graph = graph, .kernels = kernels};
    SC_TRY(find_given(graph, arena, &spec));
    enum sc_status status = sc_program_compile(&spec, &program);
    if (status != SC_OK) {
        return status;
    }
    by_slot = sc_arena_array(arena, (size_t)program->n_slots + 1, sizeof *by_slot);
    if (!by_slot) {
        status = SC_NO_MEMORY;
        goto out;
    }
    for (int s = 0; s < program->n_slots; s++) {
        sc_fact_init(&by_slot[s]);
    }
    for (int i = 0; i < program->n_inputs; i++) {
        by_slot[program->inputs[i]] = facts[spec.inputs[i]];
    }
    status = infer_program(program, arena, watch, by_slot);
    for (int s = 0; s < program->n_slots; s++) {
        if (program->slots[s].kind != SC_SLOT_INPUT) {
            facts[program->slots[s].value] = by_slot[s];
        }
    }
out:
    sc_arena_adopt(arena, &program->arena); /* known values may lie in the parameters of a step */
    sc_program_free(program);
    return status;
}
