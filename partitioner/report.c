/* SPDX-License-Identifier: Apache-2.0
 * Text is gathered in a stream in memory, a line at a time. */
#include "partitioner/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partitioner/cost.h"

enum { BAR = 16, SHORT_BAR = 10, NAMES = 3, NAMES_WIDTH = 48 };

char *sc_bytes_text(int64_t n_bytes, char *buffer, size_t buffer_bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double x = (double)n_bytes / 1024;
    size_t unit = 0;
    if (n_bytes < 1024) {
        snprintf(buffer, buffer_bytes, n_bytes ? "%d B" : "-", (int)n_bytes);
        return buffer;
    }
    while (x >= 1023.95 && unit + 1 < sizeof units / sizeof *units) { /* rounds to 1024.0 */
        x /= 1024;
        unit++;
    }
    snprintf(buffer, buffer_bytes, "%.1f %s", x, units[unit]);
    return buffer;
}

char *sc_seconds_text(double seconds, char *buffer, size_t buffer_bytes)
{
    const bool is_ms = seconds >= 0.9995e-3, is_s = seconds >= 0.9995;
    snprintf(buffer, buffer_bytes, "%.3g %s", is_s ? seconds : seconds * (is_ms ? 1e3 : 1e6),
        is_s        ? "s"
            : is_ms ? "ms"
                    : "us");
    return buffer;
}

char *sc_stage_time_text(const struct sc_plan_stage *stage, char *buffer, size_t buffer_bytes)
{
    char step[24], chunk[24];
    sc_seconds_text(stage->seconds, step, sizeof step);
    sc_seconds_text(stage->chunk_seconds, chunk, sizeof chunk);
    if (stage->chunk_seconds > 0) {
        snprintf(buffer, buffer_bytes, "%s a step, %s a chunk", step, chunk);
    } else {
        snprintf(buffer, buffer_bytes, "%s", step);
    }
    return buffer;
}

struct report {
    const struct sc_plan *plan;
    const struct sc_model *model;
    const struct sc_graph *graph;
    const struct sc_fact *facts;
    int n_edges;
    struct sc_plan_edge *edges;
    FILE *out;
};

const char *sc_plan_of_what(const struct sc_plan *plan)
{
    static const char *const texts[] = {" for a step and a chunk", " for a step", " for a chunk"};
    return sc_plan_has_chunks(plan) ? texts[plan->aim] : "";
}

static void write_times(const struct report *r, const struct sc_plan_stage *stage)
{
    char time[24];
    fprintf(r->out, " %9s", sc_seconds_text(stage->seconds, time, sizeof time));
    if (sc_plan_has_chunks(r->plan)) {
        fprintf(r->out, " %9s", sc_seconds_text(stage->chunk_seconds, time, sizeof time));
    }
}

static int64_t value_bytes(const struct report *r, int value)
{
    struct sc_fact fact = r->facts[value];
    for (int d = 0; d < fact.rank && d < SC_MAX_RANK; d++) {
        fact.dims[d] = fact.dims[d] < 0 ? 1 : fact.dims[d];
    }
    return sc_fact_bytes(&fact);
}

static void write_head(const struct report *r)
{
    const struct sc_plan *plan = r->plan;
    fprintf(r->out, "%s: %d nodes in %d stage%s, for %s\n\n", r->model->path ? r->model->path : "model", plan->n_nodes,
        plan->n_stages, plan->n_stages == 1 ? "" : "s", plan->latency ? "latency" : "throughput");
    fprintf(r->out, "%5s %5s %6s %10s %10s %10s %10s %9s", "stage", "rank", "nodes", "weights", "packed", "activat.",
        "state", sc_plan_has_chunks(plan) ? "a step" : "time");
    fputs(sc_plan_has_chunks(plan) ? "   a chunk\n" : "\n", r->out);
}

static void write_bar(const struct report *r, double part)
{
    const int width = sc_plan_has_chunks(r->plan) ? SHORT_BAR : BAR;
    const int n = part > 0 ? (int)lround(part * width) : 0;
    fputs("  ", r->out);
    for (int i = 0; i < width; i++) {
        fputc(i < n ? '#' : '.', r->out);
    }
    fprintf(r->out, " %3.0f %%\n", 100 * part);
}

static void write_stage(const struct report *r, int k)
{
    const struct sc_plan_stage *stage = &r->plan->stages[k];
    char weights[24], packed[24], activations[24], state[24];
    fprintf(r->out, "%5d %5d %6d %10s %10s %10s %10s", k, stage->ranks[0], stage->n_nodes,
        sc_bytes_text(stage->weight_bytes, weights, sizeof weights),
        sc_bytes_text(stage->packed_bytes, packed, sizeof packed),
        sc_bytes_text(stage->activation_bytes, activations, sizeof activations),
        sc_bytes_text(stage->state_bytes, state, sizeof state));
    write_times(r, stage);
    const double most = sc_plan_slowest(r->plan);
    write_bar(r, most > 0 ? sc_plan_load(r->plan, stage) / most : 0);
}

static void write_total(const struct report *r)
{
    struct sc_plan_stage sum = {0};
    char weights[24], packed[24], activations[24], state[24];
    for (int k = 0; k < r->plan->n_stages; k++) {
        const struct sc_plan_stage *stage = &r->plan->stages[k];
        sum.n_nodes += stage->n_nodes;
        sum.weight_bytes += stage->weight_bytes;
        sum.packed_bytes += stage->packed_bytes;
        sum.activation_bytes += stage->activation_bytes;
        sum.state_bytes += stage->state_bytes;
        sum.seconds += stage->seconds;
        sum.chunk_seconds += stage->chunk_seconds;
    }
    fprintf(r->out, "%5s %5s %6d %10s %10s %10s %10s", "total", "", sum.n_nodes,
        sc_bytes_text(sum.weight_bytes, weights, sizeof weights),
        sc_bytes_text(sum.packed_bytes, packed, sizeof packed),
        sc_bytes_text(sum.activation_bytes, activations, sizeof activations),
        sc_bytes_text(sum.state_bytes, state, sizeof state));
    write_times(r, &sum);
    fputc('\n', r->out);
}

static void write_end(const struct report *r, const char *end, int stage)
{
    if (stage < 0) {
        fprintf(r->out, "%8s", end);
    } else {
        fprintf(r->out, "%8d", stage);
    }
}

/* The first ones, as many as a line has room for. */
static void write_names(const struct report *r, const struct sc_plan_edge *edge)
{
    size_t width = 0;
    int v = 0;
    for (; v < edge->n_values && v < NAMES; v++) {
        const char *name = r->graph->values[edge->values[v]].name;
        width += strlen(name) + 2;
        if (v > 0 && width > NAMES_WIDTH) {
            break;
        }
        fprintf(r->out, "%s %s", v ? "," : "", name);
    }
    if (v < edge->n_values) {
        fprintf(r->out, ", and %d more", edge->n_values - v);
    }
}

static void write_edge(const struct report *r, const struct sc_plan_edge *edge)
{
    int64_t bytes = 0;
    char text[24];
    for (int v = 0; v < edge->n_values && r->facts; v++) {
        bytes += value_bytes(r, edge->values[v]);
    }
    write_end(r, "input", edge->from);
    fputs(" ->", r->out);
    write_end(r, "output", edge->to);
    fprintf(r->out, " %7d %10s ", edge->n_values, r->facts ? sc_bytes_text(bytes, text, sizeof text) : "");
    write_names(r, edge);
    fputc('\n', r->out);
}

static void write_rates(const struct report *r)
{
    double step = 0, chunk = 0;
    for (int k = 0; k < r->plan->n_stages; k++) {
        step = fmax(step, r->plan->stages[k].seconds);
        chunk = fmax(chunk, r->plan->stages[k].chunk_seconds);
    }
    if (sc_plan_has_chunks(r->plan)) {
        fprintf(r->out, "\n%.4g steps/s, or %.4g chunks/s\n", 1 / step, 1 / chunk);
    } else {
        fprintf(r->out, "; %.4g microbatches/s\n", 1 / step);
    }
}

static void write_bound(const struct report *r)
{
    char time[24], bound[24];
    const double most = sc_plan_slowest(r->plan), least = r->plan->bound_seconds;
    if (most > 0) {
        fprintf(r->out, "\nslowest stage %s%s", sc_seconds_text(most, time, sizeof time), sc_plan_of_what(r->plan));
        if (least > 0) {
            fprintf(r->out, ", no plan can be under %s: gap %.1f %%", sc_seconds_text(least, bound, sizeof bound),
                fmax(0, 100 * (most / least - 1)));
        }
        write_rates(r);
    }
    if (r->plan->note) {
        fprintf(r->out, "note: %s\n", r->plan->note);
    }
}

static void write_report(const struct report *r)
{
    write_head(r);
    for (int k = 0; k < r->plan->n_stages; k++) {
        write_stage(r, k);
    }
    write_total(r);
    fprintf(r->out, "\n%8s   %8s %7s %10s  %s\n", "from", "to", "values", r->facts ? "bytes" : "", "names");
    for (int e = 0; e < r->n_edges; e++) {
        write_edge(r, &r->edges[e]);
    }
    write_bound(r);
}

enum sc_status sc_plan_table(const struct sc_plan *plan, const struct sc_model *model, const struct sc_graph *graph,
    const struct sc_fact *facts, const bool *is_state, struct sc_arena *arena, const char **text)
{
    struct report r = {.plan = plan, .model = model, .graph = graph, .facts = facts};
    SC_TRY(sc_plan_edges(plan, graph, is_state, arena, &r.n_edges, &r.edges));
    char *gathered = NULL, *copy = NULL;
    size_t n_bytes = 0;
    r.out = open_memstream(&gathered, &n_bytes);
    if (!r.out) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the table of the plan");
    }
    write_report(&r);
    const bool failed = ferror(r.out) != 0;
    if (fclose(r.out) || failed || !gathered) {
        free(gathered);
        return sc_fail(SC_NO_MEMORY, "out of memory for the table of the plan");
    }
    copy = sc_arena_text(arena, gathered, n_bytes);
    free(gathered);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    *text = copy;
    return SC_OK;
}
