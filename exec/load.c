/* SPDX-License-Identifier: Apache-2.0
 * Loading: the weights of this program alone come into memory, in the form that its steps read them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exec/recipe.h"
#include "exec/step.h"

#define MOST_PACKED 32 /* inputs that a step may pack */
#define PACKED_ALIGN 64
#define MUCH_BYTES (1 << 20) /* less is read or packed in a moment */
#define HUGE_FROM_BYTES (2 << 20) /* of packed weights, which are read over and over: a page of x86 that is huge */

static void drop_pages(const struct sc_program *program, const struct sc_weight *weight)
{
    weight = weight->recipe ? &weight->recipe->source : weight;
    if (weight->file < 0 || !weight->raw || program->spec.model->remote) {
        return;
    }
    const struct sc_file *file = &program->spec.model->files[weight->file];
    sc_file_drop(file, (size_t)(weight->raw - file->data), weight->raw_bytes);
}

struct fetching {
    const struct sc_program *program;
    const struct sc_weight *weight;
    struct sc_arena *arena;
    bool plain; /* to be kept: one element a byte at least, in place or in the arena */
    struct sc_making *making; /* holds what operators made, unless it is to be kept */
    struct sc_tensor *tensor;
};

static enum sc_status copy_plain(const struct fetching *f)
{
    struct sc_tensor plain;
    SC_TRY(sc_tensor_new(f->arena, f->tensor->type, f->tensor->rank, f->tensor->dims, &plain));
    sc_tensor_copy_dense(f->tensor, plain.data);
    *f->tensor = plain;
    return SC_OK;
}

static enum sc_status fetch_here(void *arg)
{
    const struct fetching *f = arg;
    SC_TRY(sc_weight_fetch(f->program->spec.model, f->weight, f->arena, f->tensor));
    return f->plain && f->tensor->storage == SC_STORAGE_PACKED ? copy_plain(f) : SC_OK;
}

/* By all workers. */
static enum sc_status fetch_made(const struct fetching *f, struct sc_team *team)
{
    SC_TRY(sc_recipe_open(&f->program->spec, f->weight->recipe, team, f->making, f->tensor));
    return f->plain ? copy_plain(f) : SC_OK;
}

/* Reading and converting a large weight takes long, and so does the disk. What comes from another rank is worker 0's to
 * fetch: it is made of messages. */
static enum sc_status fetch(struct fetching *fetching, struct sc_team *team)
{
    const struct sc_weight *weight = fetching->weight;
    if (weight->recipe && weight->recipe->graph) {
        return fetch_made(fetching, team);
    }
    const bool small = sc_tensor_bytes(&weight->shape) < MUCH_BYTES && !weight->recipe;
    return small || fetching->program->spec.model->remote ? fetch_here(fetching)
                                                          : sc_team_relieve(team, fetch_here, fetching);
}

/* A weight that a program beside this one has brought in; NULL: none has. */
static const struct sc_value *find_loaded(const struct sc_program *program, int weight)
{
    for (int p = 0; p < program->spec.n_beside; p++) {
        const struct sc_program *other = program->spec.beside[p];
        for (int s = 0; s < other->n_slots; s++) {
            const struct sc_slot *slot = &other->slots[s];
            if (slot->kind == SC_SLOT_WEIGHT && slot->weight == weight && slot->needed) {
                return &other->constants[s];
            }
        }
    }
    return NULL;
}

/* The packed weight of the same node there: how it is packed follows from the graph alone. */
static void *find_packed(const struct sc_program *program, const struct sc_step *step)
{
    for (int p = 0; p < program->spec.n_beside; p++) {
        const struct sc_program *other = program->spec.beside[p];
        for (int s = 0; s < other->n_steps; s++) {
            const struct sc_step *theirs = &other->steps[s];
            if (theirs->node == step->node && theirs->packed && theirs->packed_inputs == step->packed_inputs &&
                theirs->packed_bytes == step->packed_bytes) {
                return theirs->packed;
            }
        }
    }
    return NULL;
}

/* A weight as steps see it: its content, or only its shape when all of its readers have it packed. */
static enum sc_status load_weight(struct sc_program *program, int s, struct sc_team *team)
{
    const struct sc_slot *slot = &program->slots[s];
    const struct sc_weight *weight = &program->spec.graph->weights[slot->weight];
    struct sc_value *value = &program->constants[s];
    value->kind = SC_KIND_TENSOR;
    if (!slot->needed) {
        value->u.tensor = weight->shape;
        value->u.tensor.data = NULL;
        return SC_OK;
    }
    const struct sc_value *loaded = find_loaded(program, slot->weight);
    if (loaded) {
        *value = *loaded;
        return SC_OK;
    }
    struct sc_making making = {0};
    struct sc_tensor tensor;
    struct fetching fetching = {program, weight, &program->weights, true, &making, &tensor};
    const enum sc_status status = fetch(&fetching, team);
    sc_recipe_close(&making);
    SC_TRY(status);
    const bool mapped = weight->raw && tensor.data == (const void *)weight->raw;
    if (!mapped) {
        drop_pages(program, weight);
    }
    *(mapped ? &program->mapped_bytes : &program->own_bytes) += (int64_t)sc_tensor_bytes(&tensor);
    tensor.owner = SC_OWNER_MODEL;
    value->u.tensor = tensor;
    return SC_OK;
}

static size_t round_up(size_t bytes) /* what packed weights are aligned to */
{
    return (bytes + PACKED_ALIGN - 1) / PACKED_ALIGN * PACKED_ALIGN;
}

struct packing {
    const struct sc_op *op;
    const struct sc_pack *pack;
};

static enum sc_status pack_here(void *arg)
{
    const struct packing *packing = arg;
    packing->op->pack(packing->pack);
    return SC_OK;
}

static void pack_content(const struct sc_program *program, struct sc_step *step, int input,
    const struct sc_tensor *content, struct sc_team *team)
{
    const struct sc_tensor *in[MOST_PACKED] = {NULL};
    for (int i = 0; i < step->n_in && i < MOST_PACKED; i++) {
        in[i] = step->packed_inputs >> i & 1 ? &program->constants[step->in[i]].u.tensor : NULL;
    }
    const struct sc_prepare prepare = {.graph = program->spec.graph,
        .node = step->node,
        .params = step->params,
        .n_in = step->n_in,
        .kernels = program->spec.kernels,
        .blas = program->spec.blas,
        .choice = step->choice,
        .packed_inputs = step->packed_inputs,
        .packed_bytes = step->packed_bytes};
    const struct sc_pack pack = {
        .prepare = &prepare, .input = input, .weight = content, .in = in, .packed = step->packed, .team = team};
    struct packing packing = {step->op, &pack};
    (void)(step->packed_bytes < MUCH_BYTES ? pack_here(&packing) : sc_team_relieve(team, pack_here, &packing));
}

static enum sc_status pack_input(struct sc_program *program, struct sc_step *step, int input, struct sc_team *team)
{
    const struct sc_slot *slot = &program->slots[step->in[input]];
    const struct sc_weight *weight = &program->spec.graph->weights[slot->weight];
    /* A copy, where the file's bytes cannot be used in place, goes as soon as it is packed. It is made last, so that
     * what it leaves is the heap's end and not a hole. */
    struct sc_arena passing = {0};
    struct sc_making making = {0};
    struct sc_tensor content = program->constants[step->in[input]].u.tensor;
    enum sc_status status = SC_OK;
    if (!slot->needed) {
        struct fetching fetching = {program, weight, &passing, false, &making, &content};
        status = fetch(&fetching, team);
    }
    if (status == SC_OK && content.data != (const void *)weight->raw) {
        drop_pages(program, weight);
    }
    if (status == SC_OK) {
        pack_content(program, step, input, &content, team);
        if (!slot->needed) {
            drop_pages(program, weight);
        }
    }
    sc_recipe_close(&making);
    sc_arena_release(&passing);
    return status;
}

/* They lie in one block: a matrix that is no larger than a huge page has none of its own. */
static enum sc_status place_packed(struct sc_program *program, struct sc_step **steps, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += round_up(steps[i]->packed_bytes);
    }
    char *at = n > 0 ? sc_arena_alloc(&program->weights, bytes) : NULL;
    if (n > 0 && !at) {
        return SC_NO_MEMORY;
    }
    if (bytes >= HUGE_FROM_BYTES) {
        sc_memory_prefer_huge(at, bytes);
    }
    for (size_t i = 0; i < n; i++) {
        steps[i]->packed = at;
        at += round_up(steps[i]->packed_bytes);
    }
    return SC_OK;
}

static enum sc_status pack_step(struct sc_program *program, struct sc_step *step, struct sc_team *team)
{
    program->own_bytes += (int64_t)step->packed_bytes;
    for (int i = 0; i < step->n_in; i++) {
        if (i < MOST_PACKED && step->packed_inputs >> i & 1) {
            SC_TRY(pack_input(program, step, i, team));
        }
    }
    return SC_OK;
}

/* Steps that pack, the largest first: while one is packed its content is in memory twice, which then costs least. */
static int larger_first(const void *a, const void *b)
{
    const struct sc_step *const *left = a, *const *right = b;
    if ((*left)->packed_bytes != (*right)->packed_bytes) {
        return (*left)->packed_bytes > (*right)->packed_bytes ? -1 : 1;
    }
    return *left < *right ? -1 : *left > *right;
}

static enum sc_status pack_steps(struct sc_program *program, struct sc_team *team)
{
    struct sc_arena passing = {0};
    struct sc_step **packing = sc_arena_array(&passing, (size_t)program->n_steps + 1, sizeof *packing);
    enum sc_status status = packing ? SC_OK : SC_NO_MEMORY;
    size_t n = 0;
    for (int s = 0; s < program->n_steps && packing; s++) {
        struct sc_step *step = &program->steps[s];
        step->packed = step->packed_inputs != 0 ? find_packed(program, step) : NULL;
        if (step->packed_inputs != 0 && !step->packed) {
            packing[n++] = step;
        }
    }
    if (n > 0) {
        qsort(packing, n, sizeof(struct sc_step *), larger_first);
    }
    status = status == SC_OK ? place_packed(program, packing, n) : status;
    for (size_t i = 0; i < n && status == SC_OK; i++) {
        status = pack_step(program, packing[i], team);
        sc_team_make_progress(team);
    }
    sc_arena_release(&passing);
    return status;
}

enum sc_status sc_program_load(struct sc_program *program, struct sc_team *team)
{
    program->constants = sc_arena_array(&program->arena, (size_t)program->n_slots, sizeof *program->constants);
    if (!program->constants) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < program->n_slots; s++) {
        if (program->slots[s].kind == SC_SLOT_WEIGHT) {
            SC_TRY(load_weight(program, s, team));
            sc_team_make_progress(team);
        }
    }
    SC_TRY(pack_steps(program, team));
    for (int s = 0; s < program->n_steps; s++) {
        const struct sc_step *step = &program->steps[s];
        for (int b = 0; b < step->n_bodies; b++) {
            SC_TRY(sc_program_load(step->bodies[b].program, team));
        }
    }
    return SC_OK;
}

void sc_program_weight_bytes(const struct sc_program *program, int64_t *own_bytes, int64_t *mapped_bytes)
{
    *own_bytes = program->own_bytes;
    *mapped_bytes = program->mapped_bytes;
    for (int s = 0; s < program->n_steps; s++) {
        for (int b = 0; b < program->steps[s].n_bodies; b++) {
            int64_t own, mapped;
            sc_program_weight_bytes(program->steps[s].bodies[b].program, &own, &mapped);
            *own_bytes += own;
            *mapped_bytes += mapped;
        }
    }
}
