/* SPDX-License-Identifier: Apache-2.0
 * One decoder against recorded logits, and against itself: every cut, thread count and prompt chunk gives the same
 * bits.
 *
 * usage: decoder_test MODEL_FOLDER REFERENCE_FOLDER [TOLERANCE [TYPE]]   TYPE: of caches, f16, bf16 or q8_0
 * TOLERANCE: of a logit; `itself`: what the reference is off from itself
 *
 * Exit code 77 where there is no REFERENCE_FOLDER. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decode/schedule.h"
#include "tests/decoder/ranks.h"
#include "tests/decoder/reference.h"

/* A logit of our own arithmetic may differ from ONNX Runtime's by sums in another order: 1e-4 on values of up to 20, unless the
 * command line says more. Where the two best are closer, either may come first. */
#define SC_LOGIT_TOLERANCE 1e-4
#define SC_BITS_STEPS 12
#define SC_SKIPPED 77
#define SC_MOST_OTHERS 6
#define SC_MOVE_STEPS 5 /* before the caches move */

struct run {
    const struct sc_reference_prompt *prompt;
    const struct sc_tensor *rows; /* whole recorded rows, the run's from first_row on as far as they go; NULL */
    int64_t first_row;
    const float *want; /* bits to match, [steps][vocabulary]; NULL */
    float *got; /* bits to keep; NULL */
    int64_t n_steps, step, vocabulary;
    double tolerance, worst; /* largest difference from a recorded logit: allowed, found */
    int64_t wrong_tokens, wrong_bits;
    int64_t n_off; /* steps with a logit that is off by more than SC_LOGIT_TOLERANCE */
    int n_others; /* texts that are made at the same time */
    int n_runs; /* one after the other in a session; 0: this one */
    const char *plan, *state; /* files that caches and plans go by */
};

static void check_recorded(struct run *run, const float *logits)
{
    const int64_t s = run->step;
    double worst = 0;
    for (int k = 0; k < SC_REFERENCE_TOP; k++) {
        const double off = fabs((double)logits[run->prompt->top[s][k].id] - run->prompt->top[s][k].logit);
        worst = off > worst || isnan(off) ? off : worst;
    }
    const int64_t r = run->first_row + s;
    for (int64_t v = 0; run->rows && r < run->rows->dims[0] && v < run->vocabulary; v++) {
        const double off = fabs((double)logits[v] - (double)((const float *)run->rows->data)[r * run->vocabulary + v]);
        worst = off > worst || isnan(off) ? off : worst;
    }
    run->n_off += !(worst <= SC_LOGIT_TOLERANCE);
    run->worst = worst > run->worst || isnan(worst) ? worst : run->worst;
    int64_t best = 0;
    for (int64_t v = 1; v < run->vocabulary; v++) {
        best = logits[v] > logits[best] ? v : best;
    }
    const bool clear = run->prompt->top[s][0].logit - run->prompt->top[s][1].logit > run->tolerance;
    run->wrong_tokens += clear && best != run->prompt->greedy[s];
}

static void on_logits(void *arg, const float *logits)
{
    struct run *run = arg;
    if (run->step >= run->n_steps) {
        return; /* the row after the last forced token */
    }
    const size_t bytes = (size_t)run->vocabulary * sizeof *logits;
    if (run->got) {
        memcpy(run->got + run->step * run->vocabulary, logits, bytes);
    } else if (run->want) {
        run->wrong_bits += memcmp(run->want + run->step * run->vocabulary, logits, bytes) != 0;
    } else {
        check_recorded(run, logits);
    }
    run->step++;
}

/* Two that came before, and others after it; some begin as it does. */
static enum sc_status generate_among(const struct run *run, struct sc_decoder *decoder, struct sc_request *request)
{
    struct sc_request others[SC_MOST_OTHERS];
    struct sc_schedule *schedule = NULL;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    enum sc_status status = SC_OK;
    for (int o = 0; o < run->n_others && status == SC_OK; o++) {
        const int64_t from = o % 2 && o < run->prompt->n_ids ? o : 0, left = run->prompt->n_ids - from;
        others[o] = (struct sc_request){.prompt = run->prompt->ids + from,
            .n_prompt = left > 3 * o && o % 2 == 0 ? left - 3 * o
                : left > 0                         ? left
                                                   : 1,
            .source = run->prompt->source,
            .n_predict = run->n_steps,
            .sample = {.temperature = 0.7, .top_p = 1, .seed = (uint64_t)o}};
        others[o].source.n -= others[o].source.n > o ? o : 0;
        status = o == 2 ? sc_schedule_add(schedule, request) : SC_OK;
        status = status == SC_OK ? sc_schedule_add(schedule, &others[o]) : status;
    }
    while (status == SC_OK && sc_schedule_n_open(schedule) > 0) {
        status = sc_schedule_step(schedule);
    }
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    sc_schedule_free(schedule);
    return status == SC_OK && request->stop == SC_STOP_ERROR ? sc_error_set(&request->error) : status;
}

static enum sc_status drive(void *arg, struct sc_decoder *decoder)
{
    struct run *run = arg;
    const int64_t room = sc_decoder_context(decoder) - run->prompt->n_ids;
    run->vocabulary = sc_decoder_vocabulary(decoder);
    run->n_steps = run->n_steps < room ? run->n_steps : room;
    struct sc_request request = {.prompt = run->prompt->ids,
        .n_prompt = run->prompt->n_ids,
        .source = run->prompt->source,
        .n_predict = run->n_steps,
        .sample = {.top_p = 1},
        .forced = run->prompt->greedy,
        .on_logits = on_logits,
        .arg = run};
    SC_TRY(run->n_others > 0 ? generate_among(run, decoder, &request) : sc_decoder_generate(decoder, &request));
    return run->step == run->n_steps ? SC_OK
                                     : sc_fail(SC_INTERNAL, "%d steps of %d", (int)run->step, (int)run->n_steps);
}

/* What is run: a model, with its caches kept so. */
struct subject {
    const char *model;
    struct sc_cache_formats formats;
};

struct config {
    int n_ranks, n_stages, n_threads, chunk, n_slots;
    bool random;
    uint64_t seed;
    const char *plan, *prefill_plan; /* files */
};

static enum sc_status run_config(const struct subject *subject, const struct config *config,
    enum sc_status (*how)(void *arg, struct sc_decoder *decoder), struct run *run, int *n_stages)
{
    struct sc_ranks ranks = {.n = config->n_ranks,
        .model = subject->model,
        .options = {.chunk = config->chunk,
            .formats = subject->formats,
            .session = {.n_stages = config->n_stages,
                .n_threads = config->n_threads,
                .n_slots = config->n_slots,
                .random_plan = config->random,
                .plan_seed = config->seed,
                .plan_path = config->plan,
                .prefill_plan_path = config->prefill_plan,
                .pin = -1,
                .log = {.fd = -1}}},
        .drive = how,
        .arg = run};
    run->step = 0;
    const enum sc_status status = sc_ranks_run(&ranks);
    *n_stages = ranks.n_stages;
    return status;
}

struct counts {
    int passed, failed;
};

static void tell(struct counts *counts, bool good, const char *name, const char *why)
{
    if (good) {
        counts->passed++;
    } else {
        counts->failed++;
        printf("FAIL %s: %s\n", name, why);
    }
    fflush(stdout);
}

/* The prompts in one session: run is the first of an array, each with the steps that are recorded. */
static enum sc_status drive_recorded(void *arg, struct sc_decoder *decoder)
{
    struct run *runs = arg;
    for (int p = 0; p < runs[0].n_runs; p++) {
        runs[p].n_steps = runs[p].prompt->n_steps;
        SC_TRY(drive(&runs[p], decoder));
        if (runs[p].n_steps < runs[p].prompt->n_steps) {
            return sc_fail(SC_INTERNAL, "prompt %d has %d steps, and room for %d", p, (int)runs[p].prompt->n_steps,
                (int)runs[p].n_steps);
        }
    }
    return SC_OK;
}

static void test_recorded(
    const struct subject *subject, const struct sc_reference *reference, double tolerance, struct counts *counts)
{
    const struct config config = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 64};
    struct run *runs = calloc((size_t)reference->n_prompts, sizeof *runs);
    int n_stages, n_short = 0;
    int64_t n_rows = 0, longest = 0, n_off = 0;
    double worst = 0;
    for (int p = 0; p < reference->n_prompts && runs; p++) {
        const struct sc_reference_prompt *prompt = &reference->prompts[p];
        runs[p] = (struct run){.prompt = prompt,
            .rows = &reference->logits,
            .first_row = n_rows,
            .tolerance = tolerance,
            .n_runs = reference->n_prompts};
        n_rows += prompt->n_steps;
        n_short += prompt->n_steps < SC_REFERENCE_STEPS;
        longest = prompt->n_ids > longest ? prompt->n_ids : longest;
    }
    const enum sc_status status = runs ? run_config(subject, &config, drive_recorded, runs, &n_stages) : SC_NO_MEMORY;
    tell(counts, status == SC_OK, "recorded", status == SC_OK ? "" : sc_error_last()->text);
    for (int p = 0; p < reference->n_prompts && status == SC_OK; p++) {
        char name[64], why[256];
        snprintf(name, sizeof name, "recorded_prompt_%d", p);
        snprintf(why, sizeof why, "worst logit off by %.3g, %" PRId64 " wrong tokens in %" PRId64 " steps",
            runs[p].worst, runs[p].wrong_tokens, runs[p].n_steps);
        tell(counts, runs[p].worst <= tolerance && runs[p].wrong_tokens == 0, name, why);
        worst = runs[p].worst > worst || isnan(runs[p].worst) ? runs[p].worst : worst;
        n_off += runs[p].n_off;
    }
    printf(
        "recorded: %d prompts of up to %" PRId64 " tokens, %" PRId64 " steps", reference->n_prompts, longest, n_rows);
    if (n_short > 0) {
        printf(" (%d prompts end before step %d, with the context)", n_short, SC_REFERENCE_STEPS);
    }
    printf("; worst logit off by %.3g (tolerance %.2g)", worst, tolerance);
    if (n_off > 0) {
        printf(", %" PRId64 " steps by more than %.0e", n_off, SC_LOGIT_TOLERANCE);
    }
    printf("\n");
    if (reference->prompts[0].spread > 0) { /* roundings turn here and there, a mistake would be everywhere */
        tell(counts, 4 * n_off < n_rows, "recorded_most", "a quarter of the steps are off");
    }
    free(runs);
}

/* The longest recorded prompt followed by its first answers, so that chunks of 7 and 64 are cut at different places. */
static struct sc_reference_prompt long_prompt(const struct sc_reference *reference, struct sc_arena *arena)
{
    const struct sc_reference_prompt *from = &reference->prompts[reference->n_prompts - 1];
    struct sc_reference_prompt made = *from;
    const int64_t moved = from->n_steps >= 70 + SC_BITS_STEPS ? 70 : from->n_steps - SC_BITS_STEPS;
    made.ids = sc_arena_array(arena, (size_t)(from->n_ids + moved), sizeof *made.ids);
    if (!made.ids) {
        abort();
    }
    memcpy(made.ids, from->ids, (size_t)from->n_ids * sizeof *made.ids);
    memcpy(made.ids + from->n_ids, from->greedy, (size_t)moved * sizeof *made.ids);
    memmove(made.greedy, made.greedy + moved, (size_t)(from->n_steps - moved) * sizeof *made.greedy);
    made.n_ids = from->n_ids + moved;
    made.n_steps = from->n_steps - moved;
    return made;
}

static void test_bits(const struct subject *subject, const struct sc_reference *reference, struct counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = long_prompt(reference, &arena);
    const int64_t vocabulary = reference->logits.dims[1];
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * vocabulary), sizeof *want);
    struct config configs[64];
    int n = 0, most_stages = 0;
    configs[n++] = (struct config){.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    static const int stages[] = {1, 2, 3, 6}, chunks[] = {1, 7, 64};
    for (int s = 0; s < 4; s++) {
        for (int c = 0; c < 3; c++) {
            configs[n++] =
                (struct config){.n_ranks = stages[s], .n_stages = stages[s], .n_threads = 1, .chunk = chunks[c]};
        }
        configs[n++] = (struct config){.n_ranks = stages[s], .n_stages = stages[s], .n_threads = 2, .chunk = 64};
    }
    for (int s = 0; s < 4; s++) {
        configs[n++] = (struct config){
            .n_ranks = stages[s], .n_stages = stages[s], .n_threads = 1 + s % 2, .chunk = chunks[s % 3], .n_slots = 5};
    }
    for (int seed = 0; seed < 20; seed++) {
        configs[n++] = (struct config){.n_ranks = 1 + seed % 4,
            .n_stages = 2 + seed % 6,
            .n_threads = 1 + seed % 2,
            .chunk = 7,
            .random = true,
            .seed = (uint64_t)seed};
    }
    for (int i = 0; i < n && want; i++) {
        struct run run = {.prompt = &prompt,
            .n_steps = SC_BITS_STEPS,
            .got = i ? NULL : want,
            .want = i ? want : NULL,
            .n_others = configs[i].n_slots > 1 ? SC_MOST_OTHERS : 0};
        int n_stages = 0;
        char name[96], why[256];
        const enum sc_status status = run_config(subject, &configs[i], drive, &run, &n_stages);
        snprintf(name, sizeof name, "bits_ranks_%d_pp_%d_t_%d_ub_%d_np_%d%s%d", configs[i].n_ranks, configs[i].n_stages,
            configs[i].n_threads, configs[i].chunk, configs[i].n_slots, configs[i].random ? "_random_" : "_",
            (int)configs[i].seed);
        snprintf(why, sizeof why, "%.120s; %" PRId64 " of %" PRId64 " rows differ on %d stages",
            status == SC_OK ? "" : sc_error_last()->text, run.wrong_bits, run.n_steps, n_stages);
        tell(counts, status == SC_OK && run.wrong_bits == 0 && n_stages == configs[i].n_stages, name, why);
        most_stages = n_stages > most_stages ? n_stages : most_stages;
    }
    printf("bits: %d ways of running compared, on up to %d stages\n", n, most_stages);
    sc_arena_release(&arena);
}

static enum sc_status drive_write_plan(void *arg, struct sc_decoder *decoder)
{
    const struct run *run = arg;
    char *text;
    SC_TRY(sc_plan_write(sc_session_plan(sc_decoder_session(decoder)), sc_decoder_states(decoder).model, &text));
    const enum sc_status written = sc_file_write(run->plan, text, strlen(text));
    free(text);
    return written;
}

/* The first steps under this plan, which is written, and then the caches. */
static enum sc_status drive_save(void *arg, struct sc_decoder *decoder)
{
    struct run *run = arg;
    struct sc_session *session = sc_decoder_session(decoder);
    const struct sc_state_owner states = sc_decoder_states(decoder);
    SC_TRY(drive_write_plan(arg, decoder));
    struct sc_schedule *schedule = NULL;
    struct sc_request request = {.prompt = run->prompt->ids,
        .n_prompt = run->prompt->n_ids,
        .source = run->prompt->source,
        .n_predict = SC_MOVE_STEPS,
        .sample = {.top_p = 1},
        .forced = run->prompt->greedy};
    int64_t n_text, n_held;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    enum sc_status status = sc_schedule_add(schedule, &request);
    while (status == SC_OK && !request.done) {
        status = sc_schedule_step(schedule);
    }
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    if (status == SC_OK) {
        const int64_t *tokens = sc_schedule_text(schedule, request.slot, &n_text, &n_held);
        status = sc_state_file_save(run->state, &states, session, request.slot, tokens, n_text);
    }
    sc_schedule_free(schedule);
    return status;
}

/* The other steps: from the file, or after the first ones and a change of plans. */
static enum sc_status go_on(struct run *run, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    struct sc_session *session = sc_decoder_session(decoder);
    const struct sc_state_owner states = sc_decoder_states(decoder);
    struct sc_state_file *file = NULL;
    struct sc_request request = {.prompt = run->prompt->ids,
        .n_prompt = run->prompt->n_ids,
        .source = run->prompt->source,
        .n_predict = SC_BITS_STEPS,
        .sample = {.top_p = 1},
        .forced = run->prompt->greedy,
        .on_logits = on_logits,
        .arg = run};
    enum sc_status status = SC_OK;
    if (run->state) {
        int slot;
        SC_TRY(sc_state_file_open(run->state, &states, &file));
        request.prompt = sc_state_file_tokens(file, &request.n_prompt);
        request.n_predict -= SC_MOVE_STEPS;
        request.forced += SC_MOVE_STEPS;
        run->step = SC_MOVE_STEPS;
        const struct sc_held_text held = {.tokens = request.prompt,
            .n = request.n_prompt,
            .n_held = sc_state_file_length(file),
            .n_source = sc_state_file_source(file)};
        request.source = (struct sc_source){0};
        status = sc_schedule_hold(schedule, &held, &slot);
        status = status == SC_OK ? sc_state_file_restore(file, session, slot) : status;
    }
    status = status == SC_OK ? sc_schedule_add(schedule, &request) : status;
    for (bool moved = run->state; status == SC_OK && !request.done;) {
        status = sc_schedule_step(schedule);
        if (status == SC_OK && !moved && request.n_made >= SC_MOVE_STEPS) {
            moved = true;
            SC_TRY(sc_schedule_settle(schedule));
            status = sc_session_replan(session, run->plan);
        }
    }
    if (status == SC_OK && request.stop == SC_STOP_ERROR) {
        status = sc_error_set(&request.error);
    } else if (status == SC_OK && run->state && request.n_shared < request.n_prompt - 1) {
        status = sc_fail(SC_INTERNAL, "%d positions of %d were used", (int)request.n_shared, (int)request.n_prompt);
    }
    sc_state_file_close(file);
    return status == SC_OK ? sc_schedule_settle(schedule) : status;
}

static enum sc_status drive_moves(void *arg, struct sc_decoder *decoder)
{
    struct run *run = arg;
    struct sc_schedule *schedule = NULL;
    run->vocabulary = sc_decoder_vocabulary(decoder);
    SC_TRY(sc_schedule_create(decoder, &schedule));
    const enum sc_status status = go_on(run, decoder, schedule);
    sc_schedule_free(schedule);
    return status;
}

/* Saved under a random plan and loaded under another cut; and begun whole, then moved to that random plan. The same again
 * where prompts go by a cut of their own. */
static void test_moves(const struct subject *subject, const struct sc_reference *reference, struct counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = long_prompt(reference, &arena);
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * reference->logits.dims[1]), sizeof *want);
    const struct config whole = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    struct run first = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .got = want};
    char plan[64], cut[64], state[64];
    int n_stages;
    snprintf(plan, sizeof plan, "/tmp/sc_moves_%d.json", (int)getpid());
    snprintf(cut, sizeof cut, "/tmp/sc_moves_%d_cut.json", (int)getpid());
    snprintf(state, sizeof state, "/tmp/sc_moves_%d.state", (int)getpid());
    tell(counts, want && run_config(subject, &whole, drive, &first, &n_stages) == SC_OK, "moves", "does not run");
    for (int way = 0; way < 12; way++) {
        const bool loads = way % 6 < 3, apart = way >= 6;
        const int n_ranks = 2 + way % 3;
        const struct config random = {
            .n_ranks = n_ranks, .n_stages = 3, .n_threads = 1, .chunk = 7, .random = true, .seed = (uint64_t)way};
        struct config other = {
            .n_ranks = n_ranks, .n_stages = loads ? 1 + way % 3 : n_ranks, .n_threads = 1 + way % 2, .chunk = 64};
        struct run written = {.plan = cut};
        struct run save = {.prompt = &prompt, .n_steps = SC_MOVE_STEPS, .plan = plan, .state = state};
        struct run on = {
            .prompt = &prompt, .n_steps = SC_BITS_STEPS, .want = want, .plan = plan, .state = loads ? state : NULL};
        enum sc_status status = run_config(subject, &random, drive_save, &save, &n_stages);
        status = status == SC_OK && apart ? run_config(subject, &other, drive_write_plan, &written, &n_stages) : status;
        other.plan = apart ? (loads ? plan : cut) : NULL;
        other.prefill_plan = apart ? cut : NULL;
        status = status == SC_OK ? run_config(subject, &other, drive_moves, &on, &n_stages) : status;
        char name[64], why[256];
        snprintf(name, sizeof name, "%s_%d%s", loads ? "bits_loaded" : "bits_moved", way, apart ? "_apart" : "");
        snprintf(why, sizeof why, "%.120s; %" PRId64 " rows differ after %" PRId64,
            status == SC_OK ? "" : sc_error_last()->text, on.wrong_bits, on.step);
        tell(counts, status == SC_OK && on.wrong_bits == 0 && on.step == SC_BITS_STEPS, name, why);
    }
    (void)unlink(plan);
    (void)unlink(cut);
    (void)unlink(state);
    sc_arena_release(&arena);
}

static enum sc_status drive_apart(void *arg, struct sc_decoder *decoder)
{
    return sc_session_prefill_plan(sc_decoder_session(decoder)) ? drive(arg, decoder)
                                                                : sc_fail(SC_INTERNAL, "there is one plan");
}

/* Prompts by one random plan, what follows by another, on the same ranks, on some of them or on others. */
static void test_apart(const struct subject *subject, const struct sc_reference *reference, struct counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = long_prompt(reference, &arena);
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * reference->logits.dims[1]), sizeof *want);
    const struct config whole = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    struct run first = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .got = want};
    static const int chunks[] = {1, 7, 64};
    char plans[2][64];
    int n_stages;
    for (int p = 0; p < 2; p++) {
        snprintf(plans[p], sizeof plans[p], "/tmp/sc_apart_%d_%d.json", (int)getpid(), p);
    }
    tell(counts, want && run_config(subject, &whole, drive, &first, &n_stages) == SC_OK, "apart", "does not run");
    for (int way = 0; way < 12; way++) {
        enum sc_status status = SC_OK;
        for (int p = 0; p < 2 && status == SC_OK; p++) {
            const struct config random = {.n_ranks = 1 + (way + p) % 4,
                .n_stages = 1 + (way + 2 * p) % 5,
                .n_threads = 1,
                .chunk = 64,
                .random = true,
                .seed = (uint64_t)(2 * way + p)};
            struct run written = {.plan = plans[p]};
            status = run_config(subject, &random, drive_write_plan, &written, &n_stages);
        }
        const struct config apart = {.n_ranks = 4,
            .n_threads = 1 + way % 2,
            .chunk = chunks[way % 3],
            .n_slots = way % 2 ? 5 : 1,
            .plan = plans[0],
            .prefill_plan = plans[1]};
        struct run run = {.prompt = &prompt,
            .n_steps = SC_BITS_STEPS,
            .want = want,
            .n_others = apart.n_slots > 1 ? SC_MOST_OTHERS : 0};
        status = status == SC_OK ? run_config(subject, &apart, drive_apart, &run, &n_stages) : status;
        char name[64], why[256];
        snprintf(name, sizeof name, "bits_apart_%d_ub_%d_np_%d", way, apart.chunk, apart.n_slots);
        snprintf(why, sizeof why, "%.120s; %" PRId64 " rows differ after %" PRId64,
            status == SC_OK ? "" : sc_error_last()->text, run.wrong_bits, run.step);
        tell(counts, status == SC_OK && run.wrong_bits == 0 && run.step == SC_BITS_STEPS, name, why);
        (void)unlink(plans[0]);
        (void)unlink(plans[1]);
    }
    sc_arena_release(&arena);
}

/* false: no such type. */
static bool read_formats(const char *type, struct sc_cache_formats *formats)
{
    static const char *const names[] = {
        [SC_PAGE_F32] = "f32", [SC_PAGE_F16] = "f16", [SC_PAGE_BF16] = "bf16", [SC_PAGE_Q8_0] = "q8_0"};
    for (int f = SC_PAGE_F32; f <= SC_PAGE_Q8_0; f++) {
        if (strcmp(type, names[f]) == 0) {
            formats->keys = formats->values = (enum sc_page_format)f;
            return true;
        }
    }
    return false;
}

static double read_tolerance(const char *said, const struct sc_reference *reference)
{
    double spread = 0;
    for (int p = 0; p < reference->n_prompts; p++) {
        spread = fmax(spread, reference->prompts[p].spread);
    }
    return !said                      ? SC_LOGIT_TOLERANCE
        : strcmp(said, "itself") == 0 ? fmax(SC_LOGIT_TOLERANCE, spread)
                                      : strtod(said, NULL);
}

int main(int argc, char **argv)
{
    struct sc_arena arena = {0};
    struct sc_reference reference;
    struct counts counts = {0, 0};
    struct subject subject = {.model = argv[1]};
    if (argc < 3 || argc > 5 || (argc == 5 && !read_formats(argv[4], &subject.formats))) {
        fprintf(stderr, "usage: decoder_test MODEL_FOLDER REFERENCE_FOLDER [TOLERANCE [TYPE]]\n");
        return 2;
    }
    if (access(argv[2], F_OK) != 0) {
        printf("skipped: no %s (./dev venv, then ctest -R decoder_references)\n", argv[2]);
        return SC_SKIPPED;
    }
    if (sc_reference_read(argv[2], &arena, &reference) != SC_OK) {
        fprintf(stderr, "decoder_test: %s\n", sc_error_last()->text);
        return 2;
    }
    test_recorded(&subject, &reference, read_tolerance(argc >= 4 ? argv[3] : NULL, &reference), &counts);
    test_bits(&subject, &reference, &counts);
    test_moves(&subject, &reference, &counts);
    test_apart(&subject, &reference, &counts);
    sc_arena_release(&arena);
    printf("%d passed, %d failed\n", counts.passed, counts.failed);
    return counts.failed != 0;
}
