/* SPDX-License-Identifier: Apache-2.0
 * Against itself: ranks, plans, threads, chunks, company. */
#include "tests/decoder/run.h"

#include <inttypes.h>
#include <stdio.h>

void sc_test_bits(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts)
{
    struct sc_arena arena = {0};
    const struct sc_reference_prompt prompt = sc_run_prompt(reference, &arena);
    const int64_t vocabulary = reference->logits.dims[1];
    float *want = sc_arena_array(&arena, (size_t)(SC_BITS_STEPS * vocabulary), sizeof *want);
    struct sc_run_config configs[64];
    int n = 0, most_stages = 0;
    bool rows_apart = false;
    configs[n++] = (struct sc_run_config){.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 1000};
    static const int stages[] = {1, 2, 3, 6}, chunks[] = {1, 7, 64};
    for (int s = 0; s < 4; s++) {
        for (int c = 0; c < 3; c++) {
            configs[n++] =
                (struct sc_run_config){.n_ranks = stages[s], .n_stages = stages[s], .n_threads = 1, .chunk = chunks[c]};
        }
        configs[n++] = (struct sc_run_config){.n_ranks = stages[s], .n_stages = stages[s], .n_threads = 2, .chunk = 64};
    }
    for (int s = 0; s < 4; s++) {
        configs[n++] = (struct sc_run_config){
            .n_ranks = stages[s], .n_stages = stages[s], .n_threads = 1 + s % 2, .chunk = chunks[s % 3], .n_slots = 5};
    }
    for (int seed = 0; seed < 24; seed++) {
        const bool company = seed / 2 % 2;
        configs[n++] = (struct sc_run_config){.n_ranks = 1 + seed % 4,
            .n_stages = 1 + seed % 6,
            .n_threads = 1 + seed % 2,
            .chunk = company ? chunks[1 + seed / 4 % 2] : chunks[seed % 3],
            .n_slots = company ? 5 : 1,
            .random = true,
            .seed = (uint64_t)seed};
    }
    for (int i = 0; i < n && want; i++) {
        struct sc_run run = {.prompt = &prompt,
            .n_steps = SC_BITS_STEPS,
            .got = i ? NULL : want,
            .want = i ? want : NULL,
            .n_others = configs[i].n_slots > 1 ? SC_MOST_OTHERS : 0};
        int n_stages = 0;
        char name[96], why[256];
        const enum sc_status status = sc_run_with(subject, &configs[i], sc_run_drive, &run, &n_stages);
        snprintf(name, sizeof name, "bits_ranks_%d_pp_%d_t_%d_ub_%d_np_%d%s%d", configs[i].n_ranks, configs[i].n_stages,
            configs[i].n_threads, configs[i].chunk, configs[i].n_slots, configs[i].random ? "_random_" : "_",
            (int)configs[i].seed);
        snprintf(why, sizeof why, "%.120s; %" PRId64 " of %" PRId64 " rows differ on %d stages",
            status == SC_OK ? "" : sc_error_last()->text, run.wrong_bits, run.n_steps, n_stages);
        sc_run_tell(counts, status == SC_OK && run.wrong_bits == 0 && n_stages == configs[i].n_stages, name, why);
        most_stages = n_stages > most_stages ? n_stages : most_stages;
        rows_apart = run.rows_apart;
    }
    printf("bits: %d ways of running compared, on up to %d stages; %s\n", n, most_stages,
        rows_apart ? "rows of several requests in one microbatch" : "each request in microbatches of its own");
    sc_arena_release(&arena);
}
