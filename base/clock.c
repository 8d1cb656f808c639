/* SPDX-License-Identifier: Apache-2.0
 * CLOCK_MONOTONIC. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

int64_t sc_clock_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void sc_clock_sleep_ns(int64_t ns)
{
    if (ns <= 0) {
        return;
    }
    const int64_t until = sc_clock_ns() + ns;
    const struct timespec end = {.tv_sec = (time_t)(until / NS_PER_S), .tv_nsec = (long)(until % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) { }
}
