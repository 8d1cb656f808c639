/* SPDX-License-Identifier: Apache-2.0
 * RelativePositionBias of com.microsoft becomes the nodes that T5 has without it, so that all that is proven of those
 * holds:
 *
 *   keys - queries ── far ─┬─ Less(half) ──────────────────────────────┐
 *                          ├───────────────────────────────────────────┴ Where ─ Gather(table) ─ bias [1, heads, q, k]
 *                          └─ Log(far / half) / Log(most / half) · rest ─┘
 *
 * The table says that it is [buckets, heads], and lies in memory as [heads, buckets]. */
#include <math.h>
#include <string.h>

#include "passes/gradient.h"
#include "passes/passes.h"

static bool is_position_bias(const struct sc_node *node)
{
    bool whole = !node->dead && node->n_in == 3 && node->n_out == 1 && node->out[0] >= 0; /* else: the check */
    for (int i = 0; whole && i < 3; i++) {
        whole = node->in[i] >= 0;
    }
    return whole && strcmp(node->op, "RelativePositionBias") == 0 && strcmp(node->domain, "com.microsoft") == 0;
}

static int cast(struct sc_backward *b, int value, enum sc_type type)
{
    const struct sc_attribute to = {.name = "to", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = type};
    return sc_backward_emit_with(b, "Cast", 1, &value, 1, &to);
}

/* Of n buckets to a side those below `half` are a distance each; the others share what is left up to `most`. */
static void name_bucket(struct sc_names *names, bool both, int64_t n, int64_t most)
{
    struct sc_backward *b = names->b;
    const int64_t half = n / 2;
    (void)sc_names_add(names, "n", sc_backward_scalar(b, SC_I64, (double)n));
    (void)sc_names_add(names, "last", sc_backward_scalar(b, SC_I64, (double)(n - 1)));
    (void)sc_names_add(names, "half", sc_backward_scalar(b, SC_I64, (double)half));
    (void)sc_names_add(names, "base", sc_backward_scalar(b, SC_F32, (double)half));
    (void)sc_names_add(names, "range", sc_backward_scalar(b, SC_F32, log((double)most / (double)half)));
    (void)sc_names_add(names, "rest", sc_backward_scalar(b, SC_F32, (double)(n - half)));
    (void)sc_names_add_formula(names, "far", both ? "distance Abs" : "distance Neg 0 Max");
    (void)sc_names_add(names, "x", cast(b, sc_names_formula(names, "far half Max"), SC_F32));
    (void)sc_names_add(names, "share", cast(b, sc_names_formula(names, "x base Div Log range Div rest Mul"), SC_I64));
    (void)sc_names_add_formula(names, "bucket",
        both ? "far half Less far half share Add last Min Where distance 0 Greater n 0 Where Add"
             : "far half Less far half share Add last Min Where");
}

static enum sc_status replace(struct sc_edit *edit, const struct sc_node *node)
{
    static const int64_t zero = 0, one = 1;
    const struct sc_fact *table = &edit->graph->values[node->in[0]].fact;
    struct sc_backward b = {.edit = edit, .like = node};
    struct sc_names names = {.b = &b, .type = SC_I64};
    int64_t most, both;
    SC_TRY(sc_node_int(node, "max_distance", 0, &most));
    SC_TRY(sc_node_int(node, "is_bidirectional", 0, &both));
    if (table->rank != 2 || table->dims[0] <= 0 || table->dims[1] <= 0) {
        return sc_node_fail(edit->graph, node, SC_UNSUPPORTED, "bias_table has no two dims that the file says");
    }
    const int64_t n = both ? table->dims[0] / 2 : table->dims[0];
    if (n < 2 || most <= n / 2) {
        return sc_node_fail(edit->graph, node, SC_BAD_MODEL,
            "has %lld buckets to a side and max_distance %lld, want at least 2, and more than half of them",
            (long long)n, (long long)most);
    }
    const int64_t lies[2] = {table->dims[1], table->dims[0]};
    (void)sc_names_add(&names, "table", node->in[0]);
    (void)sc_names_add(&names, "query", node->in[1]);
    (void)sc_names_add(&names, "key", node->in[2]);
    (void)sc_names_add(&names, "lies", sc_backward_ints(&b, 2, lies));
    (void)sc_names_add(&names, "second", sc_backward_ints(&b, 1, &one));
    (void)sc_names_add_formula(
        &names, "distance", "0 key Squeeze 1 Range second Unsqueeze 0 query Squeeze 1 Range Sub"); /* [k, q] */
    name_bucket(&names, both != 0, n, most);
    const int in[2] = {sc_names_formula(&names, "table lies Reshape Transpose bucket Gather Transpose"),
        sc_backward_ints(&b, 1, &zero)};
    struct sc_node last;
    SC_TRY(b.status);
    SC_TRY(sc_edit_node(edit, node, "Unsqueeze", 13, 2, in, 1, node->out, &last));
    return sc_edit_append(edit, &last);
}

/* The main graph, or in a body of it: those of functions are copied from and never run, nor checked. */
static bool runs(const struct sc_model *model, const struct sc_graph *graph)
{
    while (graph->outer) {
        graph = graph->outer;
    }
    return graph == model->graph;
}

enum sc_status sc_pass_position_bias(struct sc_model *model)
{
    struct sc_edit edit;
    sc_edit_open(&edit, model);
    for (struct sc_graph *graph = model->all_graphs; graph; graph = graph->next) {
        bool any = false;
        for (int i = 0; i < graph->n_nodes && runs(model, graph); i++) {
            any |= is_position_bias(&graph->nodes[i]);
        }
        int n = 0;
        const struct sc_node *nodes = any ? sc_edit_graph(&edit, graph, &n) : NULL;
        for (int i = 0; i < n; i++) {
            SC_TRY(is_position_bias(&nodes[i]) ? replace(&edit, &nodes[i]) : sc_edit_append(&edit, &nodes[i]));
        }
    }
    return SC_OK;
}
