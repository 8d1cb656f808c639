/* SPDX-License-Identifier: Apache-2.0
 * Results wait for those before them, in a ring of lines; what is read ahead of them is bounded. */
#include "launch/generate_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "launch/interrupt.h"

#define AHEAD_LINES 1024 /* beside those that all slots and those behind them take */
#define AHEAD_BYTES ((size_t)64 << 20) /* that these lines hold together: sound is long */

/* A prompt, and its text as it grows. */
struct line {
    struct many *many;
    struct sc_prompt prompt;
    struct sc_arena arena; /* what it says, and its tokens, until they are printed */
    struct sc_request request;
    struct sc_hearing hearing;
    int64_t *made;
    int64_t cap_made;
    bool ended;
    size_t bytes; /* that it held when it began */
    int64_t in_file; /* bytes of the file up to its end */
};

struct many {
    struct sc_many *of;
    struct sc_schedule *schedule;
    int64_t n_lines; /* of the ring */
    struct line *lines; /* prompt i is lines[i % n_lines] */
    size_t bytes; /* that they hold */
    bool read_all; /* the file */
    int64_t n_read, n_printed;
    int64_t n_made; /* tokens of all */
    bool stopping;
    struct sc_error broken; /* stdout is gone, or memory: why */
};

static void end_line(struct line *line, enum sc_stop stop)
{
    line->request.stop = stop;
    line->ended = true;
}

static void fail_line(struct line *line, const struct sc_error *error)
{
    line->request.error = *error;
    end_line(line, SC_STOP_ERROR);
}

static bool on_token(void *arg, int64_t token)
{
    struct line *line = arg;
    if (sc_hearing_token(&line->hearing, token)) {
        return true;
    }
    const int64_t n = line->hearing.n_made + line->request.n_made; /* this one counted */
    if (n > line->cap_made) {
        const int64_t cap = 2 * line->cap_made + 16;
        int64_t *grown = realloc(line->made, (size_t)cap * sizeof *grown);
        if (!grown) {
            (void)sc_fail(SC_NO_MEMORY, "out of memory for a text of %lld tokens", (long long)n);
            line->many->broken = *sc_error_last();
            line->request.n_made--;
            return false;
        }
        line->made = grown;
        line->cap_made = cap;
    }
    line->made[n - 1] = token;
    line->many->n_made++;
    return true;
}

static const char *finish_reason(enum sc_stop stop)
{
    static const char *const reasons[] = {"length", "stop", "context", "cancelled", "error"};
    return reasons[stop];
}

static enum sc_status add_timings(const struct sc_request *request, struct sc_json *object)
{
    struct sc_json *timings;
    const double queued = (double)(request->begun_ns - request->added_ns) / 1e6;
    const double prompt = (double)(request->first_ns - request->begun_ns) / 1e6;
    const double made = (double)(request->ended_ns - request->first_ns) / 1e6;
    if (request->first_ns == 0) {
        return SC_OK;
    }
    SC_TRY(sc_json_add(object, "timings", false, &timings));
    SC_TRY(sc_json_add_real(timings, "queued_ms", queued));
    SC_TRY(sc_json_add_real(timings, "prompt_ms", prompt));
    SC_TRY(sc_json_add_real(timings, "predicted_ms", made));
    SC_TRY(sc_json_add_real(timings, "prompt_per_second", prompt > 0 ? (double)request->n_prompt * 1e3 / prompt : 0));
    return sc_json_add_real(timings, "predicted_per_second", made > 0 ? (double)(request->n_made - 1) * 1e3 / made : 0);
}

static enum sc_status describe(struct line *line, int64_t index, struct sc_json *object)
{
    const struct sc_request *request = &line->request;
    struct sc_json *tokens;
    char *text;
    size_t bytes;
    SC_TRY(sc_json_add_int(object, "index", index));
    SC_TRY(line->prompt.id ? sc_json_add_text(object, "id", line->prompt.id) : SC_OK);
    if (request->stop == SC_STOP_ERROR) {
        SC_TRY(sc_json_add_text(object, "error", request->error.text));
    }
    SC_TRY(sc_tokenizer_decode(
        line->many->of->tokenizer, line->made, (size_t)request->n_made, true, &line->arena, &text, &bytes));
    SC_TRY(sc_json_add_bytes(object, "text", text, bytes));
    SC_TRY(sc_json_add(object, "tokens", true, &tokens));
    for (int64_t t = 0; t < request->n_made; t++) {
        SC_TRY(sc_json_add_int(tokens, NULL, line->made[t]));
    }
    SC_TRY(line->hearing.language ? sc_json_add_text(object, "language", line->hearing.language) : SC_OK);
    SC_TRY(sc_json_add_text(object, "finish_reason", finish_reason(request->stop)));
    SC_TRY(sc_json_add_int(object, "prompt_tokens", request->n_prompt));
    SC_TRY(sc_json_add_int(object, "shared_tokens", request->n_shared));
    return add_timings(request, object);
}

static enum sc_status print_line(struct many *many, struct line *line, int64_t index)
{
    struct sc_json *object;
    SC_TRY(sc_json_new(false, &object));
    const enum sc_status status = describe(line, index, object);
    char *text = status == SC_OK ? sc_json_print_line(object) : NULL;
    sc_json_free(object);
    SC_TRY(status);
    if (!text) {
        return SC_NO_MEMORY;
    }
    sc_progress_clear(&many->of->app->progress);
    sc_world_away(many->of->app->world, true); /* whoever reads may be slow */
    (void)fputs(text, stdout); /* the stream remembers a failure */
    const enum sc_status flushed = sc_app_flush();
    sc_world_away(many->of->app->world, false);
    free(text);
    return flushed;
}

static void count_line(struct sc_many *many, const struct sc_request *request)
{
    many->n_failed += request->stop == SC_STOP_ERROR;
    many->n_cancelled += request->stop == SC_STOP_CALLER;
    many->n_prompt += request->first_ns > 0 ? request->n_prompt : 0;
    many->n_made += request->n_made;
}

static struct line *line_of(const struct many *many, int64_t i)
{
    return &many->lines[i % many->n_lines];
}

static void release_line(struct line *line)
{
    sc_arena_release(&line->arena);
    free(line->made);
    line->made = NULL;
}

/* Those that nothing before them holds up. */
static enum sc_status print_ended(struct many *many)
{
    while (many->n_printed < many->n_read && line_of(many, many->n_printed)->ended) {
        struct line *line = line_of(many, many->n_printed);
        count_line(many->of, &line->request);
        SC_TRY(print_line(many, line, many->n_printed));
        many->bytes -= line->bytes;
        sc_progress_set(&many->of->app->progress, line->in_file);
        release_line(line);
        many->n_printed++;
    }
    return SC_OK;
}

static void on_done(void *arg, struct sc_request *request)
{
    struct line *line = arg;
    if (sc_hearing_goes_on(&line->hearing, request)) {
        if (sc_schedule_add(line->many->schedule, request) == SC_OK) {
            return;
        }
        request->stop = SC_STOP_ERROR;
        request->error = *sc_error_last();
    }
    line->ended = true;
    if (request->stop == SC_STOP_ERROR) {
        struct sc_error *error = &request->error;
        (void)sc_error_set(error);
        (void)sc_fail_in("line %lld", (long long)line->prompt.line);
        memcpy(error->text, sc_error_last()->text, sizeof error->text);
    }
}

static enum sc_status encode(struct many *many, struct line *line)
{
    const struct sc_prompt *prompt = &line->prompt;
    const struct sc_given_text given = {
        .text = prompt->text, .bytes = prompt->text_bytes, .audio = prompt->audio, .fresh = true};
    line->request = (struct sc_request){.n_predict = prompt->n_predict,
        .eos = many->of->eos,
        .n_eos = prompt->ignore_eos ? 0 : many->of->n_eos,
        .sample = prompt->sample,
        .key = prompt->key,
        .on_token = on_token,
        .on_done = on_done,
        .arg = line};
    sc_world_away(many->of->app->world, true); /* hours of sound take their time */
    const enum sc_status status =
        sc_reading_request(many->of->reading, &given, &line->arena, &line->request, &line->hearing);
    sc_world_away(many->of->app->world, false);
    SC_TRY(status);
    sc_search_limit(many->of->search, many->of->usual_length, &line->request);
    sc_hearing_begin(&line->hearing, &line->request);
    return sc_schedule_add(many->schedule, &line->request);
}

/* A line that was read. Once somebody has asked to stop, nothing begins any more. */
static void add_line(struct many *many, struct line *line)
{
    if (line->prompt.error.code != SC_OK) {
        fail_line(line, &line->prompt.error);
    } else if (many->stopping) {
        end_line(line, SC_STOP_CALLER);
    } else if (encode(many, line) != SC_OK) {
        (void)sc_fail_in("line %lld", (long long)line->prompt.line);
        fail_line(line, sc_error_last());
    }
}

/* Slots want requests, or lines may wait. */
static bool has_room(const struct many *many)
{
    const int64_t n = many->n_read - many->n_printed;
    const bool wanted = sc_schedule_n_open(many->schedule) < 2 * (int64_t)many->of->n_slots;
    return n < many->n_lines && (n < AHEAD_LINES || wanted) && (many->bytes < AHEAD_BYTES || wanted);
}

static enum sc_status read_ahead(struct many *many)
{
    while (!many->read_all && has_room(many)) {
        struct line *line = line_of(many, many->n_read);
        bool more;
        *line = (struct line){.many = many};
        SC_TRY(sc_prompts_next(&many->of->prompts, &line->arena, &line->prompt, &more));
        many->read_all = !more;
        if (more) {
            many->n_read++;
            add_line(many, line);
            line->in_file = many->of->prompts.lines.given_bytes;
            line->bytes = line->arena.used_bytes;
            many->bytes += line->bytes;
        }
    }
    return SC_OK;
}

static void cancel_all(struct many *many)
{
    many->stopping = true;
    for (int64_t i = many->n_printed; i < many->n_read; i++) {
        if (!line_of(many, i)->ended) {
            sc_schedule_cancel(many->schedule, &line_of(many, i)->request);
        }
    }
}

static enum sc_status run(struct many *many)
{
    const int64_t start_ns = sc_clock_ns();
    SC_TRY(sc_resume_begin(many->of->resume, many->of->decoder, many->schedule));
    for (int64_t n_open = 0; n_open > 0 || !many->read_all;) {
        if (sc_interrupt_asked() && !many->stopping) {
            cancel_all(many);
        }
        SC_TRY(read_ahead(many));
        SC_TRY(print_ended(many));
        n_open = sc_schedule_n_open(many->schedule);
        if (n_open > 0) {
            SC_TRY(sc_schedule_step(many->schedule));
            SC_TRY(sc_resume_turn(many->of->resume, many->of->decoder, many->schedule, many->n_made));
        }
        if (many->broken.code != SC_OK) {
            return sc_error_set(&many->broken);
        }
    }
    many->of->ns = sc_clock_ns() - start_ns;
    return sc_schedule_settle(many->schedule);
}

enum sc_status sc_generate_many(struct sc_many *of)
{
    struct many many = {.of = of};
    many.n_lines = AHEAD_LINES + 2 * (int64_t)of->n_slots;
    many.lines = calloc((size_t)many.n_lines, sizeof *many.lines);
    if (!many.lines) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %lld requests", (long long)many.n_lines);
    }
    enum sc_status status = sc_schedule_create(of->decoder, &many.schedule);
    if (status == SC_OK) {
        status = run(&many);
        of->counts = *sc_schedule_counts(many.schedule);
    }
    const struct sc_error failed = *sc_error_last();
    if (many.schedule && status != SC_OK && status != SC_PEER) { /* what is under way is nobody's any more */
        cancel_all(&many);
        (void)sc_schedule_settle(many.schedule);
    }
    for (int64_t i = 0; i < many.n_lines; i++) {
        release_line(&many.lines[i]);
    }
    of->n = many.n_read;
    free(many.lines);
    sc_schedule_free(many.schedule);
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}
