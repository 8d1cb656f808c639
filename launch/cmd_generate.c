/* SPDX-License-Identifier: Apache-2.0
 * stagecoach generate: a prompt in, text out as it comes, what it took at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "decode/decoder.h"
#include "decode/ends.h"
#include "decode/search.h"
#include "decode/source.h"
#include "decode/union.h"
#include "launch/app.h"
#include "launch/generate_many.h"
#include "launch/interrupt.h"
#include "launch/reading.h"
#include "launch/report.h"
#include "launch/report_file.h"
#include "launch/resume.h"
#include "runtime/pages.h"
#include "text/tokenizer.h"

#define SC_PROMPT_LIMIT ((size_t)16 << 20)

struct sc_generator {
    struct sc_app *app;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_decoder *decoder;
    struct sc_search search;
    struct sc_tokenizer *tokenizer; /* rank 0 */
    struct sc_tokenizer_stream *stream;
    struct sc_reading reading; /* rank 0 */
    struct sc_given_text given;
    struct sc_hearing hearing;
    struct sc_resume resume;
    int64_t *eos; /* [n_eos] */
    int n_eos;
    struct sc_error broken; /* stdout is gone: why */
    struct sc_sample_options sample;
    struct sc_request request; /* its prompt follows the text that is loaded */
    struct sc_many many; /* a file of requests in place of one prompt */
    struct sc_report_file report;
};

static bool is_many(const struct sc_generator *generator)
{
    static const char ending[] = ".jsonl";
    const char *path = sc_options_text(generator->app->options, "file");
    const size_t length = path ? strlen(path) : 0, n = sizeof ending - 1;
    return length >= n && strcmp(path + length - n, ending) == 0;
}

static enum sc_status check_prompts(const struct sc_options *options)
{
    static const char *const names[] = {"prompt", "file", "audio"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (sc_options_text(options, names[i])) {
            if (first) {
                return sc_fail(SC_BAD_USAGE, "options '--%s' and '--%s' exclude each other", first, names[i]);
            }
            first = names[i];
        }
    }
    return SC_OK;
}

static enum sc_status read_prompt(struct sc_generator *generator)
{
    const struct sc_options *options = generator->app->options;
    const char *path = sc_options_text(options, "file");
    const char *text = sc_options_text(options, "prompt");
    size_t bytes = text ? strlen(text) : 0;
    if (path) {
        char *read;
        SC_TRY(sc_file_read_text(path, SC_PROMPT_LIMIT, &generator->arena, &read, &bytes));
        const size_t n_mark = sc_prompts_mark(read, bytes);
        text = read + n_mark;
        bytes -= n_mark;
    }
    const char *audio = sc_options_text(options, "audio");
    if (!text && !generator->resume.load && !generator->reading.hears) {
        return sc_fail(SC_BAD_USAGE, "a prompt is missing: give -p TEXT or -f FILE");
    }
    generator->given = (struct sc_given_text){
        .text = text ? text : "", .bytes = bytes, .audio = audio, .fresh = !generator->resume.load};
    return sc_reading_request(
        &generator->reading, &generator->given, &generator->arena, &generator->request, &generator->hearing);
}

/* A decoder behind an encoder has a context of its own, and its text is the likeliest one, token by token. */
static void use_begin(struct sc_generator *generator)
{
    const struct sc_begin *begin = &generator->reading.begin;
    if (!generator->reading.encodes) {
        return;
    }
    generator->search.context = begin->context;
    generator->search.found = true; /* greedy where no file speaks of search */
}

static enum sc_status read_search(struct sc_generator *generator)
{
    const bool one_beam = sc_options_given(generator->app->options, "num-beams");
    const char *ignored;
    SC_TRY(sc_search_read(generator->model->folder, one_beam, &generator->arena, &generator->search, &ignored));
    if (ignored) {
        sc_log_write(&generator->app->log, SC_LOG_WARN, "%s", ignored);
    }
    return SC_OK;
}

/* What the command line gives; else what the file beside the model says; else our defaults. */
static struct sc_sample_options choose_sample(const struct sc_options *options, const struct sc_search *search)
{
    struct sc_sample_options sample = {.temperature = sc_options_real(options, "temp"),
        .top_k = sc_options_int(options, "top-k"),
        .top_p = sc_options_real(options, "top-p"),
        .min_p = sc_options_real(options, "min-p"),
        .penalty = sc_options_real(options, "repeat-penalty"),
        .no_repeat = sc_options_int(options, "no-repeat-ngram-size"),
        .min_length = sc_options_int(options, "min-length"),
        .seed = (uint64_t)sc_options_int(options, "seed")};
    const struct sc_sample_options *file = &search->sample;
    if (search->found) {
        sample.temperature = sc_options_given(options, "temp") ? sample.temperature : file->temperature;
        sample.top_k = sc_options_given(options, "top-k") ? sample.top_k : file->top_k;
        sample.top_p = sc_options_given(options, "top-p") ? sample.top_p : file->top_p;
        sample.min_p = sc_options_given(options, "min-p") ? sample.min_p : file->min_p;
        sample.penalty = sc_options_given(options, "repeat-penalty") ? sample.penalty : file->penalty;
        sample.no_repeat = sc_options_given(options, "no-repeat-ngram-size") ? sample.no_repeat : file->no_repeat;
        sample.min_new = sc_options_given(options, "min-length") ? 0 : file->min_new;
        sample.min_length = sc_options_given(options, "min-length") ? sample.min_length : file->min_length;
        sample.tempered = file->tempered;
    }
    return sample;
}

/* -1: the model's files may say. */
static int64_t asked_length(const struct sc_options *options)
{
    return sc_options_given(options, "predict") ? sc_options_int(options, "predict") : -1;
}

static enum sc_status read_requests(struct sc_generator *generator)
{
    const struct sc_options *options = generator->app->options;
    const struct sc_prompt_defaults defaults = {.n_predict = asked_length(options),
        .sample = choose_sample(options, &generator->search),
        .ignore_eos = sc_options_flag(options, "ignore-eos")};
    return sc_prompts_open(sc_options_text(options, "file"), &defaults, &generator->many.prompts);
}

/* What rank 0 alone does before the ranks open the model together. */
static enum sc_status prepare_text(struct sc_generator *generator)
{
    const char *path = sc_path_join(&generator->arena, generator->model->folder, "tokenizer.json");
    if (!path) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_tokenizer_load(path, &generator->tokenizer));
    SC_TRY(sc_tokenizer_stream_create(generator->tokenizer, true, &generator->stream));
    SC_TRY(sc_ends_read(
        generator->model->folder, generator->tokenizer, &generator->arena, &generator->n_eos, &generator->eos));
    SC_TRY(read_search(generator));
    generator->reading.tokenizer = generator->tokenizer;
    generator->reading.log = &generator->app->log;
    SC_TRY(sc_reading_open(generator->model, generator->app->options, &generator->arena, &generator->reading));
    use_begin(generator);
    return is_many(generator) ? read_requests(generator) : read_prompt(generator);
}

static void print_text(struct sc_generator *generator, const char *text, size_t bytes)
{
    if (generator->broken.code == SC_OK) {
        sc_world_away(generator->app->world, true); /* whoever reads may be slow */
        (void)fwrite(text, 1, bytes, stdout); /* the stream remembers a failure */
        if (sc_app_flush() != SC_OK) {
            generator->broken = *sc_error_last();
        }
        sc_world_away(generator->app->world, false);
    }
}

static bool on_token(void *arg, int64_t token)
{
    struct sc_generator *generator = arg;
    const char *text;
    size_t bytes;
    if (sc_hearing_token(&generator->hearing, token)) {
        return !sc_interrupt_asked();
    }
    if (sc_tokenizer_stream_push(generator->stream, token, &text, &bytes) == SC_OK) {
        print_text(generator, text, bytes);
    }
    return generator->broken.code == SC_OK && !sc_interrupt_asked();
}

static enum sc_status run_one(struct sc_generator *generator, struct sc_schedule *schedule)
{
    struct sc_request *request = &generator->request;
    SC_TRY(sc_resume_begin(&generator->resume, generator->decoder, schedule));
    sc_hearing_begin(&generator->hearing, request);
    do {
        SC_TRY(sc_schedule_add(schedule, request));
        while (!request->done) {
            SC_TRY(sc_schedule_step(schedule));
            const int64_t n_made = generator->hearing.n_made + request->n_made;
            SC_TRY(sc_resume_turn(&generator->resume, generator->decoder, schedule, n_made));
        }
    } while (sc_hearing_goes_on(&generator->hearing, request));
    SC_TRY(sc_schedule_settle(schedule)); /* chunks that were under way behind one that failed */
    SC_TRY(request->stop == SC_STOP_ERROR ? sc_error_set(&request->error) : SC_OK);
    return sc_resume_end(&generator->resume, generator->decoder, schedule, request);
}

static enum sc_status generate_one(struct sc_generator *generator)
{
    struct sc_schedule *schedule;
    SC_TRY(sc_schedule_create(generator->decoder, &schedule));
    const enum sc_status status = run_one(generator, schedule);
    const struct sc_error failed = *sc_error_last();
    sc_schedule_free(schedule);
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

static enum sc_status drive_one(struct sc_generator *generator)
{
    const struct sc_options *options = generator->app->options;
    const char *text;
    size_t bytes;
    struct sc_request *request = &generator->request;
    request->n_predict = asked_length(options);
    request->eos = generator->eos;
    request->n_eos = sc_options_flag(options, "ignore-eos") ? 0 : generator->n_eos;
    request->sample = generator->sample;
    request->on_token = on_token;
    request->arg = generator;
    sc_search_limit(&generator->search, sc_options_int(options, "predict"), request);
    if (!generator->reading.encodes) { /* else the text is another one */
        print_text(generator, generator->given.text, generator->given.bytes);
    }
    if (generator->broken.code != SC_OK) {
        return sc_error_set(&generator->broken);
    }
    const enum sc_status status = generate_one(generator);
    if (status != SC_OK) {
        const struct sc_error failed = *sc_error_last();
        print_text(generator, "\n", 1); /* the line that says why is one of its own */
        return sc_error_set(&failed);
    }
    SC_TRY(sc_tokenizer_stream_finish(generator->stream, &text, &bytes));
    print_text(generator, text, bytes);
    print_text(generator, "\n", 1);
    return generator->broken.code == SC_OK ? SC_OK : sc_error_set(&generator->broken);
}

static enum sc_status drive_many(struct sc_generator *generator)
{
    struct sc_many *many = &generator->many;
    many->app = generator->app;
    many->decoder = generator->decoder;
    many->tokenizer = generator->tokenizer;
    many->reading = &generator->reading;
    many->resume = &generator->resume;
    many->search = &generator->search;
    many->usual_length = sc_options_int(generator->app->options, "predict");
    many->eos = generator->eos;
    many->n_eos = generator->n_eos;
    many->n_slots = (int)sc_options_int(generator->app->options, "parallel");
    sc_app_opened(generator->app, NULL, 0);
    sc_progress_begin(&generator->app->progress, "generating", many->prompts.lines.file_bytes, true);
    const enum sc_status status = sc_generate_many(many);
    sc_progress_end(&generator->app->progress);
    return status;
}

static enum sc_status drive(void *arg)
{
    struct sc_generator *generator = arg;
    return is_many(generator) ? drive_many(generator) : drive_one(generator);
}

static const char *stop_name(enum sc_stop stop)
{
    static const char *const stops[] = {"length", "end of text", "context is full", "stopped", "error"};
    return stops[stop];
}

static enum sc_status report_generation(struct sc_generator *generator)
{
    const struct sc_request *made = &generator->request;
    struct sc_json *at;
    SC_TRY(sc_json_add(generator->report.root, "generation", false, &at));
    SC_TRY(sc_json_add_int(at, "prompt_tokens", made->n_prompt));
    SC_TRY(sc_json_add_real(at, "prompt_seconds", (double)(made->first_ns - made->begun_ns) / 1e9));
    SC_TRY(sc_json_add_int(at, "tokens", made->n_made));
    SC_TRY(sc_json_add_real(at, "seconds", (double)(made->ended_ns - made->first_ns) / 1e9));
    return sc_json_add_text(at, "stopped", stop_name(made->stop));
}

static void print_timing(const struct sc_generator *generator, FILE *told)
{
    const struct sc_request *made = &generator->request;
    const double prompt_ms = (double)(made->first_ns - made->begun_ns) / 1e6;
    const double made_ms = (double)(made->ended_ns - made->first_ns) / 1e6;
    const int64_t steps = made->n_made > 0 ? made->n_made - (made->stop != SC_STOP_EOS) : 0;
    fprintf(told,
        "\nprompt eval time = %10.2f ms / %5" PRId64 " tokens (%8.2f ms per token, %8.2f tokens per second)\n",
        prompt_ms, made->n_prompt, prompt_ms / (double)made->n_prompt, 1e3 * (double)made->n_prompt / prompt_ms);
    if (steps > 0) {
        fprintf(told,
            "       eval time = %10.2f ms / %5" PRId64 " tokens (%8.2f ms per token, %8.2f tokens per second)\n",
            made_ms, steps, made_ms / (double)steps, 1e3 * (double)steps / made_ms);
    }
    fprintf(told, "stopped: %s\n", stop_name(made->stop));
}

/* Of many requests together. */
static void print_throughput(const struct sc_many *many, FILE *told)
{
    const double seconds = (double)many->ns / 1e9;
    const struct sc_schedule_counts *counts = &many->counts;
    fprintf(told,
        "\n%" PRId64 " requests in %.2f s: %" PRId64 " prompt tokens, of which %" PRId64 " were shared, and %" PRId64
        " made (%.2f tokens per second)\n",
        many->n, seconds, many->n_prompt, counts->n_shared, many->n_made,
        seconds > 0 ? (double)many->n_made / seconds : 0);
    fprintf(told, "%" PRId64 " chunks, %" PRId64 " steps of %.2f rows, up to %" PRId64 " microbatches in flight\n",
        counts->n_chunks, counts->n_steps, counts->n_steps ? (double)counts->n_rows / (double)counts->n_steps : 0,
        counts->most_in_flight);
}

static enum sc_status judge_many(const struct sc_many *many)
{
    if (many->n_cancelled > 0) {
        return sc_fail(SC_INTERNAL, "stopped by a signal: %lld of %lld requests were cut short",
            (long long)many->n_cancelled, (long long)many->n);
    }
    return many->n_failed == 0
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "%lld of %lld requests failed", (long long)many->n_failed, (long long)many->n);
}

/* A text that is loaded comes before the prompt. */
static enum sc_status join_prompt(struct sc_generator *generator, const struct sc_decoder *decoder)
{
    const int64_t *before = NULL;
    int64_t n = 0;
    SC_TRY(sc_resume_open(&generator->resume, decoder, &before, &n));
    struct sc_request *request = &generator->request;
    const size_t n_before = (size_t)n, n_prompt = (size_t)request->n_prompt;
    int64_t *joined = sc_arena_array(&generator->arena, n_before + n_prompt, sizeof *joined);
    if (!joined) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n_before + n_prompt; i++) {
        joined[i] = i < n_before ? before[i] : request->prompt[i - n_before];
    }
    request->prompt = joined;
    request->n_prompt += n;
    return SC_OK;
}

/* The text and the model fit together. */
static enum sc_status check_text(void *arg, const struct sc_decoder *decoder)
{
    struct sc_generator *generator = arg;
    const int64_t tokens = sc_tokenizer_vocabulary_size(generator->tokenizer);
    const int64_t logits = sc_decoder_vocabulary(decoder);
    if (tokens > logits) {
        return sc_fail(
            SC_BAD_MODEL, "tokenizer.json has %" PRId64 " tokens, the model's logits have %" PRId64, tokens, logits);
    }
    if (generator->search.forced_eos >= logits) {
        return sc_fail(SC_BAD_MODEL, "'forced_eos_token_id' is %" PRId64 ", the model's logits have %" PRId64,
            generator->search.forced_eos, logits);
    }
    if (is_many(generator)) {
        return SC_OK;
    }
    SC_TRY(join_prompt(generator, decoder));
    const struct sc_request *request = &generator->request;
    const struct sc_source_feeds *source = sc_decoder_source(decoder);
    SC_TRY(source && !generator->resume.load ? sc_source_feeds_check(source, &request->source) : SC_OK);
    return sc_decoder_check_prompt(decoder, request->prompt, request->n_prompt);
}

static enum sc_status open_decoder(struct sc_generator *generator)
{
    struct sc_app *app = generator->app;
    const struct sc_options *options = app->options;
    struct sc_decoder_options decoder = {.context = sc_options_int(options, "ctx"),
        .chunk = sc_options_int(options, "ubatch"),
        .max_tbt_ns = sc_options_int(options, "max-tbt") * 1000000,
        .formats = sc_options_cache_formats(options),
        .check = sc_app_is_root(app) ? check_text : NULL,
        .check_arg = generator,
        .begin = sc_app_is_root(app) ? &generator->reading.begin : NULL};
    sc_app_session_options(app, &decoder.session);
    SC_TRY(sc_app_phase_plans(app, &decoder.session));
    decoder.session.n_slots = (int)sc_options_int(options, "parallel");
    decoder.session.n_pages = sc_pages_for(sc_options_int(options, "kv-size"));
    SC_TRY(sc_union_open(app->world, sc_options_text(options, "model"), &app->log, &generator->model));
    SC_TRY(sc_world_agree(app->world, sc_app_say_states(options, generator->model)));
    SC_TRY(sc_world_agree(app->world, sc_app_is_root(app) ? prepare_text(generator) : SC_OK));
    SC_TRY(sc_world_broadcast(app->world, &generator->search, sizeof generator->search));
    generator->sample = choose_sample(options, &generator->search);
    SC_TRY(sc_sample_check(&generator->sample));
    decoder.usual_context = generator->search.context;
    return sc_decoder_open(app->world, generator->model, &decoder, &generator->decoder);
}

/* Files that are written at the end. */
static enum sc_status open_files(struct sc_generator *generator)
{
    SC_TRY(sc_app_check_writable(generator->app, "trace"));
    SC_TRY(sc_app_check_writable(generator->app, "save-state"));
    return sc_report_file_open(generator->app, &generator->report);
}

static enum sc_status generate(struct sc_generator *generator)
{
    struct sc_app *app = generator->app;
    SC_TRY(check_prompts(app->options));
    SC_TRY(sc_resume_read(app->options, is_many(generator), &generator->resume));
    SC_TRY(sc_world_agree(app->world, open_files(generator)));
    SC_TRY(open_decoder(generator));
    SC_TRY(sc_world_agree(
        app->world, sc_app_is_root(app) ? sc_resume_check(&generator->resume, generator->decoder) : SC_OK));
    sc_report_file_ready(&generator->report);
    sc_app_opened(app, NULL, 0); /* what follows is text as it comes */
    struct sc_session *session = sc_decoder_session(generator->decoder);
    if (sc_app_told(app)) {
        SC_TRY(sc_report_plan(session, generator->model, sc_app_told(app)));
    }
    sc_interrupt_begin();
    const enum sc_status status = sc_app_run(app, session, drive, generator);
    sc_interrupt_end();
    sc_report_file_ran(&generator->report);
    const struct sc_error failed = *sc_error_last();
    FILE *told = status == SC_OK ? sc_app_told(app) : NULL;
    if (told && is_many(generator)) {
        print_throughput(&generator->many, told);
    } else if (told) {
        print_timing(generator, told);
    }
    struct sc_report_file *report = &generator->report;
    const struct sc_request *one = &generator->request;
    const int64_t n_tokens = one->n_prompt + one->n_made + generator->many.n_prompt + generator->many.n_made;
    SC_TRY(sc_report_ranks(session, generator->model, app->world, n_tokens, told, report->root));
    SC_TRY(sc_app_write_trace(app, session));
    SC_TRY(status == SC_OK ? SC_OK : sc_error_set(&failed));
    SC_TRY(report->root && !is_many(generator) ? report_generation(generator) : SC_OK);
    SC_TRY(sc_report_file_write(report));
    return sc_app_is_root(app) ? judge_many(&generator->many) : SC_OK;
}

enum sc_status sc_command_generate(struct sc_app *app)
{
    struct sc_generator generator = {.app = app};
    const enum sc_status status = generate(&generator);
    sc_report_file_release(&generator.report);
    sc_resume_release(&generator.resume);
    sc_prompts_close(&generator.many.prompts);
    sc_decoder_close(generator.decoder);
    sc_tokenizer_stream_free(generator.stream);
    sc_tokenizer_free(generator.tokenizer);
    sc_model_close(generator.model);
    sc_arena_release(&generator.arena);
    return status;
}
