/* SPDX-License-Identifier: Apache-2.0
 * What the kinds of world have in common; for the files of comm/ alone. */
#ifndef SC_COMM_WORLD_TABLE_H
#define SC_COMM_WORLD_TABLE_H

#include "comm/world.h"

/* The first member of each kind's own struct. */
struct sc_world {
    const struct sc_world_table *table;
    int rank, size;
    int local_rank, n_local;
    int seat, n_seats; /* among the job's processes on this host; n_seats 0: the same as local */
    struct sc_link **links; /* by peer; NULL where none was asked for yet */
    struct sc_error *errors; /* rank 0: what sc_world_agree gathers, one per rank */

    /* waiting */
    struct sc_shared *node; /* rings this rank's bell for messages from its own node; NULL: there is no bell */
    bool bell_tells_all; /* no message comes without it */
    uint32_t bell; /* as it was when the last pause ended: what came before has been looked for since */
    int64_t idle_since_ns, spin_until_ns; /* of this wait */
    int64_t waited_ns; /* by the last pause: so long did this wait take, or the one before */
    int64_t rhythm_ns; /* of the last long wait */
    bool roomy; /* a wait that spins takes the core from nobody; else none does */

    struct sc_pulse *pulse; /* NULL: nobody watches */
};

struct sc_world_table {
    const char *name; /* "mpi", "local", "single" */
    void (*free)(struct sc_world *world); /* its links and itself; not `links` and `errors` */
    enum sc_status (*broadcast)(struct sc_world *world, void *data, size_t bytes);
    enum sc_status (*gather)(struct sc_world *world, const void *mine, size_t bytes, void *all);
    enum sc_status (*link)(struct sc_world *world, int peer, struct sc_link **link); /* makes it */
    void (*progress)(struct sc_world *world);
    enum sc_status (*watch)(struct sc_world *world); /* sets `pulse`; NULL: there is nobody to watch */
    void (*beat)(struct sc_world *world, bool now); /* heartbeats over MPI, when it is time or now; NULL: none */
    void (*abort)(struct sc_world *world, int exit_code); /* does not return */
};

/* Fills the common part; alone on its host. What it allocates, sc_world_release frees; safe on zeros. */
enum sc_status sc_world_init(struct sc_world *world, const struct sc_world_table *table, int rank, int size);
void sc_world_release(struct sc_world *world);

/* sc_world_pause, where other things than messages are waited for too: they ring no bell. */
void sc_world_pause_polling(struct sc_world *world, int64_t idle_calls);

/* A link of a rank to itself: what is sent is received, without a copy. */
enum sc_status sc_link_self_create(int rank, struct sc_link **link);
void sc_link_self_free(struct sc_link *link);

/* Over MPI: messages and broadcasts of more than `bytes` travel in pieces of that size (1 GiB unless set). For tests;
 * the same on all ranks, before any traffic. */
void sc_world_mpi_set_piece(struct sc_world *world, size_t bytes);

#endif
