/* SPDX-License-Identifier: Apache-2.0
 * States are found by name first, since passes have to know which inputs grow; what they join them to decides after. */
#include "decode/rewrite.h"

#include <string.h>

#include "decode/feeds.h"
#include "decode/pairs.h"
#include "ops/kernels/kernels.h"
#include "passes/passes.h"

/* What grows of a state is as long as the past, or as the encoder's source. */
static bool describe_state(const struct sc_state_pair *pair, struct sc_pass_input *input)
{
    *input = (struct sc_pass_input){.value = pair->in, .next = pair->out, .rank = pair->rank};
    if (pair->joined) {
        const struct sc_size dims[5] = {
            {.constant = 2}, {.constant = 1}, {.constant = pair->heads / 2}, {0}, {.constant = pair->width}};
        input->rank = 5;
        memcpy(input->dims, dims, sizeof dims);
        input->dims[3].symbol[SC_PASS_PAST] = 1;
        return true;
    }
    if (pair->kind == SC_STATE_PAGED) {
        const struct sc_size dims[4] = {{.constant = 1}, {.constant = pair->heads}, {0}, {.constant = pair->width}};
        input->rank = 4;
        memcpy(input->dims, dims, sizeof dims);
        input->dims[2].symbol[SC_PASS_PAST] = 1;
        return pair->capacity == 0; /* else it is as long as it may become */
    }
    if (pair->rank > SC_SYMBOLIC_RANK) {
        return false;
    }
    const bool constant = pair->kind == SC_STATE_CONSTANT;
    for (int d = 0; d < pair->rank; d++) {
        input->dims[d].constant = pair->dims[d];
        input->dims[d].symbol[constant ? SC_PASS_SOURCE : SC_PASS_PAST] = pair->dims[d] == 0;
    }
    input->next = constant ? -1 : pair->out;
    return true;
}

static enum sc_status describe(struct sc_model *model, int n_pairs, const struct sc_state_pair *pairs,
    struct sc_pass_options *options, struct sc_pass_input **inputs)
{
    const struct sc_graph *graph = model->graph;
    int8_t *modes = sc_arena_array(&model->arena, (size_t)graph->n_inputs + 1, sizeof *modes);
    *inputs = sc_arena_array(&model->arena, (size_t)graph->n_inputs + 1, sizeof **inputs);
    if (!*inputs || !modes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const int p = sc_pairs_find_input(pairs, n_pairs, graph->inputs[i]);
        struct sc_pass_input *input = &(*inputs)[options->n_inputs];
        const bool known = p >= 0 ? describe_state(&pairs[p], input)
                                  : graph->values[graph->inputs[i]].weight < 0 &&
                sc_feeds_describe(graph, graph->inputs[i], input, &modes[i]);
        options->n_inputs += known;
    }
    options->inputs = *inputs;
    options->modes = modes;
    return SC_OK;
}

/* A dim that is declared by the name of another one, and will be fed with another size, is unknown: in merged decoders
 * the mask has the name of the new tokens alone, which was right for the branch without a past. */
static void forget_wrong_names(struct sc_graph *graph, const struct sc_pass_options *options)
{
    for (int i = 0; i < options->n_inputs; i++) {
        const struct sc_pass_input *input = &options->inputs[i];
        struct sc_fact *fact = &graph->values[input->value].fact;
        for (int d = 0; d < input->rank && d < fact->rank; d++) {
            for (int j = 0; j < i; j++) {
                const struct sc_pass_input *other = &options->inputs[j];
                const struct sc_fact *named = &graph->values[other->value].fact;
                for (int e = 0; e < other->rank && e < named->rank && fact->dims[d] < SC_DIM_UNKNOWN; e++) {
                    if (named->dims[e] == fact->dims[d] && !sc_size_equal(&other->dims[e], &input->dims[d])) {
                        fact->dims[d] = SC_DIM_UNKNOWN;
                    }
                }
            }
        }
    }
}

/* A cache grows along one dim. Where more are unknown, the operator that joins it knows them. */
static bool needs_facts(int n_pairs, const struct sc_state_pair *pairs)
{
    bool needs = false;
    for (int p = 0; p < n_pairs; p++) {
        int grows = 0;
        for (int d = 0; pairs[p].kind == SC_STATE_DENSE && d < pairs[p].rank; d++) {
            grows += pairs[p].dims[d] == 0;
        }
        needs |= grows > 1;
    }
    return needs;
}

enum sc_status sc_decode_rewrite(struct sc_model *model, const bool *given, int *n, struct sc_state_pair **pairs)
{
    int64_t most = 0;
    struct sc_pass_options options = {.most = &most, .given = given};
    struct sc_pass_input *inputs;
    sc_pass_defaults(model->graph, given);
    SC_TRY(sc_pass_functions(model));
    SC_TRY(sc_pairs_find(model, n, pairs));
    if (*n > 0) {
        SC_TRY(describe(model, *n, *pairs, &options, &inputs));
        forget_wrong_names(model->graph, &options);
    }
    SC_TRY(sc_passes_rewrite(model, &options));
    if (needs_facts(*n, *pairs)) {
        SC_TRY(sc_pass_infer(model->graph, sc_kernels_at(SC_ISA_BASE)));
    }
    SC_TRY(sc_pairs_find(model, n, pairs));
    for (int p = 0; p < *n && most > 0; p++) {
        struct sc_state_pair *pair = &(*pairs)[p];
        pair->capacity = pair->capacity > 0 && pair->capacity < most ? pair->capacity : most;
    }
    return SC_OK;
}

enum sc_status sc_decode_rows_apart(
    struct sc_model *model, int n_pairs, const struct sc_state_pair *pairs, int logits, bool *apart)
{
    struct sc_pass_options described = {0};
    struct sc_pass_input *inputs;
    int *caches = sc_arena_array(&model->arena, 2 * (size_t)n_pairs + 1, sizeof *caches);
    if (!caches) {
        return SC_NO_MEMORY;
    }
    *apart = n_pairs > 0;
    int n_caches = 0;
    for (int p = 0; p < n_pairs; p++) {
        *apart = *apart && sc_state_is_viewed(&pairs[p]);
        caches[n_caches++] = pairs[p].in;
        if (pairs[p].kind == SC_STATE_PAGED) {
            caches[n_caches++] = pairs[p].out;
        }
    }
    if (!*apart) {
        return SC_OK;
    }
    SC_TRY(describe(model, n_pairs, pairs, &described, &inputs));
    int n_fed = 0; /* the states are caches, all of them */
    for (int i = 0; i < described.n_inputs; i++) {
        if (sc_pairs_find_input(pairs, n_pairs, inputs[i].value) < 0) {
            inputs[n_fed++] = inputs[i];
        }
    }
    const struct sc_rows_question question = {
        .n_inputs = n_fed, .inputs = inputs, .n_caches = n_caches, .caches = caches, .result = logits};
    return sc_pass_rows(model->graph, &question, apart);
}
