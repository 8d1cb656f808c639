/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 knows what its caller will give. The passes of every rank have to know it too, since what is never given is a
 * constant. */
#include "runtime/defaults.h"

#include "passes/passes.h"
#include "runtime/stage.h"

static enum sc_status mark_given(struct sc_session *session)
{
    const struct sc_graph *graph = session->model->graph;
    const bool *inputs = session->options.given_inputs;
    for (int i = 0; i < graph->n_inputs; i++) {
        session->given[i] = inputs && inputs[i] && graph->values[graph->inputs[i]].weight >= 0;
    }
    return session->options.override ? sc_pass_name_given(graph, session->options.override, session->given) : SC_OK;
}

enum sc_status sc_session_share_given(struct sc_session *session)
{
    const size_t n = (size_t)session->model->graph->n_inputs;
    session->given = sc_arena_array(&session->arena, n + 1, sizeof *session->given);
    enum sc_status status = session->given ? SC_OK : SC_NO_MEMORY;
    if (status == SC_OK && sc_world_rank(session->world) == 0) {
        status = mark_given(session);
    }
    SC_TRY(sc_world_agree(session->world, status));
    return sc_world_broadcast(session->world, session->given, n * sizeof *session->given);
}

enum sc_status sc_session_read_defaults(struct sc_session *session)
{
    const struct sc_graph *graph = session->model->graph;
    session->defaults = sc_arena_array(&session->arena, (size_t)graph->n_inputs + 1, sizeof *session->defaults);
    if (!session->defaults) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        if (session->given[i]) {
            struct sc_value *value = &session->defaults[i];
            const struct sc_weight *weight = &graph->weights[graph->values[graph->inputs[i]].weight];
            SC_TRY(sc_weight_tensor(weight, &session->arena, &value->u.tensor));
            value->kind = SC_KIND_TENSOR;
        }
    }
    return SC_OK;
}
