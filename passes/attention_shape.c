/* SPDX-License-Identifier: Apache-2.0
 * The shape of a cache without the cache, which is then nobody's but its operator's:
 *
 *   Shape(past)     becomes     Concat([1, heads], Shape(attention_mask)[1] - Shape(input_ids)[1], [width])
 *
 * where the inputs' dims are promised to say the same. */
#include <string.h>

#include "passes/attention_parts.h"

/* A dim of an input that is no state. */
struct source {
    int value, dim;
};

/* The dims whose difference is the size; the second one's value is -1 where one alone is. */
static bool find_sources(
    const struct sc_pass_options *options, const struct sc_size *size, struct source *whole, struct source *less)
{
    const int n = options->n_inputs * SC_SYMBOLIC_RANK;
    for (int a = 0; a < n; a++) {
        const struct sc_pass_input *x = &options->inputs[a / SC_SYMBOLIC_RANK];
        const int d = a % SC_SYMBOLIC_RANK;
        if (x->next >= 0 || d >= x->rank) {
            continue;
        }
        *whole = (struct source){x->value, d};
        *less = (struct source){-1, 0};
        if (sc_size_equal(&x->dims[d], size)) {
            return true;
        }
        for (int b = 0; b < n; b++) {
            const struct sc_pass_input *y = &options->inputs[b / SC_SYMBOLIC_RANK];
            const int e = b % SC_SYMBOLIC_RANK;
            struct sc_size difference;
            if (y->next < 0 && e < y->rank && sc_size_add(&x->dims[d], &y->dims[e], -1, &difference) &&
                sc_size_equal(&difference, size)) {
                *less = (struct source){y->value, e};
                return true;
            }
        }
    }
    return false;
}

bool sc_attention_shape_replaced(
    const struct sc_symbolics *s, const struct sc_pass_options *options, const struct sc_node *node)
{
    struct source whole, less;
    if (node->dead || node->domain[0] || strcmp(node->op, "Shape") != 0) {
        return false;
    }
    const struct sc_symbolic *shape = &s->values[node->out[0]];
    bool all = shape->rank == 1 && shape->kind == SC_SYMBOLIC_LIST && shape->n_list > 0;
    for (int i = 0; all && i < shape->n_list; i++) {
        all = sc_size_constant(&shape->list[i]) || find_sources(options, &shape->list[i], &whole, &less);
    }
    return all;
}

static enum sc_status append_dim(struct sc_edit *edit, const struct sc_node *like, struct source source, int *value)
{
    struct sc_node node;
    SC_TRY(sc_edit_value(edit, sc_edit_label(edit->graph, like), "dim", value));
    SC_TRY(sc_edit_node(edit, like, "Shape", 21, 1, &source.value, 1, value, &node));
    struct sc_attribute *made = sc_arena_array(edit->graph->arena, 2, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    made[0] = (struct sc_attribute){.name = "start", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = source.dim};
    made[1] = (struct sc_attribute){.name = "end", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = source.dim + 1};
    node.attributes = made;
    node.n_attributes = 2;
    return sc_edit_append(edit, &node);
}

/* One element of the shape, as a list of one. */
static enum sc_status append_size(struct sc_edit *edit, const struct sc_pass_options *options,
    const struct sc_node *like, const struct sc_size *size, int *value)
{
    struct source whole, less;
    struct sc_node node;
    int parts[2];
    const char *label = sc_edit_label(edit->graph, like);
    if (sc_size_constant(size)) {
        return sc_edit_number(edit, label, "size", SC_I64, 1, (double)size->constant, value);
    }
    (void)find_sources(options, size, &whole, &less);
    SC_TRY(append_dim(edit, like, whole, &parts[0]));
    *value = parts[0];
    if (less.value < 0) {
        return SC_OK;
    }
    SC_TRY(append_dim(edit, like, less, &parts[1]));
    SC_TRY(sc_edit_value(edit, label, "length", value));
    SC_TRY(sc_edit_node(edit, like, "Sub", 14, 2, parts, 1, value, &node));
    return sc_edit_append(edit, &node);
}

enum sc_status sc_attention_append_shape(struct sc_edit *edit, const struct sc_symbolics *s,
    const struct sc_pass_options *options, const struct sc_node *shape)
{
    const struct sc_symbolic *known = &s->values[shape->out[0]];
    int parts[SC_SYMBOLIC_RANK];
    struct sc_node concat;
    for (int i = 0; i < known->n_list; i++) {
        SC_TRY(append_size(edit, options, shape, &known->list[i], &parts[i]));
    }
    SC_TRY(sc_edit_node(edit, shape, "Concat", 13, known->n_list, parts, 1, shape->out, &concat));
    concat.index = shape->index;
    concat.attributes = sc_arena_alloc(edit->graph->arena, sizeof *concat.attributes);
    if (!concat.attributes) {
        return SC_NO_MEMORY;
    }
    concat.n_attributes = 1;
    *concat.attributes = (struct sc_attribute){.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 0};
    return sc_edit_append(edit, &concat);
}
