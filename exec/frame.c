/* SPDX-License-Identifier: Apache-2.0
 * Running: planned steps write where the layout says; the others are inferred, settled and given memory when their turn
 * comes. */
#include "exec/frame.h"

#include <stdlib.h>
#include <string.h>

#include "exec/perform.h"
#include "exec/placement.h"

#define SC_LAYOUTS 4

struct sc_frame {
    const struct sc_program *program;
    struct sc_frame_options options;
    struct sc_arena arena; /* arrays of this struct */
    struct sc_arena run; /* values settled at run time; emptied when a run starts */
    struct sc_layout layouts[SC_LAYOUTS];
    struct sc_layout *layout; /* of the run at hand */
    struct sc_placement placement;
    int64_t runs;
    int64_t read_weight_bytes;
    char *block, *scratch;
    size_t block_bytes, scratch_bytes;
    struct sc_value *values; /* by slot */
    struct sc_fact *late; /* by slot: facts of the inputs of a step that is settled at run time */
    const struct sc_value **ins; /* ports of the step at hand */
    struct sc_value **outs;
    struct sc_fact *input_facts;
    struct sc_frame ***bodies; /* by step, by body: frames of bodies, made when first called */
};

/* Where call_body comes back to. */
struct sc_caller {
    struct sc_frame *frame;
    int step;
    int64_t seq;
};

enum sc_status sc_frame_create(
    const struct sc_program *program, const struct sc_frame_options *options, struct sc_frame **out)
{
    struct sc_frame *frame = calloc(1, sizeof *frame);
    if (!frame) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a frame");
    }
    int widest = 1;
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        widest = step->n_in > widest ? step->n_in : widest;
        widest = step->n_out > widest ? step->n_out : widest;
    }
    frame->program = program;
    frame->options = *options;
    struct sc_arena *arena = &frame->arena;
    const size_t n = (size_t)program->n_slots + 1;
    frame->values = sc_arena_array(arena, n, sizeof *frame->values);
    frame->late = sc_arena_array(arena, n, sizeof *frame->late);
    frame->ins = sc_arena_array(arena, (size_t)widest, sizeof *frame->ins);
    frame->outs = sc_arena_array(arena, (size_t)widest, sizeof *frame->outs);
    frame->input_facts = sc_arena_array(arena, (size_t)program->n_inputs + 1, sizeof *frame->input_facts);
    frame->bodies = sc_arena_array(arena, (size_t)program->n_steps + 1, sizeof *frame->bodies);
    bool made = frame->values && frame->late && frame->ins && frame->outs && frame->input_facts && frame->bodies;
    for (int s = 0; made && s < program->n_steps; s++) {
        frame->bodies[s] = sc_arena_array(arena, (size_t)program->steps[s].n_bodies + 1, sizeof **frame->bodies);
        made = frame->bodies[s] != NULL;
    }
    if (!made || sc_placement_open(program, &frame->placement) != SC_OK) {
        sc_frame_free(frame);
        return SC_NO_MEMORY;
    }
    memcpy(frame->values, program->constants, (size_t)program->n_slots * sizeof *frame->values);
    *out = frame;
    return SC_OK;
}

void sc_frame_free(struct sc_frame *frame)
{
    if (!frame) {
        return;
    }
    for (int s = 0; frame->bodies && s < frame->program->n_steps; s++) {
        for (int b = 0; frame->bodies[s] && b < frame->program->steps[s].n_bodies; b++) {
            sc_frame_free(frame->bodies[s][b]);
        }
    }
    for (int l = 0; l < SC_LAYOUTS; l++) {
        sc_layout_release(&frame->layouts[l]);
    }
    sc_placement_release(&frame->placement);
    free(frame->block);
    free(frame->scratch);
    sc_arena_release(&frame->run);
    sc_arena_release(&frame->arena);
    free(frame);
}

static enum sc_status grow_memory(char **memory, size_t *have, size_t want)
{
    if (want <= *have) {
        return SC_OK;
    }
    size_t bytes = *have ? *have : 4096;
    while (bytes < want) {
        bytes *= 2;
    }
    char *bigger = aligned_alloc(64, bytes);
    if (!bigger) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes of activations", bytes);
    }
    free(*memory);
    *memory = bigger;
    *have = bytes;
    return SC_OK;
}

static bool same_facts(const struct sc_fact *a, const struct sc_fact *b)
{
    return a->kind == b->kind && a->type == b->type && a->rank == b->rank &&
        (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static bool layout_fits(const struct sc_frame *frame, const struct sc_layout *layout)
{
    if (!layout->inputs) {
        return false;
    }
    for (int i = 0; i < frame->program->n_inputs; i++) {
        if (!same_facts(&layout->inputs[i], &frame->input_facts[i])) {
            return false;
        }
    }
    return true;
}

/* Places in the block, and the memory for them, for the layout at hand. */
static enum sc_status place_layout(struct sc_frame *frame)
{
    struct sc_layout *layout = frame->layout;
    struct sc_placement *placement = &frame->placement;
    if (placement->number == 0 ||
        (layout->placed != placement->number && !sc_placement_fits(frame->program, placement, layout))) {
        sc_placement_make(frame->program, layout, placement);
    }
    layout->placed = placement->number;
    SC_TRY(grow_memory(&frame->block, &frame->block_bytes, (size_t)placement->block_bytes));
    return grow_memory(&frame->scratch, &frame->scratch_bytes, (size_t)layout->scratch_bytes);
}

/* The layout for the dims of these inputs: a kept one, or a new one in place of the one unused for longest. */
static enum sc_status find_layout(struct sc_frame *frame, const struct sc_value *const *inputs)
{
    const struct sc_program *program = frame->program;
    for (int i = 0; i < program->n_inputs; i++) {
        sc_fact_of(&frame->input_facts[i], inputs[i]);
        frame->input_facts[i].value = NULL;
    }
    struct sc_layout *oldest = &frame->layouts[0];
    frame->layout = NULL;
    for (int l = 0; l < SC_LAYOUTS; l++) {
        if (layout_fits(frame, &frame->layouts[l])) {
            frame->layout = &frame->layouts[l];
            break;
        }
        if (frame->layouts[l].used < oldest->used) {
            oldest = &frame->layouts[l];
        }
    }
    if (!frame->layout) {
        SC_TRY(sc_layout_make(program, frame->input_facts, inputs, frame->options.team, oldest));
        frame->layout = oldest;
    }
    frame->layout->used = ++frame->runs;
    return place_layout(frame);
}

static struct sc_frame *body_frame(const struct sc_caller *caller, const struct sc_body *body, enum sc_status *status)
{
    struct sc_frame *frame = caller->frame;
    const struct sc_step *step = &frame->program->steps[caller->step];
    struct sc_frame **place = &frame->bodies[caller->step][body - step->bodies];
    if (!*place) {
        const struct sc_frame_options options = {.team = frame->options.team, .activity = frame->options.activity};
        *status = sc_frame_create(body->program, &options, place);
    }
    return *place;
}

static enum sc_status call_body(
    const struct sc_call *call, const struct sc_graph *graph, const struct sc_value *const *in, struct sc_value *out)
{
    const struct sc_caller *caller = call->exec;
    struct sc_frame *frame = caller->frame;
    const struct sc_body *body = sc_step_body(&frame->program->steps[caller->step], graph);
    if (!body) {
        return sc_fail(SC_INTERNAL, "a body of node '%s' was not compiled", call->node->name);
    }
    enum sc_status status = SC_OK;
    struct sc_frame *child = body_frame(caller, body, &status);
    SC_TRY(status);
    const struct sc_value **inputs =
        sc_arena_array(&frame->run, (size_t)(graph->n_inputs + body->n_captured) + 1, sizeof *inputs);
    if (!inputs) {
        return SC_NO_MEMORY;
    }
    if (graph->n_inputs) {
        memcpy(inputs, in, (size_t)graph->n_inputs * sizeof *inputs);
    }
    for (int c = 0; c < body->n_captured; c++) {
        inputs[graph->n_inputs + c] = &frame->values[body->captured[c]];
    }
    sc_team_make_progress(frame->options.team); /* a body may be called millions of times */
    SC_TRY(sc_frame_run(child, inputs, caller->seq));
    for (int o = 0; o < graph->n_outputs; o++) {
        SC_TRY(sc_value_copy(call->arena, sc_frame_output(child, o), &out[o]));
    }
    return SC_OK;
}

/* Ports of a step; its outputs start as `templates` say (NULL: nothing is known). */
static void open_call(
    struct sc_frame *frame, const struct sc_step *step, const struct sc_value *templates, struct sc_call *call)
{
    void *caller = call->exec;
    size_t *read_bytes = call->read_packed_bytes;
    sc_step_call(frame->program, step, call);
    call->exec = caller;
    call->read_packed_bytes = read_bytes;
    for (int i = 0; i < step->n_in; i++) {
        frame->ins[i] = step->in[i] < 0 ? NULL : &frame->values[step->in[i]];
    }
    for (int o = 0; o < step->n_out; o++) {
        frame->outs[o] = step->out[o] < 0 ? NULL : &frame->values[step->out[o]];
        if (!frame->outs[o]) {
            continue;
        }
        if (templates) {
            *frame->outs[o] = templates[step->out[o]];
        } else {
            memset(frame->outs[o], 0, sizeof **frame->outs);
        }
    }
    call->in = frame->ins;
    call->out = frame->outs;
    call->team = frame->options.team;
    call->arena = &frame->run;
    call->call_body = call_body;
    call->random.seq = (uint64_t)((const struct sc_caller *)caller)->seq;
    call->scratch = frame->scratch;
}

static enum sc_status surprise(
    const struct sc_frame *frame, const struct sc_step *step, int o, const struct sc_tensor *found)
{
    char wanted[128], got[128];
    sc_tensor_text(&frame->layout->templates[step->out[o]].u.tensor, wanted, sizeof wanted);
    sc_tensor_text(found, got, sizeof got);
    return sc_node_fail(
        frame->program->spec.graph, step->node, SC_BAD_INPUT, "output %d is %s, inferred was %s", o, got, wanted);
}

static enum sc_status run_planned(struct sc_frame *frame, int s, struct sc_call *call)
{
    const struct sc_step *step = &frame->program->steps[s];
    const struct sc_layout *layout = frame->layout;
    open_call(frame, step, layout->templates, call);
    if (step->op->resolve) {
        SC_TRY(sc_step_perform(step, call, SC_DEED_RESOLVE));
    }
    for (int o = 0; o < step->n_out; o++) {
        const int slot = step->out[o];
        if (slot < 0 || layout->templates[slot].kind != SC_KIND_TENSOR) {
            continue;
        }
        struct sc_tensor *tensor = &frame->values[slot].u.tensor;
        if (step->op->resolve && !sc_dims_equal(tensor, &layout->templates[slot].u.tensor)) {
            return surprise(frame, step, o, tensor);
        }
        tensor->owner = SC_OWNER_FRAME;
        const int64_t offset = frame->placement.offset[slot];
        tensor->data = offset == SC_NOT_IN_BLOCK ? NULL : frame->block + offset;
    }
    return sc_step_perform(step, call, SC_DEED_RUN);
}

/* The facts of what a step reads, now that it exists. */
static void late_facts(struct sc_frame *frame, const struct sc_step *step)
{
    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] >= 0) {
            sc_fact_of(&frame->late[step->in[i]], &frame->values[step->in[i]]);
        }
    }
    for (int b = 0; b < step->n_bodies; b++) {
        for (int c = 0; c < step->bodies[b].n_captured; c++) {
            const int slot = step->bodies[b].captured[c];
            sc_fact_of(&frame->late[slot], &frame->values[slot]);
        }
    }
}

/* Whether a step reads the types that the layout's inference held against the schema. */
static bool types_as_inferred(const struct sc_frame *frame, const struct sc_step *step)
{
    bool same = true;
    for (int i = 0; i < step->n_in && same; i++) {
        if (step->in[i] >= 0) {
            const struct sc_fact *now = &frame->late[step->in[i]], *then = &frame->layout->facts[step->in[i]];
            same = now->kind == then->kind &&
                (now->kind == SC_KIND_STATE || (now->kind == SC_KIND_TENSOR && now->type == then->type));
        }
    }
    return same;
}

static enum sc_status give_memory(struct sc_frame *frame, const struct sc_step *step)
{
    for (int o = 0; o < step->n_out; o++) {
        struct sc_value *value = frame->outs[o];
        if (!value || value->kind != SC_KIND_TENSOR || (o == 0 && step->op->flags & SC_OP_VIEW)) {
            continue;
        }
        struct sc_tensor *tensor = &value->u.tensor;
        const struct sc_program *program = frame->program;
        const char *name = program->spec.graph->values[program->slots[step->out[o]].value].name;
        SC_TRY(sc_dims_check(name, tensor->type, tensor->rank, tensor->dims));
        tensor->data = sc_arena_alloc(&frame->run, sc_tensor_bytes(tensor));
        if (!tensor->data) {
            return SC_NO_MEMORY;
        }
    }
    return SC_OK;
}

static enum sc_status late_value(struct sc_frame *frame, const struct sc_call *call, const struct sc_fact *fact, int o)
{
    char name[192];
    const enum sc_status status = sc_value_of_fact(&frame->run, fact, frame->outs[o]);
    if (status == SC_LIMIT) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT, "output %d is too large", o);
    }
    return status == SC_OK ? SC_OK : sc_fail_in("%s", sc_node_text_name(call->graph, call->node, name, sizeof name));
}

static enum sc_status run_late(struct sc_frame *frame, int s, struct sc_call *call)
{
    const struct sc_step *step = &frame->program->steps[s];
    late_facts(frame, step);
    SC_TRY(sc_step_infer(
        frame->program, step, &frame->run, types_as_inferred(frame, step) ? 0 : SC_INFER_CHECK, frame->late));
    open_call(frame, step, NULL, call);
    for (int o = 0; o < step->n_out; o++) {
        struct sc_fact *fact = step->out[o] < 0 ? NULL : &frame->late[step->out[o]];
        if (!fact || step->op->exec) {
            continue;
        }
        if (!sc_fact_dims_known(fact) && fact->kind == SC_KIND_TENSOR) {
            if (!step->op->resolve) {
                return sc_node_fail(call->graph, call->node, SC_INTERNAL, "output %d has unknown dims", o);
            }
            fact->rank = 0; /* resolve settles type, rank and dims */
        }
        SC_TRY(late_value(frame, call, fact, o));
    }
    if (step->op->resolve) {
        SC_TRY(sc_step_perform(step, call, SC_DEED_RESOLVE));
    }
    if (!step->op->exec) {
        SC_TRY(give_memory(frame, step));
    }
    if (step->op->scratch) {
        SC_TRY(grow_memory(&frame->scratch, &frame->scratch_bytes, step->op->scratch(call)));
        call->scratch = frame->scratch;
    }
    if (!step->op->exec) {
        return sc_step_perform(step, call, SC_DEED_RUN);
    }
    SC_TRY(sc_step_perform(step, call, SC_DEED_EXEC));
    for (int o = 0; o < step->n_out; o++) {
        const struct sc_value *template = step->out[o] < 0 ? NULL : &frame->layout->templates[step->out[o]];
        if (template && template->kind == SC_KIND_TENSOR && frame->outs[o]->kind == SC_KIND_TENSOR &&
            !sc_dims_equal(&template->u.tensor, &frame->outs[o]->u.tensor)) {
            return surprise(frame, step, o, &frame->outs[o]->u.tensor);
        }
    }
    return SC_OK;
}

enum sc_status sc_frame_run(struct sc_frame *frame, const struct sc_value *const *inputs, int64_t seq)
{
    const struct sc_program *program = frame->program;
    sc_arena_reset(&frame->run);
    SC_TRY(find_layout(frame, inputs));
    for (int i = 0; i < program->n_inputs; i++) {
        frame->values[program->inputs[i]] = *inputs[i];
    }
    for (int s = 0; s < program->n_steps; s++) {
        struct sc_caller caller = {.frame = frame, .step = s, .seq = seq};
        struct sc_call call;
        if (frame->options.activity) {
            atomic_store_explicit(&frame->options.activity->node, s, memory_order_relaxed);
        }
        size_t read_bytes = program->steps[s].packed_bytes;
        call.exec = &caller;
        call.read_packed_bytes = &read_bytes;
        SC_TRY(frame->layout->planned[s] ? run_planned(frame, s, &call) : run_late(frame, s, &call));
        frame->read_weight_bytes += (int64_t)read_bytes;
        if (frame->options.on_step) {
            SC_TRY(frame->options.on_step(frame->options.on_step_arg, s));
        }
    }
    return SC_OK;
}

const struct sc_value *sc_frame_output(const struct sc_frame *frame, int i)
{
    return &frame->values[frame->program->outputs[i]];
}

size_t sc_frame_bytes(const struct sc_frame *frame)
{
    return frame->block_bytes + frame->scratch_bytes;
}

int64_t sc_frame_read_weight_bytes(const struct sc_frame *frame)
{
    return frame->read_weight_bytes;
}

int64_t sc_frame_placements(const struct sc_frame *frame)
{
    return frame->placement.number;
}

int sc_frame_steps_writing_dim(const struct sc_frame *frame, int64_t dim)
{
    int n = 0;
    for (int s = 0; s < frame->program->n_steps; s++) {
        const struct sc_step *step = &frame->program->steps[s];
        bool writes = false;
        for (int o = 0; o < step->n_out && !(step->op->flags & SC_OP_VIEW); o++) {
            const struct sc_value *value = step->out[o] < 0 ? NULL : &frame->values[step->out[o]];
            for (int d = 0; value && value->kind == SC_KIND_TENSOR && d < value->u.tensor.rank; d++) {
                writes |= value->u.tensor.dims[d] == dim;
            }
        }
        n += writes;
    }
    return n;
}
