/* SPDX-License-Identifier: Apache-2.0
 * The plan of a session, on rank 0. */
#include "runtime/agree.h"
#include "runtime/planning.h"
#include "runtime/stage.h"

static enum sc_status check_ranks(const struct sc_session *session)
{
    for (int s = 0; s < session->plan->n_stages; s++) {
        const int rank = session->plan->stages[s].ranks[0];
        if (rank < 0 || rank >= sc_world_size(session->world)) {
            const char *path = session->options.plan_path;
            return sc_fail(SC_BAD_INPUT, "%s%s%s puts stage %d on rank %d, the job has %d", path ? "'" : "the plan",
                path ? path : "", path ? "'" : "", s, rank, sc_world_size(session->world));
        }
    }
    return SC_OK;
}

enum sc_status sc_session_make_plan(struct sc_session *session)
{
    const struct sc_session_options *options = &session->options;
    if (options->pin >= sc_world_size(session->world)) {
        return sc_fail(
            SC_BAD_USAGE, "option '--pin': there is no rank %d among %d", options->pin, sc_world_size(session->world));
    }
    const struct sc_planning planning = {.n_ranks = sc_world_size(session->world),
        .n_stages = options->n_stages,
        .fewer = options->fewer_stages,
        .plan_path = options->plan_path,
        .random = options->random_plan,
        .random_seed = options->plan_seed,
        .memory_bytes = options->memory_bytes > 0 ? options->memory_bytes : session->share.memory_bytes,
        .n_slots = options->n_slots,
        .context = options->context,
        .n_pages = options->n_pages,
        .n_pairs = options->n_pairs,
        .pairs = options->pairs,
        .input_facts = options->input_facts,
        .kernels = session->kernels};
    SC_TRY(sc_planning_make(
        session->model, &planning, session->is_state, &session->arena, &session->facts, &session->plan));
    for (int s = 0; s < session->plan->n_stages && options->pin >= 0; s++) {
        session->plan->stages[s].ranks[0] = options->pin;
    }
    return check_ranks(session);
}
