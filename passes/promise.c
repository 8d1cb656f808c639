/* SPDX-License-Identifier: Apache-2.0
 * What a caller promises of inputs, and what follows from that, as symbolic evaluation has it. */
#include <string.h>

#include "ops/kernels/kernels.h"
#include "ops/nn/cache.h"
#include "passes/passes.h"

enum sc_status sc_pass_promise(struct sc_symbolics *s, const struct sc_pass_input *input)
{
    struct sc_symbolic *out = &s->values[input->value];
    *out = (struct sc_symbolic){.rank = input->rank};
    out->dims = sc_arena_array(s->arena, (size_t)input->rank, sizeof *out->dims);
    struct sc_form *form = sc_arena_alloc(s->arena, sizeof *form);
    if (!out->dims || !form) {
        return SC_NO_MEMORY;
    }
    memcpy(out->dims, input->dims, (size_t)input->rank * sizeof *out->dims);
    if (input->content == SC_PASS_ONES || input->content == SC_PASS_POSITIONS) {
        out->kind = SC_SYMBOLIC_FORM;
        out->form = form;
        form->base = (struct sc_size){.constant = input->content == SC_PASS_ONES};
        if (input->content == SC_PASS_POSITIONS) {
            form->base.symbol[SC_PASS_PAST] = 1;
            form->index[input->rank - 1] = 1;
        }
    }
    return SC_OK;
}

/* A cache that an operator of com.microsoft goes on from is as long as the past, where its length is all that is not
 * known: what is appended is the new rows. Other states may be made in any way. */
static bool is_appended(const struct sc_graph *graph, const struct sc_pass_input *input)
{
    bool appended = false;
    int n_past = 0;
    for (int d = 0; d < input->rank; d++) {
        n_past += input->dims[d].symbol[SC_PASS_PAST] != 0;
    }
    for (int n = 0; n < graph->n_nodes && n_past == 1 && !appended; n++) {
        const struct sc_node *node = &graph->nodes[n];
        const int past = node->dead || strcmp(node->domain, "com.microsoft") != 0 ? -1 : sc_cache_past(node);
        appended = past >= 0 && node->n_in > past + 1 && node->n_out > 2 &&
            ((node->in[past] == input->value && node->out[1] == input->next) ||
                (node->in[past + 1] == input->value && node->out[2] == input->next));
    }
    return appended;
}

enum sc_status sc_pass_evaluate(
    const struct sc_graph *graph, const struct sc_pass_options *options, struct sc_arena *arena, struct sc_symbolics *s)
{
    struct sc_fact *facts = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof *facts);
    if (!facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        facts[v] = graph->values[v].fact;
    }
    SC_TRY(sc_infer_graph(graph, sc_kernels_at(SC_ISA_BASE), arena, NULL, facts));
    *s = (struct sc_symbolics){.graph = graph, .facts = facts, .arena = arena};
    SC_TRY(sc_symbolics_open(s));
    s->n_symbols = SC_PASS_SYMBOLS;
    s->least[SC_PASS_NEW] = s->least[SC_PASS_SOURCE] = 1;
    for (int i = 0; i < options->n_inputs; i++) {
        const struct sc_pass_input *input = &options->inputs[i];
        SC_TRY(input->next < 0 || is_appended(graph, input) ? sc_pass_promise(s, input) : SC_OK);
    }
    return sc_symbolics_run(s);
}
