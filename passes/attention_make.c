/* SPDX-License-Identifier: Apache-2.0
 * The operator in place of the parts. Masks that are not proven to be a rule are computed as before, and added up:
 *
 *   Where(test, scores, hidden)     becomes     Add(mask, Where(test, 0, hidden)) */
#include <string.h>

#include "passes/attention_parts.h"

/* The file's nodes that the match stands for; the second product comes last, which is where a plan puts it. */
static enum sc_status join_origins(
    const struct sc_graph *graph, const struct sc_attention_match *match, struct sc_node *node)
{
    const int final = match->final != match->product ? match->final : -1;
    const int parts[6] = {match->k.concat, match->v.concat, match->scores, match->softmax, match->product, final};
    int n = 0;
    for (int p = 0; p < 6; p++) {
        n += parts[p] < 0 ? 0 : graph->nodes[parts[p]].n_origins;
    }
    int *origins = sc_arena_array(graph->arena, (size_t)n, sizeof *origins);
    if (!origins) {
        return SC_NO_MEMORY;
    }
    node->n_origins = 0;
    for (int p = 0; p < 6; p++) {
        for (int o = 0; parts[p] >= 0 && o < graph->nodes[parts[p]].n_origins; o++) {
            origins[node->n_origins++] = graph->nodes[parts[p]].origins[o];
        }
    }
    node->origins = origins;
    return SC_OK;
}

enum { MOST_ATTRIBUTES = 6 };

static enum sc_status set_attributes(
    struct sc_graph *graph, const struct sc_attention_match *match, struct sc_node *node)
{
    struct sc_attribute *made = sc_arena_array(graph->arena, MOST_ATTRIBUTES, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    int n = 0;
    made[n++] = (struct sc_attribute){.name = "scale", .type = SC_ATTRIBUTE_FLOAT, .n = 1, .u.f = (float)match->scale};
    made[n++] = (struct sc_attribute){.name = "is_causal", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = match->causal};
    if (match->softcap > 0) {
        made[n++] =
            (struct sc_attribute){.name = "softcap", .type = SC_ATTRIBUTE_FLOAT, .n = 1, .u.f = (float)match->softcap};
    }
    if (match->left_window >= 0) {
        made[n++] = (struct sc_attribute){
            .name = "left_window_size", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = match->left_window};
    }
    if (match->distances) {
        made[n++] =
            (struct sc_attribute){.name = "before", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = match->distances->before};
    }
    if (match->slopes) {
        float *slopes = sc_arena_array(graph->arena, (size_t)match->n_slopes, sizeof *slopes);
        if (!slopes) {
            return SC_NO_MEMORY;
        }
        memcpy(slopes, match->slopes, (size_t)match->n_slopes * sizeof *slopes);
        made[n++] = (struct sc_attribute){
            .name = "slopes", .type = SC_ATTRIBUTE_FLOATS, .n = match->n_slopes, .u.floats = slopes};
    }
    node->attributes = made;
    node->n_attributes = n;
    return SC_OK;
}

enum sc_status sc_attention_append_transpose(
    struct sc_edit *edit, const struct sc_node *like, enum sc_type type, int rank, const int64_t *perm, int *value)
{
    struct sc_node turn;
    int turned;
    SC_TRY(sc_edit_value(edit, sc_edit_label(edit->graph, like), "turned", &turned));
    edit->graph->values[turned].fact.kind = SC_KIND_TENSOR;
    edit->graph->values[turned].fact.type = type;
    SC_TRY(sc_edit_node(edit, like, "Transpose", 23, 1, value, 1, &turned, &turn));
    turn.attributes = sc_arena_alloc(edit->graph->arena, sizeof *turn.attributes);
    if (!turn.attributes) {
        return SC_NO_MEMORY;
    }
    turn.n_attributes = 1;
    *turn.attributes = (struct sc_attribute){.name = "perm", .type = SC_ATTRIBUTE_INTS, .n = rank, .u.ints = perm};
    *value = turned;
    return sc_edit_append(edit, &turn);
}

enum sc_status sc_attention_append_node(struct sc_edit *edit, const struct sc_node *like, const char *op, int version,
    int n_in, const int *in, enum sc_type type, int *out)
{
    struct sc_node node;
    SC_TRY(sc_edit_value(edit, sc_edit_label(edit->graph, like), op, out));
    edit->graph->values[*out].fact.kind = SC_KIND_TENSOR;
    edit->graph->values[*out].fact.type = type;
    SC_TRY(sc_edit_node(edit, like, op, version, n_in, in, 1, out, &node));
    return sc_edit_append(edit, &node);
}

/* The sum of all that is added to the scores; -1: nothing is. */
static enum sc_status append_mask(struct sc_edit *edit, const struct sc_symbolics *s, const struct sc_node *final,
    const struct sc_attention_match *match, int *mask)
{
    const enum sc_type type = s->facts[match->q].type;
    int zero = -1;
    *mask = match->n_masks ? match->masks[0] : -1;
    for (int m = 1; m < match->n_masks; m++) {
        const int in[2] = {*mask, match->masks[m]};
        SC_TRY(sc_attention_append_node(edit, final, "Add", 14, 2, in, type, mask));
    }
    for (int t = 0; t < match->n_tests; t++) {
        const struct sc_node *where = &s->graph->nodes[match->tests[t]];
        const int hiding = match->hiding[t];
        if (zero < 0) {
            SC_TRY(sc_edit_number(edit, sc_edit_label(edit->graph, final), "zero", type, 0, 0, &zero));
        }
        const int in[3] = {where->in[0], hiding == 1 ? where->in[1] : zero, hiding == 1 ? zero : where->in[2]};
        int made;
        SC_TRY(sc_attention_append_node(edit, final, "Where", 16, 3, in, type, &made));
        const int both[2] = {*mask, made};
        if (*mask < 0) {
            *mask = made;
        } else {
            SC_TRY(sc_attention_append_node(edit, final, "Add", 14, 2, both, type, mask));
        }
    }
    return SC_OK;
}

enum sc_status sc_attention_append(struct sc_edit *edit, const struct sc_symbolics *s, const struct sc_node *final,
    const struct sc_attention_match *match)
{
    static const int64_t rows_last[4] = {
        0, 2, 1, 3}; /* K as [batch, heads, rows, width], where the file has rows first */
    const bool cached = match->k.past >= 0, table = match->distances, own = match->slopes || table;
    int in[8] = {match->q, match->k.value, match->v.value, -1, match->k.past, match->v.past, -1, -1};
    const int out[3] = {final->out[0], match->k.present, match->v.present};
    struct sc_node node;
    SC_TRY(append_mask(edit, s, final, match, &in[3]));
    if (match->k.turned) {
        SC_TRY(sc_attention_append_transpose(edit, final, s->facts[in[1]].type, 4, rows_last, &in[1]));
    }
    if (table) {
        SC_TRY(sc_attention_append_table(edit, final, match->distances));
        in[7] = match->distances->table;
    }
    const int n_in = table ? 8 : cached ? 6 : in[3] >= 0 ? 4 : 3;
    const int version = own ? 1 : match->left_window >= 0 ? 25 : 23;
    SC_TRY(sc_edit_node(edit, final, "Attention", version, n_in, in, cached ? 3 : 1, out, &node));
    node.domain = own ? "sc" : node.domain;
    node.index = final->index;
    SC_TRY(set_attributes(edit->graph, match, &node));
    SC_TRY(join_origins(s->graph, match, &node));
    return sc_edit_append(edit, &node);
}
