/* SPDX-License-Identifier: Apache-2.0
 * Threads, and a lock on which they can wait: what code outside base/ sees of pthreads. */
#ifndef SC_BASE_LOCK_H
#define SC_BASE_LOCK_H

#include "base/error.h"

/* A mutex with one condition: enter, look, wait while it is not as wished, leave. wait gives the lock up while it
 * sleeps and may wake without cause, so it belongs in a loop. */
struct sc_lock;

enum sc_status sc_lock_create(struct sc_lock **lock);
void sc_lock_free(struct sc_lock *lock); /* safe on NULL; nobody holds it or waits */
void sc_lock_enter(struct sc_lock *lock);
void sc_lock_leave(struct sc_lock *lock);
void sc_lock_wait(struct sc_lock *lock);
void sc_lock_wake(struct sc_lock *lock); /* all who wait */

struct sc_thread;

/* Runs fn(arg) in a thread of its own; join waits for its end and frees it. */
enum sc_status sc_thread_start(void (*fn)(void *arg), void *arg, struct sc_thread **thread);
void sc_thread_join(struct sc_thread *thread);

/* Ends the calling thread only. */
_Noreturn void sc_thread_exit(void);

#endif
