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

/* States of one text as arrays of rank 0, in the order of the pairs. */
struct sc_run_kept {
    struct sc_arena arena;
    int64_t *tokens;
    struct sc_held_text text;
    struct {
        struct sc_tensor tensor;
        int64_t length;
    } states[64];
};

static enum sc_status keep(struct sc_run_kept *kept, struct sc_decoder *decoder, int slot)
{
    const struct sc_state_owner owner = sc_decoder_states(decoder);
    kept->tokens = sc_arena_array(&kept->arena, (size_t)kept->text.n, sizeof *kept->tokens);
    if (!kept->tokens || owner.n_pairs > 64) {
        return SC_NO_MEMORY;
    }
    memcpy(kept->tokens, kept->text.tokens, (size_t)kept->text.n * sizeof *kept->tokens);
    kept->text.tokens = kept->tokens;
    for (int p = 0; p < owner.n_pairs; p++) {
        struct sc_tensor *tensor = &kept->states[p].tensor;
        SC_TRY(sc_session_state_shape(sc_decoder_session(decoder), p, slot, tensor, &kept->states[p].length));
        tensor->data = sc_arena_alloc(&kept->arena, sc_tensor_bytes(tensor) + 1);
        const int64_t count = sc_tensor_count(tensor);
        SC_TRY(tensor->data ? sc_session_state_read(sc_decoder_session(decoder), p, slot, 0, count, tensor->data)
                            : SC_NO_MEMORY);
        if (owner.pairs[p].kind == SC_STATE_CONSTANT) {
            kept->text.n_source = kept->states[p].length;
        }
    }
    return SC_OK;
}

/* To their owners, in pieces that end anywhere. */
static enum sc_status give(const struct sc_run_kept *kept, struct sc_decoder *decoder, int slot)
{
    struct sc_session *session = sc_decoder_session(decoder);
    SC_TRY(sc_session_state_drop(session, slot));
    for (int p = 0; p < sc_decoder_states(decoder).n_pairs; p++) {
        const struct sc_tensor *tensor = &kept->states[p].tensor;
        const int64_t count = sc_tensor_count(tensor), most = 1021;
        SC_TRY(sc_session_state_expect(session, p, slot, tensor, kept->states[p].length));
        for (int64_t at = 0; at < count; at += most) {
            const char *from = (const char *)tensor->data + (size_t)at * sc_type_bytes(tensor->type);
            SC_TRY(sc_session_state_write(session, p, slot, at, count - at < most ? count - at : most, from));
        }
    }
    return SC_OK;
}

/* The first steps under this plan, which is written, and then the caches: to a file, or to arrays. */
static enum sc_status drive_save(void *arg, struct sc_decoder *decoder)
{
    struct sc_run *run = arg;
    const struct sc_state_owner states = sc_decoder_states(decoder);
    SC_TRY(drive_write_plan(arg, decoder));
    struct sc_schedule *schedule = NULL;
    struct sc_request request = sc_run_request(run);
    request.on_logits = NULL;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    enum sc_status status = sc_schedule_add(schedule, &request);
    while (status == SC_OK && !request.done) {
        status = sc_schedule_step(schedule);
    }
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    struct sc_held_text text = {.n = 0};
    text.tokens = status == SC_OK ? sc_schedule_text(schedule, request.slot, &text.n, &text.n_held) : NULL;
    if (status == SC_OK && run->state) {
        struct sc_session *session = sc_decoder_session(decoder);
        status = sc_state_file_save(run->state, &states, session, request.slot, text.tokens, text.n);
    } else if (status == SC_OK && run->kept) {
        run->kept->text = text;
        status = keep(run->kept, decoder, request.slot);
    }
    sc_schedule_free(schedule);
    return status;
}

/* A slot with the first steps, from the file or the arrays. */
static enum sc_status hold(struct sc_run *run, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    const struct sc_state_owner states = sc_decoder_states(decoder);
    int slot;
    if (run->kept) {
        SC_TRY(sc_schedule_hold(schedule, &run->kept->text, &slot));
        return give(run->kept, decoder, slot);
    }
    struct sc_state_file *file = NULL;
    SC_TRY(sc_state_file_open(run->state, &states, &file));
    struct sc_held_text held = {.n_held = sc_state_file_length(file), .n_source = sc_state_file_source(file)};
    held.tokens = sc_state_file_tokens(file, &held.n);
    enum sc_status status = sc_schedule_hold(schedule, &held, &slot);
    status = status == SC_OK ? sc_state_file_restore(file, sc_decoder_session(decoder), slot) : status;
    sc_state_file_close(file);
    return status;
}

/* The other steps, among others. */
static enum sc_status go_on_held(struct sc_run *run, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    struct sc_request others[SC_MOST_OTHERS], request = sc_run_request(run);
    const int64_t n_prompt = request.n_prompt + SC_MOVE_STEPS;
    int64_t *text = malloc((size_t)n_prompt * sizeof *text);
    if (!text) {
        return SC_NO_MEMORY;
    }
    memcpy(text, request.prompt, (size_t)request.n_prompt * sizeof *text);
    memcpy(text + request.n_prompt, request.forced, SC_MOVE_STEPS * sizeof *text);
    request.prompt = text;
    request.n_prompt = n_prompt;
    request.n_predict -= SC_MOVE_STEPS;
    request.forced += SC_MOVE_STEPS;
    request.source = (struct sc_source){0};
    run->step = SC_MOVE_STEPS;
    enum sc_status status = hold(run, decoder, schedule);
    status = status == SC_OK ? sc_schedule_add(schedule, &request) : status;
    status = status == SC_OK ? sc_run_add_others(run, schedule, others, 0, run->n_others) : status;
    while (status == SC_OK && sc_schedule_n_open(schedule) > 0) {
        status = sc_schedule_step(schedule);
    }
    if (status == SC_OK && request.stop == SC_STOP_ERROR) {
        status = sc_error_set(&request.error);
    } else if (status == SC_OK && request.n_shared < n_prompt - 1) {
        status = sc_fail(SC_INTERNAL, "%d positions of %d were used", (int)request.n_shared, (int)n_prompt);
    }
    free(text);
    return status;
}

/* All steps, with a change of plans after the first ones, while others go on and wait. */
static enum sc_status go_on_moved(struct sc_run *run, struct sc_decoder *decoder, struct sc_schedule *schedule)
{
    struct sc_request others[SC_MOST_OTHERS], request = sc_run_request(run);
    enum sc_status status = sc_run_add_others(run, schedule, others, 0, run->n_others);
    status = status == SC_OK ? sc_schedule_add(schedule, &request) : status;
    for (bool moved = false; status == SC_OK && sc_schedule_n_open(schedule) > 0;) {
        status = sc_schedule_step(schedule);
        if (status == SC_OK && !moved && request.n_made >= SC_MOVE_STEPS) {
            moved = true;
            status = sc_schedule_settle(schedule);
            status = status == SC_OK ? sc_session_replan(sc_decoder_session(decoder), run->plan) : status;
        }
    }
    return status == SC_OK && request.stop == SC_STOP_ERROR ? sc_error_set(&request.error) : status;
}

static enum sc_status drive_moves(void *arg, struct sc_decoder *decoder)
{
    struct sc_run *run = arg;
    struct sc_schedule *schedule = NULL;
    run->vocabulary = sc_decoder_vocabulary(decoder);
    SC_TRY(sc_schedule_create(decoder, &schedule));
    enum sc_status status =
        run->state || run->kept ? go_on_held(run, decoder, schedule) : go_on_moved(run, decoder, schedule);
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    sc_schedule_free(schedule);
    return status;
}

/* Files that plans and states go by. */
struct paths {
    char plan[64], cut[64], state[64];
};

enum how { LOADED, STREAMED, MOVED };

/* Begins under a random plan and goes on under another cut, by a file or by arrays of rank 0; or begins under the cut
 * and moves to the random plan. apart: prompts go by a cut of their own. */
static enum sc_status run_moved(
    const struct sc_subject *subject, int way, enum how how, bool apart, const struct paths *paths, struct sc_run *on)
{
    const int n_ranks = 2 + way % 3;
    const struct sc_run_config random = {
        .n_ranks = n_ranks, .n_stages = 3, .n_threads = 1, .chunk = 7, .random = true, .seed = (uint64_t)way};
    struct sc_run_config other = {.n_ranks = n_ranks,
        .n_stages = how == MOVED ? n_ranks : 1 + way % 3,
        .n_threads = 1 + way % 2,
        .chunk = 64,
        .n_slots = way % 2 ? 5 : 1};
    struct sc_run_kept kept = {.tokens = NULL};
    struct sc_run written = {.plan = paths->cut};
    struct sc_run save = {.prompt = on->prompt, .n_steps = SC_MOVE_STEPS, .plan = paths->plan};
    int n_stages;
    save.state = on->state = how == LOADED ? paths->state : NULL;
    save.kept = on->kept = how == STREAMED ? &kept : NULL;
    on->plan = paths->plan;
    on->n_others = way % 2 ? SC_MOST_OTHERS : 0;
    enum sc_status status = sc_run_with(subject, &random, drive_save, &save, &n_stages);
    if (status == SC_OK && apart) {
        status = sc_run_with(subject, &other, drive_write_plan, &written, &n_stages);
        other.n_stages = 0; /* as the plan says */
        other.plan = how == MOVED ? paths->cut : paths->plan;
        other.prefill_plan = paths->cut;
    }
    status = status == SC_OK ? sc_run_with(subject, &other, drive_moves, on, &n_stages) : status;
    sc_arena_release(&kept.arena);
    return status;
}

void sc_test_moves(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts)
{
    static const char *const names[] = {[LOADED] = "loaded", [STREAMED] = "streamed", [MOVED] = "moved"};
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = sc_run_prompt(reference, &arena);
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * reference->logits.dims[1]), sizeof *want);
    const struct sc_run_config whole = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    struct sc_run first = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .got = want};
    struct paths paths;
    int n_stages;
    snprintf(paths.plan, sizeof paths.plan, "/tmp/sc_moves_%d.json", (int)getpid());
    snprintf(paths.cut, sizeof paths.cut, "/tmp/sc_moves_%d_cut.json", (int)getpid());
    snprintf(paths.state, sizeof paths.state, "/tmp/sc_moves_%d.state", (int)getpid());
    sc_run_tell(counts, want && sc_run_with(subject, &whole, sc_run_drive, &first, &n_stages) == SC_OK, "moves",
        "does not run");
    const int n_ways = 24;
    for (int way = 0; way < n_ways; way++) {
        const enum how how = (enum how)(way % 3);
        const bool apart = way >= n_ways / 2;
        struct sc_run on = {.prompt = &prompt, .n_steps = SC_BITS_STEPS, .want = want};
        const enum sc_status status = run_moved(subject, way / 3, how, apart, &paths, &on);
        char name[64], why[256];
        snprintf(name, sizeof name, "bits_%s_%d%s", names[how], way / 3, apart ? "_apart" : "");
        snprintf(why, sizeof why, "%.120s; %" PRId64 " rows differ after %" PRId64,
            status == SC_OK ? "" : sc_error_last()->text, on.wrong_bits, on.step);
        sc_run_tell(counts, status == SC_OK && on.wrong_bits == 0 && on.step == SC_BITS_STEPS, name, why);
    }
    printf("moves: %d ways of loading, streaming in and moving compared, half beside a plan for prompts\n", n_ways);
    (void)unlink(paths.plan);
    (void)unlink(paths.cut);
    (void)unlink(paths.state);
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
    sc_run_tell(counts, want && sc_run_with(subject, &whole, sc_run_drive, &first, &n_stages) == SC_OK, "apart",
        "does not run");
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
