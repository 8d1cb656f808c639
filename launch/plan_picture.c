/* SPDX-License-Identifier: Apache-2.0
 * What both kinds of picture show, and the one for graphviz. */
#include "launch/plan_picture.h"

#include <stdlib.h>
#include <string.h>

#include "partitioner/cost.h"
#include "partitioner/report.h"

enum { NAMES = 1, NAME_BYTES = 36 };

int64_t sc_picture_stage_bytes(const struct sc_plan_stage *stage)
{
    return stage->weight_bytes + stage->activation_bytes + stage->state_bytes;
}

static int64_t edge_bytes(const struct sc_fact *facts, const struct sc_plan_edge *edge)
{
    int64_t bytes = 0;
    for (int v = 0; v < edge->n_values; v++) {
        struct sc_fact fact = facts[edge->values[v]];
        for (int d = 0; d < fact.rank; d++) {
            fact.dims[d] = fact.dims[d] < 0 ? 1 : fact.dims[d];
        }
        bytes += sc_fact_bytes(&fact);
    }
    return bytes;
}

enum sc_status sc_picture_init(const struct sc_plan *plan, const struct sc_model *model, const struct sc_fact *facts,
    const bool *is_state, struct sc_arena *arena, struct sc_picture *picture)
{
    struct sc_plan_edge *edges;
    *picture = (struct sc_picture){.plan = plan, .model = model, .facts = facts};
    SC_TRY(sc_plan_edges(plan, model->graph, is_state, arena, &picture->n_edges, &edges));
    int64_t *bytes = sc_arena_array(arena, (size_t)picture->n_edges + 1, sizeof *bytes);
    if (!bytes) {
        return SC_NO_MEMORY;
    }
    for (int e = 0; e < picture->n_edges; e++) {
        bytes[e] = edge_bytes(facts, &edges[e]);
    }
    picture->edges = edges;
    picture->edge_bytes = bytes;
    picture->slowest_seconds = sc_plan_slowest(plan);
    for (int s = 0; s < plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &plan->stages[s];
        const int64_t all = sc_picture_stage_bytes(stage);
        picture->largest_bytes = all > picture->largest_bytes ? all : picture->largest_bytes;
    }
    return SC_OK;
}

void sc_picture_names(
    const struct sc_picture *picture, const struct sc_plan_edge *edge, void (*put)(FILE *, const char *))
{
    const struct sc_graph *graph = picture->model->graph;
    for (int v = 0; v < edge->n_values && v < NAMES; v++) {
        const char *name = graph->values[edge->values[v]].name;
        const size_t length = strlen(name); /* what tells long names apart is at their ends */
        fprintf(picture->out, "%s%s", v ? ", " : "", length > NAME_BYTES ? "..." : "");
        put(picture->out, length > NAME_BYTES ? name + length - NAME_BYTES : name);
    }
    if (edge->n_values > NAMES) {
        fprintf(picture->out, ", and %d more", edge->n_values - NAMES);
    }
}

enum sc_status sc_picture_write(
    struct sc_picture *picture, void (*draw)(const struct sc_picture *picture), const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    picture->out = open_memstream(&text, &bytes);
    if (!picture->out) {
        return sc_fail(SC_NO_MEMORY, "out of memory for '%s'", path);
    }
    draw(picture);
    const bool failed = ferror(picture->out) != 0;
    if (fclose(picture->out) || failed || !text) {
        free(text);
        return sc_fail(SC_NO_MEMORY, "out of memory for '%s'", path);
    }
    const enum sc_status status = sc_file_write(path, text, bytes);
    free(text);
    return status;
}

/* Inside a quoted string of graphviz. */
static void put_dot(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        fputc((unsigned char)*text < 32 ? ' ' : *text, out);
    }
}

static void put_dot_end(FILE *out, int stage, const char *caller)
{
    if (stage < 0) {
        fputs(caller, out);
    } else {
        fprintf(out, "s%d", stage);
    }
}

void sc_picture_dot(const struct sc_picture *picture)
{
    FILE *out = picture->out;
    fputs("digraph plan {\n    rankdir=LR;\n    label=\"", out);
    put_dot(out, picture->model->path);
    fputs("\";\n    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
          "    edge [fontname=\"sans-serif\", fontsize=10];\n"
          "    input [shape=plaintext];\n    output [shape=plaintext];\n",
        out);
    for (int s = 0; s < picture->plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &picture->plan->stages[s];
        char time[64], weights[32], state[32];
        fprintf(out, "    s%d [label=\"stage %d, rank %d\\n%d nodes, %s\\nweights %s\\nstate %s\"];\n", s, s,
            stage->ranks[0], stage->n_nodes, sc_stage_time_text(stage, time, sizeof time),
            sc_bytes_text(stage->weight_bytes, weights, sizeof weights),
            sc_bytes_text(stage->state_bytes, state, sizeof state));
    }
    for (int e = 0; e < picture->n_edges; e++) {
        char bytes[32];
        fputs("    ", out);
        put_dot_end(out, picture->edges[e].from, "input");
        fputs(" -> ", out);
        put_dot_end(out, picture->edges[e].to, "output");
        fputs(" [label=\"", out);
        sc_picture_names(picture, &picture->edges[e], put_dot);
        fprintf(out, "\\n%s\"];\n", sc_bytes_text(picture->edge_bytes[e], bytes, sizeof bytes));
    }
    fputs("}\n", out);
}
