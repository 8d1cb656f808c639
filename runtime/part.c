/* SPDX-License-Identifier: Apache-2.0
 * Which values belong to the steps and which to what is made once for a text: those that the outputs of either need. */
#include "runtime/part.h"

#include "passes/edit.h"
#include "runtime/stage.h"

static bool makes_constant(int n_pairs, const struct sc_state_pair *pairs, int value)
{
    bool makes = false;
    for (int p = 0; p < n_pairs; p++) {
        makes |= pairs[p].out == value && pairs[p].kind == SC_STATE_CONSTANT;
    }
    return makes;
}

int sc_parts_count(int n_pairs, const struct sc_state_pair *pairs)
{
    bool has = false;
    for (int p = 0; p < n_pairs; p++) {
        has |= pairs[p].kind == SC_STATE_CONSTANT;
    }
    return has ? SC_PARTS : 1;
}

void sc_part_mark(
    const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, enum sc_part part, bool *in_part)
{
    const bool alone = sc_parts_count(n_pairs, pairs) == 1;
    for (int v = 0; v < graph->n_values; v++) {
        in_part[v] = alone;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const bool constant = makes_constant(n_pairs, pairs, graph->outputs[o]);
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

bool sc_part_runs(const struct sc_node *node, const bool *in_part)
{
    bool runs = false;
    for (int o = 0; o < node->n_out; o++) {
        runs |= node->out[o] >= 0 && in_part[node->out[o]];
    }
    return runs;
}

enum sc_status sc_session_find_parts(struct sc_session *session)
{
    const struct sc_session_options *options = &session->options;
    session->n_parts = sc_parts_count(options->n_pairs, options->pairs);
    for (int part = 0; part < session->n_parts; part++) {
        const size_t n = (size_t)session->model->graph->n_values + 1;
        session->in_part[part] = sc_arena_array(&session->arena, n, sizeof(bool));
        if (!session->in_part[part]) {
            return SC_NO_MEMORY;
        }
        sc_part_mark(
            session->model->graph, options->n_pairs, options->pairs, (enum sc_part)part, session->in_part[part]);
    }
    return SC_OK;
}

enum sc_part sc_session_part(const struct sc_session *session, const struct sc_microbatch *microbatch)
{
    const bool adds = microbatch->n_rows == 0 || microbatch->rows[0].n_new > 0;
    return session->n_parts == 1 || adds ? SC_PART_STEPS : SC_PART_ENCODER;
}
