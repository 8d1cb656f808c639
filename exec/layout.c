/* SPDX-License-Identifier: Apache-2.0
 * Memory planning: slots that show the same memory share a root; a root lives from its producer to the last reader of
 * any slot that shows it; roots are placed by best fit among the holes of the block. */
#include "exec/layout.h"

#include <string.h>

#define SC_ALIGN 64

/* Free stretches of the block, by offset. */
struct sc_holes {
    int n, capacity;
    struct sc_hole {
        int64_t offset, bytes;
    } * hole;
    int64_t end; /* of the block so far */
};

struct sc_planner {
    const struct sc_program *program;
    struct sc_layout *layout;
    int *root; /* by slot */
    int *last; /* by root: last step that reads it through any slot */
    int64_t *bytes; /* by root */
    int *dies; /* by step + 1: head of the list of roots that die there */
    int *next; /* by root */
    struct sc_holes holes;
};

static int64_t take(struct sc_holes *holes, int64_t bytes)
{
    int best = -1;
    for (int h = 0; h < holes->n; h++) {
        if (holes->hole[h].bytes >= bytes && (best < 0 || holes->hole[h].bytes < holes->hole[best].bytes)) {
            best = h;
        }
    }
    if (best < 0) {
        /* a hole at the very end is stretched */
        struct sc_hole *tail = holes->n ? &holes->hole[holes->n - 1] : NULL;
        if (tail && tail->offset + tail->bytes == holes->end) {
            const int64_t offset = tail->offset;
            holes->end = offset + bytes;
            holes->n--;
            return offset;
        }
        const int64_t offset = holes->end;
        holes->end += bytes;
        return offset;
    }
    const int64_t offset = holes->hole[best].offset;
    holes->hole[best].offset += bytes;
    holes->hole[best].bytes -= bytes;
    if (holes->hole[best].bytes == 0) {
        memmove(&holes->hole[best], &holes->hole[best + 1], (size_t)(holes->n - best - 1) * sizeof *holes->hole);
        holes->n--;
    }
    return offset;
}

/* The array has room for one hole more than there are roots, so giving back never fails. */
static void give(struct sc_holes *holes, int64_t offset, int64_t bytes)
{
    int at = 0;
    while (at < holes->n && holes->hole[at].offset < offset) {
        at++;
    }
    const bool joins_before = at > 0 && holes->hole[at - 1].offset + holes->hole[at - 1].bytes == offset;
    const bool joins_after = at < holes->n && offset + bytes == holes->hole[at].offset;
    if (joins_before && joins_after) {
        holes->hole[at - 1].bytes += bytes + holes->hole[at].bytes;
        memmove(&holes->hole[at], &holes->hole[at + 1], (size_t)(holes->n - at - 1) * sizeof *holes->hole);
        holes->n--;
    } else if (joins_before) {
        holes->hole[at - 1].bytes += bytes;
    } else if (joins_after) {
        holes->hole[at].offset = offset;
        holes->hole[at].bytes += bytes;
    } else {
        memmove(&holes->hole[at + 1], &holes->hole[at], (size_t)(holes->n - at) * sizeof *holes->hole);
        holes->hole[at] = (struct sc_hole){offset, bytes};
        holes->n++;
    }
}

enum sc_status sc_value_of_fact(struct sc_arena *arena, const struct sc_fact *fact, struct sc_value *value)
{
    memset(value, 0, sizeof *value);
    value->kind = fact->kind;
    if (fact->kind == SC_KIND_TENSOR) {
        SC_TRY(sc_dims_check("a value", fact->type, fact->rank, fact->dims));
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
        SC_TRY(sc_step_infer(program, step, &layout->arena, true, layout->facts));
        for (int o = 0; o < step->n_out; o++) {
            planned &= step->out[o] < 0 || is_settled(&layout->facts[step->out[o]]);
        }
        layout->planned[s] = planned;
    }
    return SC_OK;
}

static bool shows_input(const struct sc_step *step)
{
    return step->op->flags & SC_OP_VIEW;
}

/* Roots of views, then how long each root lives. */
static void find_roots(struct sc_planner *planner)
{
    const struct sc_program *program = planner->program;
    for (int s = 0; s < program->n_slots; s++) {
        planner->root[s] = s;
        planner->last[s] = -1;
    }
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        if (shows_input(step) && step->in[0] >= 0 && step->out[0] >= 0) {
            planner->root[step->out[0]] = planner->root[step->in[0]];
        }
    }
    for (int s = 0; s < program->n_slots; s++) {
        const int root = planner->root[s];
        /* a value that nobody reads still lives while its producer writes it */
        const int use =
            program->slots[s].last_use < program->slots[s].step ? program->slots[s].step : program->slots[s].last_use;
        planner->last[root] = use > planner->last[root] ? use : planner->last[root];
    }
}

/* An operator that works in place takes over the memory of its first input when that dies here and nothing else shows
 * it. */
static bool takes_over(const struct sc_planner *planner, int s, int out_root, int64_t bytes)
{
    const struct sc_step *step = &planner->program->steps[s];
    if (!(step->op->flags & SC_OP_IN_PLACE) || step->in[0] < 0 || step->out[0] != out_root) {
        return false;
    }
    const int root = planner->root[step->in[0]];
    const struct sc_value *templates = planner->layout->templates; /* broadcast inputs are smaller than the output */
    if (sc_tensor_bytes(&templates[step->in[0]].u.tensor) != sc_tensor_bytes(&templates[out_root].u.tensor)) {
        return false;
    }
    if (planner->layout->offset[root] == SC_NOT_IN_BLOCK || planner->last[root] != s || planner->bytes[root] != bytes ||
        planner->program->slots[step->in[0]].strided) {
        return false;
    }
    for (int i = 1; i < step->n_in; i++) {
        if (step->in[i] >= 0 && planner->root[step->in[i]] == root) {
            return false;
        }
    }
    return true;
}

static void mark_death(struct sc_planner *planner, int root)
{
    const int when = planner->last[root];
    planner->next[root] = planner->dies[when];
    planner->dies[when] = root;
}

static void place_outputs(struct sc_planner *planner, int s)
{
    const struct sc_step *step = &planner->program->steps[s];
    struct sc_layout *layout = planner->layout;
    int taken = -1;
    for (int o = 0; o < step->n_out; o++) {
        const int slot = step->out[o];
        if (slot < 0 || planner->root[slot] != slot || layout->facts[slot].kind != SC_KIND_TENSOR) {
            continue;
        }
        const size_t exact = sc_tensor_bytes(&layout->templates[slot].u.tensor);
        const int64_t bytes = (int64_t)((exact + SC_ALIGN - 1) / SC_ALIGN * SC_ALIGN);
        planner->bytes[slot] = bytes ? bytes : SC_ALIGN;
        if (o == 0 && takes_over(planner, s, slot, planner->bytes[slot])) {
            taken = planner->root[step->in[0]];
            layout->offset[slot] = layout->offset[taken];
        } else {
            layout->offset[slot] = take(&planner->holes, planner->bytes[slot]);
        }
        mark_death(planner, slot);
    }
    for (int root = planner->dies[s]; root >= 0; root = planner->next[root]) {
        if (root != taken) {
            give(&planner->holes, layout->offset[root], planner->bytes[root]);
        }
    }
}

static enum sc_status place(struct sc_planner *planner)
{
    const struct sc_program *program = planner->program;
    struct sc_layout *layout = planner->layout;
    for (int s = 0; s <= program->n_steps; s++) {
        planner->dies[s] = -1;
    }
    for (int s = 0; s < program->n_slots; s++) {
        layout->offset[s] = SC_NOT_IN_BLOCK;
        if (is_settled(&layout->facts[s])) {
            SC_TRY(sc_value_of_fact(&layout->arena, &layout->facts[s], &layout->templates[s]));
        }
    }
    for (int s = 0; s < program->n_steps; s++) {
        if (layout->planned[s]) {
            place_outputs(planner, s);
        } else {
            for (int root = planner->dies[s]; root >= 0; root = planner->next[root]) {
                give(&planner->holes, layout->offset[root], planner->bytes[root]);
            }
        }
    }
    layout->block_bytes = planner->holes.end;
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
    memset(layout, 0, sizeof *layout);
    struct sc_arena *arena = &layout->arena;
    struct sc_arena passing = {0};
    const size_t n = (size_t)program->n_slots + 1, n_steps = (size_t)program->n_steps + 1;
    struct sc_planner planner = {.program = program, .layout = layout};
    layout->inputs = sc_arena_array(arena, (size_t)program->n_inputs + 1, sizeof *layout->inputs);
    layout->facts = sc_arena_array(arena, n, sizeof *layout->facts);
    layout->templates = sc_arena_array(arena, n, sizeof *layout->templates);
    layout->offset = sc_arena_array(arena, n, sizeof *layout->offset);
    layout->planned = sc_arena_array(arena, n_steps, sizeof *layout->planned);
    planner.root = sc_arena_array(&passing, n, sizeof *planner.root);
    planner.last = sc_arena_array(&passing, n, sizeof *planner.last);
    planner.bytes = sc_arena_array(&passing, n, sizeof *planner.bytes);
    planner.next = sc_arena_array(&passing, n, sizeof *planner.next);
    planner.dies = sc_arena_array(&passing, n_steps, sizeof *planner.dies);
    planner.holes.hole = sc_arena_array(&passing, n + 1, sizeof *planner.holes.hole);
    enum sc_status status = SC_NO_MEMORY;
    if (layout->inputs && layout->facts && layout->templates && layout->offset && layout->planned && planner.root &&
        planner.last && planner.bytes && planner.next && planner.dies && planner.holes.hole) {
        memcpy(layout->inputs, inputs, (size_t)program->n_inputs * sizeof *inputs);
        status = settle(program, inputs, layout);
    }
    if (status == SC_OK) {
        find_roots(&planner);
        status = place(&planner);
    }
    if (status == SC_OK) {
        status = size_scratch(program, values, team, layout);
    }
    sc_arena_release(&passing);
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
