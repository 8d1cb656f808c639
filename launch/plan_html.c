/* SPDX-License-Identifier: Apache-2.0
 * One row a stage, from input to output, with bars for its time and memory. What travels to the next row is an arrow
 * between the two, what skips rows an arc at the right. */
#include <stdlib.h>

#include "launch/plan_picture.h"
#include "partitioner/report.h"

enum { ROW = 84, TOP = 24, NAME_X = 16, NAME_W = 150, BAR_X = 186, BAR_W = 330, ARC_X = 540, ARC_STEP = 46 };

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc((unsigned char)*text < 32 ? ' ' : *text, out);
        }
    }
}

/* Rows are input, the stages, output. */
static int row_of(const struct sc_picture *picture, int stage, bool is_source)
{
    return stage >= 0 ? stage + 1 : is_source ? 0 : picture->plan->n_stages + 1;
}

static int span_of(const struct sc_picture *picture, const struct sc_plan_edge *edge)
{
    return row_of(picture, edge->to, false) - row_of(picture, edge->from, true);
}

/* How far an arc goes to the right: the longer, the further out. */
static int arc_reach(int span)
{
    return span > 1 ? 30 + ARC_STEP * (span - 2) : 0;
}

static int width_of(const struct sc_picture *picture)
{
    int widest = 1;
    for (int e = 0; e < picture->n_edges; e++) {
        const int span = span_of(picture, &picture->edges[e]);
        widest = span > widest ? span : widest;
    }
    return ARC_X + arc_reach(widest) + 120;
}

static void put_head(const struct sc_picture *picture)
{
    const struct sc_plan *plan = picture->plan;
    FILE *out = picture->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Plan of ", out);
    put_text(out, picture->model->path);
    fputs(
        "</title>\n<style>\n"
        "body { font: 14px/1.4 system-ui, sans-serif; color: #1d2733; margin: 24px auto; max-width: 1100px; padding: 0 "
        "16px }\n"
        "h1 { font-size: 20px; overflow-wrap: anywhere }\n"
        "svg { max-width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #1d2733 }\n"
        "svg .small { font-size: 11px; fill: #5b6876 } .halo { stroke: #fff; stroke-width: 4px; paint-order: stroke }\n"
        "table { border-collapse: collapse; margin: 16px 0 } th, td { padding: 4px 12px; border-bottom: 1px solid "
        "#dde3ea; "
        "text-align: right } th { font-weight: 600 } td.left, th.left { text-align: left; overflow-wrap: anywhere }\n"
        ".key { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin: 0 4px 0 14px }\n"
        "</style>\n</head>\n<body>\n<h1>",
        out);
    put_text(out, picture->model->path);
    fprintf(out, "</h1>\n<p>%d nodes in %d stage%s, for %s", plan->n_nodes, plan->n_stages,
        plan->n_stages == 1 ? "" : "s", plan->latency ? "latency" : "throughput");
    if (picture->slowest_seconds > 0) {
        char time[32], bound[32];
        fprintf(out, "; slowest stage %s%s", sc_seconds_text(picture->slowest_seconds, time, sizeof time),
            sc_plan_of_what(plan));
        if (plan->bound_seconds > 0) {
            const double gap = 100 * (picture->slowest_seconds / plan->bound_seconds - 1);
            fprintf(out, ", no plan can be under %s (gap %.1f %%)",
                sc_seconds_text(plan->bound_seconds, bound, sizeof bound), gap > 0 ? gap : 0);
        }
    }
    fputs(".", out);
    if (plan->note) {
        fputs(" Note: ", out);
        put_text(out, plan->note);
        fputs(".", out);
    }
    fputs("</p>\n<p><span class=\"key\" style=\"background:#3b6fb5;margin-left:0\"></span>time"
          "<span class=\"key\" style=\"background:#4f9d69\"></span>weights"
          "<span class=\"key\" style=\"background:#e0a63c\"></span>state"
          "<span class=\"key\" style=\"background:#b56576\"></span>activations</p>\n",
        out);
}

/* A part of the memory bar; returns where the next one begins. */
static double put_part(const struct sc_picture *picture, double x, int y, int64_t bytes, const char *colour)
{
    const double width = picture->largest_bytes > 0 ? (double)bytes * BAR_W / (double)picture->largest_bytes : 0;
    if (bytes > 0) {
        fprintf(
            picture->out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"9\" fill=\"%s\"/>\n", x, y, width, colour);
    }
    return x + width;
}

static void put_stage(const struct sc_picture *picture, int s)
{
    const struct sc_plan_stage *stage = &picture->plan->stages[s];
    const int y = TOP + ROW * (s + 1);
    const double share =
        picture->slowest_seconds > 0 ? sc_plan_load(picture->plan, stage) / picture->slowest_seconds : 0;
    char time[64], memory[32];
    fprintf(picture->out,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"48\" rx=\"6\" fill=\"#eef2f7\" stroke=\"#9fb0c3\"/>\n"
        "<text x=\"%d\" y=\"%d\">stage %d on rank %d</text>\n"
        "<text class=\"small\" x=\"%d\" y=\"%d\">%d nodes</text>\n",
        NAME_X, y, NAME_W, NAME_X + 12, y + 20, s, stage->ranks[0], NAME_X + 12, y + 37, stage->n_nodes);
    fprintf(picture->out,
        "<text x=\"%d\" y=\"%d\">%s, %.0f %%</text>\n"
        "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"9\" fill=\"#3b6fb5\"/>\n",
        BAR_X, y + 6, sc_stage_time_text(stage, time, sizeof time), 100 * share, BAR_X, y + 11, share * BAR_W);
    double x = put_part(picture, BAR_X, y + 38, stage->weight_bytes, "#4f9d69");
    x = put_part(picture, x, y + 38, stage->state_bytes, "#e0a63c");
    (void)put_part(picture, x, y + 38, stage->activation_bytes, "#b56576");
    fprintf(picture->out, "<text x=\"%d\" y=\"%d\">%s</text>\n", BAR_X, y + 34,
        sc_bytes_text(sc_picture_stage_bytes(stage), memory, sizeof memory));
}

/* To the next row: in the space between. */
static void put_arrow(const struct sc_picture *picture, int e, int from)
{
    const int x = NAME_X + NAME_W / 2, y = TOP + ROW * from + 48;
    char bytes[32];
    fprintf(picture->out,
        "<path d=\"M %d %d V %d\" stroke=\"#6b7c90\" stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>\n"
        "<text class=\"halo\" x=\"%d\" y=\"%d\">%s<tspan class=\"small\"> ",
        x, y, y + ROW - 50, x + 10, y + 22, sc_bytes_text(picture->edge_bytes[e], bytes, sizeof bytes));
    sc_picture_names(picture, &picture->edges[e], put_text);
    fputs("</tspan></text>\n", picture->out);
}

static void put_arc(const struct sc_picture *picture, int e, int from, int to)
{
    const int y0 = TOP + ROW * from + 30, y1 = TOP + ROW * to + 18, reach = arc_reach(to - from);
    char bytes[32];
    fprintf(picture->out,
        "<path d=\"M %d %d C %d %d, %d %d, %d %d\" fill=\"none\" stroke=\"#6b7c90\" stroke-width=\"1.5\" "
        "marker-end=\"url(#tip)\"/>\n"
        "<text class=\"halo\" x=\"%d\" y=\"%d\">%s</text>\n",
        ARC_X, y0, ARC_X + reach * 4 / 3, y0, ARC_X + reach * 4 / 3, y1, ARC_X, y1, ARC_X + reach + 6,
        (y0 + y1) / 2 + 4, sc_bytes_text(picture->edge_bytes[e], bytes, sizeof bytes));
}

static void put_edge(const struct sc_picture *picture, int e)
{
    const int from = row_of(picture, picture->edges[e].from, true), to = row_of(picture, picture->edges[e].to, false);
    if (to - from == 1) {
        put_arrow(picture, e, from);
    } else {
        put_arc(picture, e, from, to);
    }
}

static void put_drawing(const struct sc_picture *picture)
{
    const int n_rows = picture->plan->n_stages + 2, last = TOP + ROW * (n_rows - 1);
    fprintf(picture->out,
        "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"stages and what travels between them\">\n"
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" fill=\"#6b7c90\"/></marker></defs>\n",
        width_of(picture), TOP + ROW * n_rows, width_of(picture));
    fprintf(picture->out,
        "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">input</text>\n"
        "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">output</text>\n"
        "<path d=\"M %d %d H %d M %d %d H %d\" stroke=\"#dde3ea\"/>\n",
        NAME_X + NAME_W / 2, TOP + 40, NAME_X + NAME_W / 2, last + 14, NAME_X + NAME_W / 2 + 30, TOP + 36, ARC_X - 4,
        NAME_X + NAME_W / 2 + 30, last + 10, ARC_X - 4);
    for (int s = 0; s < picture->plan->n_stages; s++) {
        put_stage(picture, s);
    }
    for (int e = 0; e < picture->n_edges; e++) {
        put_edge(picture, e);
    }
    fputs("</svg>\n", picture->out);
}

static void put_end(FILE *out, int stage, const char *caller)
{
    if (stage < 0) {
        fprintf(out, "<td>%s</td>", caller);
    } else {
        fprintf(out, "<td>%d</td>", stage);
    }
}

static void put_tables(const struct sc_picture *picture)
{
    FILE *out = picture->out;
    fputs("<table>\n<tr><th>stage</th><th>rank</th><th>nodes</th><th>time</th><th>weights</th><th>of these packed</th>"
          "<th>activations</th><th>state</th></tr>\n",
        out);
    for (int s = 0; s < picture->plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &picture->plan->stages[s];
        char time[64], text[4][32];
        fprintf(out,
            "<tr><td>%d</td><td>%d</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", s,
            stage->ranks[0], stage->n_nodes, sc_stage_time_text(stage, time, sizeof time),
            sc_bytes_text(stage->weight_bytes, text[0], sizeof text[0]),
            sc_bytes_text(stage->packed_bytes, text[1], sizeof text[1]),
            sc_bytes_text(stage->activation_bytes, text[2], sizeof text[2]),
            sc_bytes_text(stage->state_bytes, text[3], sizeof text[3]));
    }
    fputs("</table>\n<table>\n<tr><th>from</th><th>to</th><th>values</th><th>bytes</th><th "
          "class=\"left\">names</th></tr>\n",
        out);
    for (int e = 0; e < picture->n_edges; e++) {
        const struct sc_plan_edge *edge = &picture->edges[e];
        char bytes[32];
        fputs("<tr>", out);
        put_end(out, edge->from, "input");
        put_end(out, edge->to, "output");
        fprintf(out, "<td>%d</td><td>%s</td><td class=\"left\">", edge->n_values,
            sc_bytes_text(picture->edge_bytes[e], bytes, sizeof bytes));
        for (int v = 0; v < edge->n_values; v++) {
            fputs(v ? ", " : "", out);
            put_text(out, picture->model->graph->values[edge->values[v]].name);
        }
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

void sc_picture_html(const struct sc_picture *picture)
{
    put_head(picture);
    put_drawing(picture);
    put_tables(picture);
    fputs("</body>\n</html>\n", picture->out);
}
