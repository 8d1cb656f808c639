/* SPDX-License-Identifier: Apache-2.0
 * What the environment says about who started this process. */
#ifndef SC_COMM_LAUNCHER_H
#define SC_COMM_LAUNCHER_H

#include <stdbool.h>

struct sc_launcher {
    const char *name; /* "Open MPI", ... */
    const char *variable; /* the one that told */
    int size; /* ranks that it started; 0: not said */
};

/* False when no launcher shows. Pure: it reads the environment only. */
bool sc_launcher_find(struct sc_launcher *launcher);

/* This process's place among all that were started on this host, as the environment says it. False: it does not. */
bool sc_launcher_seat(int *seat, int *n_seats);

#endif
