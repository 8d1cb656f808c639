/* SPDX-License-Identifier: Apache-2.0
 * A thin layer over pthreads, so that only base/ includes them. Lock calls that fail are our own mistakes: asserted. */
#include "base/lock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sc_lock {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
};

struct sc_thread {
    pthread_t id;
    void (*fn)(void *arg);
    void *arg;
};

static void *thread_main(void *arg)
{
    const struct sc_thread *thread = arg;
    thread->fn(thread->arg);
    return NULL;
}

static void must(int result)
{
    assert(result == 0);
    (void)result;
}

enum sc_status sc_lock_create(struct sc_lock **lock)
{
    struct sc_lock *made = malloc(sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a lock");
    }
    if (pthread_mutex_init(&made->mutex, NULL) != 0) {
        free(made);
        return sc_fail(SC_NO_MEMORY, "cannot create a mutex");
    }
    if (pthread_cond_init(&made->condition, NULL) != 0) {
        must(pthread_mutex_destroy(&made->mutex));
        free(made);
        return sc_fail(SC_NO_MEMORY, "cannot create a condition");
    }
    *lock = made;
    return SC_OK;
}

void sc_lock_free(struct sc_lock *lock)
{
    if (lock) {
        must(pthread_cond_destroy(&lock->condition));
        must(pthread_mutex_destroy(&lock->mutex));
        free(lock);
    }
}

void sc_lock_enter(struct sc_lock *lock)
{
    must(pthread_mutex_lock(&lock->mutex));
}

void sc_lock_leave(struct sc_lock *lock)
{
    must(pthread_mutex_unlock(&lock->mutex));
}

void sc_lock_wait(struct sc_lock *lock)
{
    must(pthread_cond_wait(&lock->condition, &lock->mutex));
}

void sc_lock_wake(struct sc_lock *lock)
{
    must(pthread_cond_broadcast(&lock->condition));
}

enum sc_status sc_thread_start(void (*fn)(void *arg), void *arg, struct sc_thread **thread)
{
    struct sc_thread *made = malloc(sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a thread");
    }
    *made = (struct sc_thread){.fn = fn, .arg = arg};
    const int result = pthread_create(&made->id, NULL, thread_main, made);
    if (result != 0) {
        free(made);
        return sc_fail(SC_NO_MEMORY, "cannot start a thread: %s", strerror(result));
    }
    *thread = made;
    return SC_OK;
}

void sc_thread_join(struct sc_thread *thread)
{
    must(pthread_join(thread->id, NULL));
    free(thread);
}

_Noreturn void sc_thread_exit(void)
{
    pthread_exit(NULL);
}
