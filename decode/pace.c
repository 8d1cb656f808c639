/* SPDX-License-Identifier: Apache-2.0
 * Microbatches pass the ranks one behind the other, none overtakes: when each leaves a rank follows from when it came,
 * when the rank was free and how long it takes there. */
#include "decode/pace.h"

#include "base/int64.h"

enum {
    MOST_RANKS = 64,
    LATELY = 4 /* a mean follows the last few, and more of them the fewer rows they have */
};
static const int64_t most_ns = 1000000000000; /* that a microbatch is taken to last: sums of them have room */

/* One of few rows says little of larger ones. */
static void add(struct sc_pace_mean *mean, double rows, double ns)
{
    mean->n += mean->n < LATELY;
    const double share = (rows < mean->rows ? rows / mean->rows : 1) / (double)mean->n;
    mean->rows += (rows - mean->rows) * share;
    mean->ns += (ns - mean->ns) * share;
}

void sc_pace_note(struct sc_pace *pace, bool step, int64_t n_rows, int64_t slowest_ns)
{
    add(step ? &pace->steps : &pace->chunks, (double)n_rows, (double)(slowest_ns < most_ns ? slowest_ns : most_ns));
}

int64_t sc_pace_chunk_ns(const struct sc_pace *pace, int64_t n_rows)
{
    const struct sc_pace_mean *steps = &pace->steps, *chunks = pace->chunks.n > 0 ? &pace->chunks : steps;
    if (chunks->n == 0) {
        return 0;
    }
    double each = chunks->ns / chunks->rows;
    if (steps->n > 0 && chunks->rows >= 2 * steps->rows && chunks->ns > steps->ns) { /* else noise, not a slope */
        const double slope = (chunks->ns - steps->ns) / (chunks->rows - steps->rows);
        each = slope < each ? slope : each; /* no part is less than nothing */
    }
    const double ns = chunks->ns + each * ((double)n_rows - chunks->rows);
    return ns < (double)most_ns ? (int64_t)ns : most_ns;
}

/* The ranks, and when each will be free; of rank 0 also when it is at work. */
struct line {
    const struct sc_pace_traffic *traffic;
    int64_t free_ns[MOST_RANKS];
    int n_spans;
    struct {
        int64_t from_ns, to_ns;
    } spans[4 * SC_PACE_FLIGHTS + 1]; /* of all, the chunk, and the steps that follow */
};

/* What is back has left every rank: errors of what was estimated do not add up. */
static void correct(struct line *line, int64_t back_ns)
{
    for (int r = 0; r < line->traffic->n_ranks && r < MOST_RANKS; r++) {
        line->free_ns[r] = line->free_ns[r] < back_ns ? line->free_ns[r] : back_ns;
    }
}

/* When a microbatch is through, that goes at some time and takes ns on each stage. */
static int64_t pass(struct line *line, int64_t at_ns, int64_t ns)
{
    ns *= line->traffic->n_rounds;
    for (int r = 0; r < line->traffic->n_ranks && r < MOST_RANKS; r++) {
        at_ns = sc_max64(at_ns, line->free_ns[r]) + ns;
        line->free_ns[r] = at_ns;
        if (r == 0) {
            line->spans[line->n_spans].from_ns = at_ns - ns;
            line->spans[line->n_spans++].to_ns = at_ns;
        }
    }
    return at_ns;
}

/* When rank 0 sees what comes back at some time. */
static int64_t seen(const struct line *line, int64_t at_ns)
{
    for (int i = 0; i < line->n_spans; i++) {
        if (line->spans[i].from_ns < at_ns && at_ns < line->spans[i].to_ns) {
            return line->spans[i].to_ns;
        }
    }
    return at_ns;
}

int64_t sc_pace_gap_ns(const struct sc_pace *pace, const struct sc_pace_traffic *traffic, int64_t n_rows)
{
    const int64_t step_ns = (int64_t)pace->steps.ns, now_ns = traffic->now_ns;
    const int sent = traffic->n_back + traffic->n_flights;
    struct line line = {.traffic = traffic};
    int64_t back_ns[2 * SC_PACE_FLIGHTS], longest_ns = 0;
    for (int i = 0; i < sent; i++) {
        const struct sc_pace_flight *flight = &traffic->flights[i];
        const int64_t ns = flight->step ? step_ns : sc_pace_chunk_ns(pace, flight->n_rows);
        back_ns[i] = sc_max64(pass(&line, flight->sent_ns, ns), now_ns); /* at the earliest, if it is not back */
        if (i < traffic->n_back) {
            correct(&line, flight->back_ns);
        }
    }
    pass(&line, now_ns, sc_pace_chunk_ns(pace, n_rows));
    for (int i = traffic->n_back; i < sent + traffic->n_ready; i++) {
        const struct sc_pace_flight *flight = &traffic->flights[i];
        int64_t token_ns = flight->token_ns, from_ns = now_ns;
        if (!flight->step) {
            continue;
        }
        if (i < sent) {
            from_ns = seen(&line, back_ns[i]);
            longest_ns = sc_max64(longest_ns, from_ns - token_ns);
            token_ns = from_ns;
        }
        longest_ns = sc_max64(longest_ns, seen(&line, pass(&line, from_ns, step_ns)) - token_ns);
    }
    return longest_ns;
}

int64_t sc_pace_rows(const struct sc_pace *pace, const struct sc_pace_traffic *traffic, int64_t bound_ns, int64_t most)
{
    const struct sc_pace_mean *known = pace->chunks.n > 0 ? &pace->chunks : &pace->steps;
    int64_t fits = 1, over = (int64_t)(2 * known->rows) + 1;
    over = sc_max64(over < most ? over : most + 1, 2);
    while (over - fits > 1) {
        const int64_t middle = fits + (over - fits) / 2;
        if (sc_pace_gap_ns(pace, traffic, middle) <= bound_ns) {
            fits = middle;
        } else {
            over = middle;
        }
    }
    return fits;
}
