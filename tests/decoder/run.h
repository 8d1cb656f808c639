/* SPDX-License-Identifier: Apache-2.0
 * One request through a decoder that is opened in some way, and what its logits are held against. */
#ifndef SC_TESTS_DECODER_RUN_H
#define SC_TESTS_DECODER_RUN_H

#include "decode/schedule.h"
#include "tests/decoder/ranks.h"
#include "tests/decoder/reference.h"

/* A logit of our own arithmetic may differ from ONNX Runtime's by sums in another order: 1e-4 on values of up to 20,
 * unless the command line says more. Where the two best are closer, either may come first. */
#define SC_LOGIT_TOLERANCE 1e-4
#define SC_BITS_STEPS 12
#define SC_MOST_OTHERS 6

struct sc_run {
    const struct sc_reference_prompt *prompt;
    const struct sc_tensor *rows; /* whole recorded rows, the run's from first_row on as far as they go; NULL */
    int64_t first_row;
    const float *want; /* bits to match, [steps][vocabulary]; NULL */
    float *got; /* bits to keep; NULL */
    int64_t n_steps, step, vocabulary;
    double tolerance, worst; /* largest difference from a recorded logit: allowed, found */
    int64_t wrong_tokens, wrong_bits;
    int64_t n_off; /* steps with a logit that is off by more than SC_LOGIT_TOLERANCE */
    bool rows_apart; /* set: a microbatch may have rows of several requests */
    int n_others; /* texts that are made at the same time */
    int n_runs; /* one after the other in a session; 0: this one */
    const char *plan, *state; /* files that caches and plans go by */
    struct sc_run_kept *kept; /* or arrays that caches go by (moves.c) */
};

/* What is run: a model, with its caches kept so. */
struct sc_subject {
    const char *model;
    struct sc_cache_formats formats;
};

struct sc_run_config {
    int n_ranks, n_stages, n_threads, chunk, n_slots;
    bool random;
    uint64_t seed;
    const char *plan, *prefill_plan; /* files */
};

struct sc_counts {
    int passed, failed;
};

void sc_run_tell(struct sc_counts *counts, bool good, const char *name, const char *why);

/* Opens the subject so, and calls `how` with the run on rank 0. */
enum sc_status sc_run_with(const struct sc_subject *subject, const struct sc_run_config *config,
    enum sc_status (*how)(void *arg, struct sc_decoder *decoder), struct sc_run *run, int *n_stages);

/* The run's request, from its prompt to its last step, with the others; what its logits are goes to
 * sc_run_on_logits. */
enum sc_status sc_run_drive(void *arg, struct sc_decoder *decoder);
struct sc_request sc_run_request(struct sc_run *run);
void sc_run_on_logits(void *arg, const float *logits);

/* Others of the run, from first to last (excluded), which draw their tokens; some begin as its prompt does. */
enum sc_status sc_run_add_others(
    const struct sc_run *run, struct sc_schedule *schedule, struct sc_request *others, int first, int last);

/* The longest recorded prompt followed by its first answers, so that chunks of 7 and 64 are cut at different places. */
struct sc_reference_prompt sc_run_prompt(const struct sc_reference *reference, struct sc_arena *arena);

/* Each compares one after the other, and tells. */
void sc_test_recorded(
    const struct sc_subject *subject, const struct sc_reference *reference, double tolerance, struct sc_counts *counts);
void sc_test_bits(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts);
void sc_test_moves(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts);
void sc_test_apart(const struct sc_subject *subject, const struct sc_reference *reference, struct sc_counts *counts);

#endif
