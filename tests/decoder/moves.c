/* SPDX-License-Identifier: Apache-2.0
 * Against itself, with caches that go elsewhere on the way. */
#include "tests/decoder/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define SC_MOVE_STEPS 5 /* before the caches move */

static enum sc_status drive_write_plan(void *arg, struct sc_decoder *decoder)
{
    const struct sc_run *run = arg;
    char *text;
    SC_TRY(sc_plan_write(sc_session_plan(sc_decoder_session(decoder)), sc_decoder_states(decoder).model, &text));
    const enum sc_status written = sc_file_write(run->plan, text, strlen(text));
    free(text);
    return written;
}

/* The first steps under this plan, which is written, and then the caches. */
static enum sc_status drive_save(void *arg, struct sc_decoder *decoder)
{
    struct sc_run *run = arg;
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
static enum sc_status go_on(struct sc_run *run, struct sc_decoder *decoder, struct sc_schedule *schedule)
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
        .on_logits = sc_run_on_logits,
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
    struct sc_run *run = arg;
    struct sc_schedule *schedule = NULL;
    run->vocabulary = sc_decoder_vocabulary(decoder);
    SC_TRY(sc_schedule_create(decoder, &schedule));
    const enum sc_status status = go_on(run, decoder, schedule);
    sc_schedule_free(schedule);
    return status;
}

/* Saved under a random plan and loaded under another cut; and begun whole, then moved to that random plan. The same again
 * where prompts go by a cut of their own. */
void sc_test_moves(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = sc_run_prompt(reference, &arena);
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * reference->logits.dims[1]), sizeof *want);
    const struct sc_run_config whole = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    struct sc_run first = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .got = want};
    char plan[64], cut[64], state[64];
    int n_stages;
    snprintf(plan, sizeof plan, "/tmp/sc_moves_%d.json", (int)getpid());
    snprintf(cut, sizeof cut, "/tmp/sc_moves_%d_cut.json", (int)getpid());
    snprintf(state, sizeof state, "/tmp/sc_moves_%d.state", (int)getpid());
    sc_run_tell(counts, want && sc_run_with(subject, &whole, sc_run_drive, &first, &n_stages) == SC_OK, "moves", "does not run");
    for (int way = 0; way < 12; way++) {
        const bool loads = way % 6 < 3, apart = way >= 6;
        const int n_ranks = 2 + way % 3;
        const struct sc_run_config random = {
            .n_ranks = n_ranks, .n_stages = 3, .n_threads = 1, .chunk = 7, .random = true, .seed = (uint64_t)way};
        struct sc_run_config other = {
            .n_ranks = n_ranks, .n_stages = loads ? 1 + way % 3 : n_ranks, .n_threads = 1 + way % 2, .chunk = 64};
        struct sc_run written = {.plan = cut};
        struct sc_run save = {.prompt = &prompt, .n_steps = SC_MOVE_STEPS, .plan = plan, .state = state};
        struct sc_run on = {
            .prompt = &prompt, .n_steps = SC_BITS_STEPS, .want = want, .plan = plan, .state = loads ? state : NULL};
        enum sc_status status = sc_run_with(subject, &random, drive_save, &save, &n_stages);
        status = status == SC_OK && apart ? sc_run_with(subject, &other, drive_write_plan, &written, &n_stages) : status;
        other.plan = apart ? (loads ? plan : cut) : NULL;
        other.prefill_plan = apart ? cut : NULL;
        status = status == SC_OK ? sc_run_with(subject, &other, drive_moves, &on, &n_stages) : status;
        char name[64], why[256];
        snprintf(name, sizeof name, "%s_%d%s", loads ? "bits_loaded" : "bits_moved", way, apart ? "_apart" : "");
        snprintf(why, sizeof why, "%.120s; %" PRId64 " rows differ after %" PRId64,
            status == SC_OK ? "" : sc_error_last()->text, on.wrong_bits, on.step);
        sc_run_tell(counts, status == SC_OK && on.wrong_bits == 0 && on.step == SC_BITS_STEPS, name, why);
    }
    (void)unlink(plan);
    (void)unlink(cut);
    (void)unlink(state);
    sc_arena_release(&arena);
}

static enum sc_status drive_apart(void *arg, struct sc_decoder *decoder)
{
    return sc_session_prefill_plan(sc_decoder_session(decoder)) ? sc_run_drive(arg, decoder)
                                                                : sc_fail(SC_INTERNAL, "there is one plan");
}

/* Prompts by one random plan, what follows by another, on the same ranks, on some of them or on others. */
void sc_test_apart(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = sc_run_prompt(reference, &arena);
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * reference->logits.dims[1]), sizeof *want);
    const struct sc_run_config whole = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    struct sc_run first = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .got = want};
    static const int chunks[] = {1, 7, 64};
    char plans[2][64];
    int n_stages;
    for (int p = 0; p < 2; p++) {
        snprintf(plans[p], sizeof plans[p], "/tmp/sc_apart_%d_%d.json", (int)getpid(), p);
    }
    sc_run_tell(counts, want && sc_run_with(subject, &whole, sc_run_drive, &first, &n_stages) == SC_OK, "apart", "does not run");
    for (int way = 0; way < 12; way++) {
        enum sc_status status = SC_OK;
        for (int p = 0; p < 2 && status == SC_OK; p++) {
            const struct sc_run_config random = {.n_ranks = 1 + (way + p) % 4,
                .n_stages = 1 + (way + 2 * p) % 5,
                .n_threads = 1,
                .chunk = 64,
                .random = true,
                .seed = (uint64_t)(2 * way + p)};
            struct sc_run written = {.plan = plans[p]};
            status = sc_run_with(subject, &random, drive_write_plan, &written, &n_stages);
        }
        const struct sc_run_config apart = {.n_ranks = 4,
            .n_threads = 1 + way % 2,
            .chunk = chunks[way % 3],
            .n_slots = way % 2 ? 5 : 1,
            .plan = plans[0],
            .prefill_plan = plans[1]};
        struct sc_run run = {.prompt = &prompt,
            .n_steps = SC_BITS_STEPS,
            .want = want,
            .n_others = apart.n_slots > 1 ? SC_MOST_OTHERS : 0};
        status = status == SC_OK ? sc_run_with(subject, &apart, drive_apart, &run, &n_stages) : status;
        char name[64], why[256];
        snprintf(name, sizeof name, "bits_apart_%d_ub_%d_np_%d", way, apart.chunk, apart.n_slots);
        snprintf(why, sizeof why, "%.120s; %" PRId64 " rows differ after %" PRId64,
            status == SC_OK ? "" : sc_error_last()->text, run.wrong_bits, run.step);
        sc_run_tell(counts, status == SC_OK && run.wrong_bits == 0 && run.step == SC_BITS_STEPS, name, why);
        (void)unlink(plans[0]);
        (void)unlink(plans[1]);
    }
    sc_arena_release(&arena);
}

