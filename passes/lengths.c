/* SPDX-License-Identifier: Apache-2.0
 * Lengths that a cache knows itself: an operator that is told how long its past is, by way of a mask of ones, no longer
 * reads the mask, which is as long as the past and so another size each time.
 *
 *   attention_mask ─┬─ ReduceSum ─ Sub(1) ─ Cast ── seqlens_k ─┐
 *                   └─ Shape ─ Gather ─ Cast ───── total ──────┴─ GroupQueryAttention(q, k, v, past) ── y, present
 *
 *   becomes    y, present = GroupQueryAttention(q, k, v, past)
 *
 *   attention_mask ── Cast ── key_padding_mask ─┐
 *   positions ── Where(0, -inf) ── bias ────────┴─ MultiHeadAttention(q, k, v, past) ── y, present
 *
 *   becomes    y, present = MultiHeadAttention(q, k, v, past; unidirectional = 1)
 *
 *   and Attention of com.microsoft and DecoderMaskedMultiHeadAttention lose a mask of ones, and what buffers are
 *   told that hold more than the past.
 *
 * Only where inputs are promised, and all is then proven to be what the past says. */
#include <string.h>

#include "passes/passes.h"

enum { PAST_KEY = 3, SEQLENS = 5, TOTAL = 6 };
enum { MULTI_PADDING = 4, MULTI_BIAS = 5, MULTI_PAST_KEY = 6 };
enum { JOINT_MASK = 3, JOINT_PAST = 4, JOINT_LENGTH = 6 };
enum { SINGLE_PAST = 5, SINGLE_LENGTH = 7, SINGLE_BEAMS = 9 };
#define SINGLE "DecoderMaskedMultiHeadAttention"

static bool tells_lengths(const struct sc_node *node)
{
    return !node->dead && strcmp(node->op, "GroupQueryAttention") == 0 && strcmp(node->domain, "com.microsoft") == 0 &&
        node->n_in > TOTAL && node->in[SEQLENS] >= 0 && node->in[TOTAL] >= 0 && node->in[PAST_KEY] >= 0;
}

static bool is_masked(const struct sc_node *node)
{
    return !node->dead && strcmp(node->op, "MultiHeadAttention") == 0 && strcmp(node->domain, "com.microsoft") == 0 &&
        node->n_in > MULTI_PAST_KEY && node->in[MULTI_PAST_KEY] >= 0 &&
        (node->in[MULTI_PADDING] >= 0 || node->in[MULTI_BIAS] >= 0);
}

/* Attention of com.microsoft, whose cache is one tensor, and DecoderMaskedMultiHeadAttention: both have their mask
 * there. The input of its past, or -1. */
static int masked_past(const struct sc_node *node)
{
    const bool microsoft = !node->dead && strcmp(node->domain, "com.microsoft") == 0;
    const int past = !microsoft              ? -1
        : strcmp(node->op, "Attention") == 0 ? JOINT_PAST
        : strcmp(node->op, SINGLE) == 0      ? SINGLE_PAST
                                             : -1;
    return past >= 0 && node->n_in > past ? node->in[past] : -1;
}

/* Every element of the value is past and new tokens together, less `less`. */
static bool is_total(const struct sc_symbolics *s, int value, int64_t less)
{
    const struct sc_symbolic *x = &s->values[value];
    struct sc_size want = {.constant = -less};
    want.symbol[SC_PASS_PAST] = want.symbol[SC_PASS_NEW] = 1;
    if (x->rank >= 0 && x->kind == SC_SYMBOLIC_LIST) {
        return x->n_list == 1 && sc_size_equal(&x->list[0], &want);
    }
    return x->rank >= 0 && x->kind == SC_SYMBOLIC_FORM && sc_form_constant(x->form) &&
        sc_size_equal(&x->form->base, &want);
}

/* Flags of keys, all of them set. */
static bool hides_nothing(const struct sc_symbolics *s, int value)
{
    const struct sc_symbolic *mask = &s->values[value];
    return mask->rank >= 2 && mask->kind == SC_SYMBOLIC_FORM && sc_form_constant(mask->form) &&
        sc_size_constant(&mask->form->base) && mask->form->base.constant != 0;
}

/* Hides what is later than the query, and that alone. */
static bool is_causal(const struct sc_symbolics *s, int value)
{
    const struct sc_symbolic *bias = &s->values[value];
    const struct sc_form later = {.base.symbol[SC_PASS_PAST] = 1, .index = {0, 0, 1, -1}};
    return bias->rank == 4 && bias->kind == SC_SYMBOLIC_CHOICE && !bias->also && bias->yes == 0 && bias->no <= -1e30 &&
        memcmp(bias->form, &later, sizeof later) == 0;
}

static enum sc_status set_causal(struct sc_graph *graph, struct sc_node *node)
{
    struct sc_attribute *made = sc_arena_array(graph->arena, (size_t)node->n_attributes + 1, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    int n = 0;
    for (int a = 0; a < node->n_attributes; a++) {
        if (strcmp(node->attributes[a].name, "unidirectional") != 0) {
            made[n++] = node->attributes[a];
        }
    }
    made[n++] = (struct sc_attribute){.name = "unidirectional", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1};
    node->attributes = made;
    node->n_attributes = n;
    return SC_OK;
}

static bool is_state(const struct sc_pass_options *options, int value)
{
    for (int i = 0; i < options->n_inputs; i++) {
        if (options->inputs[i].value == value && options->inputs[i].next >= 0) {
            return true;
        }
    }
    return false;
}

/* What is given to buffers that are shared, when it comes from without: the length of the past, and that there is one
 * beam. */
static void drop_promised(const struct sc_pass_options *options, struct sc_node *node)
{
    const bool single = strcmp(node->op, SINGLE) == 0;
    for (int i = single ? SINGLE_LENGTH : JOINT_LENGTH; i <= (single ? SINGLE_BEAMS : JOINT_LENGTH) && i < node->n_in;
         i++) {
        for (int p = 0; p < options->n_inputs; p++) {
            if (options->inputs[p].value == node->in[i] && options->inputs[p].next < 0) {
                node->in[i] = -1;
            }
        }
    }
}

static enum sc_status drop_masks(
    struct sc_graph *graph, const struct sc_symbolics *s, const struct sc_pass_options *options, struct sc_node *node)
{
    if (masked_past(node) >= 0 && is_state(options, masked_past(node))) {
        if (node->in[JOINT_MASK] >= 0 && hides_nothing(s, node->in[JOINT_MASK])) {
            node->in[JOINT_MASK] = -1;
        }
        drop_promised(options, node);
        return SC_OK;
    }
    if (!is_masked(node) || !is_state(options, node->in[MULTI_PAST_KEY])) {
        return SC_OK;
    }
    if (node->in[MULTI_PADDING] >= 0 && hides_nothing(s, node->in[MULTI_PADDING])) {
        node->in[MULTI_PADDING] = -1;
    }
    if (node->in[MULTI_BIAS] >= 0 && is_causal(s, node->in[MULTI_BIAS])) {
        node->in[MULTI_BIAS] = -1;
        return set_causal(graph, node);
    }
    return SC_OK;
}

enum sc_status sc_pass_lengths(struct sc_model *model, const struct sc_pass_options *options)
{
    struct sc_graph *graph = model->graph;
    bool any = false;
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        any |= tells_lengths(node) || is_masked(node) || masked_past(node) >= 0;
    }
    if (!any || options->n_inputs == 0) {
        return SC_OK;
    }
    struct sc_arena passing = {0};
    struct sc_symbolics s;
    enum sc_status status = sc_pass_evaluate(graph, options, &passing, &s);
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        struct sc_node *node = &graph->nodes[n];
        status = drop_masks(graph, &s, options, node);
        if (tells_lengths(node) && is_state(options, node->in[PAST_KEY]) && is_total(&s, node->in[SEQLENS], 1) &&
            is_total(&s, node->in[TOTAL], 0)) {
            node->in[SEQLENS] = node->in[TOTAL] = -1;
        }
    }
    sc_arena_release(&passing);
    return status == SC_OK ? sc_pass_dead(graph) : status;
}
