/* SPDX-License-Identifier: Apache-2.0
 * A progress bar on stderr. */
#ifndef SC_LAUNCH_PROGRESS_H
#define SC_LAUNCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define SC_PROGRESS_CLEAR "\r\033[K" /* what takes the bar off its line */

/* begin ──► set, set, ... ──► end. Zeros: a bar that is off. Short work never shows one: it comes after a while. */
struct sc_progress {
    bool on;
    bool bytes; /* of `total` */
    const char *what; /* NULL: nothing is under way */
    int64_t total; /* 0: not known; seconds are counted */
    int64_t begun_ns, drawn_ns; /* drawn_ns 0: it is not on the screen */
};

/* The one that was there before ends. */
void sc_progress_begin(struct sc_progress *progress, const char *what, int64_t total, bool bytes);
void sc_progress_set(struct sc_progress *progress, int64_t done); /* draws at most ten times a second */
void sc_progress_clear(struct sc_progress *progress); /* before a line of text */
void sc_progress_end(struct sc_progress *progress);

#endif
