/* SPDX-License-Identifier: Apache-2.0
 * Memory planning: slots that show the same memory share a root; a root lives from its producer to the last reader of
 * any slot that shows it; roots are placed by best fit among the holes of the block. */
#include "exec/placement.h"

#include <string.h>

#define SC_ALIGN 64

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

/* Roots of views, then how long each root lives. */
static void find_roots(const struct sc_program *program, struct sc_placement *p)
{
    for (int s = 0; s < program->n_slots; s++) {
        p->root[s] = s;
        p->last[s] = -1;
    }
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        if (step->op->flags & SC_OP_VIEW && step->in[0] >= 0 && step->out[0] >= 0) {
            p->root[step->out[0]] = p->root[step->in[0]];
        }
    }
    for (int s = 0; s < program->n_slots; s++) {
        const int root = p->root[s];
        /* a value that nobody reads still lives while its producer writes it */
        const int use =
            program->slots[s].last_use < program->slots[s].step ? program->slots[s].step : program->slots[s].last_use;
        p->last[root] = use > p->last[root] ? use : p->last[root];
    }
}

enum sc_status sc_placement_open(const struct sc_program *program, struct sc_placement *p)
{
    struct sc_arena *arena = &p->arena;
    const size_t n = (size_t)program->n_slots + 1, n_steps = (size_t)program->n_steps + 1;
    p->offset = sc_arena_array(arena, n, sizeof *p->offset);
    p->room = sc_arena_array(arena, n, sizeof *p->room);
    p->wanted = sc_arena_array(arena, n, sizeof *p->wanted);
    p->root = sc_arena_array(arena, n, sizeof *p->root);
    p->last = sc_arena_array(arena, n, sizeof *p->last);
    p->next = sc_arena_array(arena, n, sizeof *p->next);
    p->taken = sc_arena_array(arena, n_steps, sizeof *p->taken);
    p->apart = sc_arena_array(arena, n_steps, sizeof *p->apart);
    p->dies = sc_arena_array(arena, n_steps, sizeof *p->dies);
    p->holes.hole = sc_arena_array(arena, n + 1, sizeof *p->holes.hole);
    if (!p->offset || !p->room || !p->wanted || !p->root || !p->last || !p->next || !p->taken || !p->apart ||
        !p->dies || !p->holes.hole) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < program->n_slots; s++) {
        p->offset[s] = SC_NOT_IN_BLOCK;
    }
    find_roots(program, p);
    return SC_OK;
}

void sc_placement_release(struct sc_placement *placement)
{
    sc_arena_release(&placement->arena);
    memset(placement, 0, sizeof *placement);
}

/* Bytes in whole cache lines of an output that lies in the block; 0: it does not. */
static int64_t bytes_of(const struct sc_placement *p, const struct sc_layout *layout, int slot)
{
    if (slot < 0 || p->root[slot] != slot || layout->facts[slot].kind != SC_KIND_TENSOR) {
        return 0;
    }
    const int64_t exact = (int64_t)sc_tensor_bytes(&layout->templates[slot].u.tensor);
    return exact ? (exact + SC_ALIGN - 1) / SC_ALIGN * SC_ALIGN : SC_ALIGN;
}

/* Broadcast inputs are smaller than the output. */
static bool equal_bytes(const struct sc_layout *layout, const struct sc_step *step)
{
    return sc_tensor_bytes(&layout->templates[step->in[0]].u.tensor) ==
        sc_tensor_bytes(&layout->templates[step->out[0]].u.tensor);
}

bool sc_placement_fits(const struct sc_program *program, const struct sc_placement *p, const struct sc_layout *layout)
{
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        if (!layout->planned[s]) {
            continue;
        }
        for (int o = 0; o < step->n_out; o++) {
            const int64_t bytes = bytes_of(p, layout, step->out[o]);
            if (bytes && (p->offset[step->out[o]] == SC_NOT_IN_BLOCK || bytes > p->room[step->out[o]])) {
                return false;
            }
        }
        if (p->taken[s] && !equal_bytes(layout, step)) {
            return false;
        }
    }
    return true;
}

/* Room for these bytes; more than asked where less was asked before, by a quarter of the power of two below. */
static int64_t grown(int64_t before, int64_t bytes)
{
    if (before == 0 || bytes <= before) {
        return bytes > before ? bytes : before;
    }
    int64_t power = SC_ALIGN;
    while (2 * power <= bytes) {
        power *= 2;
    }
    const int64_t step = power / 4 > SC_ALIGN ? power / 4 : SC_ALIGN;
    return (bytes + step - 1) / step * step;
}

/* An operator that works in place takes over the memory of its first input when that dies here and nothing else shows
 * it. */
static bool takes_over(const struct sc_program *program, const struct sc_placement *p, int s)
{
    const struct sc_step *step = &program->steps[s];
    if (!(step->op->flags & SC_OP_IN_PLACE) || p->apart[s] || step->in[0] < 0) {
        return false;
    }
    const int root = p->root[step->in[0]];
    if (p->offset[root] == SC_NOT_IN_BLOCK || p->last[root] != s || p->room[root] < p->wanted[step->out[0]] ||
        program->slots[step->in[0]].strided) {
        return false;
    }
    for (int i = 1; i < step->n_in; i++) {
        if (step->in[i] >= 0 && p->root[step->in[i]] == root) {
            return false;
        }
    }
    return true;
}

static void place_outputs(const struct sc_program *program, struct sc_placement *p, int s)
{
    const struct sc_step *step = &program->steps[s];
    int taken = -1;
    for (int o = 0; o < step->n_out; o++) {
        const int slot = step->out[o];
        if (slot < 0 || p->wanted[slot] == 0) {
            continue;
        }
        p->room[slot] = p->wanted[slot];
        if (o == 0 && takes_over(program, p, s)) {
            taken = p->root[step->in[0]];
            p->taken[s] = true;
            p->offset[slot] = p->offset[taken];
            p->room[slot] = p->room[taken];
        } else {
            p->offset[slot] = take(&p->holes, p->room[slot]);
        }
        p->next[slot] = p->dies[p->last[slot]];
        p->dies[p->last[slot]] = slot;
    }
    for (int root = p->dies[s]; root >= 0; root = p->next[root]) {
        if (root != taken) {
            give(&p->holes, p->offset[root], p->room[root]);
        }
    }
}

void sc_placement_make(const struct sc_program *program, const struct sc_layout *layout, struct sc_placement *p)
{
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        for (int o = 0; o < step->n_out && layout->planned[s]; o++) {
            const int64_t bytes = bytes_of(p, layout, step->out[o]);
            if (bytes) {
                p->wanted[step->out[o]] = grown(p->wanted[step->out[o]], bytes);
            }
        }
        const bool may = step->op->flags & SC_OP_IN_PLACE && layout->planned[s] && step->in[0] >= 0;
        p->apart[s] |= may && step->out[0] >= 0 && !equal_bytes(layout, step);
        p->taken[s] = false;
        p->dies[s] = -1;
    }
    p->dies[program->n_steps] = -1;
    for (int s = 0; s < program->n_slots; s++) {
        p->offset[s] = SC_NOT_IN_BLOCK;
    }
    p->holes.n = 0;
    p->holes.end = 0;
    for (int s = 0; s < program->n_steps; s++) {
        place_outputs(program, p, s);
    }
    p->block_bytes = p->holes.end;
    p->number++;
}
