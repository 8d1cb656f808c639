/* SPDX-License-Identifier: Apache-2.0
 * Attention as exporters write it becomes the operator Attention, which appends to caches in place and never makes the
 * scores of all heads at once.
 *
 *   past_k ─┐
 *           ├─ Concat ─┬───────────────────────────────── present_k
 *   k ──────┘          └─ repeat ── Transpose ─ Mul(c) ─┐
 *   q ─────────────────────────────────────────  Mul(c) ─ MatMul ─ Add ─ Softmax ─┐
 *   positions ─ LessOrEqual ─ Where(0, -inf) ──────────────────────┘              ├─ MatMul ── y
 *   past_v ─┐                                                                     │
 *           ├─ Concat ─┬─ repeat ─────────────────────────────────────────────────┘
 *   v ──────┘          └───────────────────────────────── present_v
 *
 *   becomes    y, present_k, present_v = Attention(q, k, v, past_k, past_v; scale = c·c, is_causal = 1)
 *
 * `repeat` (Unsqueeze, Expand, Reshape), the factors, a guard against rows that see nothing and the past are each
 * optional. A mask is left out where it is proven to hide nothing, to be causal or a window; else it stays an input. A
 * cap of the scores (c·tanh) becomes the operator's. Not the same bits: sums over keys are taken in the operator's
 * order. */
#include <string.h>

#include "passes/attention_parts.h"
#include "passes/edit.h"
#include "ops/kernels/kernels.h"
#include "passes/passes.h"

struct attention_pass {
    struct sc_model *model;
    struct sc_graph *graph;
    struct sc_arena scratch;
    struct sc_symbolics symbolics;
    struct sc_fact *facts;
    const struct sc_pass_options *options;
    bool *unproven; /* per described input: its sizes are not what was promised */
    int n;
    struct sc_attention_match *matches;
    int *match_of_final; /* per node: match, or -1 */
    int *match_of_concat; /* per node: match whose caches it makes, or -1 */
    int *match_of_cache; /* per value: match whose past or present it is, or -1 */
    bool *inner; /* per value: a match's past or present, or the result of one of its products */
};

static bool has_softmax(const struct sc_graph *graph)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        if (!graph->nodes[n].dead && strcmp(graph->nodes[n].op, "Softmax") == 0) {
            return true;
        }
    }
    return false;
}

static enum sc_status evaluate(struct attention_pass *pass)
{
    struct sc_symbolics *s = &pass->symbolics;
    const struct sc_graph *graph = pass->graph;
    const struct sc_pass_options *options = pass->options;
    struct sc_symbolics again = {
        .graph = graph, .facts = pass->facts, .arena = &pass->scratch, .n_bounds = options->n_inputs ? s->n_bounds : 0};
    memcpy(again.bounds, s->bounds, sizeof again.bounds);
    again.may_assume = options->n_inputs > 0 && options->most;
    *s = again;
    SC_TRY(sc_symbolics_open(s));
    if (options->n_inputs == 0) { /* dims as the file names them */
        s->model = pass->model;
        for (int k = 0; k < SC_SYMBOLS; k++) {
            s->least[k] = 1; /* attention over nothing makes nothing, whatever the file does on the way there */
        }
        return sc_symbolics_run(s);
    }
    s->n_symbols = SC_PASS_SYMBOLS;
    s->least[SC_PASS_NEW] = s->least[SC_PASS_SOURCE] = 1;
    for (int i = 0; i < options->n_inputs; i++) {
        SC_TRY(pass->unproven[i] ? SC_OK : sc_pass_promise(s, &options->inputs[i]));
    }
    return sc_symbolics_run(s);
}

/* The next past of a state is one step longer, by induction from an empty one: only if the graph makes it so. */
static bool continues(const struct attention_pass *pass, const struct sc_pass_input *input)
{
    const struct sc_symbolic *next = &pass->symbolics.values[input->next];
    bool same = next->rank == input->rank;
    for (int d = 0; same && d < input->rank; d++) {
        struct sc_size want = input->dims[d];
        want.symbol[SC_PASS_NEW] += want.symbol[SC_PASS_PAST];
        same = sc_size_equal(&want, &next->dims[d]);
    }
    return same;
}

/* Until every state that is taken for granted is proven. */
static enum sc_status evaluate_states(struct attention_pass *pass)
{
    const struct sc_pass_options *options = pass->options;
    pass->unproven = sc_arena_array(&pass->scratch, (size_t)options->n_inputs + 1, sizeof *pass->unproven);
    if (!pass->unproven) {
        return SC_NO_MEMORY;
    }
    for (int round = 0; round <= options->n_inputs; round++) {
        SC_TRY(evaluate(pass));
        bool all = true;
        for (int i = 0; i < options->n_inputs; i++) {
            const struct sc_pass_input *input = &options->inputs[i];
            if (!pass->unproven[i] && input->next >= 0 && !continues(pass, input)) {
                pass->unproven[i] = true;
                all = false;
            }
        }
        if (all) {
            break;
        }
    }
    return pass->symbolics.n_bounds ? evaluate(pass) : SC_OK; /* what comes before a table is bounded by it too */
}

/* Positions that are looked up in a table bound the text: a row past its end is an error of the run. */
static void note_most(const struct attention_pass *pass)
{
    const struct sc_symbolics *s = &pass->symbolics;
    int64_t *most = pass->options->most;
    for (int b = 0; most && b < s->n_bounds; b++) {
        const struct sc_size *size = &s->bounds[b].size;
        struct sc_size tokens = {.constant = size->constant};
        tokens.symbol[SC_PASS_PAST] = tokens.symbol[SC_PASS_NEW] = 1;
        const int64_t room = s->bounds[b].most - size->constant;
        if (sc_size_equal(&tokens, size) && room > 0 && (*most == 0 || room < *most)) {
            *most = room;
        }
    }
}

static enum sc_status find(struct attention_pass *pass)
{
    const struct sc_graph *graph = pass->graph;
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct sc_node *node = &graph->nodes[i];
        n += !node->dead && strcmp(node->op, "Softmax") == 0;
    }
    pass->matches = sc_arena_array(&pass->scratch, (size_t)n + 1, sizeof *pass->matches);
    struct sc_attention_recipe **recipes =
        sc_arena_array(&pass->scratch, (size_t)graph->n_values + 1, sizeof(struct sc_attention_recipe *));
    if (!pass->matches || !recipes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_nodes && pass->n < n; i++) {
        const struct sc_node *node = &graph->nodes[i];
        bool found = false;
        if (!node->dead && !node->domain[0] && (strcmp(node->op, "MatMul") == 0 || strcmp(node->op, "Reshape") == 0)) {
            SC_TRY(sc_attention_find(&pass->symbolics, recipes, i, &pass->matches[pass->n], &found));
        }
        pass->n += found;
    }
    return SC_OK;
}

static enum sc_status index_matches(struct attention_pass *pass)
{
    const struct sc_graph *graph = pass->graph;
    pass->match_of_final = sc_arena_array(&pass->scratch, (size_t)graph->n_nodes + 1, sizeof(int));
    pass->match_of_concat = sc_arena_array(&pass->scratch, (size_t)graph->n_nodes + 1, sizeof(int));
    pass->match_of_cache = sc_arena_array(&pass->scratch, (size_t)graph->n_values + 1, sizeof(int));
    pass->inner = sc_arena_array(&pass->scratch, (size_t)graph->n_values + 1, sizeof *pass->inner);
    if (!pass->match_of_final || !pass->match_of_concat || !pass->match_of_cache || !pass->inner) {
        return SC_NO_MEMORY;
    }
    for (int n = 0; n < graph->n_nodes; n++) {
        pass->match_of_final[n] = pass->match_of_concat[n] = -1;
    }
    for (int v = 0; v < graph->n_values; v++) {
        pass->match_of_cache[v] = -1;
    }
    for (int m = 0; m < pass->n; m++) {
        struct sc_attention_match *match = &pass->matches[m];
        const struct sc_attention_rows *rows[2] = {&match->k, &match->v};
        for (int r = 0; r < 2 && match->k.past >= 0; r++) { /* one cache, one attention */
            match->dropped |= pass->match_of_cache[rows[r]->past] >= 0 || match->k.past == match->v.past;
        }
        if (match->dropped) {
            continue;
        }
        pass->match_of_final[match->final] = m;
        pass->inner[graph->nodes[match->scores].out[0]] = true;
        pass->inner[graph->nodes[match->product].out[0]] = true;
        for (int r = 0; r < 2 && rows[r]->past >= 0; r++) {
            pass->match_of_concat[rows[r]->concat] = m;
            pass->match_of_concat[rows[r]->renamed >= 0 ? rows[r]->renamed : rows[r]->concat] = m;
            pass->inner[graph->nodes[rows[r]->concat].out[0]] = true;
            pass->match_of_cache[rows[r]->past] = pass->match_of_cache[rows[r]->present] = m;
            pass->inner[rows[r]->past] = pass->inner[rows[r]->present] = true;
        }
    }
    return SC_OK;
}

static bool is_applied(const struct attention_pass *pass, int match)
{
    return match >= 0 && !pass->matches[match].dropped;
}

/* The shape of a cache, or of what becomes part of a match: it can be had without. */
static bool asks_length(const struct attention_pass *pass, const struct sc_node *node)
{
    return node->n_in == 1 && node->in[0] >= 0 && pass->inner[node->in[0]] &&
        sc_attention_shape_replaced(&pass->symbolics, pass->options, node);
}

/* What is read once the matches have taken their places; a match's own caches count only where others read them. */
static void mark_reads(const struct attention_pass *pass, bool *read)
{
    const struct sc_graph *graph = pass->graph;
    for (int v = 0; v < graph->n_values; v++) {
        read[v] = false;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        read[graph->outputs[o]] = !is_applied(pass, pass->match_of_cache[graph->outputs[o]]);
    }
    for (int n = graph->n_nodes - 1; n >= 0; n--) {
        if (is_applied(pass, pass->match_of_concat[n])) {
            continue;
        }
        if (!is_applied(pass, pass->match_of_final[n])) {
            (void)(asks_length(pass, &graph->nodes[n]) || sc_node_mark_reads(&graph->nodes[n], read));
            continue;
        }
        const struct sc_attention_match *match = &pass->matches[pass->match_of_final[n]];
        if (read[graph->nodes[n].out[0]] || match->k.past >= 0) {
            read[match->q] = read[match->k.value] = read[match->v.value] = true;
            for (int m = 0; m < match->n_masks; m++) {
                read[match->masks[m]] = true;
            }
            for (int t = 0; t < match->n_tests; t++) {
                const struct sc_node *where = &graph->nodes[match->tests[t]];
                read[where->in[0]] = read[where->in[match->hiding[t]]] = true;
            }
        }
    }
}

static bool is_shown(const struct attention_pass *pass, const bool *read, const struct sc_attention_rows *rows)
{
    return rows->past >= 0 &&
        (read[rows->past] || read[rows->present] || read[pass->graph->nodes[rows->concat].out[0]]);
}

/* Drops matches whose caches others read, or whose softmax somebody wants to see: nothing would be gained. */
static enum sc_status drop_shared(struct attention_pass *pass)
{
    bool *read = sc_arena_array(&pass->scratch, (size_t)pass->graph->n_values + 1, sizeof *read);
    if (!read) {
        return SC_NO_MEMORY;
    }
    for (bool again = true; again;) {
        again = false;
        mark_reads(pass, read);
        for (int m = 0; m < pass->n; m++) {
            struct sc_attention_match *match = &pass->matches[m];
            if (!match->dropped &&
                (read[pass->graph->nodes[match->softmax].out[0]] || is_shown(pass, read, &match->k) ||
                    is_shown(pass, read, &match->v))) {
                match->dropped = again = true;
            }
        }
    }
    return SC_OK;
}

static enum sc_status apply(struct attention_pass *pass)
{
    struct sc_edit edit;
    int n, applied = 0;
    for (int m = 0; m < pass->n; m++) {
        applied += !pass->matches[m].dropped;
    }
    if (applied == 0) {
        return SC_OK;
    }
    int64_t *most = pass->options->most;
    if (pass->symbolics.assumed > 0 && (*most == 0 || pass->symbolics.assumed < *most)) {
        *most = pass->symbolics.assumed;
    }
    struct sc_graph old = *pass->graph;
    sc_edit_open(&edit, pass->model);
    const struct sc_node *nodes = sc_edit_graph(&edit, pass->graph, &n);
    struct sc_graph *graph = pass->graph;
    pass->graph = &old;
    pass->symbolics.graph = &old; /* matches are numbered by its nodes */
    enum sc_status status = SC_OK;
    for (int i = 0; i < n && status == SC_OK; i++) {
        if (is_applied(pass, pass->match_of_final[i])) {
            const struct sc_attention_match *match = &pass->matches[pass->match_of_final[i]];
            status = sc_attention_append(&edit, &pass->symbolics, &nodes[i], match);
        } else if (asks_length(pass, &nodes[i])) {
            status = sc_attention_append_shape(&edit, &pass->symbolics, pass->options, &nodes[i]);
        } else if (!is_applied(pass, pass->match_of_concat[i])) {
            status = sc_edit_append(&edit, &nodes[i]);
        }
    }
    pass->graph = graph;
    return status == SC_OK ? sc_pass_dead(graph) : status;
}

static enum sc_status run(struct attention_pass *pass)
{
    const struct sc_graph *graph = pass->graph;
    pass->facts = sc_arena_array(&pass->scratch, (size_t)graph->n_values + 1, sizeof *pass->facts);
    if (!pass->facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        pass->facts[v] = graph->values[v].fact;
    }
    SC_TRY(sc_infer_graph(graph, sc_kernels_at(SC_ISA_BASE), &pass->scratch, NULL, pass->facts));
    SC_TRY(evaluate_states(pass));
    note_most(pass);
    SC_TRY(find(pass));
    SC_TRY(index_matches(pass));
    SC_TRY(drop_shared(pass));
    return apply(pass);
}

enum sc_status sc_pass_attention(struct sc_model *model, const struct sc_pass_options *options)
{
    const bool asks_most = options->n_inputs > 0 && options->most;
    if (!asks_most && !has_softmax(model->graph)) {
        return SC_OK;
    }
    struct attention_pass pass = {.model = model, .graph = model->graph, .options = options};
    const enum sc_status status = run(&pass);
    sc_arena_release(&pass.scratch);
    return status;
}
