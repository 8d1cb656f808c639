/* SPDX-License-Identifier: Apache-2.0
 * The caller sleeps on a condition with a limit, so that thread and caller can share one CPU. */
#include "base/relief.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 500000
#define SECOND_NS 1000000000

struct sc_relief {
    pthread_t thread;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t given, done;
    enum sc_status (*fn)(void *arg); /* NULL: no work */
    void *arg;
    enum sc_status status;
    struct sc_error error; /* where status is not SC_OK */
    bool stop;
};

static void *run_works(void *arg)
{
    struct sc_relief *relief = arg;
    (void)pthread_mutex_lock(&relief->lock);
    while (!relief->stop) {
        if (!relief->fn) {
            (void)pthread_cond_wait(&relief->given, &relief->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&relief->lock);
        relief->status = relief->fn(relief->arg); /* the caller reads it only after `fn` is NULL again */
        if (relief->status != SC_OK) {
            relief->error = *sc_error_last();
        }
        (void)pthread_mutex_lock(&relief->lock);
        relief->fn = NULL;
        (void)pthread_cond_signal(&relief->done);
    }
    (void)pthread_mutex_unlock(&relief->lock);
    return NULL;
}

static void destroy(struct sc_relief *relief)
{
    (void)pthread_cond_destroy(&relief->done);
    (void)pthread_cond_destroy(&relief->given);
    (void)pthread_mutex_destroy(&relief->lock);
    free(relief);
}

enum sc_status sc_relief_create(struct sc_relief **relief)
{
    struct sc_relief *made = calloc(1, sizeof *made);
    pthread_condattr_t monotonic;
    sigset_t all, before;
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a thread");
    }
    /* With these attributes they fail on no system that has threads. */
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->done, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_cond_init(&made->given, NULL);
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)sigfillset(&all); /* signals are for the thread that called */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int cause = pthread_create(&made->thread, NULL, run_works, made);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cause != 0) {
        destroy(made);
        return sc_fail(SC_NO_MEMORY, "cannot start a thread: %s", strerror(cause));
    }
    *relief = made;
    return SC_OK;
}

void sc_relief_free(struct sc_relief *relief)
{
    if (!relief) {
        return;
    }
    (void)pthread_mutex_lock(&relief->lock);
    relief->stop = true;
    (void)pthread_cond_signal(&relief->given);
    (void)pthread_mutex_unlock(&relief->lock);
    (void)pthread_join(relief->thread, NULL);
    destroy(relief);
}

/* CPU time of the thread; 0 where it cannot be known. */
static int64_t used_ns(const struct sc_relief *relief)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(relief->thread, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (int64_t)used.tv_sec * SECOND_NS + used.tv_nsec;
}

/* Holding the lock: sleeps until the work is done, for LOOK_NS at most. */
static void sleep_some(struct sc_relief *relief)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    if (until.tv_nsec >= SECOND_NS) {
        until.tv_nsec -= SECOND_NS;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&relief->done, &relief->lock, &until);
}

enum sc_status sc_relief_run(
    struct sc_relief *relief, enum sc_status (*fn)(void *arg), void *arg, void (*look)(void *arg), void *look_arg)
{
    int64_t seen_ns = 0;
    (void)pthread_mutex_lock(&relief->lock);
    relief->fn = fn;
    relief->arg = arg;
    (void)pthread_cond_signal(&relief->given);
    for (sleep_some(relief); relief->fn; sleep_some(relief)) {
        (void)pthread_mutex_unlock(&relief->lock);
        const int64_t now_ns = used_ns(relief);
        if (now_ns == 0 || now_ns != seen_ns) {
            look(look_arg);
        }
        seen_ns = now_ns;
        (void)pthread_mutex_lock(&relief->lock);
    }
    (void)pthread_mutex_unlock(&relief->lock);
    return relief->status == SC_OK ? SC_OK : sc_error_set(&relief->error);
}
