/* SPDX-License-Identifier: Apache-2.0
 * The thread wakes a few times a second and adds up how long each thing has stood still. A step of that sum is at most
 * two periods, so that time in which the whole process was stopped does not count. */
#include "runtime/watchdog.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"

#define PERIOD_NS 100000000
#define MPI_GRACE_NS 10000000000 /* to start and to end MPI takes its time */

struct mark { /* how long something has stood still */
    int64_t seen;
    int64_t still_ns;
};

struct sc_watchdog {
    int64_t timeout_ns, period_ns;
    const char *who;
    int rank;
    char host[64];
    int stop[2]; /* a pipe: its end wakes the thread */
    struct sc_thread *thread;
    struct sc_lock *lock; /* over what follows */
    struct sc_pulse *pulse; /* NULL: no world yet, or nobody to watch */
    bool has_world;
    const struct sc_activity *activity; /* NULL: no session */
    const char *(*node_name)(const void *arg, int stage, int node);
    const void *arg;

    /* the thread's own */
    struct mark own, mpi, heard[SC_PULSE_MOST];
};

/* What a rank does, as a snapshot. */
struct doing {
    int phase, stage, node;
    int64_t seq, tick;
};

static struct doing look(const struct sc_activity *activity)
{
    return (struct doing){.phase = atomic_load_explicit(&activity->phase, memory_order_relaxed),
        .stage = atomic_load_explicit(&activity->stage, memory_order_relaxed),
        .node = atomic_load_explicit(&activity->node, memory_order_relaxed),
        .seq = atomic_load_explicit(&activity->seq, memory_order_relaxed),
        .tick = atomic_load_explicit(&activity->tick, memory_order_relaxed)};
}

static void name_node(const struct sc_watchdog *watchdog, const struct doing *doing, char *name, size_t bytes)
{
    if (doing->phase != SC_PHASE_COMPUTE || doing->node < 0) {
        name[0] = '\0';
    } else if (watchdog->node_name) {
        snprintf(name, bytes, "%s", watchdog->node_name(watchdog->arg, doing->stage, doing->node));
    } else {
        snprintf(name, bytes, "%d", doing->node);
    }
}

/* "stage 1, node 'x', microbatch 7 (compute)": what is known of it. */
static void describe(int phase, int stage, int64_t seq, const char *node, char *text, size_t bytes)
{
    char parts[3][128] = {"", "", ""};
    if (stage >= 0) {
        snprintf(parts[0], sizeof parts[0], "stage %d, ", stage);
    }
    if (node[0]) {
        snprintf(parts[1], sizeof parts[1], "node '%.80s', ", node);
    }
    if (seq >= 0) {
        snprintf(parts[2], sizeof parts[2], "microbatch %" PRId64 ", ", seq);
    }
    snprintf(text, bytes, "%.32s%.95s%.40sphase %s", parts[0], parts[1], parts[2], sc_phase_name((enum sc_phase)phase));
}

static _Noreturn void end(const struct sc_watchdog *watchdog, int rank, const char *host, const char *what)
{
    char line[768];
    int length = snprintf(line, sizeof line, "%s: rank %d on %s: %s\n", watchdog->who, rank, host, what);
    length = length < (int)sizeof line ? length : (int)sizeof line - 1;
    const ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; /* there is nowhere left to complain */
    _exit(1); /* not MPI_Abort, which may wait for the rank that stands still */
}

/* True when it has stood still for `limit_ns`. */
static bool stands(struct mark *mark, int64_t value, int64_t passed_ns, int64_t limit_ns)
{
    mark->still_ns = mark->seen == value ? mark->still_ns + passed_ns : 0;
    mark->seen = value;
    return mark->still_ns >= limit_ns;
}

static long long seconds(const struct mark *mark)
{
    return (long long)((mark->still_ns + 500000000) / 1000000000);
}

static void check_own(struct sc_watchdog *watchdog, const struct doing *doing, const char *node, int64_t passed_ns)
{
    char where[300], what[512];
    const bool works =
        doing->phase == SC_PHASE_LOAD || doing->phase == SC_PHASE_COMPUTE || doing->phase == SC_PHASE_SEND;
    /* Any change counts; that two changes cancel out for a whole timeout is beyond chance. */
    const int64_t sign = works ? doing->tick * 4096 + doing->node + doing->seq * 64 : watchdog->own.seen + 1;
    if (!stands(&watchdog->own, sign, passed_ns, watchdog->timeout_ns)) {
        return;
    }
    describe(doing->phase, doing->stage, doing->seq, node, where, sizeof where);
    snprintf(what, sizeof what, "stalled: no progress for %lld s in %s (--timeout)", seconds(&watchdog->own), where);
    end(watchdog, watchdog->rank, watchdog->host, what);
}

static void check_heard(struct sc_watchdog *watchdog, int64_t passed_ns)
{
    struct sc_heard heard[SC_PULSE_MOST];
    char where[300], what[512];
    const int n = sc_pulse_hear(watchdog->pulse, heard);
    for (int i = 0; i < n; i++) {
        const struct sc_beat *beat = &heard[i].beat;
        struct mark *mark = &watchdog->heard[i];
        if (!stands(mark, heard[i].count, passed_ns, watchdog->timeout_ns)) {
            continue;
        }
        if (beat->gone || beat->away) {
            mark->still_ns = 0;
            continue;
        }
        describe(beat->phase, beat->stage, beat->seq, beat->node, where, sizeof where);
        snprintf(what, sizeof what,
            "killed or stopped: nothing heard of it by rank %d for %lld s; it was last seen in %s (--timeout)",
            watchdog->rank, seconds(mark), where);
        end(watchdog, beat->rank, beat->host, what);
    }
}

/* MPI has no rank of its own to watch while it starts and ends. A rank of this host that is stopped can be seen; one of
 * another host cannot. */
static void check_mpi(struct sc_watchdog *watchdog, int64_t passed_ns)
{
    const bool starts = !watchdog->has_world, ends = watchdog->pulse && sc_pulse_ended(watchdog->pulse);
    char what[256];
    int rank;
    long pid;
    const int64_t sign = starts ? 1 : ends ? 2 : watchdog->mpi.seen + 3;
    if (!stands(&watchdog->mpi, sign, passed_ns, watchdog->timeout_ns)) {
        return;
    }
    if (sc_world_find_stopped(&rank, &pid)) {
        snprintf(what, sizeof what, "stopped before MPI had %s: process %ld, seen by rank %d for %lld s (--timeout)",
            starts ? "started" : "ended", pid, watchdog->rank, seconds(&watchdog->mpi));
        end(watchdog, rank, watchdog->host, what);
    }
    if (watchdog->mpi.still_ns < watchdog->timeout_ns + MPI_GRACE_NS) {
        return;
    }
    snprintf(what, sizeof what, "MPI has not %s for %lld s: a rank may be stopped (--timeout)",
        starts ? "started" : "ended", seconds(&watchdog->mpi));
    end(watchdog, watchdog->rank, watchdog->host, what);
}

static void turn(struct sc_watchdog *watchdog, int64_t passed_ns)
{
    char node[64] = "";
    sc_lock_enter(watchdog->lock);
    struct doing doing = {.phase = SC_PHASE_IDLE, .stage = -1, .node = -1, .seq = -1};
    if (watchdog->activity) {
        doing = look(watchdog->activity);
        name_node(watchdog, &doing, node, sizeof node);
    }
    check_own(watchdog, &doing, node, passed_ns);
    check_mpi(watchdog, passed_ns);
    if (watchdog->pulse) {
        sc_pulse_say(watchdog->pulse, doing.phase, doing.stage, doing.seq, node);
        if (!sc_pulse_ended(watchdog->pulse)) {
            check_heard(watchdog, passed_ns);
        }
    }
    sc_lock_leave(watchdog->lock);
}

static void watch(void *arg)
{
    struct sc_watchdog *watchdog = arg;
    struct pollfd stop = {.fd = watchdog->stop[0], .events = POLLIN};
    const int period_ms = (int)(watchdog->period_ns / 1000000);
    int64_t last_ns = sc_clock_ns();
    while (poll(&stop, 1, period_ms) <= 0) { /* a signal is a short period */
        const int64_t now_ns = sc_clock_ns(), passed_ns = now_ns - last_ns;
        turn(watchdog, passed_ns < 2 * watchdog->period_ns ? passed_ns : 2 * watchdog->period_ns);
        last_ns = now_ns;
    }
}

enum sc_status sc_watchdog_start(int64_t timeout_ns, const char *who, struct sc_watchdog **watchdog)
{
    struct sc_watchdog *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the watchdog");
    }
    const int rank = sc_world_launch_rank();
    *made = (struct sc_watchdog){.timeout_ns = timeout_ns,
        .period_ns = timeout_ns / 10 < PERIOD_NS ? timeout_ns / 10 : PERIOD_NS,
        .who = who,
        .rank = rank < 0 ? 0 : rank,
        .stop = {-1, -1}};
    if (gethostname(made->host, sizeof made->host - 1) != 0) {
        made->host[0] = '\0';
    }
    /* MPI may start daemons, which are to hold none of it open. */
    const bool made_pipe = pipe(made->stop) == 0 && fcntl(made->stop[0], F_SETFD, FD_CLOEXEC) == 0 &&
        fcntl(made->stop[1], F_SETFD, FD_CLOEXEC) == 0;
    enum sc_status status = made_pipe ? SC_OK : sc_fail(SC_LIMIT, "no file descriptors are left for the watchdog");
    status = status == SC_OK ? sc_lock_create(&made->lock) : status;
    status = status == SC_OK ? sc_thread_start(watch, made, &made->thread) : status;
    if (status != SC_OK) {
        sc_watchdog_stop(made);
        return status;
    }
    *watchdog = made;
    return SC_OK;
}

void sc_watchdog_stop(struct sc_watchdog *watchdog)
{
    if (!watchdog) {
        return;
    }
    if (watchdog->stop[1] >= 0) {
        (void)close(watchdog->stop[1]);
    }
    if (watchdog->thread) {
        sc_thread_join(watchdog->thread);
    }
    if (watchdog->stop[0] >= 0) {
        (void)close(watchdog->stop[0]);
    }
    sc_pulse_drop(watchdog->pulse);
    sc_lock_free(watchdog->lock);
    free(watchdog);
}

enum sc_status sc_watchdog_world(struct sc_watchdog *watchdog, struct sc_world *world)
{
    struct sc_pulse *pulse = NULL;
    SC_TRY(sc_world_watch(world, &pulse));
    sc_lock_enter(watchdog->lock);
    watchdog->rank = sc_world_rank(world);
    watchdog->pulse = pulse;
    watchdog->has_world = true;
    sc_lock_leave(watchdog->lock);
    return SC_OK;
}

void sc_watchdog_attach(struct sc_watchdog *watchdog, const struct sc_activity *activity,
    const char *(*node_name)(const void *arg, int stage, int node), const void *arg)
{
    if (watchdog) {
        sc_lock_enter(watchdog->lock);
        watchdog->activity = activity;
        watchdog->node_name = node_name;
        watchdog->arg = arg;
        sc_lock_leave(watchdog->lock);
    }
}

void sc_watchdog_detach(struct sc_watchdog *watchdog)
{
    if (watchdog) {
        sc_lock_enter(watchdog->lock);
        watchdog->activity = NULL;
        sc_lock_leave(watchdog->lock);
    }
}
