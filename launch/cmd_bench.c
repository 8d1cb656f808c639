/* SPDX-License-Identifier: Apache-2.0
 * stagecoach bench: a decoder's prompt and generation speed, any other model's latency and throughput, on random
 * inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/features.h"
#include "base/clock.h"
#include "decode/decoder.h"
#include "decode/pairs.h"
#include "decode/source.h"
#include "decode/union.h"
#include "launch/app.h"
#include "launch/bench_text.h"
#include "launch/inputs.h"
#include "launch/report.h"
#include "launch/report_file.h"
#include "ops/kernels/kernels.h"

#define SC_BENCH_TARGET_NS 300000000 /* how long one measured run of throughput should take at least */

struct sc_bencher {
    struct sc_app *app;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_session *session;
    struct sc_decoder *decoder; /* NULL: not a decoder */
    struct sc_inputs inputs;
    const struct sc_value **outputs;
    struct sc_bench_text text;
    struct sc_bench_table table;
    int64_t n_measured;
    struct sc_report_file report;
};

static struct sc_bench_row *new_row(struct sc_bencher *bencher, const char *unit)
{
    struct sc_bench_row *row = &bencher->table.rows[bencher->table.n_rows++];
    row->unit = unit;
    row->n_runs = (int)sc_options_int(bencher->app->options, "repetitions");
    return row;
}

/* One step of the bar. */
static void measured(struct sc_bencher *bencher)
{
    sc_progress_set(&bencher->app->progress, ++bencher->n_measured);
}

/* n microbatches, `in_flight` at a time; the time to the last result, from the first submit or, for the pace of a
 * pipeline that is full, from the first result. */
static enum sc_status run_many(struct sc_bencher *bencher, int64_t n, int in_flight, bool from_result, int64_t *ns)
{
    int64_t start = sc_clock_ns(), sent = 0;
    for (int64_t received = 0; received < n; received++) {
        while (sent < n && sent - received < in_flight) {
            struct sc_microbatch microbatch = {0};
            SC_TRY(sc_session_submit(bencher->session, &microbatch, bencher->inputs.values));
            sent++;
        }
        SC_TRY(sc_session_next(bencher->session, bencher->outputs));
        start = from_result && received == 0 ? sc_clock_ns() : start;
    }
    *ns = sc_clock_ns() - start;
    measured(bencher);
    return SC_OK;
}

static enum sc_status bench_model(struct sc_bencher *bencher)
{
    const int window = sc_session_window(bencher->session);
    int64_t ns;
    SC_TRY(run_many(bencher, 1, 1, false, &ns)); /* lays out memory, touches weights */
    SC_TRY(run_many(bencher, 1, 1, false, &ns));
    const int64_t n = SC_BENCH_TARGET_NS / (ns > 0 ? ns : 1) + 1;
    struct sc_bench_row *latency = new_row(bencher, "ms");
    snprintf(latency->test, sizeof latency->test, "latency");
    for (int r = 0; r < latency->n_runs; r++) {
        SC_TRY(run_many(bencher, n, 1, false, &ns));
        latency->value[r] = (double)ns / 1e6 / (double)n;
    }
    struct sc_bench_row *throughput = new_row(bencher, "runs/s");
    snprintf(throughput->test, sizeof throughput->test, "throughput@%d", window);
    for (int r = 0; r < throughput->n_runs; r++) {
        SC_TRY(run_many(bencher, n + window, window, true, &ns));
        throughput->value[r] = (double)(n + window - 1) * 1e9 / (double)ns;
    }
    return SC_OK;
}

static void text_measured(void *arg)
{
    measured(arg);
}

/* -d N, where names of dims mean nothing, or --n-depth. */
static bool find_depth(const struct sc_options *options, int64_t *depth)
{
    const char *const *items;
    *depth = sc_options_int(options, "n-depth");
    const int n = sc_options_list(options, "dim", &items);
    if (n == 1 && items[0][0] && items[0][strspn(items[0], "0123456789")] == '\0' && strlen(items[0]) < 9) {
        *depth = strtoll(items[0], NULL, 10);
        return true;
    }
    return n == 0;
}

/* Rank 0. An encoder of sound reads as many frames as it was made for, whatever -p says: silence follows what is
 * shorter. */
static enum sc_status complete_text(struct sc_bencher *bencher)
{
    struct sc_bench_text *text = &bencher->text;
    struct sc_mel_options mel;
    if (text->n_prompt <= 0 && text->n_gen <= 0) {
        return sc_fail(SC_BAD_USAGE, "options '-p' and '-n' are both 0: there is nothing to measure");
    }
    text->n_source = text->n_prompt > 1 ? text->n_prompt : 1;
    if (text->hears) {
        SC_TRY(sc_features_read(bencher->model->folder, &bencher->arena, &mel));
        text->n_bands = mel.n_mels;
        text->n_source = sc_mel_frames(&mel);
        text->n_prompt = text->n_prompt > 0 ? text->n_source : 0;
    }
    return SC_OK;
}

static void describe_text(struct sc_bencher *bencher)
{
    const struct sc_options *options = bencher->app->options;
    bencher->text = (struct sc_bench_text){.n_prompt = sc_options_int(options, "n-prompt"),
        .n_gen = sc_options_int(options, "n-gen"),
        .most_texts = (int)sc_options_int(options, "parallel"),
        .seed = (uint64_t)sc_options_int(options, "seed"),
        .n_runs = (int)sc_options_int(options, "repetitions"),
        .measured = text_measured,
        .arg = bencher};
    (void)find_depth(options, &bencher->text.depth);
    bencher->text.encodes = sc_source_is_read(bencher->model->graph, &bencher->text.hears);
}

/* How many steps of the bar there will be: each test warms up once. */
static int64_t count_measures(const struct sc_bencher *bencher)
{
    return bencher->decoder ? sc_bench_text_runs(&bencher->text)
                            : 2 * (sc_options_int(bencher->app->options, "repetitions") + 1);
}

static enum sc_status drive(void *arg)
{
    struct sc_bencher *bencher = arg;
    return bencher->decoder ? sc_bench_text_run(&bencher->text, &bencher->table) : bench_model(bencher);
}

static enum sc_status open_decoder(struct sc_bencher *bencher)
{
    const struct sc_options *options = bencher->app->options;
    describe_text(bencher);
    SC_TRY(sc_world_agree(bencher->app->world, sc_app_is_root(bencher->app) ? complete_text(bencher) : SC_OK));
    struct sc_decoder_options decoder = {.context = sc_bench_text_context(&bencher->text),
        .chunk = sc_options_int(options, "ubatch"),
        .max_tbt_ns = sc_options_int(options, "max-tbt") * 1000000,
        .depth = bencher->text.depth,
        .formats = sc_options_cache_formats(options)};
    sc_app_session_options(bencher->app, &decoder.session);
    SC_TRY(sc_app_phase_plans(bencher->app, &decoder.session));
    decoder.session.n_slots = bencher->text.most_texts;
    SC_TRY(sc_decoder_open(bencher->app->world, bencher->model, &decoder, &bencher->decoder));
    bencher->session = sc_decoder_session(bencher->decoder);
    bencher->text.decoder = bencher->decoder;
    return SC_OK;
}

static enum sc_status make_inputs(struct sc_bencher *bencher)
{
    struct sc_input_request request = sc_input_request_of(bencher->app->options);
    request.random = true;
    request.seed = (uint64_t)sc_options_int(bencher->app->options, "seed");
    bencher->outputs =
        sc_arena_array(&bencher->arena, (size_t)bencher->model->graph->n_outputs + 1, sizeof *bencher->outputs);
    if (!bencher->outputs) {
        return SC_NO_MEMORY;
    }
    return sc_inputs_make(bencher->model, &request, &bencher->arena, &bencher->inputs);
}

static enum sc_status open_session(struct sc_bencher *bencher)
{
    struct sc_session_options session;
    sc_app_session_options(bencher->app, &session);
    SC_TRY(sc_app_phase_plans(bencher->app, &session));
    SC_TRY(sc_world_agree(bencher->app->world, make_inputs(bencher)));
    sc_inputs_options(&bencher->inputs, &session);
    return sc_session_open(bencher->app->world, bencher->model, &session, &bencher->session);
}

/* A decoder that writes text: by itself, or with the encoder whose states it reads. */
static bool writes_text(const struct sc_graph *graph, int n_pairs)
{
    bool hears, alone = true;
    if (sc_source_is_read(graph, &hears)) {
        return true;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        alone = alone && !sc_pairs_is_constant(graph->values[graph->inputs[i]].name);
    }
    return alone && n_pairs > 0;
}

/* A model with states and logits is run as a decoder, unless dims are given: then as the graph that it is. */
static enum sc_status open_model(struct sc_bencher *bencher)
{
    struct sc_app *app = bencher->app;
    struct sc_state_pair *pairs;
    int n_pairs = 0;
    SC_TRY(sc_union_open(app->world, sc_options_text(app->options, "model"), &app->log, &bencher->model));
    SC_TRY(sc_world_agree(app->world, sc_app_say_states(app->options, bencher->model)));
    SC_TRY(sc_world_agree(app->world, sc_pairs_find(bencher->model, &n_pairs, &pairs)));
    for (int w = 0; w < bencher->model->graph->n_weights; w++) {
        bencher->table.weight_bytes += (int64_t)sc_weight_bytes(&bencher->model->graph->weights[w]);
    }
    int64_t depth;
    const bool decodes = writes_text(bencher->model->graph, n_pairs) && find_depth(app->options, &depth);
    return decodes ? open_decoder(bencher) : open_session(bencher);
}

static enum sc_status bench(struct sc_bencher *bencher)
{
    struct sc_app *app = bencher->app;
    const struct sc_kernels *kernels;
    SC_TRY(sc_world_agree(app->world, sc_app_check_writable(app, "trace")));
    SC_TRY(sc_world_agree(app->world, sc_report_file_open(app, &bencher->report)));
    SC_TRY(open_model(bencher));
    sc_report_file_ready(&bencher->report);
    SC_TRY(sc_kernels_best(&kernels));
    sc_app_opened(app, NULL, 0);
    if (sc_app_told(app)) {
        SC_TRY(sc_report_plan(bencher->session, bencher->model, sc_app_told(app)));
    }
    sc_app_opened(app, "measuring", count_measures(bencher));
    const enum sc_status status = sc_app_run(app, bencher->session, drive, bencher);
    sc_report_file_ran(&bencher->report);
    sc_progress_end(&app->progress);
    const struct sc_error failed = *sc_error_last();
    if (sc_app_is_root(app) && status == SC_OK) {
        bencher->table.model = sc_options_text(app->options, "model");
        bencher->table.backend = kernels->name;
        bencher->table.n_ranks = sc_world_size(app->world);
        bencher->table.n_stages = sc_session_plan(bencher->session)->n_stages;
        bencher->table.n_threads = sc_session_threads(bencher->session);
        sc_bench_print(&bencher->table, (enum sc_bench_format)sc_options_choice(app->options, "format"), stdout);
    }
    SC_TRY(sc_report_ranks(bencher->session, bencher->model, app->world, bencher->text.n_tokens,
        status == SC_OK ? sc_app_told(app) : NULL, bencher->report.root));
    SC_TRY(sc_app_write_trace(app, bencher->session));
    SC_TRY(status == SC_OK ? SC_OK : sc_error_set(&failed));
    SC_TRY(bencher->report.root ? sc_bench_report(&bencher->table, bencher->report.root) : SC_OK);
    return sc_report_file_write(&bencher->report);
}

enum sc_status sc_command_bench(struct sc_app *app)
{
    struct sc_bencher bencher = {.app = app};
    const enum sc_status status = bench(&bencher);
    if (bencher.decoder) {
        sc_decoder_close(bencher.decoder);
    } else {
        sc_session_close(bencher.session);
    }
    sc_report_file_release(&bencher.report);
    sc_model_close(bencher.model);
    sc_arena_release(&bencher.arena);
    return status;
}
