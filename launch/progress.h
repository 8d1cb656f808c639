/* SPDX-License-Identifier: Apache-2.0
 * A progress bar on stderr. */
#ifndef SC_LAUNCH_PROGRESS_H
#define SC_LAUNCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros: a bar that is off. */
struct sc_progress {
    bool on;
    const char *what;
    int64_t total;
    int64_t drawn_ns; /* when it was last drawn */
};

void sc_progress_set(struct sc_progress *progress, int64_t done); /* draws at most ten times a second */
void sc_progress_clear(struct sc_progress *progress); /* before a line of text */

#endif
