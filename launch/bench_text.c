/* SPDX-License-Identifier: Apache-2.0
 * Each run is requests to a schedule. What is to be in a cache before is put there by a request of its own, as which
 * the measured one then begins. */
#include "launch/bench_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/clock.h"
#include "decode/schedule.h"

/* A text of a run. */
struct text {
    struct sc_request request;
    int64_t *tokens; /* [context]; an encoder reads of them too */
    struct sc_tensor features; /* [n_bands, n_source], for an encoder that hears */
    int64_t *times_ns; /* [context]: when each token came */
    int64_t n_times;
};

struct runner {
    struct sc_bench_text *bench;
    struct sc_bench_table *table;
    struct sc_schedule *schedule;
    struct text *texts; /* [most_texts] */
    int64_t *gaps_ns; /* [context] for each of most_texts */
};

int64_t sc_bench_text_context(const struct sc_bench_text *bench)
{
    const int64_t prompt = bench->n_prompt > 1 && !bench->hears ? bench->n_prompt : 1;
    const int64_t batch = bench->most_texts > 1 ? prompt + bench->n_gen : 0;
    const int64_t alone = prompt > bench->n_gen ? prompt : bench->n_gen;
    return bench->depth + (batch > alone ? batch : alone) + 2;
}

static int n_batches(const struct sc_bench_text *bench)
{
    int n = 0;
    while (bench->most_texts > 1 && n < SC_BENCH_BATCHES && 1 << n <= bench->most_texts) {
        n++;
    }
    return n;
}

/* Whether there is a test of a prompt that comes while other texts run. */
static bool has_company(const struct sc_bench_text *bench)
{
    return bench->most_texts > 1 && bench->n_prompt > 1 && bench->n_gen > 1 && bench->depth == 0;
}

int64_t sc_bench_text_runs(const struct sc_bench_text *bench)
{
    const int n_tests = (bench->n_prompt > 0) + (bench->n_gen > 0);
    return n_tests * (bench->n_runs + 1) + (bench->n_gen > 0 ? n_batches(bench) * bench->n_runs : 0) +
        (has_company(bench) ? bench->n_runs : 0);
}

static bool on_token(void *arg, int64_t token)
{
    struct text *text = arg;
    (void)token;
    text->times_ns[text->n_times++] = sc_clock_ns();
    return true;
}

/* The encoder of a text reads as much in every test: it is what the decoder attends to. */
static void add_source(const struct sc_bench_text *bench, struct text *text)
{
    text->request.n_prompt = 1;
    text->request.source = bench->hears ? (struct sc_source){.features = &text->features}
                                        : (struct sc_source){.ids = text->tokens, .n = bench->n_source};
}

static enum sc_status add(struct runner *runner, struct text *text)
{
    text->n_times = 0;
    text->request.prompt = text->tokens;
    text->request.sample = (struct sc_sample_options){.top_p = 1};
    text->request.on_token = on_token;
    text->request.arg = text;
    if (runner->bench->encodes) {
        add_source(runner->bench, text);
    }
    return sc_schedule_add(runner->schedule, &text->request);
}

/* When all are done: what came through, of the first n requests. */
static enum sc_status count_texts(struct runner *runner, int n)
{
    SC_TRY(sc_schedule_settle(runner->schedule));
    for (int i = 0; i < n; i++) {
        const struct sc_request *request = &runner->texts[i].request;
        runner->bench->n_tokens += request->n_prompt - request->n_shared + request->n_made;
        if (request->stop == SC_STOP_ERROR) {
            return sc_error_set(&request->error);
        }
    }
    return SC_OK;
}

/* The first n requests, together, to their ends. */
static enum sc_status run_texts(struct runner *runner, int n)
{
    for (int i = 0; i < n; i++) {
        SC_TRY(add(runner, &runner->texts[i]));
    }
    while (sc_schedule_n_open(runner->schedule) > 0) {
        SC_TRY(sc_schedule_step(runner->schedule));
    }
    return count_texts(runner, n);
}

/* The caches of n texts hold n_before tokens of theirs. */
static enum sc_status fill(struct runner *runner, int n, int64_t n_before)
{
    for (int i = 0; i < n; i++) {
        runner->texts[i].request = (struct sc_request){.n_prompt = n_before, .fresh = true};
    }
    return n_before > 0 ? run_texts(runner, n) : SC_OK;
}

/* One text of n_prompt tokens after `depth` others, and n_predict more. */
static enum sc_status run_one(struct runner *runner, int64_t n_prompt, int64_t n_predict)
{
    struct sc_bench_text *bench = runner->bench;
    struct sc_request *request = &runner->texts[0].request;
    SC_TRY(fill(runner, 1, bench->depth));
    *request =
        (struct sc_request){.n_prompt = bench->depth + n_prompt, .n_predict = n_predict, .fresh = bench->depth == 0};
    SC_TRY(run_texts(runner, 1));
    if (request->n_shared < bench->depth) {
        return sc_fail(SC_UNSUPPORTED, "this model's states cannot be begun with: no depth, and %lld was asked for",
            (long long)bench->depth);
    }
    bench->measured(bench->arg);
    return SC_OK;
}

static struct sc_bench_row *new_row(struct runner *runner, const char *test, int64_t n, const char *unit)
{
    struct sc_bench_row *row = &runner->table->rows[runner->table->n_rows++];
    const int length = snprintf(row->test, sizeof row->test, test, (long long)n);
    if (runner->bench->depth > 0 && length > 0 && (size_t)length < sizeof row->test) {
        snprintf(row->test + length, sizeof row->test - (size_t)length, " @ d%lld", (long long)runner->bench->depth);
    }
    row->unit = unit;
    row->n_runs = runner->bench->n_runs;
    return row;
}

static const char *prompt_test(const struct runner *runner)
{
    return runner->bench->encodes ? "enc%lld" : "pp%lld";
}

static double per_second(int64_t n, int64_t ns)
{
    return (double)n * 1e9 / (double)(ns > 0 ? ns : 1);
}

static enum sc_status bench_prompt(struct runner *runner)
{
    const int64_t n = runner->bench->n_prompt;
    const struct sc_request *request = &runner->texts[0].request;
    const char *unit = runner->bench->hears ? "frames/s" : "t/s";
    struct sc_bench_row *speed = new_row(runner, prompt_test(runner), n, unit);
    struct sc_bench_row *first = new_row(runner, "ttft%lld", n, "ms");
    SC_TRY(run_one(runner, n, 1)); /* lays out memory, touches weights */
    for (int r = 0; r < speed->n_runs; r++) {
        SC_TRY(run_one(runner, n, 1));
        const int64_t read_ns = runner->bench->encodes ? request->encoded_ns : request->first_ns;
        speed->value[r] = per_second(n, read_ns - request->begun_ns);
        first->value[r] = (double)(request->first_ns - request->added_ns) / 1e6;
    }
    return SC_OK;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

enum {
    SETTLING = 4, /* tokens before a text runs as it will */
    ALONE = 16, /* that it then makes before a prompt comes */
    TRIED = 24 /* that texts make together before they are measured */
};

/* Of so many, or of a quarter of what a text makes in all. */
static int64_t at_most_quarter(const struct sc_bench_text *bench, int64_t n)
{
    const int64_t quarter = (bench->n_prompt + bench->n_gen) / 4;
    return n < quarter ? n : quarter;
}

/* Times between tokens of a text that go on at some moment between two, after the n that are there. Returns how many
 * there are. */
static int64_t add_gaps(struct runner *runner, const struct text *text, int64_t from_ns, int64_t to_ns, int64_t n)
{
    for (int64_t i = 0; i + 1 < text->n_times; i++) {
        if (text->times_ns[i + 1] > from_ns && text->times_ns[i] < to_ns) {
            runner->gaps_ns[n++] = text->times_ns[i + 1] - text->times_ns[i];
        }
    }
    return n;
}

/* The same of those that are over by then. */
static int64_t add_gaps_before(struct runner *runner, const struct text *text, int64_t to_ns, int64_t n)
{
    for (int64_t i = at_most_quarter(runner->bench, SETTLING); i + 1 < text->n_times && text->times_ns[i + 1] <= to_ns;
         i++) {
        runner->gaps_ns[n++] = text->times_ns[i + 1] - text->times_ns[i];
    }
    return n;
}

/* Of n times: mean, median and the one that 99 of 100 do not pass. */
static void judge_gaps(struct runner *runner, int64_t n, int run, struct sc_bench_row *const rows[3])
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += runner->gaps_ns[i];
    }
    qsort(runner->gaps_ns, (size_t)n, sizeof *runner->gaps_ns, by_size);
    const int64_t median = n / 2, last = (n * 99 + 99) / 100 - 1;
    rows[0]->value[run] = n > 0 ? (double)sum / 1e6 / (double)n : 0;
    rows[1]->value[run] = n > 0 ? (double)runner->gaps_ns[median] / 1e6 : 0;
    rows[2]->value[run] = n > 0 ? (double)runner->gaps_ns[last] / 1e6 : 0;
}

static enum sc_status bench_generation(struct runner *runner)
{
    const int64_t n = runner->bench->n_gen;
    const struct sc_request *request = &runner->texts[0].request;
    struct sc_bench_row *speed = new_row(runner, "tg%lld", n, "t/s");
    struct sc_bench_row *const gaps[3] = {new_row(runner, "tbt%lld mean", n, "ms"),
        new_row(runner, "tbt%lld median", n, "ms"), new_row(runner, "tbt%lld p99", n, "ms")};
    SC_TRY(run_one(runner, 1, n + 1));
    for (int r = 0; r < speed->n_runs; r++) {
        SC_TRY(run_one(runner, 1, n + 1));
        speed->value[r] = per_second(n, request->ended_ns - request->first_ns);
        judge_gaps(runner, add_gaps(runner, &runner->texts[0], INT64_MIN, INT64_MAX, 0), r, gaps);
    }
    return SC_OK;
}

/* A running text has had its next token since a moment, or ended. */
static bool went_on(const struct text *text, int64_t since_ns)
{
    return text->request.done || text->times_ns[text->n_times - 1] >= since_ns;
}

/* All texts but the last run; then the last one's prompt comes in. They end once it is in and each has gone on: the
 * wait for that token is what the prompt cost. */
static enum sc_status run_company(struct runner *runner)
{
    struct sc_bench_text *bench = runner->bench;
    struct sc_schedule *schedule = runner->schedule;
    const int n = bench->most_texts - 1;
    const int64_t n_before = at_most_quarter(bench, SETTLING) + at_most_quarter(bench, ALONE);
    struct text *late = &runner->texts[n];
    for (int i = 0; i < n; i++) {
        runner->texts[i].request =
            (struct sc_request){.n_prompt = 1, .n_predict = bench->n_prompt + bench->n_gen, .fresh = true};
        SC_TRY(add(runner, &runner->texts[i]));
    }
    for (int i = 0; i < n; i++) {
        while (runner->texts[i].n_times < n_before && !runner->texts[i].request.done) {
            SC_TRY(sc_schedule_step(schedule));
        }
    }
    late->request = (struct sc_request){.n_prompt = bench->n_prompt, .n_predict = 1, .fresh = true};
    SC_TRY(add(runner, late));
    while (!late->request.done) {
        SC_TRY(sc_schedule_step(schedule));
    }
    for (int i = 0; i < n; i++) {
        while (!went_on(&runner->texts[i], late->request.first_ns)) {
            SC_TRY(sc_schedule_step(schedule));
        }
    }
    for (int i = 0; i < n; i++) {
        sc_schedule_cancel(schedule, &runner->texts[i].request);
    }
    return count_texts(runner, bench->most_texts);
}

/* How a long prompt and running texts hold each other up. */
static enum sc_status bench_company(struct runner *runner)
{
    static const char *const kinds[] = {"mean", "median", "p99"};
    const int64_t n_prompt = runner->bench->n_prompt;
    const int n = runner->bench->most_texts - 1;
    const struct sc_request *late = &runner->texts[n].request;
    char name[48];
    struct sc_bench_row *rows[2][3];
    for (int k = 0; k < 6; k++) {
        snprintf(
            name, sizeof name, "tbt of %d %s %s %s", n, k < 3 ? "before" : "during", prompt_test(runner), kinds[k % 3]);
        rows[k / 3][k % 3] = new_row(runner, name, n_prompt, "ms");
    }
    snprintf(name, sizeof name, "ttft%%lld beside %d", n);
    struct sc_bench_row *first = new_row(runner, name, n_prompt, "ms");
    for (int r = 0; r < first->n_runs; r++) {
        int64_t n_before = 0, n_during = 0;
        SC_TRY(run_company(runner));
        for (int i = 0; i < n; i++) {
            n_before = add_gaps_before(runner, &runner->texts[i], late->added_ns, n_before);
        }
        judge_gaps(runner, n_before, r, rows[0]);
        for (int i = 0; i < n; i++) {
            n_during = add_gaps(runner, &runner->texts[i], late->added_ns, late->first_ns, n_during);
        }
        judge_gaps(runner, n_during, r, rows[1]);
        first->value[r] = (double)(late->first_ns - late->added_ns) / 1e6;
        runner->bench->measured(runner->bench->arg);
    }
    return SC_OK;
}

/* Prompts of n texts, from the first chunk to the last result. */
static enum sc_status run_prompts(struct runner *runner, int n, int64_t n_before, double *seconds)
{
    int64_t from_ns = INT64_MAX, to_ns = 0;
    SC_TRY(fill(runner, n, n_before));
    for (int i = 0; i < n; i++) {
        const struct sc_request *request = &runner->texts[i].request;
        from_ns = request->begun_ns < from_ns ? request->begun_ns : from_ns;
        to_ns = request->first_ns > to_ns ? request->first_ns : to_ns;
    }
    *seconds += (double)(to_ns - from_ns) / 1e9;
    return SC_OK;
}

/* Tokens of n texts, once all have begun. */
static enum sc_status run_steps(struct runner *runner, int n, int64_t n_before, struct sc_bench_batch *batch)
{
    int64_t from_ns = 0, to_ns = 0, n_made = 0;
    for (int i = 0; i < n; i++) {
        runner->texts[i].request = (struct sc_request){.n_prompt = n_before, .n_predict = runner->bench->n_gen + 1};
    }
    SC_TRY(run_texts(runner, n));
    for (int i = 0; i < n; i++) {
        const struct sc_request *request = &runner->texts[i].request;
        from_ns = request->first_ns > from_ns ? request->first_ns : from_ns;
        to_ns = request->ended_ns > to_ns ? request->ended_ns : to_ns;
    }
    for (int i = 0; i < n; i++) {
        for (int64_t t = 0; t < runner->texts[i].n_times; t++) {
            n_made += runner->texts[i].times_ns[t] > from_ns;
        }
    }
    batch->made_seconds += (double)(to_ns - from_ns) / 1e9;
    batch->n_made += n_made;
    return SC_OK;
}

/* So that what is measured are steps as they go on: in how many groups texts go is tried first (decode/groups.h). */
static enum sc_status try_groups(struct runner *runner, int n)
{
    const int64_t n_gen = runner->bench->n_gen;
    for (int i = 0; i < n; i++) {
        runner->texts[i].request =
            (struct sc_request){.n_prompt = 1, .n_predict = n_gen < TRIED ? n_gen : TRIED, .fresh = true};
    }
    return n > 1 ? run_texts(runner, n) : SC_OK;
}

static enum sc_status bench_batch(struct runner *runner, int n_texts)
{
    struct sc_bench_text *bench = runner->bench;
    struct sc_bench_batch *batch = &runner->table->batches[runner->table->n_batches++];
    const int64_t n_before = bench->depth + (bench->n_prompt > 1 ? bench->n_prompt : 1);
    *batch = (struct sc_bench_batch){.n_texts = n_texts, .n_prompt = n_before, .n_gen = bench->n_gen};
    SC_TRY(try_groups(runner, n_texts));
    for (int r = 0; r < bench->n_runs; r++) {
        SC_TRY(run_prompts(runner, n_texts, n_before, &batch->prompt_seconds));
        SC_TRY(run_steps(runner, n_texts, n_before, batch));
        batch->n_runs++;
        bench->measured(bench->arg);
    }
    return SC_OK;
}

/* Frames of -1 to 1. */
static bool make_features(
    const struct sc_bench_text *bench, const struct sc_random_key *key, struct sc_tensor *features)
{
    const int64_t dims[2] = {bench->n_bands, bench->n_source};
    const size_t count = (size_t)(dims[0] * dims[1]);
    float *data = calloc(count, sizeof *data);
    for (size_t i = 0; data && i < count; i++) {
        data[i] = (float)(2 * sc_random_uniform(key, i) - 1);
    }
    sc_tensor_init(features, SC_F32, 2, dims);
    features->data = data;
    return data != NULL;
}

static enum sc_status make_texts(struct runner *runner)
{
    const struct sc_bench_text *bench = runner->bench;
    const int64_t context = sc_bench_text_context(bench), n_vocabulary = sc_decoder_vocabulary(bench->decoder);
    runner->texts = calloc((size_t)bench->most_texts, sizeof *runner->texts);
    runner->gaps_ns = calloc((size_t)(context * bench->most_texts), sizeof *runner->gaps_ns);
    bool made = runner->texts && runner->gaps_ns;
    for (int i = 0; made && i < bench->most_texts; i++) {
        const struct sc_random_key key = {.seed = bench->seed, .stream = (uint64_t)i};
        struct text *text = &runner->texts[i];
        text->tokens = calloc((size_t)context, sizeof *text->tokens);
        text->times_ns = calloc((size_t)context + 1, sizeof *text->times_ns);
        made = text->tokens && text->times_ns && (!bench->hears || make_features(bench, &key, &text->features));
        for (int64_t t = 0; made && t < context; t++) {
            text->tokens[t] = (int64_t)(sc_random_uniform(&key, (uint64_t)t) * (double)n_vocabulary);
        }
    }
    return made ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %d texts", bench->most_texts);
}

static enum sc_status run_all(struct runner *runner)
{
    const struct sc_bench_text *bench = runner->bench;
    SC_TRY(make_texts(runner));
    SC_TRY(sc_schedule_create(bench->decoder, &runner->schedule));
    SC_TRY(bench->n_prompt > 0 ? bench_prompt(runner) : SC_OK);
    SC_TRY(bench->n_gen > 0 ? bench_generation(runner) : SC_OK);
    SC_TRY(has_company(bench) ? bench_company(runner) : SC_OK);
    for (int b = 0; b < n_batches(bench) && bench->n_gen > 0; b++) {
        SC_TRY(bench_batch(runner, 1 << b));
    }
    return SC_OK;
}

enum sc_status sc_bench_text_run(struct sc_bench_text *bench, struct sc_bench_table *table)
{
    struct runner runner = {.bench = bench, .table = table};
    const enum sc_status status = run_all(&runner);
    for (int i = 0; runner.texts && i < bench->most_texts; i++) {
        free(runner.texts[i].tokens);
        free(runner.texts[i].times_ns);
        free(runner.texts[i].features.data);
    }
    free(runner.texts);
    free(runner.gaps_ns);
    sc_schedule_free(runner.schedule);
    return status;
}
