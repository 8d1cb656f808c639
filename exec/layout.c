/* SPDX-License-Identifier: Apache-2.0
 * Facts of every value for given dims of the inputs, and what follows from them: which steps can be planned, what their
 * outputs look like, how much scratch they want. */
#include "exec/layout.h"

#include <string.h>

enum sc_status sc_value_of_fact(struct sc_arena *arena, const struct sc_fact *fact, struct sc_value *value)
{
    memset(value, 0, sizeof *value);
    value->kind = fact->kind;
    if (fact->kind == SC_KIND_TENSOR) {
        SC_TRY(sc_dims_check("its value", fact->type, fact->rank, fact->dims));
        sc_tensor_init(&value->u.tensor, fact->type, fact->rank, fact->dims);
        value->u.tensor.owner = SC_OWNER_FRAME;
    } else if (fact->kind == SC_KIND_STATE) {
        struct sc_state *state = sc_arena_alloc(arena, sizeof *state);
        if (!state) {
            return SC_NO_MEMORY;
        }
        *state = (struct sc_state){.type = fact->type,
            .n_rows = (int)fact->dims[0],
            .heads = fact->dims[1],
            .capacity = fact->dims[2],
            .width = fact->dims[3]};
        value->u.state = state;
    }
    return SC_OK;
}

/* Puts before an error which node makes the slot's value. */
static enum sc_status name_maker(const struct sc_program *program, int s)
{
    char name[192];
    const int step = program->slots[s].step;
    if (step < 0) {
        return sc_fail_in("value '%s'", program->spec.graph->values[program->slots[s].value].name);
    }
    const struct sc_step *maker = &program->steps[step];
    for (int o = 0; o < maker->n_out && sc_error_last()->code == SC_LIMIT; o++) {
        if (maker->out[o] == s) {
            return sc_node_fail(program->spec.graph, maker->node, SC_LIMIT, "output %d is too large", o);
        }
    }
    return sc_fail_in("%s", sc_node_text_name(program->spec.graph, program->steps[step].node, name, sizeof name));
}

static bool is_settled(const struct sc_fact *fact)
{
    return (fact->kind == SC_KIND_TENSOR && fact->type != SC_TYPE_NONE && sc_fact_dims_known(fact)) ||
        (fact->kind == SC_KIND_STATE && sc_fact_dims_known(fact));
}

/* Facts of every slot, and which steps can be planned. */
static enum sc_status settle(const struct sc_program *program, const struct sc_fact *inputs, struct sc_layout *layout)
{
    for (int s = 0; s < program->n_slots; s++) {
        sc_fact_init(&layout->facts[s]);
    }
    for (int i = 0; i < program->n_inputs; i++) {
        layout->facts[program->inputs[i]] = inputs[i];
    }
    sc_program_weight_facts(program, layout->facts);
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        bool planned = !step->op->exec;
        for (int i = 0; i < step->n_in; i++) {
            planned &= step->in[i] < 0 || is_settled(&layout->facts[step->in[i]]);
        }
        SC_TRY(sc_step_infer(program, step, &layout->arena, SC_INFER_CHECK | SC_INFER_EVALUATE, layout->facts));
        for (int o = 0; o < step->n_out; o++) {
            planned &= step->out[o] < 0 || is_settled(&layout->facts[step->out[o]]);
        }
        layout->planned[s] = planned;
    }
    return SC_OK;
}

static enum sc_status make_templates(const struct sc_program *program, struct sc_layout *layout)
{
    for (int s = 0; s < program->n_slots; s++) {
        if (is_settled(&layout->facts[s])) {
            if (sc_value_of_fact(&layout->arena, &layout->facts[s], &layout->templates[s]) != SC_OK) {
                return name_maker(program, s);
            }
        }
    }
    return SC_OK;
}

/* The most scratch that any planned step wants. */
static enum sc_status size_scratch(const struct sc_program *program, const struct sc_value *const *values,
    struct sc_team *team, struct sc_layout *layout)
{
    int widest = 0;
    for (int s = 0; s < program->n_steps; s++) {
        const int ports = program->steps[s].n_in + program->steps[s].n_out;
        widest = ports > widest ? ports : widest;
    }
    const struct sc_value **ports = sc_arena_array(&layout->arena, (size_t)widest + 1, sizeof *ports);
    struct sc_value **outs = sc_arena_array(&layout->arena, (size_t)widest + 1, sizeof *outs);
    if (!ports || !outs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < program->n_inputs; i++) {
        if (values[i]->kind == SC_KIND_STATE) {
            layout->templates[program->inputs[i]] = *values[i];
        }
    }
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        if (!layout->planned[s] || !step->op->scratch) {
            continue;
        }
        for (int i = 0; i < step->n_in; i++) {
            ports[i] = step->in[i] < 0 ? NULL : &layout->templates[step->in[i]];
        }
        for (int o = 0; o < step->n_out; o++) {
            outs[o] = step->out[o] < 0 ? NULL : &layout->templates[step->out[o]];
        }
        struct sc_call call;
        sc_step_call(program, step, &call);
        call.in = ports;
        call.out = outs;
        call.team = team;
        const int64_t bytes = (int64_t)step->op->scratch(&call);
        layout->scratch_bytes = bytes > layout->scratch_bytes ? bytes : layout->scratch_bytes;
    }
    return SC_OK;
}

enum sc_status sc_layout_make(const struct sc_program *program, const struct sc_fact *inputs,
    const struct sc_value *const *values, struct sc_team *team, struct sc_layout *layout)
{
    struct sc_arena *arena = &layout->arena;
    const size_t n = (size_t)program->n_slots + 1;
    sc_arena_reset(arena);
    layout->scratch_bytes = layout->used = layout->placed = 0;
    layout->inputs = sc_arena_array(arena, (size_t)program->n_inputs + 1, sizeof *layout->inputs);
    layout->facts = sc_arena_array(arena, n, sizeof *layout->facts);
    layout->templates = sc_arena_array(arena, n, sizeof *layout->templates);
    layout->planned = sc_arena_array(arena, (size_t)program->n_steps + 1, sizeof *layout->planned);
    enum sc_status status = SC_NO_MEMORY;
    if (layout->inputs && layout->facts && layout->templates && layout->planned) {
        memcpy(layout->inputs, inputs, (size_t)program->n_inputs * sizeof *inputs);
        status = settle(program, inputs, layout);
    }
    if (status == SC_OK) {
        status = make_templates(program, layout);
    }
    if (status == SC_OK) {
        status = size_scratch(program, values, team, layout);
    }
    if (status != SC_OK) {
        sc_layout_release(layout);
    }
    return status;
}

void sc_layout_release(struct sc_layout *layout)
{
    sc_arena_release(&layout->arena);
    memset(layout, 0, sizeof *layout);
}
