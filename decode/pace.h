/* SPDX-License-Identifier: Apache-2.0
 * How long microbatches take, and so how many rows of a prompt running texts can wait for. Reads no clock. */
#ifndef SC_DECODE_PACE_H
#define SC_DECODE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Means over the last few. */
struct sc_pace_mean {
    double rows, ns;
    int64_t n; /* that it was made of */
};

/* What microbatches took on their slowest stage. A chunk takes a fixed part and one for each row: the line through the
 * mean of steps and that of chunks. Zeros: nothing is known. */
struct sc_pace {
    struct sc_pace_mean steps, chunks;
};

/* A microbatch that came back. */
void sc_pace_note(struct sc_pace *pace, bool step, int64_t n_rows, int64_t slowest_ns);

/* A chunk of so many rows; 0 while nothing is known. */
int64_t sc_pace_chunk_ns(const struct sc_pace *pace, int64_t n_rows);

/* A microbatch in flight or, of texts whose last token is here, one that is about to go. */
struct sc_pace_flight {
    bool step;
    int64_t n_rows;
    int64_t sent_ns, back_ns; /* back: of those that are */
    int64_t token_ns; /* of a step: when its texts had their last token, the first of them */
};

enum { SC_PACE_FLIGHTS = 32 }; /* most of them, and of those that are back */

struct sc_pace_traffic {
    int64_t now_ns;
    int n_ranks; /* that work at once, one behind the other; first rank 0, which sees what comes back between its own */
    int n_rounds; /* stages of each */
    /* In their order: those that came back last, which the ones behind them had to wait for; those in flight; steps
     * that are about to go. */
    int n_back, n_flights, n_ready;
    struct sc_pace_flight flights[2 * SC_PACE_FLIGHTS];
};

/* If a chunk of so many rows goes now: the longest of the times between two tokens of the texts that have steps in
 * flight or ready, up to the token that follows the chunk. */
int64_t sc_pace_gap_ns(const struct sc_pace *pace, const struct sc_pace_traffic *traffic, int64_t n_rows);

/* Rows of the next chunk, 1 to `most`: as many as keep that time within a bound, and at most twice as many as chunks
 * had lately, as far as what was measured is believed. */
int64_t sc_pace_rows(const struct sc_pace *pace, const struct sc_pace_traffic *traffic, int64_t bound_ns, int64_t most);

#endif
