/* SPDX-License-Identifier: Apache-2.0
 * How many groups running texts are cut in. Each group goes through the pipeline by itself, in one step for its
 * texts. */
#ifndef SC_DECODE_GROUPS_H
#define SC_DECODE_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* One group reads each weight once for all texts, while one stage works and the others wait; as many groups as stages
 * keep all at work, and read every weight for every group. Which is faster depends on how long a row takes beside the
 * weights, on links, and on whether stages share the bandwidth of one memory, and changes with all that: so it is
 * tried. Numbers of groups, 1, 2, 4, ... up to that of stages, are in use for a few steps of every text each, as long
 * as a token takes less time with each more. The best stays until the numbers from the next lower one on are tried
 * again, the more seldom the more often it won. No text depends on it. Reads no clock. */

enum { SC_GROUPS_SIZES = 8 }; /* up to 1, 2, 4, ... texts, and more: each has a trial of its own */

struct sc_groups_trial {
    int now, best; /* 1 << it groups, or one for each stage or text if these are fewer */
    int last; /* best of the trial before */
    bool settled; /* `best` is in use; else `now` is being tried */
    int64_t n_steps; /* since `now` is in use */
    int64_t n_skip; /* the first of them, that were cut or held up by the number before */
    double sum_ns, least_ns; /* of those that count; mean of the best so far, 0: none */
    int64_t n_keep; /* steps of each text until the next trial */
};

/* Zeros: nothing was tried. */
struct sc_groups {
    int n_stages, n_most, size; /* of the last choice */
    struct sc_groups_trial trials[SC_GROUPS_SIZES];
};

/* How many groups there are to be now, 1 to n_texts; 0 of none. */
int sc_groups_choose(struct sc_groups *groups, int n_texts, int n_stages);

/* A step came back, so long after the texts in it had their last tokens, and no prompt was in its way. */
void sc_groups_note(struct sc_groups *groups, int64_t token_ns);

#endif
