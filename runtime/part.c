/* SPDX-License-Identifier: Apache-2.0
 * Which values belong to the steps and which to what is made once for a text: those that the outputs of either need. */
#include "passes/edit.h"
#include "runtime/stage.h"

static bool makes_constant(const struct sc_session *session, int value)
{
    for (int p = 0; p < session->options.n_pairs; p++) {
        const struct sc_state_pair *pair = &session->options.pairs[p];
        if (pair->out == value && pair->kind == SC_STATE_CONSTANT) {
            return true;
        }
    }
    return false;
}

static bool has_constants(const struct sc_session *session)
{
    bool has = false;
    for (int p = 0; p < session->options.n_pairs; p++) {
        has |= session->options.pairs[p].kind == SC_STATE_CONSTANT;
    }
    return has;
}

/* What the outputs of a part need, and what nodes that are there for them make besides. Steps alone have everything. */
static void mark(const struct sc_session *session, enum sc_part part, bool *in_part)
{
    const struct sc_graph *graph = session->model->graph;
    for (int v = 0; v < graph->n_values; v++) {
        in_part[v] = session->n_parts == 1;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const bool constant = makes_constant(session, graph->outputs[o]);
        in_part[graph->outputs[o]] |= constant == (part == SC_PART_ENCODER);
    }
    for (int n = graph->n_nodes - 1; n >= 0; n--) {
        const struct sc_node *node = &graph->nodes[n];
        const bool runs = sc_node_mark_reads(node, in_part);
        for (int o = 0; o < node->n_out && runs; o++) {
            in_part[node->out[o] < 0 ? graph->n_values : node->out[o]] = true;
        }
    }
}

enum sc_status sc_session_find_parts(struct sc_session *session)
{
    session->n_parts = has_constants(session) ? SC_PARTS : 1;
    for (int part = 0; part < session->n_parts; part++) {
        const size_t n = (size_t)session->model->graph->n_values + 1;
        session->in_part[part] = sc_arena_array(&session->arena, n, sizeof(bool));
        if (!session->in_part[part]) {
            return SC_NO_MEMORY;
        }
        mark(session, (enum sc_part)part, session->in_part[part]);
    }
    return SC_OK;
}

enum sc_part sc_session_part(const struct sc_session *session, const struct sc_microbatch *microbatch)
{
    const bool adds = microbatch->n_rows == 0 || microbatch->rows[0].n_new > 0;
    return session->n_parts == 1 || adds ? SC_PART_STEPS : SC_PART_ENCODER;
}
