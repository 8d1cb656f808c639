/* SPDX-License-Identifier: Apache-2.0
 * The result of a bench, in llama-bench's columns. */
#ifndef SC_LAUNCH_BENCH_TABLE_H
#define SC_LAUNCH_BENCH_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum sc_bench_format { SC_BENCH_MD, SC_BENCH_CSV, SC_BENCH_JSON }; /* the order of the option's words */

#define SC_BENCH_RUNS 64
#define SC_BENCH_BATCHES 11 /* 1, 2, 4 ... 1024 texts */
#define SC_BENCH_ROWS 16

struct sc_bench_row {
    char test[48]; /* "pp512", "tg128", "latency", "throughput" */
    const char *unit; /* "t/s", "ms", "runs/s" */
    int n_runs;
    double value[SC_BENCH_RUNS];
};

/* Several texts at once, in llama-batched-bench's columns. Sums over runs. */
struct sc_bench_batch {
    int n_texts, n_runs;
    int64_t n_prompt, n_gen; /* tokens of each text */
    int64_t n_made; /* tokens of all, in made_seconds */
    double prompt_seconds, made_seconds;
};

struct sc_bench_table {
    const char *model;
    int64_t weight_bytes;
    int n_ranks, n_stages, n_threads;
    const char *backend; /* instruction set level */
    int n_rows;
    struct sc_bench_row rows[SC_BENCH_ROWS];
    int n_batches;
    struct sc_bench_batch batches[SC_BENCH_BATCHES];
};

void sc_bench_print(const struct sc_bench_table *table, enum sc_bench_format format, FILE *out);

/* The tests, into an object as "tests". */
enum sc_status sc_bench_report(const struct sc_bench_table *table, struct sc_json *document);

#endif
