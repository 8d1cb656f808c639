/* SPDX-License-Identifier: Apache-2.0
 * Times are seconds, sizes bytes; a field whose value is not known is absent. */
#include "launch/report_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "ops/kernels/kernels.h"

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static enum sc_status add_versions(struct sc_json *root)
{
    struct sc_json *versions;
    const struct sc_kernels *kernels;
    char library[256];
    SC_TRY(sc_kernels_best(&kernels));
    SC_TRY(sc_json_add(root, "versions", false, &versions));
    SC_TRY(sc_json_add_text(versions, "stagecoach", SC_VERSION));
    SC_TRY(sc_json_add_text(versions, "mpi", sc_world_library(library, sizeof library)));
    return sc_json_add_text(versions, "kernels", kernels->name);
}

enum sc_status sc_report_file_open(const struct sc_app *app, struct sc_report_file *file)
{
    *file = (struct sc_report_file){.path = sc_options_text(app->options, "report"), .start_ns = sc_clock_ns()};
    if (!file->path || !sc_app_is_root(app)) {
        return SC_OK;
    }
    SC_TRY(sc_file_check_writable(file->path));
    SC_TRY(sc_json_new(false, &file->root));
    SC_TRY(sc_json_add_int(file->root, "format", 1));
    SC_TRY(sc_json_add_text(file->root, "command", app->command));
    return add_versions(file->root);
}

void sc_report_file_ready(struct sc_report_file *file)
{
    file->ready_ns = sc_clock_ns();
}

void sc_report_file_ran(struct sc_report_file *file)
{
    file->ran_ns = sc_clock_ns();
}

static enum sc_status add_timings(struct sc_report_file *file)
{
    struct sc_json *timings;
    SC_TRY(sc_json_add(file->root, "timings", false, &timings));
    if (file->ready_ns && file->ran_ns) {
        SC_TRY(sc_json_add_real(timings, "open_seconds", seconds(file->ready_ns - file->start_ns)));
        SC_TRY(sc_json_add_real(timings, "run_seconds", seconds(file->ran_ns - file->ready_ns)));
    }
    return sc_json_add_real(timings, "total_seconds", seconds(sc_clock_ns() - file->start_ns));
}

enum sc_status sc_report_file_write(struct sc_report_file *file)
{
    if (!file->root) {
        return SC_OK;
    }
    SC_TRY(add_timings(file));
    char *text = sc_json_print(file->root);
    if (!text) {
        return sc_fail(SC_NO_MEMORY, "out of memory for '%s'", file->path);
    }
    const enum sc_status status = sc_file_write(file->path, text, strlen(text));
    free(text);
    return status;
}

void sc_report_file_release(struct sc_report_file *file)
{
    sc_json_free(file->root);
    *file = (struct sc_report_file){0};
}

static enum sc_status add_model(struct sc_json *document, const struct sc_model *model)
{
    struct sc_json *at, *opsets;
    char fingerprint[24];
    int64_t bytes = 0;
    for (int w = 0; w < model->graph->n_weights; w++) {
        bytes += (int64_t)sc_weight_bytes(&model->graph->weights[w]);
    }
    (void)snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, model->fingerprint);
    SC_TRY(sc_json_add(document, "model", false, &at));
    SC_TRY(sc_json_add_text(at, "path", model->path));
    SC_TRY(sc_json_add_text(at, "fingerprint", fingerprint));
    SC_TRY(sc_json_add_text(at, "producer", model->producer ? model->producer : ""));
    SC_TRY(sc_json_add_int(at, "ir_version", model->ir_version));
    SC_TRY(sc_json_add(at, "opsets", false, &opsets));
    for (int o = 0; o < model->n_opsets; o++) {
        const char *domain = model->opsets[o].domain;
        SC_TRY(sc_json_add_int(opsets, domain[0] ? domain : "ai.onnx", model->opsets[o].version));
    }
    SC_TRY(sc_json_add_int(at, "nodes", model->n_file_nodes));
    return sc_json_add_int(at, "weight_bytes", bytes);
}

static enum sc_status add_planned_bytes(struct sc_json *at, const struct sc_plan_stage *stage)
{
    SC_TRY(sc_json_add_int(at, "weight_bytes", stage->weight_bytes));
    SC_TRY(sc_json_add_int(at, "packed_bytes", stage->packed_bytes));
    SC_TRY(sc_json_add_int(at, "activation_bytes", stage->activation_bytes));
    return sc_json_add_int(at, "state_bytes", stage->state_bytes);
}

static enum sc_status add_measured(struct sc_json *stage, const struct sc_stage_report *done)
{
    SC_TRY(sc_json_add_int(stage, "microbatches", done->n_microbatches));
    if (done->n_chunks > 0) {
        SC_TRY(sc_json_add_int(stage, "chunks", done->n_chunks));
        SC_TRY(sc_json_add_real(stage, "measured_chunk_seconds", seconds(done->chunk_ns) / (double)done->n_chunks));
    }
    return done->n_microbatches == 0
        ? SC_OK
        : sc_json_add_real(stage, "measured_seconds", seconds(done->busy_ns) / (double)done->n_microbatches);
}

static enum sc_status add_plan(
    struct sc_json *document, const char *name, const struct sc_plan *plan, const struct sc_stage_report *measured)
{
    struct sc_json *at, *stages, *stage;
    SC_TRY(sc_json_add(document, name, false, &at));
    SC_TRY(sc_json_add_text(at, "objective", plan->latency ? "latency" : "throughput"));
    SC_TRY(sc_json_add(at, "stages", true, &stages));
    for (int s = 0; s < plan->n_stages; s++) {
        SC_TRY(sc_json_add(stages, NULL, false, &stage));
        SC_TRY(sc_json_add_int(stage, "rank", plan->stages[s].ranks[0]));
        SC_TRY(sc_json_add_int(stage, "nodes", plan->stages[s].n_nodes));
        SC_TRY(sc_json_add_real(stage, "predicted_seconds", plan->stages[s].seconds));
        if (plan->stages[s].chunk_seconds > 0) {
            SC_TRY(sc_json_add_real(stage, "predicted_chunk_seconds", plan->stages[s].chunk_seconds));
        }
        SC_TRY(add_measured(stage, &measured[s]));
        SC_TRY(add_planned_bytes(stage, &plan->stages[s]));
    }
    SC_TRY(sc_json_add_real(at, "slowest_seconds", sc_plan_slowest(plan)));
    if (plan->bound_seconds > 0) {
        SC_TRY(sc_json_add_real(at, "bound_seconds", plan->bound_seconds));
    }
    return plan->note ? sc_json_add_text(at, "note", plan->note) : SC_OK;
}

/* What a plan, whose stage 0 has number `first`, asks of a rank: all of its stages together. */
static enum sc_status add_planned(
    const struct sc_plan *plan, int rank, int first, struct sc_json *stages, struct sc_plan_stage *sum)
{
    for (int s = 0; plan && s < plan->n_stages; s++) {
        const struct sc_plan_stage *stage = &plan->stages[s];
        if (stage->ranks[0] != rank) {
            continue;
        }
        SC_TRY(sc_json_add_int(stages, NULL, first + s));
        sum->seconds += stage->seconds;
        sum->weight_bytes += stage->weight_bytes;
        sum->packed_bytes += stage->packed_bytes;
        sum->activation_bytes += stage->activation_bytes;
        sum->state_bytes += stage->state_bytes;
    }
    return SC_OK;
}

static enum sc_status add_memory(
    struct sc_json *at, const struct sc_plan_stage *sum, const struct sc_rank_report *report)
{
    struct sc_json *memory, *planned, *measured;
    SC_TRY(sc_json_add(at, "memory", false, &memory));
    SC_TRY(sc_json_add(memory, "planned", false, &planned));
    SC_TRY(add_planned_bytes(planned, sum));
    SC_TRY(sc_json_add(memory, "measured", false, &measured));
    SC_TRY(sc_json_add_int(measured, "own_weight_bytes", report->own_weight_bytes));
    SC_TRY(sc_json_add_int(measured, "mapped_weight_bytes", report->mapped_weight_bytes));
    SC_TRY(sc_json_add_int(measured, "frame_bytes", report->frame_bytes));
    SC_TRY(sc_json_add_int(measured, "state_bytes", report->state_bytes));
    SC_TRY(sc_json_add_int(measured, "link_bytes", report->link_bytes));
    return report->grown_bytes > 0 ? sc_json_add_int(measured, "peak_bytes", report->grown_bytes) : SC_OK;
}

static enum sc_status add_rank(
    struct sc_json *ranks, const struct sc_session *session, int rank, const struct sc_rank_report *report)
{
    const struct sc_plan *plan = sc_session_plan(session);
    struct sc_plan_stage sum = {0};
    struct sc_json *at, *stages;
    SC_TRY(sc_json_add(ranks, NULL, false, &at));
    SC_TRY(sc_json_add_int(at, "rank", rank));
    SC_TRY(sc_json_add_text(at, "host", report->host));
    SC_TRY(sc_json_add_int(at, "threads", report->n_threads));
    SC_TRY(sc_json_add(at, "stages", true, &stages));
    SC_TRY(add_planned(plan, rank, 0, stages, &sum));
    SC_TRY(add_planned(sc_session_prefill_plan(session), rank, plan->n_stages, stages, &sum));
    SC_TRY(sc_json_add_int(at, "microbatches", report->n_microbatches));
    if (report->n_microbatches > 0) {
        SC_TRY(sc_json_add_real(at, "predicted_seconds", sum.seconds));
        SC_TRY(sc_json_add_real(at, "measured_seconds", seconds(report->busy_ns) / (double)report->n_microbatches));
    }
    SC_TRY(sc_json_add_real(at, "busy_seconds", seconds(report->busy_ns)));
    SC_TRY(sc_json_add_real(at, "wait_seconds", seconds(report->wait_ns)));
    SC_TRY(sc_json_add_real(at, "send_seconds", seconds(report->send_ns)));
    SC_TRY(sc_json_add_int(at, "sent_messages", report->sent_messages));
    SC_TRY(sc_json_add_int(at, "sent_bytes", report->sent_bytes));
    return add_memory(at, &sum, report);
}

enum sc_status sc_report_file_add(struct sc_json *document, const struct sc_session *session,
    const struct sc_model *model, const struct sc_measured *measured)
{
    const struct sc_plan *plan = sc_session_plan(session), *prefill = sc_session_prefill_plan(session);
    struct sc_json *ranks;
    SC_TRY(add_model(document, model));
    SC_TRY(add_plan(document, "plan", plan, measured->stages));
    SC_TRY(prefill ? add_plan(document, "prefill_plan", prefill, measured->stages + plan->n_stages) : SC_OK);
    SC_TRY(sc_json_add(document, "ranks", true, &ranks));
    for (int r = 0; r < measured->n_ranks; r++) {
        SC_TRY(add_rank(ranks, session, r, &measured->ranks[r]));
    }
    return SC_OK;
}
