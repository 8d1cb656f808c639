/* SPDX-License-Identifier: Apache-2.0
 * The tests of a decoder: prompts, tokens one after the other, and several texts at once. */
#ifndef SC_LAUNCH_BENCH_TEXT_H
#define SC_LAUNCH_BENCH_TEXT_H

#include "decode/decoder.h"
#include "launch/bench_table.h"

struct sc_bench_text {
    struct sc_decoder *decoder;
    bool encodes,
        hears; /* the prompt is what an encoder reads: tokens, or frames of sound; the decoder begins with a token */
    int64_t n_source, n_bands; /* rank 0: what it reads; of each frame */
    int64_t depth; /* tokens that are in the cache before */
    int64_t n_prompt, n_gen; /* 0: not measured */
    int most_texts; /* 1: no batches */
    uint64_t seed; /* of the tokens */
    int n_runs;
    void (*measured)(void *arg); /* after each run */
    void *arg;
    int64_t n_tokens; /* set: that went through the model in all */
};

/* Positions that the tests come to. */
int64_t sc_bench_text_context(const struct sc_bench_text *bench);

int64_t sc_bench_text_runs(const struct sc_bench_text *bench); /* how often `measured` will be called */

/* Rank 0. Adds rows and batches to the table. SC_UNSUPPORTED for a depth where caches cannot be begun with. */
enum sc_status sc_bench_text_run(struct sc_bench_text *bench, struct sc_bench_table *table);

#endif
