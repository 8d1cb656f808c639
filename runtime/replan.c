/* SPDX-License-Identifier: Apache-2.0
 * Another plan for an open session: when all microbatches are through, stages are built anew and the states of all slots
 * move to the ranks that own them now. */
#include <stdlib.h>

#include "runtime/agree.h"
#include "runtime/migrate.h"
#include "runtime/stage.h"

/* What a session had before. */
struct before {
    struct sc_plan *plan;
    struct sc_fact *facts;
    int n_edges, n_stages;
    struct sc_edge *edges;
    struct sc_stage *stages;
    struct sc_pair_place *places; /* by pair */
};

static enum sc_status find_places(struct sc_session *session, struct sc_pair_place **out)
{
    const int n_pairs = session->options.n_pairs;
    struct sc_pair_place *places = sc_arena_array(&session->arena, (size_t)n_pairs, sizeof *places);
    if (!places) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n_pairs; p++) {
        const int stage = sc_session_pair_stage(session, p);
        places[p].rank = stage < 0 ? 0 : session->plan->stages[stage].ranks[0];
        for (int s = 0; s < session->n_stages; s++) {
            if (session->stages[s].index == stage) {
                places[p].store = session->stages[s].store;
                places[p].index = session->store_pairs[p];
            }
        }
    }
    *out = places;
    return SC_OK;
}

/* The old stages keep their states and nothing else: the new ones may need the memory. */
static void set_aside(struct sc_session *session, struct before *before)
{
    before->n_edges = session->n_edges;
    before->edges = session->edges;
    before->n_stages = session->n_stages;
    before->stages = session->stages;
    for (int s = 0; s < session->n_stages; s++) {
        sc_stage_release_programs(&session->stages[s]);
    }
    session->n_stages = session->n_edges = 0;
    session->stages = NULL;
    session->edges = NULL;
}

static void release(struct before *before)
{
    for (int s = 0; s < before->n_stages; s++) {
        sc_stage_release(&before->stages[s]);
    }
    for (int e = 0; e < before->n_edges; e++) {
        sc_arena_release(&before->edges[e].arena);
    }
    sc_plan_free(before->plan);
}

static enum sc_status rebuild(struct sc_session *session, const struct before *before)
{
    struct sc_pair_place *places;
    SC_TRY(sc_session_share_plan(session));
    SC_TRY(sc_session_lay_out(session));
    SC_TRY(sc_world_agree(session->world, find_places(session, &places)));
    SC_TRY(sc_world_agree(session->world, sc_migrate(session, before->places, places)));
    for (int s = 0; s < session->n_stages; s++) {
        session->stages[s].next_seq = session->replan_seq;
    }
    return SC_OK;
}

/* On every rank; no microbatch is in flight. before->plan and facts are the old ones. */
static enum sc_status follow(struct sc_session *session, struct before *before)
{
    SC_TRY(sc_world_agree(session->world, SC_OK)); /* the last messages of the old edges are through */
    sc_watchdog_attach(session->options.watchdog, &session->activity, NULL, NULL);
    sc_world_away(session->world, true);
    set_aside(session, before);
    const enum sc_status status = rebuild(session, before);
    session->replan_seq = -1;
    return status;
}

enum sc_status sc_session_follow_replan(struct sc_session *session)
{
    struct before before = {.plan = session->plan, .facts = session->facts};
    SC_TRY(sc_world_agree(session->world, find_places(session, &before.places)));
    session->plan = NULL;
    const enum sc_status status = follow(session, &before);
    release(&before);
    return status;
}

/* Rank 0. Nothing changes when the plan is refused. */
static enum sc_status read_plan(struct sc_session *session, const char *path, struct before *before)
{
    const struct sc_session_options options = session->options;
    *before = (struct before){.plan = session->plan, .facts = session->facts};
    session->options.plan_path = path;
    session->options.random_plan = false;
    session->plan = NULL;
    const enum sc_status status = sc_session_make_plan(session);
    session->options = options;
    if (status != SC_OK) {
        sc_plan_free(session->plan);
        session->plan = before->plan;
        session->facts = before->facts;
    }
    return status;
}

enum sc_status sc_session_check_plan(struct sc_session *session, const char *plan_path)
{
    struct before before;
    SC_TRY(read_plan(session, plan_path, &before));
    sc_plan_free(session->plan);
    session->plan = before.plan;
    session->facts = before.facts;
    return SC_OK;
}

enum sc_status sc_session_replan(struct sc_session *session, const char *plan_path)
{
    struct before before;
    if (sc_session_in_flight(session) > 0) {
        return sc_fail(
            SC_INTERNAL, "a new plan while %lld microbatches are in flight", (long long)sc_session_in_flight(session));
    }
    SC_TRY(read_plan(session, plan_path, &before));
    struct sc_plan *plan = session->plan;
    session->plan = before.plan;
    enum sc_status status = sc_session_announce(session, SC_WIRE_CONTROL);
    session->replan_seq = session->submitted;
    status = status == SC_OK ? sc_world_agree(session->world, find_places(session, &before.places)) : status;
    session->plan = plan;
    status = status == SC_OK ? follow(session, &before) : status;
    release(&before);
    return status;
}
