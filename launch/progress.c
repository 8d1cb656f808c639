/* SPDX-License-Identifier: Apache-2.0
 * One line that is drawn over itself, each time in one write; the return at its end makes any other text overwrite
 * it. */
#include "launch/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "partitioner/report.h"

#define SC_BAR_WIDTH 30
#define SC_FIRST_NS INT64_C(300000000)
#define SC_AGAIN_NS INT64_C(100000000)

void sc_progress_begin(struct sc_progress *progress, const char *what, int64_t total, bool bytes)
{
    sc_progress_end(progress);
    progress->what = what;
    progress->total = total;
    progress->bytes = bytes;
    progress->begun_ns = sc_clock_ns();
}

static void draw(const struct sc_progress *progress, int64_t done, int64_t now_ns)
{
    char line[256], bar[SC_BAR_WIDTH + 1], some[32], all[32];
    int n;
    const int64_t full = progress->total > 0 ? done * SC_BAR_WIDTH / progress->total : 0;
    for (int i = 0; i < SC_BAR_WIDTH; i++) {
        bar[i] = i < full ? '#' : '.';
    }
    bar[SC_BAR_WIDTH] = '\0';
    if (progress->total == 0) {
        n = snprintf(line, sizeof line, SC_PROGRESS_CLEAR "%.40s %" PRId64 " s\r", progress->what,
            (now_ns - progress->begun_ns) / 1000000000);
    } else if (progress->bytes) {
        n = snprintf(line, sizeof line, SC_PROGRESS_CLEAR "%.24s [%s] %s/%s\r", progress->what, bar,
            sc_bytes_text(done, some, sizeof some), sc_bytes_text(progress->total, all, sizeof all));
    } else {
        n = snprintf(line, sizeof line, SC_PROGRESS_CLEAR "%.24s [%s] %" PRId64 "/%" PRId64 "\r", progress->what, bar,
            done, progress->total);
    }
    if (write(STDERR_FILENO, line, (size_t)n) < 0) {
        return; /* nobody watches any more */
    }
}

void sc_progress_set(struct sc_progress *progress, int64_t done)
{
    if (!progress->on || !progress->what) {
        return;
    }
    const int64_t now_ns = sc_clock_ns();
    const bool due =
        progress->drawn_ns ? now_ns - progress->drawn_ns >= SC_AGAIN_NS : now_ns - progress->begun_ns >= SC_FIRST_NS;
    if (due) {
        progress->drawn_ns = now_ns;
        draw(progress, done < progress->total ? done : progress->total, now_ns);
    }
}

void sc_progress_clear(struct sc_progress *progress)
{
    if (progress->drawn_ns) {
        const ssize_t n = write(STDERR_FILENO, SC_PROGRESS_CLEAR, sizeof SC_PROGRESS_CLEAR - 1);
        (void)n;
        progress->drawn_ns = 0;
    }
}

void sc_progress_end(struct sc_progress *progress)
{
    sc_progress_clear(progress);
    progress->what = NULL;
}
