/* SPDX-License-Identifier: Apache-2.0
 * stagecoach inspect: what a model holds, without reading its weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/pairs.h"
#include "decode/rewrite.h"
#include "decode/union.h"
#include "launch/app.h"
#include "launch/dump.h"
#include "launch/sized.h"
#include "ops/op.h"
#include "ops/schema.h"
#include "partitioner/report.h"
#include "passes/passes.h"

struct sc_op_count {
    const char *domain, *op;
    int version, n;
    int since; /* of the kernels that it gets; 0: none */
};

static int by_operator(const void *a, const void *b)
{
    const struct sc_op_count *x = a, *y = b;
    const int domains = strcmp(x->domain, y->domain);
    return domains ? domains : strcmp(x->op, y->op);
}

static void print_values(const struct sc_model *model, const char *title, int n, const int *values)
{
    printf("%s\n", title);
    for (int i = 0; i < n; i++) {
        const struct sc_graph_value *value = &model->graph->values[values[i]];
        char text[512];
        printf("  %-32s %s%s\n", value->name, sc_fact_text(model, &value->fact, text, sizeof text),
            value->weight >= 0 ? "  (has a default)" : "");
    }
}

/* Operators of the main graph and all bodies, by name. */
static enum sc_status count_operators(const struct sc_graph *graph, int *n, int *capacity, struct sc_op_count **counts)
{
    for (int m = 0; m < graph->n_nodes; m++) {
        const struct sc_node *node = &graph->nodes[m];
        int at = 0;
        while (
            at < *n && (strcmp((*counts)[at].op, node->op) != 0 || strcmp((*counts)[at].domain, node->domain) != 0)) {
            at++;
        }
        if (at == *capacity) {
            *capacity = 2 * *capacity + 16;
            struct sc_op_count *bigger = realloc(*counts, (size_t)*capacity * sizeof *bigger);
            if (!bigger) {
                return sc_fail(SC_NO_MEMORY, "out of memory for %d operators", *capacity);
            }
            *counts = bigger;
        }
        if (at == *n) {
            const struct sc_op *op = sc_op_find(node->domain, node->op, node->version);
            (*counts)[(*n)++] = (struct sc_op_count){
                .domain = node->domain, .op = node->op, .version = node->version, .since = op ? op->since : 0};
        }
        (*counts)[at].n++;
        for (int a = 0; a < node->n_attributes; a++) {
            const struct sc_attribute *attribute = &node->attributes[a];
            const bool bodies = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
            for (int g = 0; bodies && g < attribute->n; g++) {
                SC_TRY(count_operators(&attribute->u.graph[g], n, capacity, counts));
            }
        }
    }
    return SC_OK;
}

static int print_operators(int n, struct sc_op_count *counts)
{
    int missing = 0;
    if (n > 1) {
        qsort(counts, (size_t)n, sizeof *counts, by_operator);
    }
    printf("operators\n");
    for (int i = 0; i < n; i++) {
        const struct sc_op_count *count = &counts[i];
        char name[128];
        (void)snprintf(name, sizeof name, "%s%s%s", count->domain, count->domain[0] ? "." : "", count->op);
        if (count->since > 0) {
            printf("  %5d  %-36s since opset %d\n", count->n, name, count->since);
        } else {
            printf("  %5d  %-36s NOT SUPPORTED in opset %d\n", count->n, name, count->version);
        }
        missing += count->since == 0;
    }
    return missing;
}

/* What makes one scale of all the rows it is given: a decoder's text then depends on which rows go together. */
static void print_mixing(int n, const struct sc_op_count *counts)
{
    static const char *const mixing[] = {"DynamicQuantizeLinear", "DynamicQuantizeMatMul"};
    for (int i = 0; i < n; i++) {
        for (size_t m = 0; m < sizeof mixing / sizeof mixing[0]; m++) {
            if (strcmp(counts[i].op, mixing[m]) == 0) {
                printf("  %s mixes rows: each request has microbatches of its own, and its text may change with -ub\n",
                    mixing[m]);
            }
        }
    }
}

/* The last line: whether it will run. */
static void print_verdict(int n, int missing)
{
    if (missing > 0) {
        printf("%d of %d operators are not supported: the model cannot run\n", missing, n);
    } else {
        printf("all %d operators are supported\n", n);
    }
}

static void print_head(const struct sc_model *model)
{
    const struct sc_graph *graph = model->graph;
    int64_t bytes = 0;
    char text[32];
    for (int w = 0; w < graph->n_weights; w++) {
        bytes += (int64_t)sc_weight_bytes(&graph->weights[w]);
    }
    printf("%s: IR version %" PRId64 ", opset", model->path, model->ir_version);
    for (int o = 0; o < model->n_opsets; o++) {
        printf("%s %s%s%d", o ? "," : "", model->opsets[o].domain, model->opsets[o].domain[0] ? " " : "",
            model->opsets[o].version);
    }
    printf(", producer '%s'\n", model->producer ? model->producer : "");
    printf("%d nodes, %d weights of %s in %d file%s, fingerprint %016" PRIx64 "\n", graph->n_nodes, graph->n_weights,
        sc_bytes_text(bytes, text, sizeof text), model->n_files, model->n_files == 1 ? "" : "s", model->fingerprint);
}

/* How many inputs are states that never change, and that the graph does not make; told unless they are only to be
 * counted. */
static int constant_states(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, bool tells)
{
    int n = 0;
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *name = graph->values[graph->inputs[i]].name;
        const bool constant = sc_pairs_is_constant(name) && sc_pairs_find_input(pairs, n_pairs, graph->inputs[i]) < 0;
        n += constant;
        if (constant && tells) {
            printf("  %s  (constant, made by an encoder and given each time)\n", name);
        }
    }
    return n;
}

static enum sc_status print_pairs(struct sc_model *model, const struct sc_cache_formats *formats, int *n_pairs)
{
    static const char *const kinds[] = {
        "paged, appended in place", "dense, made anew each step", "constant, made once of what the encoder says"};
    struct sc_state_pair *pairs;
    int n;
    *n_pairs = 0;
    if (sc_decode_rewrite(model, NULL, &n, &pairs) != SC_OK && sc_pairs_find(model, &n, &pairs) != SC_OK) {
        printf("states\n  %s\n", sc_error_last()->text);
        return SC_OK;
    }
    SC_TRY(sc_pairs_set_formats(pairs, n, formats));
    if (n > 0 || constant_states(model->graph, n, pairs, false) > 0) {
        printf("states\n");
    }
    for (int p = 0; p < n; p++) {
        const char *as = pairs[p].format == SC_PAGE_AS_TYPE ? NULL : sc_state_type_name(&pairs[p]);
        printf("  %s -> %s  (%s%s%s)\n", model->graph->values[pairs[p].in].name,
            model->graph->values[pairs[p].out].name, kinds[pairs[p].kind], as ? ", kept as " : "", as ? as : "");
    }
    (void)constant_states(model->graph, n, pairs, true);
    *n_pairs = n;
    return SC_OK;
}

static enum sc_status inspect(struct sc_model *model, const struct sc_cache_formats *formats)
{
    struct sc_op_count *counts = NULL;
    int n = 0, capacity = 0, n_pairs = 0;
    print_head(model);
    print_values(model, "inputs", model->graph->n_inputs, model->graph->inputs);
    print_values(model, "outputs", model->graph->n_outputs, model->graph->outputs);
    SC_TRY(sc_pass_functions(model)); /* operators and states are those of what functions come to */
    enum sc_status status = count_operators(model->graph, &n, &capacity, &counts);
    if (status == SC_OK) {
        status = print_pairs(model, formats, &n_pairs);
    }
    if (status == SC_OK && n_pairs > 0) {
        print_mixing(n, counts);
    }
    if (status == SC_OK) {
        const int missing = print_operators(n, counts);
        print_verdict(n, missing);
    }
    free(counts);
    SC_TRY(status);
    return sc_check_graph(model->graph) == SC_OK ? SC_OK : sc_fail_in("'%s'", model->path);
}

/* The graph, after passes or as the file has it, with all that is known of its dims. */
static enum sc_status dump_sized(struct sc_model *model, const struct sc_sized *sized, bool passes)
{
    model = passes ? sized->model : model;
    if (passes) {
        model->n_functions = 0; /* they have become their nodes */
    }
    sc_sized_show(sized, model->graph);
    return sc_dump(model);
}

static enum sc_status inspect_sized(
    struct sc_model *model, const struct sc_cache_formats *formats, struct sc_sized *sized)
{
    sc_sized_show(sized, model->graph);
    SC_TRY(inspect(model, formats));
    return sc_sized_print(sized);
}

enum sc_status sc_command_inspect(struct sc_app *app)
{
    struct sc_model *model;
    struct sc_sized sized = {0};
    const char *const *dims;
    const bool dumps = sc_options_flag(app->options, "dump"), passes = sc_options_flag(app->options, "passes");
    const int n_dims = sc_options_list(app->options, "dim", &dims);
    const struct sc_cache_formats formats = sc_options_cache_formats(app->options);
    if (passes && !dumps) {
        return sc_fail(SC_BAD_USAGE, "option '--passes' goes with --dump");
    }
    SC_TRY(sc_union_open(NULL, sc_options_text(app->options, "model"), &app->log, &model));
    enum sc_status status = sc_app_say_states(app->options, model);
    if (status == SC_OK && n_dims == 0 && !passes) {
        status = dumps ? sc_dump(model) : inspect(model, &formats);
    } else if (status == SC_OK) {
        status = sc_sized_open(app->options, &sized);
    }
    if (status == SC_OK && (n_dims > 0 || passes)) {
        status = dumps ? dump_sized(model, &sized, passes) : inspect_sized(model, &formats, &sized);
    }
    sc_sized_release(&sized);
    sc_model_close(model);
    return status;
}
