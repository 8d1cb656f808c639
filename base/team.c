/* SPDX-License-Identifier: Apache-2.0
 * One 64-bit word holds the generation of the loop and the parts that are left; taking a part is one compare-and-swap
 * on it. Fields of a loop change only while nothing is left, so whoever takes a part has read that loop's fields, and
 * the caller need not wait for workers that sleep through a loop. */
#include "base/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/relief.h"

#define LEFT_MASK 0xffffffffu /* low half of `state`: parts left; high half: generation */

enum {
    SPIN_NS = 50000, /* longer than the gap between two steps of a stage, shorter than a time slice */
    SPINS_PER_LOOK = 64,
    SPINS_BEFORE_YIELD = 1024,
    MAX_WORKERS = 4096
};

struct sc_team {
    _Atomic uint64_t state;
    _Atomic(sc_part_fn *) fn;
    _Atomic(void *) arg;
    _Atomic int64_t first_part; /* of this loop's window of at most LEFT_MASK parts */
    _Atomic uint32_t n_window;
    char apart[64]; /* n_done is written by all: not on the line that waiting workers read */
    _Atomic uint32_t n_done;
    _Atomic int n_sleeping;
    _Atomic bool stop;
    void (*progress)(void *arg);
    void *progress_arg;
    struct sc_relief *relief; /* NULL: nothing has needed it yet */
    bool relieved; /* it works; changes only while it does not */
    void (*on_start)(void *arg, int worker);
    void *on_start_arg;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a loop began, or stop */
    pthread_cond_t ready; /* n_ready grew */
    int n_ready;
    int n_workers;
    struct worker *workers; /* n_workers; [0] is the caller and has no thread */
};

struct worker {
    struct sc_team *team;
    pthread_t thread;
    int index;
};

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool take_part(struct sc_team *team, sc_part_fn **fn, void **arg, int64_t *part)
{
    uint64_t state = atomic_load_explicit(&team->state, memory_order_acquire);
    while ((state & LEFT_MASK) != 0) {
        *fn = atomic_load_explicit(&team->fn, memory_order_relaxed);
        *arg = atomic_load_explicit(&team->arg, memory_order_relaxed);
        const int64_t first = atomic_load_explicit(&team->first_part, memory_order_relaxed);
        const uint32_t n = atomic_load_explicit(&team->n_window, memory_order_relaxed);
        *part = first + (int64_t)(n - (uint32_t)(state & LEFT_MASK));
        if (atomic_compare_exchange_weak_explicit(
                &team->state, &state, state - 1, memory_order_acq_rel, memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

static void end_part(struct sc_team *team)
{
    (void)atomic_fetch_add_explicit(&team->n_done, 1, memory_order_acq_rel);
}

static bool has_work(const struct sc_team *team)
{
    return (atomic_load(&team->state) & LEFT_MASK) != 0 || atomic_load(&team->stop);
}

static bool spin_for_work(const struct sc_team *team)
{
    const int64_t until = sc_clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (has_work(team)) {
                return true;
            }
            pause_cpu();
        }
    } while (sc_clock_ns() < until);
    return false;
}

/* n_sleeping is raised before the last look at state, and sc_team_for sets state before it looks at n_sleeping: one of
 * the two sees the other. */
static void sleep_for_work(struct sc_team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    (void)atomic_fetch_add(&team->n_sleeping, 1);
    while (!has_work(team)) {
        (void)pthread_cond_wait(&team->wake, &team->lock);
    }
    (void)atomic_fetch_sub(&team->n_sleeping, 1);
    (void)pthread_mutex_unlock(&team->lock);
}

static void *run_worker(void *arg)
{
    struct worker *const self = arg;
    struct sc_team *const team = self->team;
    if (team->on_start != NULL) {
        team->on_start(team->on_start_arg, self->index);
    }
    (void)pthread_mutex_lock(&team->lock);
    team->n_ready++;
    (void)pthread_cond_signal(&team->ready);
    (void)pthread_mutex_unlock(&team->lock);
    while (!atomic_load(&team->stop)) {
        sc_part_fn *fn;
        void *fn_arg;
        int64_t part;
        if (take_part(team, &fn, &fn_arg, &part)) {
            fn(fn_arg, part, self->index);
            end_part(team);
        } else if (!spin_for_work(team)) {
            sleep_for_work(team);
        }
    }
    return NULL;
}

static void stop_workers(struct sc_team *team, int n_started)
{
    (void)pthread_mutex_lock(&team->lock);
    atomic_store(&team->stop, true);
    (void)pthread_cond_broadcast(&team->wake);
    (void)pthread_mutex_unlock(&team->lock);
    for (int i = 1; i < n_started; i++) {
        (void)pthread_join(team->workers[i].thread, NULL);
    }
}

/* Signals are for the thread that called: workers start with all of them blocked. */
static enum sc_status start_workers(struct sc_team *team)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int n_started = 1;
    int cause = 0;
    for (; n_started < team->n_workers; n_started++) {
        struct worker *const worker = &team->workers[n_started];
        *worker = (struct worker){.team = team, .index = n_started};
        cause = pthread_create(&worker->thread, NULL, run_worker, worker);
        if (cause != 0) {
            break;
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cause != 0) {
        stop_workers(team, n_started);
        return sc_fail(SC_NO_MEMORY, "cannot start thread %d of %d: %s", n_started, team->n_workers, strerror(cause));
    }
    (void)pthread_mutex_lock(&team->lock);
    while (team->n_ready < team->n_workers - 1) {
        (void)pthread_cond_wait(&team->ready, &team->lock);
    }
    (void)pthread_mutex_unlock(&team->lock);
    return SC_OK;
}

static void team_destroy(struct sc_team *team)
{
    (void)pthread_cond_destroy(&team->ready);
    (void)pthread_cond_destroy(&team->wake);
    (void)pthread_mutex_destroy(&team->lock);
    free(team->workers);
    free(team);
}

enum sc_status sc_team_create(const struct sc_team_options *options, struct sc_team **team)
{
    const int n = options->n_workers;
    if (n < 1 || n > MAX_WORKERS) {
        return sc_fail(SC_BAD_USAGE, "%d threads wanted, want 1 to %d", n, MAX_WORKERS);
    }
    struct sc_team *const made = calloc(1, sizeof *made);
    struct worker *const workers = calloc((size_t)n, sizeof *workers);
    if (made == NULL || workers == NULL) {
        free(made);
        free(workers);
        return sc_fail(SC_NO_MEMORY, "out of memory: a team of %d threads", n);
    }
    made->n_workers = n;
    made->workers = workers;
    made->on_start = options->on_start;
    made->on_start_arg = options->on_start_arg;
    /* With default attributes these fail on no system that has threads. */
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->wake, NULL);
    (void)pthread_cond_init(&made->ready, NULL);
    if (made->on_start != NULL) {
        made->on_start(made->on_start_arg, 0);
    }
    const enum sc_status status = start_workers(made);
    if (status != SC_OK) {
        team_destroy(made);
        return status;
    }
    *team = made;
    return SC_OK;
}

void sc_team_free(struct sc_team *team)
{
    if (team != NULL) {
        sc_relief_free(team->relief);
        stop_workers(team, team->n_workers);
        team_destroy(team);
    }
}

int sc_team_size(const struct sc_team *team)
{
    return team == NULL ? 1 : team->n_workers;
}

void sc_team_make_progress(const struct sc_team *team)
{
    if (team != NULL && team->progress != NULL && !team->relieved) {
        team->progress(team->progress_arg);
    }
}

enum sc_status sc_team_relieve(struct sc_team *team, enum sc_status (*fn)(void *arg), void *arg)
{
    if (team == NULL || team->progress == NULL || team->relieved ||
        (team->relief == NULL && sc_relief_create(&team->relief) != SC_OK)) {
        return fn(arg);
    }
    team->relieved = true;
    const enum sc_status status = sc_relief_run(team->relief, fn, arg, team->progress, team->progress_arg);
    team->relieved = false;
    return status;
}

static void run_alone(const struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg)
{
    for (int64_t part = 0; part < n_parts; part++) {
        if (part != 0) {
            sc_team_make_progress(team);
        }
        fn(arg, part, 0);
    }
}

static void wake_sleepers(struct sc_team *team, uint32_t n_parts)
{
    const int n_sleeping = atomic_load(&team->n_sleeping);
    if (n_sleeping == 0) {
        return;
    }
    (void)pthread_mutex_lock(&team->lock);
    if (n_parts > (uint32_t)n_sleeping) {
        (void)pthread_cond_broadcast(&team->wake);
    } else {
        /* Worker 0 takes a part itself. */
        for (uint32_t i = 1; i < n_parts; i++) {
            (void)pthread_cond_signal(&team->wake);
        }
    }
    (void)pthread_mutex_unlock(&team->lock);
}

static void run_window(struct sc_team *team, int64_t first, uint32_t n, sc_part_fn *fn, void *arg)
{
    atomic_store_explicit(&team->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&team->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&team->first_part, first, memory_order_relaxed);
    atomic_store_explicit(&team->n_window, n, memory_order_relaxed);
    atomic_store_explicit(&team->n_done, 0, memory_order_relaxed);
    const uint64_t generation = (atomic_load_explicit(&team->state, memory_order_relaxed) >> 32) + 1;
    atomic_store(&team->state, generation << 32 | n);
    wake_sleepers(team, n);
    sc_part_fn *taken_fn;
    void *taken_arg;
    int64_t part;
    while (take_part(team, &taken_fn, &taken_arg, &part)) {
        taken_fn(taken_arg, part, 0);
        end_part(team);
        sc_team_make_progress(team);
    }
    for (int spins = 0; atomic_load_explicit(&team->n_done, memory_order_acquire) != n; spins++) {
        sc_team_make_progress(team);
        if (spins < SPINS_BEFORE_YIELD) {
            pause_cpu();
        } else {
            (void)sched_yield(); /* the worker that we wait for may want this CPU */
        }
    }
}

void sc_team_for(struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg)
{
    if (n_parts <= 1 || sc_team_size(team) == 1) {
        run_alone(team, n_parts, fn, arg);
        return;
    }
    for (int64_t first = 0; first < n_parts; first += LEFT_MASK) {
        const int64_t n_left = n_parts - first;
        run_window(team, first, n_left < (int64_t)LEFT_MASK ? (uint32_t)n_left : LEFT_MASK, fn, arg);
    }
}

void sc_team_set_progress(struct sc_team *team, void (*progress)(void *arg), void *arg)
{
    if (team != NULL) {
        team->progress = progress;
        team->progress_arg = arg;
    }
}
