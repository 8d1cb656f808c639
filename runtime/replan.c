/* SPDX-License-Identifier: Apache-2.0
 * Another plan for an open session: when all microbatches are through, stages are built anew and the states of all slots
 * move to the ranks that own them now. */
#include <stdlib.h>

#include "runtime/agree.h"
#include "runtime/migrate.h"
#include "runtime/stage.h"

/* What a session had before. */
struct before {
    struct sc_pipe pipe;
    struct sc_fact *facts;
    struct sc_pair_place *places; /* by pair */
};

static enum sc_status find_places(struct sc_session *session, struct sc_pair_place **out)
{
    struct sc_pipe *pipe = &session->pipes[0];
    const int n_pairs = session->options.n_pairs;
    struct sc_pair_place *places = sc_arena_array(&pipe->arena, (size_t)n_pairs, sizeof *places);
    if (!places) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n_pairs; p++) {
        const int stage = sc_session_pair_stage(session, pipe, p);
        const struct sc_stage *here = sc_pipe_stage(pipe, stage);
        places[p].rank = stage < 0 ? 0 : pipe->plan->stages[stage].ranks[0];
        if (here) {
            places[p].store = here->store;
            places[p].index = pipe->store_pairs[p];
        }
    }
    *out = places;
    return SC_OK;
}

/* The old stages keep their states and nothing else: the new ones may need the memory. */
static void set_aside(struct sc_session *session, struct sc_plan *plan, struct before *before)
{
    struct sc_pipe *pipe = &session->pipes[0];
    before->pipe = *pipe;
    for (int s = 0; s < pipe->n_stages; s++) {
        sc_stage_release_programs(&pipe->stages[s]);
    }
    *pipe = (struct sc_pipe){.plan = plan, .submitted = pipe->submitted, .delivered = pipe->delivered};
}

static enum sc_status rebuild(struct sc_session *session, const struct before *before)
{
    struct sc_pipe *pipe = &session->pipes[0];
    struct sc_pair_place *places;
    SC_TRY(sc_session_share_plan(session, pipe));
    SC_TRY(sc_session_lay_out(session));
    SC_TRY(sc_world_agree(session->world, find_places(session, &places)));
    SC_TRY(sc_world_agree(session->world, sc_migrate(session, before->places, places)));
    for (int s = 0; s < pipe->n_stages; s++) {
        pipe->stages[s].next_seq = session->replan_seq;
    }
    return SC_OK;
}

/* On every rank; no microbatch is in flight. plan: on rank 0, the new one. */
static enum sc_status follow(struct sc_session *session, struct sc_plan *plan)
{
    struct before before = {0};
    SC_TRY(sc_world_agree(session->world, find_places(session, &before.places)));
    sc_watchdog_attach(session->options.watchdog, &session->activity, NULL, NULL);
    sc_world_away(session->world, true);
    set_aside(session, plan, &before);
    const enum sc_status status = rebuild(session, &before);
    session->replan_seq = -1;
    sc_pipe_release(&before.pipe);
    return status;
}

enum sc_status sc_session_follow_replan(struct sc_session *session)
{
    return follow(session, NULL);
}

/* Nothing changes when the plan is refused. */
static enum sc_status read_plan(struct sc_session *session, const char *path, struct sc_plan **plan)
{
    return session->n_pipes > 1
        ? sc_fail(SC_BAD_USAGE, "a session with a plan for prompts cannot change to that of '%s'", path)
        : sc_session_make_plan(session, path, plan);
}

enum sc_status sc_session_check_plan(struct sc_session *session, const char *plan_path)
{
    struct sc_plan *plan;
    SC_TRY(read_plan(session, plan_path, &plan));
    sc_plan_free(plan);
    return SC_OK;
}

enum sc_status sc_session_replan(struct sc_session *session, const char *plan_path)
{
    struct sc_plan *plan;
    if (sc_session_in_flight(session) > 0) {
        return sc_fail(
            SC_INTERNAL, "a new plan while %lld microbatches are in flight", (long long)sc_session_in_flight(session));
    }
    SC_TRY(read_plan(session, plan_path, &plan));
    session->replan_seq = session->pipes[0].submitted;
    const enum sc_status status = sc_session_announce(session, SC_WIRE_CONTROL);
    if (status != SC_OK) {
        sc_plan_free(plan);
        return status;
    }
    return follow(session, plan);
}
