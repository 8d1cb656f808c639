/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into the ranks of a job: each rank's monotonic clock is off by as much as clocks of unlike hosts are. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long syscall(long number, ...); /* POSIX does not know it */

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    static const time_t shifts[] = {
        0, -20, -40}; /* back: waits until a time given by the clock are short, not endless */
    const int status = (int)syscall(SYS_clock_gettime, clock, now);
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (status == 0 && clock == CLOCK_MONOTONIC && rank) {
        now->tv_sec += shifts[strtol(rank, NULL, 10) % 3];
    }
    return status;
}
