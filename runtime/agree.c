/* SPDX-License-Identifier: Apache-2.0
 * Ranks compare what they hold before any of them computes: a difference found here is one line, later it would be a
 * wrong answer. */
#include "runtime/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/stage.h"

/* What must be the same everywhere, as rank 0 has it. Plain data of one machine kind; sent as bytes. */
struct sc_handshake {
    char version[32];
    uint64_t fingerprint;
    int64_t context, seed, n_pages;
    int32_t n_slots, n_pairs, blas, has_tail;
    int32_t key_format, value_format; /* of pages, the same in all of a kind */
};

static void fill_handshake(const struct sc_session *session, struct sc_handshake *mine)
{
    const struct sc_session_options *options = &session->options;
    memset(mine, 0, sizeof *mine);
    snprintf(mine->version, sizeof mine->version, "%s", SC_VERSION);
    mine->fingerprint = session->model->fingerprint;
    mine->context = options->context;
    mine->seed = (int64_t)options->seed;
    mine->n_slots = options->n_slots;
    mine->n_pages = options->n_pages;
    mine->n_pairs = options->n_pairs;
    mine->blas = options->blas;
    mine->has_tail = options->tail != NULL;
    for (int p = 0; p < options->n_pairs; p++) {
        *(options->pairs[p].keys ? &mine->key_format : &mine->value_format) |= (int32_t)options->pairs[p].format;
    }
}

static enum sc_status compare(const struct sc_handshake *first, const struct sc_handshake *mine)
{
    const struct {
        const char *name;
        int64_t first, mine;
    } numbers[] = {{"--ctx", first->context, mine->context}, {"--seed", first->seed, mine->seed},
        {"slots", first->n_slots, mine->n_slots}, {"pages", first->n_pages, mine->n_pages},
        {"state pairs", first->n_pairs, mine->n_pairs}, {"--gemm blas", first->blas, mine->blas},
        {"the format of keys (-ctk)", first->key_format, mine->key_format},
        {"the format of values (-ctv)", first->value_format, mine->value_format},
        {"the way of outputs", first->has_tail, mine->has_tail}};
    if (memcmp(first->version, mine->version, sizeof first->version) != 0) {
        return sc_fail(SC_BAD_USAGE, "this rank runs version %s, rank 0 runs %.31s", mine->version, first->version);
    }
    if (first->fingerprint != mine->fingerprint) {
        return sc_fail(SC_BAD_MODEL, "this rank's model has fingerprint %016llx, rank 0's has %016llx",
            (unsigned long long)mine->fingerprint, (unsigned long long)first->fingerprint);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].first != numbers[i].mine) {
            return sc_fail(SC_BAD_USAGE, "%s is %lld on this rank, %lld on rank 0", numbers[i].name,
                (long long)numbers[i].mine, (long long)numbers[i].first);
        }
    }
    return SC_OK;
}

static enum sc_status lowest_isa(struct sc_session *session)
{
    struct sc_world *world = session->world;
    const int size = sc_world_size(world);
    int32_t *all = sc_arena_array(&session->arena, (size_t)size, sizeof *all);
    enum sc_status status = all ? sc_kernels_best(&session->kernels) : SC_NO_MEMORY;
    SC_TRY(sc_world_agree(world, status));
    int32_t isa = (int32_t)session->kernels->isa;
    SC_TRY(sc_world_gather(world, &isa, sizeof isa, sc_world_rank(world) == 0 ? all : NULL));
    for (int r = 0; r < size && sc_world_rank(world) == 0; r++) {
        isa = all[r] < isa ? all[r] : isa;
    }
    SC_TRY(sc_world_broadcast(world, &isa, sizeof isa));
    session->kernels = sc_kernels_at((enum sc_isa)isa);
    status = session->kernels ? SC_OK : sc_fail(SC_UNSUPPORTED, "this build has no kernels for level %d", isa);
    return sc_world_agree(world, status);
}

enum sc_status sc_session_agree(struct sc_session *session)
{
    struct sc_handshake mine, first;
    fill_handshake(session, &mine);
    first = mine;
    SC_TRY(sc_world_broadcast(session->world, &first, sizeof first));
    SC_TRY(sc_world_agree(session->world, compare(&first, &mine)));
    return lowest_isa(session);
}

enum sc_status sc_session_share_plan(struct sc_session *session, struct sc_pipe *pipe)
{
    struct sc_world *world = session->world;
    void *bytes = NULL;
    uint64_t n_bytes = 0;
    size_t packed = 0;
    enum sc_status status = SC_OK;
    if (sc_world_rank(world) == 0) {
        status = sc_plan_pack(pipe->plan, &bytes, &packed);
        n_bytes = packed;
    }
    SC_TRY(sc_world_agree(world, status));
    status = sc_world_broadcast(world, &n_bytes, sizeof n_bytes);
    if (status == SC_OK && sc_world_rank(world) != 0) {
        bytes = malloc(n_bytes);
        status = bytes ? SC_OK
                       : sc_fail(SC_NO_MEMORY, "out of memory for a plan of %llu bytes", (unsigned long long)n_bytes);
    }
    status = sc_world_agree(world, status);
    if (status == SC_OK) {
        status = sc_world_broadcast(world, bytes, n_bytes);
    }
    if (status == SC_OK && sc_world_rank(world) != 0) {
        status = sc_plan_unpack(bytes, n_bytes, session->model, &pipe->plan);
    }
    free(bytes);
    return sc_world_agree(world, status);
}
