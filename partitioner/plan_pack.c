/* SPDX-License-Identifier: Apache-2.0
 * A plan as one run of 64-bit words, then the note: for ranks of one job, which agreed on version and model before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partitioner/plan.h"

static const int64_t magic = 0x326e616c7063730a; /* "\nscplan2" */

enum { N_HEAD = 8, N_STAGE = 9 }; /* words */

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double real_of(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum sc_status sc_plan_pack(const struct sc_plan *plan, void **bytes, size_t *n_bytes)
{
    const size_t note_bytes = plan->note ? strlen(plan->note) : 0;
    const size_t n_words = N_HEAD + N_STAGE * (size_t)plan->n_stages + (size_t)plan->n_nodes;
    int64_t *words = malloc(n_words * sizeof *words + note_bytes);
    if (!words) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a plan of %d nodes", plan->n_nodes);
    }
    int64_t *to = words;
    *to++ = magic;
    *to++ = (int64_t)plan->fingerprint;
    *to++ = plan->n_stages;
    *to++ = plan->n_nodes;
    *to++ = plan->latency;
    *to++ = plan->aim;
    *to++ = bits_of(plan->bound_seconds);
    *to++ = plan->note ? (int64_t)note_bytes : -1;
    for (int k = 0; k < plan->n_stages; k++) {
        const struct sc_plan_stage *stage = &plan->stages[k];
        *to++ = stage->n_ranks;
        *to++ = stage->ranks[0];
        *to++ = bits_of(stage->seconds);
        *to++ = bits_of(stage->chunk_seconds);
        *to++ = stage->weight_bytes;
        *to++ = stage->packed_bytes;
        *to++ = stage->activation_bytes;
        *to++ = stage->state_bytes;
        *to++ = stage->n_nodes;
    }
    for (int i = 0; i < plan->n_nodes; i++) {
        *to++ = plan->stage_of[i];
    }
    if (note_bytes) {
        memcpy(to, plan->note, note_bytes);
    }
    *bytes = words;
    *n_bytes = n_words * sizeof *words + note_bytes;
    return SC_OK;
}

struct packed {
    const unsigned char *at;
    size_t bytes;
};

static int64_t next_word(struct packed *packed)
{
    int64_t word = 0;
    if (packed->bytes >= sizeof word) {
        memcpy(&word, packed->at, sizeof word);
        packed->at += sizeof word;
        packed->bytes -= sizeof word;
    }
    return word;
}

static bool is_seconds(double x)
{
    return isfinite(x) && x >= 0;
}

static bool unpack_stage(struct packed *packed, struct sc_plan_stage *stage)
{
    const int64_t n_ranks = next_word(packed), rank = next_word(packed);
    stage->seconds = real_of(next_word(packed));
    stage->chunk_seconds = real_of(next_word(packed));
    stage->weight_bytes = next_word(packed);
    stage->packed_bytes = next_word(packed);
    stage->activation_bytes = next_word(packed);
    stage->state_bytes = next_word(packed);
    const int64_t n_nodes = next_word(packed);
    stage->n_ranks = 1;
    stage->ranks[0] = (int)rank;
    return n_ranks == 1 && rank >= 0 && rank <= INT32_MAX && is_seconds(stage->seconds) &&
        is_seconds(stage->chunk_seconds) && stage->weight_bytes >= 0 && stage->packed_bytes >= 0 &&
        stage->activation_bytes >= 0 && stage->state_bytes >= 0 && n_nodes >= 0;
}

static bool unpack_nodes(struct packed *packed, struct sc_plan *plan)
{
    for (int i = 0; i < plan->n_nodes; i++) {
        const int64_t stage = next_word(packed);
        if (stage < -1 || stage >= plan->n_stages) {
            return false;
        }
        plan->stage_of[i] = (int)stage;
        if (stage >= 0) {
            plan->stages[stage].n_nodes++;
        }
    }
    for (int k = 0; k < plan->n_stages; k++) {
        if (plan->n_nodes > 0 && !plan->stages[k].n_nodes) {
            return false;
        }
    }
    return true;
}

static enum sc_status unpack(struct packed *packed, const struct sc_model *model, struct sc_plan *plan)
{
    static const char *const what = "the plan that came from rank 0";
    const int64_t word = next_word(packed);
    plan->fingerprint = (uint64_t)next_word(packed);
    const int64_t n_stages = next_word(packed), n_nodes = next_word(packed);
    plan->latency = next_word(packed) != 0;
    const int64_t aim = next_word(packed);
    plan->bound_seconds = real_of(next_word(packed));
    const int64_t note_bytes = next_word(packed);
    const size_t n_words = packed->bytes / sizeof(int64_t);
    if (word != magic || n_nodes != model->n_units || n_stages < 1 || (n_stages > n_nodes && n_stages > 1) ||
        n_words < N_STAGE * (size_t)n_stages + (size_t)n_nodes || !is_seconds(plan->bound_seconds) ||
        aim < SC_PLAN_FOR_BOTH || aim > SC_PLAN_FOR_PROMPTS) {
        return sc_fail(SC_BAD_INPUT, "%s is damaged, or for another model", what);
    }
    plan->aim = (enum sc_plan_aim)aim;
    plan->n_stages = (int)n_stages;
    plan->n_nodes = (int)n_nodes;
    plan->stages = sc_arena_array(&plan->arena, (size_t)n_stages, sizeof *plan->stages);
    plan->stage_of = sc_arena_array(&plan->arena, (size_t)n_nodes, sizeof *plan->stage_of);
    int *ranks = sc_arena_array(&plan->arena, (size_t)n_stages, sizeof *ranks);
    if (!plan->stages || !plan->stage_of || !ranks) {
        return SC_NO_MEMORY;
    }
    bool good = true;
    for (int k = 0; k < plan->n_stages && good; k++) {
        plan->stages[k].ranks = ranks + k;
        good = unpack_stage(packed, &plan->stages[k]);
    }
    if (!good || !unpack_nodes(packed, plan) || packed->bytes != (size_t)(note_bytes < 0 ? 0 : note_bytes)) {
        return sc_fail(SC_BAD_INPUT, "%s is damaged", what);
    }
    if (plan->fingerprint && plan->fingerprint != model->fingerprint) {
        return sc_fail(SC_BAD_INPUT, "%s is for another model", what);
    }
    if (note_bytes >= 0 && !(plan->note = sc_arena_text(&plan->arena, (const char *)packed->at, (size_t)note_bytes))) {
        return SC_NO_MEMORY;
    }
    return sc_plan_order(plan, model->graph, what);
}

enum sc_status sc_plan_unpack(const void *bytes, size_t n_bytes, const struct sc_model *model, struct sc_plan **plan)
{
    struct packed packed = {bytes, n_bytes};
    struct sc_plan *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a plan");
    }
    const enum sc_status status = unpack(&packed, model, made);
    if (status != SC_OK) {
        sc_plan_free(made);
        return status;
    }
    *plan = made;
    return SC_OK;
}
