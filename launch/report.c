/* SPDX-License-Identifier: Apache-2.0
 * The plan's table comes from the partitioner; the tables of ranks and stages from their reports. */
#include "launch/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/report_file.h"
#include "partitioner/report.h"

static enum sc_status print_plan(
    const struct sc_session *session, const struct sc_plan *plan, const struct sc_model *model, FILE *out)
{
    struct sc_arena arena = {0};
    const char *text = NULL;
    const enum sc_status status = sc_plan_table(
        plan, model, model->graph, sc_session_facts(session), sc_session_is_state(session), &arena, &text);
    if (status == SC_OK) {
        fputs(text, out);
    }
    sc_arena_release(&arena);
    return status;
}

enum sc_status sc_report_plan(const struct sc_session *session, const struct sc_model *model, FILE *out)
{
    const struct sc_plan *plan = sc_session_plan(session), *prefill = sc_session_prefill_plan(session);
    if (!prefill) {
        return print_plan(session, plan, model, out);
    }
    fprintf(out, "decode plan:\n");
    SC_TRY(print_plan(session, plan, model, out));
    fprintf(out, "\nprefill plan (its stage 0 is stage %d below and in traces):\n", plan->n_stages);
    return print_plan(session, prefill, model, out);
}

/* Adds a rank's stages of a plan, whose stage 0 has number `first`, as "0" or "2-4"; a comma before when there is a
 * text. */
static void add_stages(const struct sc_plan *plan, int rank, int first, char *text, size_t bytes)
{
    int from = -1, to = -1;
    for (int s = 0; plan && s < plan->n_stages; s++) {
        if (plan->stages[s].ranks[0] == rank) {
            from = from < 0 ? s : from;
            to = s;
        }
    }
    const size_t length = strlen(text);
    const char *comma = length > 0 ? "," : "";
    if (from >= 0 && from == to) {
        snprintf(text + length, bytes - length, "%s%d", comma, first + from);
    } else if (from >= 0) {
        snprintf(text + length, bytes - length, "%s%d-%d", comma, first + from, first + to);
    }
}

static void stages_of(const struct sc_session *session, int rank, char *text, size_t bytes)
{
    const struct sc_plan *plan = sc_session_plan(session);
    text[0] = '\0';
    add_stages(plan, rank, 0, text, bytes);
    add_stages(sc_session_prefill_plan(session), rank, plan->n_stages, text, bytes);
    if (text[0] == '\0') {
        snprintf(text, bytes, "-");
    }
}

static void print_time(const struct sc_session *session, const struct sc_rank_report *report, int rank, FILE *out)
{
    const double total = (double)(report->busy_ns + report->wait_ns + report->send_ns);
    const double share = total > 0 ? 100.0 / total : 0;
    char stages[32], sent[32];
    stages_of(session, rank, stages, sizeof stages);
    fprintf(out, "%4d  %-14.14s  %-7s %7d  %5.1f %%  %5.1f %%  %5.1f %%  %9" PRId64 "  %9s\n", rank, report->host,
        stages, report->n_threads, (double)report->busy_ns * share, (double)report->wait_ns * share,
        (double)report->send_ns * share, report->sent_messages, sc_bytes_text(report->sent_bytes, sent, sizeof sent));
}

static void print_memory(const struct sc_rank_report *report, int rank, FILE *out)
{
    const int64_t bytes[] = {report->own_weight_bytes + report->mapped_weight_bytes, report->state_bytes,
        report->frame_bytes, report->link_bytes, report->grown_bytes};
    fprintf(out, "%4d", rank);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        char text[32];
        fprintf(out, "  %10s", sc_bytes_text(bytes[i], text, sizeof text));
    }
    fputc('\n', out);
}

/* Two tables that fit into a terminal of 80 columns. */
static void print_ranks(const struct sc_session *session, const struct sc_rank_report *reports, int size, FILE *out)
{
    fprintf(out, "\n%4s  %-14s  %-7s %7s  %7s  %7s  %7s  %9s  %9s\n", "rank", "host", "stage", "threads", "busy",
        "wait", "send", "messages", "sent");
    for (int r = 0; r < size; r++) {
        print_time(session, &reports[r], r, out);
    }
    fprintf(out, "\n%4s  %10s  %10s  %10s  %10s  %10s\n", "rank", "weights", "caches", "frames", "links", "peak");
    for (int r = 0; r < size; r++) {
        print_memory(&reports[r], r, out);
    }
}

/* What all ranks together sent, and read of weights, for a token. */
static void print_traffic(const struct sc_rank_report *reports, int size, int64_t n_tokens, FILE *out)
{
    int64_t messages = 0, bytes = 0, read_bytes = 0;
    char text[32], read[32];
    for (int r = 0; r < size; r++) {
        messages += reports[r].sent_messages;
        bytes += reports[r].sent_bytes;
        read_bytes += reports[r].read_weight_bytes;
    }
    fprintf(out,
        "\n%" PRId64 " tokens went through, prompts too; each took %.2f messages with %s, and read %s of weights\n",
        n_tokens, (double)messages / (double)n_tokens, sc_bytes_text(bytes / n_tokens, text, sizeof text),
        sc_bytes_text(read_bytes / n_tokens, read, sizeof read));
}

static void print_times(int64_t n, double predicted, int64_t ns, FILE *out)
{
    char text[32], measured[32];
    fprintf(out, "  %12" PRId64 "  %10s  %10s", n, sc_seconds_text(predicted, text, sizeof text),
        n > 0 ? sc_seconds_text((double)ns / 1e9 / (double)n, measured, sizeof measured) : "-");
}

/* chunks: a decoder's, told from its steps. */
static void print_stages(
    const struct sc_plan *plan, int first, const struct sc_stage_report *stages, bool chunks, FILE *out)
{
    for (int s = 0; plan && s < plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &plan->stages[s];
        const struct sc_stage_report *done = &stages[first + s];
        fprintf(out, "%5d  %4d", first + s, stage->ranks[0]);
        if (chunks) {
            print_times(done->n_microbatches - done->n_chunks, stage->seconds, done->busy_ns - done->chunk_ns, out);
            print_times(done->n_chunks, stage->chunk_seconds, done->chunk_ns, out);
        } else {
            print_times(done->n_microbatches, stage->seconds, done->busy_ns, out);
        }
        fputc('\n', out);
    }
}

static void print_all_stages(const struct sc_session *session, const struct sc_stage_report *stages, FILE *out)
{
    const struct sc_plan *plan = sc_session_plan(session);
    const bool chunks = sc_plan_has_chunks(plan);
    fprintf(out, "\n%5s  %4s  %12s  %10s  %10s", "stage", "rank", chunks ? "steps" : "microbatches", "predicted",
        "measured");
    if (chunks) {
        fprintf(out, "  %12s  %10s  %10s", "chunks", "predicted", "measured");
    }
    fputc('\n', out);
    print_stages(plan, 0, stages, chunks, out);
    print_stages(sc_session_prefill_plan(session), plan->n_stages, stages, chunks, out);
}

static enum sc_status tell(const struct sc_session *session, const struct sc_model *model,
    const struct sc_measured *measured, int64_t n_tokens, FILE *out, struct sc_json *document)
{
    if (out) {
        print_ranks(session, measured->ranks, measured->n_ranks, out);
        print_all_stages(session, measured->stages, out);
    }
    if (out && n_tokens > 0) {
        print_traffic(measured->ranks, measured->n_ranks, n_tokens, out);
    }
    return document ? sc_report_file_add(document, session, model, measured) : SC_OK;
}

enum sc_status sc_report_ranks(struct sc_session *session, const struct sc_model *model, struct sc_world *world,
    int64_t n_tokens, FILE *out, struct sc_json *document)
{
    const int size = sc_world_size(world), n_stages = sc_session_n_stages(session);
    const bool root = sc_world_rank(world) == 0;
    struct sc_rank_report *ranks = root ? calloc((size_t)size, sizeof *ranks) : NULL;
    struct sc_stage_report *stages = root ? calloc((size_t)n_stages + 1, sizeof *stages) : NULL;
    enum sc_status status =
        root && (!ranks || !stages) ? sc_fail(SC_NO_MEMORY, "out of memory for %d reports", size) : SC_OK;
    status = status == SC_OK ? sc_session_report(session, ranks) : status;
    status = status == SC_OK ? sc_session_report_stages(session, stages) : status;
    if (status == SC_OK && root) {
        const struct sc_measured measured = {size, ranks, stages};
        status = tell(session, model, &measured, n_tokens, out, document);
    }
    free(stages);
    free(ranks);
    return status;
}
