/* SPDX-License-Identifier: Apache-2.0
 * The plan of a session, on rank 0. */
#include <stdio.h>

#include "partitioner/reads.h"
#include "partitioner/report.h"
#include "runtime/agree.h"
#include "runtime/planning.h"
#include "runtime/stage.h"

static enum sc_status check_ranks(const struct sc_session *session, const char *path, const struct sc_plan *plan)
{
    for (int s = 0; s < plan->n_stages; s++) {
        const int rank = plan->stages[s].ranks[0];
        if (rank < 0 || rank >= sc_world_size(session->world)) {
            return sc_fail(SC_BAD_INPUT, "%s%s%s puts stage %d on rank %d, the job has %d", path ? "'" : "the plan",
                path ? path : "", path ? "'" : "", s, rank, sc_world_size(session->world));
        }
    }
    return SC_OK;
}

static int64_t usable_bytes(const struct sc_session *session)
{
    return session->options.memory_bytes > 0 ? session->options.memory_bytes : session->share.memory_bytes;
}

enum sc_status sc_session_gather_memory(struct sc_session *session)
{
    const int64_t mine = usable_bytes(session);
    session->memory = sc_arena_array(&session->arena, (size_t)sc_world_size(session->world), sizeof *session->memory);
    SC_TRY(sc_world_agree(session->world, session->memory ? SC_OK : SC_NO_MEMORY));
    return sc_world_gather(session->world, &mine, sizeof mine, session->memory);
}

/* Plans that are at work together: the plan, then the prefill plan. */
struct plans {
    int n;
    const struct sc_plan *of[SC_PIPES];
};

struct need {
    int64_t weights, caches, activations;
    int64_t leaving; /* caches of plans before, which are there until theirs are filled */
};

/* Marks the weights that a rank's stages of a plan read. */
static enum sc_status mark_weights(const struct sc_graph *graph, const struct sc_plan *plan, int rank, unsigned mark,
    struct sc_arena *arena, unsigned *marks)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        int n_values = 0, *values = NULL;
        const struct sc_node *node = &graph->nodes[n];
        if (node->dead || plan->stages[sc_plan_stage_of(plan, node)].ranks[0] != rank) {
            continue;
        }
        SC_TRY(sc_node_reads(graph, node, arena, &n_values, &values));
        for (int v = 0; v < n_values; v++) {
            const struct sc_graph_value *value = &graph->values[values[v]];
            if (value->place == SC_PLACE_INITIALIZER) {
                marks[value->weight] |= mark;
            }
        }
    }
    return SC_OK;
}

/* Weights that a rank's stages of both plans read are there once. */
static enum sc_status count_shared(const struct sc_graph *graph, const struct plans *plans, int rank, int64_t *bytes)
{
    struct sc_arena arena = {0};
    *bytes = 0;
    if (plans->n < 2) {
        return SC_OK;
    }
    unsigned *marks = sc_arena_array(&arena, (size_t)graph->n_weights + 1, sizeof *marks);
    enum sc_status status = marks ? SC_OK : SC_NO_MEMORY;
    for (int p = 0; p < 2 && status == SC_OK; p++) {
        status = mark_weights(graph, plans->of[p], rank, 1u << p, &arena, marks);
    }
    for (int w = 0; w < graph->n_weights && status == SC_OK; w++) {
        *bytes += marks[w] == 3 ? (int64_t)sc_weight_bytes(&graph->weights[w]) : 0;
    }
    sc_arena_release(&arena);
    return status;
}

static enum sc_status count_need(const struct sc_graph *graph, const struct plans *plans, int rank, struct need *need)
{
    int64_t shared;
    *need = (struct need){0};
    for (int p = 0; p < plans->n; p++) {
        for (int s = 0; s < plans->of[p]->n_stages; s++) {
            const struct sc_plan_stage *stage = &plans->of[p]->stages[s];
            if (stage->ranks[0] != rank) {
                continue;
            } /* what is packed takes the place of what is in the file */
            need->weights += stage->packed_bytes > stage->weight_bytes ? stage->packed_bytes : stage->weight_bytes;
            need->caches += stage->state_bytes;
            need->activations += stage->activation_bytes;
        }
    }
    SC_TRY(count_shared(graph, plans, rank, &shared));
    need->weights -= shared;
    return SC_OK;
}

/* path, who: of the message. have <= 0: nobody knows. */
static enum sc_status check_need(const char *path, const char *who, const struct need *need, int64_t have)
{
    char text[5][32], leaving[64] = "";
    const int64_t all = need->weights + need->caches + need->activations + need->leaving;
    if (have <= 0 || all <= have) {
        return SC_OK;
    }
    if (need->leaving > 0) {
        snprintf(leaving, sizeof leaving, ", caches until they have moved %s",
            sc_bytes_text(need->leaving, text[0], sizeof text[0]));
    }
    return sc_fail(SC_LIMIT, "'%s': %s needs %s of memory (weights %s, caches %s, activations %s%s) and has %s", path,
        who, sc_bytes_text(all, text[0], sizeof text[0]), sc_bytes_text(need->weights, text[1], sizeof text[1]),
        sc_bytes_text(need->caches, text[2], sizeof text[2]), sc_bytes_text(need->activations, text[3], sizeof text[3]),
        leaving, sc_bytes_text(have, text[4], sizeof text[4]));
}

enum sc_status sc_session_check_memory(const struct sc_session *session)
{
    struct plans plans = {.n = session->n_pipes};
    struct need need;
    for (int p = 0; p < session->n_pipes; p++) {
        plans.of[p] = session->pipes[p].plan;
    }
    SC_TRY(count_need(session->model->graph, &plans, sc_world_rank(session->world), &need));
    return check_need(session->model->path, "this rank", &need, usable_bytes(session));
}

/* Caches of the plans at work. */
static int64_t caches_at_work(const struct sc_session *session, int rank)
{
    int64_t bytes = 0;
    for (int p = 0; p < session->n_pipes; p++) {
        const struct sc_plan *plan = session->pipes[p].plan;
        for (int s = 0; s < plan->n_stages; s++) {
            bytes += plan->stages[s].ranks[0] == rank ? plan->stages[s].state_bytes : 0;
        }
    }
    return bytes;
}

enum sc_status sc_session_check_plan_memory(
    const struct sc_session *session, const char *path, const struct sc_plan *plan)
{
    struct plans plans = {.n = session->n_pipes, .of = {plan}};
    for (int p = 1; p < session->n_pipes; p++) {
        plans.of[p] = session->pipes[p].plan;
    }
    for (int rank = 0; rank < sc_world_size(session->world); rank++) {
        struct need need;
        char who[32];
        snprintf(who, sizeof who, "rank %d", rank);
        SC_TRY(count_need(session->model->graph, &plans, rank, &need));
        need.leaving = caches_at_work(session, rank);
        SC_TRY(check_need(path, who, &need, session->memory[rank]));
    }
    return SC_OK;
}

enum sc_status sc_session_make_plan(struct sc_session *session, const char *path, struct sc_plan **out)
{
    const struct sc_session_options *options = &session->options;
    if (options->pin >= sc_world_size(session->world)) {
        return sc_fail(
            SC_BAD_USAGE, "option '--pin': there is no rank %d among %d", options->pin, sc_world_size(session->world));
    }
    const bool first = path == options->plan_path; /* what options say of cuts is not of a plan to go on with */
    const struct sc_planning planning = {.n_ranks = sc_world_size(session->world),
        .n_stages = first ? options->n_stages : 0,
        .fewer = options->fewer_stages,
        .plan_path = path,
        .random = options->random_plan && first,
        .random_seed = options->plan_seed,
        .memory = session->memory,
        .n_slots = options->n_slots,
        .context = options->context,
        .past = options->past,
        .n_pages = options->n_pages,
        .n_pairs = options->n_pairs,
        .pairs = options->pairs,
        .input_facts = options->input_facts,
        .chunk_facts = options->chunk_facts,
        .aim = options->prefill_plan_path ? SC_PLAN_FOR_STEPS : SC_PLAN_FOR_BOTH, /* that is read from its file */
        .kernels = session->kernels};
    struct sc_plan *plan;
    struct sc_fact *facts;
    struct sc_arena passing = {0};
    enum sc_status status = sc_planning_make(session->model, &planning, session->is_state, &passing, &facts, &plan);
    if (status != SC_OK) {
        sc_arena_release(&passing);
        return status;
    }
    for (int s = 0; s < plan->n_stages && options->pin >= 0; s++) {
        plan->stages[s].ranks[0] = options->pin;
    }
    status = check_ranks(session, path, plan);
    if (status == SC_OK && !session->facts) { /* they are the same for every plan */
        session->facts = facts;
        sc_arena_adopt(&session->arena, &passing);
    }
    sc_arena_release(&passing);
    if (status != SC_OK) {
        sc_plan_free(plan);
        return status;
    }
    *out = plan;
    return SC_OK;
}

/* What a plan for prompts has to hand over. */
static enum sc_status check_states(const struct sc_session *session)
{
    return session->options.n_pairs > 0
        ? SC_OK
        : sc_fail(SC_BAD_USAGE, "'%s' keeps no states, which a plan for prompts could hand over", session->model->path);
}

enum sc_status sc_session_make_plans(struct sc_session *session)
{
    const struct sc_session_options *options = &session->options;
    SC_TRY(options->prefill_plan_path ? check_states(session) : SC_OK);
    SC_TRY(sc_session_make_plan(session, options->plan_path, &session->pipes[0].plan));
    session->n_pipes = 1;
    if (options->prefill_plan_path) {
        SC_TRY(sc_session_make_plan(session, options->prefill_plan_path, &session->pipes[1].plan));
        session->n_pipes = 2;
    }
    return SC_OK;
}
