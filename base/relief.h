/* SPDX-License-Identifier: Apache-2.0
 * A thread that does long work in its caller's place, who looks after other things meanwhile. */
#ifndef SC_BASE_RELIEF_H
#define SC_BASE_RELIEF_H

#include "base/error.h"

/* The thread sleeps between works. It inherits CPUs, memory policy and rounding of the thread that creates it. */
struct sc_relief;

enum sc_status sc_relief_create(struct sc_relief **relief);
void sc_relief_free(struct sc_relief *relief); /* safe on NULL */

/* Runs fn(arg) there; its status and error are the caller's when this returns. Meanwhile `look` is called here, about
 * every half millisecond in which the work used its CPU: work that is stuck shall not look alive. */
enum sc_status sc_relief_run(
    struct sc_relief *relief, enum sc_status (*fn)(void *arg), void *arg, void (*look)(void *arg), void *look_arg);

#endif
