/* SPDX-License-Identifier: Apache-2.0
 * Positions that a graph counts from the length of its past are an input's, where one is promised to be just that:
 *
 *   length_of_text ── Shape ─ Sub ─┐
 *   input_ids ── Shape ─ Gather ─ Add ── Range ── Unsqueeze ── Add(2) ── Gather(table)
 *
 *   becomes    position_ids ── Add(2) ── Gather(table)
 *
 * The past of each row is its own, so rows of several texts need positions of their own. */
#include "passes/passes.h"

/* An input [1, new] of whole numbers that is promised to hold positions; NULL: there is none. */
static const struct sc_pass_input *find_positions(const struct sc_graph *graph, const struct sc_pass_options *options)
{
    for (int i = 0; i < options->n_inputs; i++) {
        const struct sc_pass_input *input = &options->inputs[i];
        if (input->content == SC_PASS_POSITIONS && input->rank == 2 &&
            graph->values[input->value].fact.type == SC_I64) {
            return input;
        }
    }
    return NULL;
}

/* The same dims, and the same elements, whatever the past and the new tokens are. */
static bool is_same(const struct sc_symbolics *s, int value, const struct sc_pass_input *positions)
{
    const struct sc_symbolic *x = &s->values[value], *want = &s->values[positions->value];
    bool same = s->facts[value].type == SC_I64 && x->rank == 2 && x->kind == SC_SYMBOLIC_FORM && !x->also;
    for (int d = 0; same && d < 2; d++) {
        same = sc_size_equal(&x->dims[d], &want->dims[d]) && x->form->index[d] == want->form->index[d];
    }
    return same && sc_size_equal(&x->form->base, &want->form->base);
}

static void read_instead(struct sc_graph *graph, int value, int instead)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        for (int i = 0; i < graph->nodes[n].n_in; i++) {
            if (graph->nodes[n].in[i] == value) {
                graph->nodes[n].in[i] = instead;
            }
        }
    }
}

enum sc_status sc_pass_positions(struct sc_model *model, const struct sc_pass_options *options)
{
    struct sc_graph *graph = model->graph;
    const struct sc_pass_input *positions = find_positions(graph, options);
    struct sc_arena passing = {0};
    struct sc_symbolics s;
    if (!positions) {
        return SC_OK;
    }
    const enum sc_status status = sc_pass_evaluate(graph, options, &passing, &s);
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        const struct sc_node *node = &graph->nodes[n];
        if (!node->dead && node->n_out == 1 && node->out[0] >= 0 && is_same(&s, node->out[0], positions)) {
            read_instead(graph, node->out[0], positions->value);
        }
    }
    sc_arena_release(&passing);
    return status == SC_OK ? sc_pass_dead(graph) : status;
}
