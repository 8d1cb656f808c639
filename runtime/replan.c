/* SPDX-License-Identifier: Apache-2.0
 * Another plan for an open session: when all microbatches are through, stages are built anew and the states of all
 * slots move to the ranks that own them now. */
#include <stdlib.h>

#include "runtime/agree.h"
#include "runtime/migrate.h"
#include "runtime/stage.h"

/* What a session had before, plan by plan. */
struct before {
    struct sc_pipe pipes[SC_PIPES];
    struct sc_pair_place *places[SC_PIPES]; /* by pair */
};

static enum sc_status find_places(struct sc_session *session, struct sc_pipe *pipe, struct sc_pair_place **out)
{
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

/* The old stages keep their states and nothing else: the new ones may need the memory. Prompts keep their plan, whose
 * stages are built anew too, as they use weights of the other one's and hand over to them. */
static void set_aside(struct sc_session *session, struct sc_plan *plan, struct before *before)
{
    for (int p = session->n_pipes - 1; p >= 0; p--) { /* later ones use weights of the first */
        struct sc_pipe *pipe = &session->pipes[p];
        for (int s = 0; s < pipe->n_stages; s++) {
            sc_stage_release_programs(&pipe->stages[s]);
        }
        before->pipes[p] = *pipe;
        *pipe = (struct sc_pipe){
            .plan = p > 0 ? pipe->plan : plan, .submitted = pipe->submitted, .delivered = pipe->delivered};
        before->pipes[p].plan = p > 0 ? NULL : before->pipes[p].plan;
    }
}

/* All slots, to the stages of the new plans, which go on where the old ones were. */
static enum sc_status move_states(struct sc_session *session, struct sc_pipe *pipe, const struct sc_pair_place *from)
{
    struct sc_pair_place *to;
    SC_TRY(sc_world_agree(session->world, find_places(session, pipe, &to)));
    SC_TRY(sc_world_agree(session->world, sc_migrate(session, from, to)));
    for (int s = 0; s < pipe->n_stages; s++) {
        pipe->stages[s].next_seq = pipe->submitted;
    }
    for (int t = 0; t < pipe->n_takers; t++) {
        pipe->takers[t].next_seq = pipe->submitted;
    }
    return SC_OK;
}

static enum sc_status rebuild(struct sc_session *session, const struct before *before)
{
    SC_TRY(sc_session_share_plan(session, &session->pipes[0]));
    SC_TRY(sc_session_lay_out(session));
    for (int p = 0; p < session->n_pipes; p++) {
        SC_TRY(move_states(session, &session->pipes[p], before->places[p]));
    }
    return SC_OK;
}

/* On every rank; no microbatch is in flight. plan: on rank 0, the new one. */
static enum sc_status follow(struct sc_session *session, struct sc_plan *plan)
{
    struct before before = {0};
    for (int p = 0; p < session->n_pipes; p++) {
        struct sc_pipe *pipe = &session->pipes[p];
        SC_TRY(sc_world_agree(session->world, find_places(session, pipe, &before.places[p])));
        SC_TRY(sc_world_broadcast(session->world, &pipe->submitted, sizeof pipe->submitted));
    }
    sc_watchdog_attach(session->options.watchdog, &session->activity, NULL, NULL);
    sc_world_away(session->world, true);
    set_aside(session, plan, &before);
    const enum sc_status status = rebuild(session, &before);
    session->replans = false;
    for (int p = session->n_pipes - 1; p >= 0; p--) {
        sc_pipe_release(&before.pipes[p]);
    }
    return status;
}

enum sc_status sc_session_follow_replan(struct sc_session *session)
{
    return follow(session, NULL);
}

/* A plan to go on with; whatever is wrong with it is said before anything moves. */
static enum sc_status read_plan(struct sc_session *session, const char *plan_path, struct sc_plan **plan)
{
    struct sc_plan *made;
    SC_TRY(sc_session_make_plan(session, plan_path, &made));
    const enum sc_status status = sc_session_check_plan_memory(session, plan_path, made);
    if (status != SC_OK) {
        sc_plan_free(made);
        return status;
    }
    *plan = made;
    return SC_OK;
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
    SC_TRY(read_plan(session, plan_path, &plan)); /* nothing changes when it is refused */
    session->replans = true;
    const enum sc_status status = sc_session_announce(session, SC_WIRE_CONTROL);
    if (status != SC_OK) {
        sc_plan_free(plan);
        return status;
    }
    return follow(session, plan);
}
