/* SPDX-License-Identifier: Apache-2.0
 * What `plan` does for one stage, told by operator in place of stages. */
#include "launch/sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/context.h"
#include "decode/rewrite.h"
#include "decode/union.h"
#include "launch/app.h"
#include "launch/dims.h"
#include "ops/kernels/kernels.h"
#include "partitioner/report.h"
#include "passes/passes.h"
#include "runtime/planning.h"

/* Given sizes in place of declared dims. A cache counts for the longest past that was given, in memory and in time.
 * false: none was. */
static bool set_inputs(struct sc_graph *graph, const struct sc_dims *dims, int64_t *context, int64_t *past)
{
    int64_t longest = -1;
    for (int i = 0; i < graph->n_inputs; i++) {
        struct sc_fact *fact = &graph->values[graph->inputs[i]].fact;
        const struct sc_fact *given = &dims->facts[i];
        if (fact->kind != SC_KIND_STATE) {
            *fact = *given;
        } else if (given->rank == 4) {
            fact->dims[0] = given->dims[0];
            longest = given->dims[2] > longest ? given->dims[2] : longest;
        }
    }
    *context = longest >= 0 ? longest : *context;
    *past = longest > 0 ? longest : 1;
    return longest >= 0;
}

static enum sc_status size(
    struct sc_sized *sized, int n_dims, const char *const *items, const struct sc_cache_formats *formats)
{
    struct sc_model *model = sized->model;
    struct sc_state_pair *pairs;
    struct sc_dims dims;
    bool *is_state;
    int n_pairs;
    struct sc_planning planning = {.n_ranks = 1, .n_stages = 1, .n_slots = 1};
    SC_TRY(sc_dims_init(model, &sized->arena, &dims));
    SC_TRY(sc_dims_add_all(&dims, n_dims, items));
    SC_TRY(sc_kernels_best(&planning.kernels));
    SC_TRY(sc_decode_rewrite(model, NULL, &n_pairs, &pairs));
    SC_TRY(sc_pairs_set_formats(pairs, n_pairs, formats));
    SC_TRY(sc_context_settle(model->graph, n_pairs, pairs, &planning.context));
    SC_TRY(sc_planning_mark_states(model, n_pairs, pairs, &sized->arena, &is_state));
    SC_TRY(sc_passes_run(model, planning.kernels));
    const int64_t settled = planning.context;
    const bool given = set_inputs(model->graph, &dims, &planning.context, &planning.past);
    SC_TRY(sc_pass_describe(model, planning.kernels, &sized->arena, &sized->facts));
    planning.n_pairs = n_pairs;
    planning.pairs = pairs;
    planning.input_facts = dims.facts;
    sized->context = n_pairs > 0 ? planning.context : 0;
    sized->context_why = given ? "" : sc_sized_context_why(settled, sc_context_most(model->graph, n_pairs, pairs));
    SC_TRY(sc_planning_make(model, &planning, is_state, &sized->arena, &sized->closed, &sized->plan));
    return sc_dims_fill(&dims, &sized->arena, &sized->open_dims);
}

const char *sc_sized_context_why(int64_t context, int64_t most)
{
    return context == most  ? "all that the model has room for"
        : most == INT64_MAX ? "nothing in the model tells how many there may be"
                            : "the model has room for more";
}

enum sc_status sc_sized_open(const struct sc_options *options, struct sc_sized *sized)
{
    *sized = (struct sc_sized){0};
    const char *const *dims;
    const int n_dims = sc_options_list(options, "dim", &dims);
    SC_TRY(sc_union_open(NULL, sc_options_text(options, "model"), NULL, &sized->model));
    SC_TRY(sc_app_say_states(options, sized->model));
    const struct sc_cache_formats formats = sc_options_cache_formats(options);
    return size(sized, n_dims, dims, &formats);
}

void sc_sized_release(struct sc_sized *sized)
{
    sc_plan_free(sized->plan);
    sc_model_close(sized->model);
    sc_arena_release(&sized->arena);
    *sized = (struct sc_sized){0};
}

void sc_sized_show(const struct sc_sized *sized, struct sc_graph *graph)
{
    for (int v = 0; v < graph->n_values && v < sized->model->graph->n_values; v++) {
        struct sc_fact *fact = &graph->values[v].fact;
        const struct sc_fact *known = &sized->facts[v];
        if (graph->values[v].place != SC_PLACE_INITIALIZER && known->kind == SC_KIND_TENSOR && known->rank >= 0) {
            *fact = *known;
        }
    }
}

struct sc_op_cost {
    const char *domain, *op;
    int n;
    double operations, seconds;
    int64_t output_bytes;
};

static int by_time(const void *a, const void *b)
{
    const struct sc_op_cost *x = a, *y = b;
    return x->seconds != y->seconds ? (x->seconds < y->seconds ? 1 : -1) : strcmp(x->op, y->op);
}

static void add_cost(struct sc_op_cost *row, const struct sc_node_cost *cost)
{
    row->n++;
    row->operations += cost->operations;
    row->seconds += cost->seconds;
    row->output_bytes += cost->output_bytes;
}

/* Rows by operator of the main graph, the dearest first, and after them their sum. */
static enum sc_status sum_costs(struct sc_sized *sized, int *n, struct sc_op_cost **rows)
{
    const struct sc_graph *graph = sized->model->graph;
    const struct sc_rates rates = sc_rates_default();
    struct sc_op_cost all = {.domain = "", .op = "all"};
    *rows = sc_arena_array(&sized->arena, (size_t)graph->n_nodes + 1, sizeof **rows);
    *n = 0;
    for (int m = 0; *rows && m < graph->n_nodes; m++) {
        const struct sc_node *node = &graph->nodes[m];
        struct sc_node_cost cost;
        int at = 0;
        if (node->dead) {
            continue;
        }
        SC_TRY(sc_node_cost(graph, node, sized->closed, &rates, NULL, &cost));
        while (at < *n && (strcmp((*rows)[at].op, node->op) != 0 || strcmp((*rows)[at].domain, node->domain) != 0)) {
            at++;
        }
        if (at == *n) {
            (*rows)[(*n)++] = (struct sc_op_cost){.domain = node->domain, .op = node->op};
        }
        add_cost(&(*rows)[at], &cost);
        add_cost(&all, &cost);
    }
    if (!*rows) {
        return SC_NO_MEMORY;
    }
    if (*n > 1) {
        qsort(*rows, (size_t)*n, sizeof **rows, by_time);
    }
    (*rows)[(*n)++] = all;
    return SC_OK;
}

/* "48", "1.23 k", "4.09 G". */
static char *count_text(double count, char *text, size_t bytes)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    size_t unit = 0;
    for (; count >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++) {
        count /= 1000;
    }
    (void)snprintf(text, bytes, "%.3g%s", count, units[unit]);
    return text;
}

static void print_row(const struct sc_op_cost *row, double seconds)
{
    char name[128], operations[24], outputs[24], time[24];
    (void)snprintf(name, sizeof name, "%s%s%s", row->domain, row->domain[0] ? "." : "", row->op);
    printf("  %5d  %-30s %10s %10s %9s %5.1f %%\n", row->n, name,
        count_text(row->operations, operations, sizeof operations),
        sc_bytes_text(row->output_bytes, outputs, sizeof outputs), sc_seconds_text(row->seconds, time, sizeof time),
        seconds > 0 ? 100 * row->seconds / seconds : 0.0);
}

static void print_memory(const struct sc_sized *sized)
{
    const struct sc_plan_stage *stage = &sized->plan->stages[0];
    char text[24];
    printf("memory\n");
    printf("  %-12s %10s\n", "weights", sc_bytes_text(stage->weight_bytes, text, sizeof text));
    printf("  %-12s %10s\n", "packed", sc_bytes_text(stage->packed_bytes, text, sizeof text));
    printf("  %-12s %10s\n", "activations", sc_bytes_text(stage->activation_bytes, text, sizeof text));
    if (sized->context > 0) {
        printf("  %-12s %10s of %lld positions%s%s\n", "caches", sc_bytes_text(stage->state_bytes, text, sizeof text),
            (long long)sized->context, sized->context_why[0] ? ": " : "", sized->context_why);
    }
}

enum sc_status sc_sized_print(struct sc_sized *sized)
{
    struct sc_op_cost *rows;
    int n;
    SC_TRY(sum_costs(sized, &n, &rows));
    printf("costs, of one run after passes\n  %5s  %-30s %10s %10s %9s\n", "nodes", "operator", "operations", "outputs",
        "time");
    for (int r = 0; r < n; r++) {
        print_row(&rows[r], rows[n - 1].seconds);
    }
    print_memory(sized);
    if (sized->open_dims[0]) {
        printf("note: no size was given for %s: 1 is taken; -d NAME=N says another\n", sized->open_dims);
    }
    return SC_OK;
}
