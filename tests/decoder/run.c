/* SPDX-License-Identifier: Apache-2.0
 * How a request goes through a decoder. */
#include "tests/decoder/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_recorded(struct sc_run *run, const float *logits)
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
    run->wrong_tokens += clear && best != run->prompt->top[s][0].id;
}

void sc_run_on_logits(void *arg, const float *logits)
{
    struct sc_run *run = arg;
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

enum sc_status sc_run_add_others(
    const struct sc_run *run, struct sc_schedule *schedule, struct sc_request *others, int first, int last)
{
    enum sc_status status = SC_OK;
    for (int o = first; o < last && status == SC_OK; o++) {
        const int64_t from = o % 2 && o < run->prompt->n_ids ? o : 0, left = run->prompt->n_ids - from;
        others[o] = (struct sc_request){.prompt = run->prompt->ids + from,
            .n_prompt = left > 3 * o && o % 2 == 0 ? left - 3 * o
                : left > 0                         ? left
                                                   : 1,
            .source = run->prompt->source,
            .n_predict = run->n_steps,
            .sample = {.temperature = 0.7, .top_p = 1, .seed = (uint64_t)o}};
        others[o].source.n -= others[o].source.n > o ? o : 0;
        status = sc_schedule_add(schedule, &others[o]);
    }
    return status;
}

/* Two that came before, and others after it. */
static enum sc_status generate_among(const struct sc_run *run, struct sc_decoder *decoder, struct sc_request *request)
{
    struct sc_request others[SC_MOST_OTHERS];
    struct sc_schedule *schedule = NULL;
    SC_TRY(sc_schedule_create(decoder, &schedule));
    enum sc_status status = sc_run_add_others(run, schedule, others, 0, 2);
    status = status == SC_OK ? sc_schedule_add(schedule, request) : status;
    status = status == SC_OK ? sc_run_add_others(run, schedule, others, 2, run->n_others) : status;
    while (status == SC_OK && sc_schedule_n_open(schedule) > 0) {
        status = sc_schedule_step(schedule);
    }
    status = status == SC_OK ? sc_schedule_settle(schedule) : status;
    sc_schedule_free(schedule);
    return status == SC_OK && request->stop == SC_STOP_ERROR ? sc_error_set(&request->error) : status;
}

struct sc_request sc_run_request(struct sc_run *run)
{
    return (struct sc_request){.prompt = run->prompt->ids,
        .n_prompt = run->prompt->n_ids,
        .source = run->prompt->source,
        .n_predict = run->n_steps,
        .sample = {.top_p = 1},
        .forced = run->prompt->greedy,
        .on_logits = sc_run_on_logits,
        .arg = run};
}

enum sc_status sc_run_drive(void *arg, struct sc_decoder *decoder)
{
    struct sc_run *run = arg;
    const int64_t room = sc_decoder_context(decoder) - run->prompt->n_ids;
    run->vocabulary = sc_decoder_vocabulary(decoder);
    run->rows_apart = sc_decoder_rows_apart(decoder);
    run->n_steps = run->n_steps < room ? run->n_steps : room;
    struct sc_request request = sc_run_request(run);
    SC_TRY(run->n_others > 0 ? generate_among(run, decoder, &request) : sc_decoder_generate(decoder, &request));
    return run->step == run->n_steps ? SC_OK
                                     : sc_fail(SC_INTERNAL, "%d steps of %d", (int)run->step, (int)run->n_steps);
}

enum sc_status sc_run_with(const struct sc_subject *subject, const struct sc_run_config *config,
    enum sc_status (*how)(void *arg, struct sc_decoder *decoder), struct sc_run *run, int *n_stages)
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

void sc_run_tell(struct sc_counts *counts, bool good, const char *name, const char *why)
{
    if (good) {
        counts->passed++;
    } else {
        counts->failed++;
        printf("FAIL %s: %s\n", name, why);
    }
    fflush(stdout);
}

struct sc_reference_prompt sc_run_prompt(const struct sc_reference *reference, struct sc_arena *arena)
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
