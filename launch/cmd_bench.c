/* SPDX-License-Identifier: Apache-2.0
 * stagecoach bench: a decoder's prompt and generation speed, any other model's latency and throughput, on random inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "decode/decoder.h"
#include "decode/pairs.h"
#include "launch/app.h"
#include "launch/bench_table.h"
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
    int64_t *tokens; /* of the prompt */
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

/* n microbatches, `in_flight` at a time; the time to the last result, from the first submit or, for the pace of a pipeline
 * that is full, from the first result. */
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

/* One prompt of n_prompt tokens; or one token and n_predict more, of which the first comes with the prompt. */
static enum sc_status run_text(struct sc_bencher *bencher, int64_t n_prompt, int64_t n_predict, double *per_second)
{
    struct sc_request request = {
        .prompt = bencher->tokens, .n_prompt = n_prompt, .n_predict = n_predict, .sample = {.top_p = 1}, .fresh = true};
    SC_TRY(sc_decoder_generate(bencher->decoder, &request));
    *per_second = n_predict > 0 ? (double)(request.n_made - 1) * 1e9 / (double)(request.ended_ns - request.first_ns)
                                : (double)n_prompt * 1e9 / (double)(request.first_ns - request.begun_ns);
    measured(bencher);
    return SC_OK;
}

static enum sc_status bench_text(struct sc_bencher *bencher, const char *kind, int64_t n_prompt, int64_t n_predict)
{
    struct sc_bench_row *row = new_row(bencher, "t/s");
    double warm;
    snprintf(row->test, sizeof row->test, "%s%lld", kind, (long long)(n_predict > 0 ? n_predict - 1 : n_prompt));
    SC_TRY(run_text(bencher, n_prompt, n_predict, &warm));
    for (int r = 0; r < row->n_runs; r++) {
        SC_TRY(run_text(bencher, n_prompt, n_predict, &row->value[r]));
    }
    return SC_OK;
}

static enum sc_status bench_decoder(struct sc_bencher *bencher)
{
    const struct sc_options *options = bencher->app->options;
    const int64_t n_prompt = sc_options_int(options, "n-prompt"), n_gen = sc_options_int(options, "n-gen");
    const struct sc_random_key key = {.seed = (uint64_t)sc_options_int(options, "seed")};
    bencher->tokens = sc_arena_array(&bencher->arena, (size_t)n_prompt + 1, sizeof *bencher->tokens);
    if (!bencher->tokens) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i <= n_prompt; i++) {
        const double uniform = sc_random_uniform(&key, (uint64_t)i);
        bencher->tokens[i] = (int64_t)(uniform * (double)sc_decoder_vocabulary(bencher->decoder));
    }
    if (n_prompt > 0) {
        SC_TRY(bench_text(bencher, "pp", n_prompt, 0));
    }
    return n_gen > 0 ? bench_text(bencher, "tg", 1, n_gen + 1) : SC_OK;
}

/* How many steps there will be: each test warms up once. */
static int64_t count_measures(const struct sc_bencher *bencher)
{
    const struct sc_options *options = bencher->app->options;
    const int n_tests =
        !bencher->decoder ? 2 : (sc_options_int(options, "n-prompt") > 0) + (sc_options_int(options, "n-gen") > 0);
    return n_tests * (sc_options_int(options, "repetitions") + 1);
}

static enum sc_status drive(void *arg)
{
    struct sc_bencher *bencher = arg;
    return bencher->decoder ? bench_decoder(bencher) : bench_model(bencher);
}

static enum sc_status open_decoder(struct sc_bencher *bencher)
{
    const struct sc_options *options = bencher->app->options;
    const int64_t n_prompt = sc_options_int(options, "n-prompt"), n_gen = sc_options_int(options, "n-gen") + 2;
    struct sc_decoder_options decoder = {
        .context = n_prompt > n_gen ? n_prompt : n_gen, .chunk = sc_options_int(options, "ubatch")};
    sc_app_session_options(bencher->app, &decoder.session);
    SC_TRY(sc_decoder_open(bencher->app->world, bencher->model, &decoder, &bencher->decoder));
    bencher->session = sc_decoder_session(bencher->decoder);
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
    SC_TRY(sc_world_agree(bencher->app->world, make_inputs(bencher)));
    sc_inputs_options(&bencher->inputs, &session);
    return sc_session_open(bencher->app->world, bencher->model, &session, &bencher->session);
}

/* A decoder that writes text by itself: one of an encoder's states needs the encoder. */
static bool writes_text(const struct sc_graph *graph, int n_pairs)
{
    bool alone = true;
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
    SC_TRY(sc_app_open_model(app, sc_options_text(app->options, "model"), &bencher->model));
    SC_TRY(sc_world_agree(app->world, sc_pairs_find(bencher->model, &n_pairs, &pairs)));
    for (int w = 0; w < bencher->model->graph->n_weights; w++) {
        bencher->table.weight_bytes += (int64_t)sc_weight_bytes(&bencher->model->graph->weights[w]);
    }
    const bool decodes = writes_text(bencher->model->graph, n_pairs) && !sc_options_given(app->options, "dim");
    return decodes ? open_decoder(bencher) : open_session(bencher);
}

static enum sc_status bench(struct sc_bencher *bencher)
{
    struct sc_app *app = bencher->app;
    const struct sc_kernels *kernels;
    SC_TRY(sc_world_agree(app->world, sc_report_file_open(app, &bencher->report)));
    SC_TRY(open_model(bencher));
    sc_report_file_ready(&bencher->report);
    SC_TRY(sc_kernels_best(&kernels));
    sc_app_opened(app, NULL, 0);
    if (sc_app_is_root(app)) {
        SC_TRY(sc_report_plan(bencher->session, bencher->model, stderr));
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
    SC_TRY(sc_report_ranks(
        bencher->session, bencher->model, app->world, status == SC_OK ? stderr : NULL, bencher->report.root));
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
