/* SPDX-License-Identifier: Apache-2.0
 * One line that is drawn over itself. */
#include "launch/progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define SC_BAR_WIDTH 30

void sc_progress_set(struct sc_progress *progress, int64_t done)
{
    const int64_t now = sc_clock_ns();
    if (!progress->on || (done < progress->total && now - progress->drawn_ns < 100000000)) {
        return;
    }
    char bar[SC_BAR_WIDTH + 1];
    const int64_t full = progress->total > 0 ? done * SC_BAR_WIDTH / progress->total : 0;
    for (int i = 0; i < SC_BAR_WIDTH; i++) {
        bar[i] = i < full ? '#' : '.';
    }
    bar[SC_BAR_WIDTH] = '\0';
    progress->drawn_ns = now;
    fprintf(stderr, "\r%s [%s] %" PRId64 "/%" PRId64, progress->what, bar, done, progress->total);
    fflush(stderr);
}

void sc_progress_clear(struct sc_progress *progress)
{
    if (progress->on && progress->drawn_ns) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
