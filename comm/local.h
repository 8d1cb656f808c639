/* SPDX-License-Identifier: Apache-2.0
 * The in-process job: what its ranks, which are threads, share. For world_local.c and link_local.c. */
#ifndef SC_COMM_LOCAL_H
#define SC_COMM_LOCAL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "comm/pool.h"
#include "comm/world_table.h"

/* Messages from one rank to another. The lock guards all of it but the data of taken buffers, which belong to who took
 * them: the sender until it sends, the receiver from its poll to its give_back. */
struct sc_mailbox {
    struct sc_lock *lock;
    struct sc_pool pool;
    struct sc_queue sent;
};

/* Freed with the last of its ranks. `failed` and `left` are written under the lock and read without it. */
struct sc_job {
    struct sc_lock *lock;
    int size;
    int n_alive; /* worlds not freed yet */
    struct sc_mailbox *mailboxes; /* [from * size + to] */
    _Atomic int failed; /* rank + 1 of the one that called abort; 0: none */
    _Atomic bool *left; /* by rank: its world was freed */
    int n_left;

    /* the collective under way */
    int n_arrived;
    long generation; /* counts barriers that were passed */
    const void *source; /* rank 0's data of a broadcast */
    char *target; /* rank 0's memory of a gather */
    size_t bytes;
};

enum sc_status sc_link_local_create(struct sc_job *job, int rank, int peer, struct sc_link **link);

/* SC_PEER when some rank has aborted the job. */
enum sc_status sc_job_check(struct sc_job *job);

#endif
