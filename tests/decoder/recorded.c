/* SPDX-License-Identifier: Apache-2.0
 * Against what another runtime said. */
#include "tests/decoder/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The prompts in one session: run is the first of an array, each with the steps that are recorded. */
static enum sc_status drive_recorded(void *arg, struct sc_decoder *decoder)
{
    struct sc_run *runs = arg;
    for (int p = 0; p < runs[0].n_runs; p++) {
        runs[p].n_steps = runs[p].prompt->n_steps;
        SC_TRY(sc_run_drive(&runs[p], decoder));
        if (runs[p].n_steps < runs[p].prompt->n_steps) {
            return sc_fail(SC_INTERNAL, "prompt %d has %d steps, and room for %d", p, (int)runs[p].prompt->n_steps,
                (int)runs[p].n_steps);
        }
    }
    return SC_OK;
}

void sc_test_recorded(
    const struct sc_subject *subject, const struct sc_reference *reference, double tolerance, struct sc_counts *counts)
{
    const struct sc_run_config config = {.n_ranks = 1, .n_stages = 1, .n_threads = 1, .chunk = 64};
    struct sc_run *runs = calloc((size_t)reference->n_prompts, sizeof *runs);
    int n_stages, n_short = 0;
    int64_t n_rows = 0, longest = 0, n_off = 0;
    double worst = 0;
    for (int p = 0; p < reference->n_prompts && runs; p++) {
        const struct sc_reference_prompt *prompt = &reference->prompts[p];
        runs[p] = (struct sc_run){.prompt = prompt,
            .rows = &reference->logits,
            .first_row = n_rows,
            .tolerance = tolerance,
            .n_runs = reference->n_prompts};
        n_rows += prompt->n_steps;
        n_short += prompt->n_steps < SC_REFERENCE_STEPS;
        longest = prompt->n_ids > longest ? prompt->n_ids : longest;
    }
    const enum sc_status status = runs ? sc_run_with(subject, &config, drive_recorded, runs, &n_stages) : SC_NO_MEMORY;
    sc_run_tell(counts, status == SC_OK, "recorded", status == SC_OK ? "" : sc_error_last()->text);
    for (int p = 0; p < reference->n_prompts && status == SC_OK; p++) {
        char name[64], why[256];
        snprintf(name, sizeof name, "recorded_prompt_%d", p);
        snprintf(why, sizeof why, "worst logit off by %.3g, %" PRId64 " wrong tokens in %" PRId64 " steps",
            runs[p].worst, runs[p].wrong_tokens, runs[p].n_steps);
        sc_run_tell(counts, runs[p].worst <= tolerance && runs[p].wrong_tokens == 0, name, why);
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
    free(runs);
}
