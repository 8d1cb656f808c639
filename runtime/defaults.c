/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 knows what its caller will give. The passes of every rank have to know it too, since what is never given is a
 * constant, and a branch that is never taken is none. */
#include "runtime/defaults.h"

#include "passes/passes.h"
#include "runtime/stage.h"

static enum sc_status mark_inputs(struct sc_session *session)
{
    const struct sc_graph *graph = session->model->graph;
    const bool *inputs = session->options.given_inputs;
    for (int i = 0; i < graph->n_inputs; i++) {
        session->given[i] = inputs && inputs[i] && graph->values[graph->inputs[i]].weight >= 0;
        session->modes[i] = (int8_t)(session->options.modes ? session->options.modes[i] : 0);
    }
    return session->options.override ? sc_pass_name_given(graph, session->options.override, session->given) : SC_OK;
}

enum sc_status sc_session_share_inputs(struct sc_session *session)
{
    const size_t n = (size_t)session->model->graph->n_inputs;
    session->given = sc_arena_array(&session->arena, n + 1, sizeof *session->given);
    session->modes = sc_arena_array(&session->arena, n + 1, sizeof *session->modes);
    enum sc_status status = session->given && session->modes ? SC_OK : SC_NO_MEMORY;
    if (status == SC_OK && sc_world_rank(session->world) == 0) {
        status = mark_inputs(session);
    }
    SC_TRY(sc_world_agree(session->world, status));
    SC_TRY(sc_world_broadcast(session->world, session->given, n * sizeof *session->given));
    return sc_world_broadcast(session->world, session->modes, n * sizeof *session->modes);
}

int8_t sc_value_mode(const struct sc_value *value)
{
    const struct sc_tensor *tensor = value && value->kind == SC_KIND_TENSOR ? &value->u.tensor : NULL;
    if (!tensor || tensor->type != SC_BOOL || sc_tensor_count(tensor) != 1) {
        return 0;
    }
    return *(const uint8_t *)tensor->data ? 1 : -1;
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
