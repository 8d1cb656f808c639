/* SPDX-License-Identifier: Apache-2.0
 * Memory that the ranks of one node share: a box of each rank. */
#ifndef SC_COMM_SHARED_H
#define SC_COMM_SHARED_H

#include "comm/pulse.h"
#include "comm/ring.h"

#define SC_SHARED_CPUS 1024

/* The way from one rank to another: full buffers go by `sent`, empty ones come back by `back`. */
struct sc_channel {
    struct sc_ring sent, back;
    _Atomic uint32_t starved; /* the sender waits for a buffer: wake it */
};

enum sc_shared_links { SC_LINKS_MPI, SC_LINKS_ANY, SC_LINKS_SHM };

/* By this the others find a rank's box. */
struct sc_shared_ticket {
    int64_t pid;
    uint64_t nonce; /* the same in the box: the pid was seen in the same namespace */
    int32_t fd;
    int32_t rank; /* in the world; the caller's, as `links` */
    int32_t links; /* what this rank wants: enum sc_shared_links */
    uint64_t cpus[SC_SHARED_CPUS / 64]; /* that this rank may run on */
};

/* A box is an anonymous file of one rank. Its head holds the rank's bell and its channels to every other rank of the
 * node; behind it lie the buffers of its messages, made as they are needed. No file has a name, so nothing is left
 * behind however a rank ends. Ranks are numbered by their place on the node.
 *
 *   create ──► exchange tickets ──► join ──► channels, bell, buffers ──► free (safe on NULL)
 *
 * Linux only: elsewhere create fails. A node belongs to the thread that drives its world, heartbeats excepted. */
struct sc_shared;

enum sc_status sc_shared_create(int place, int n, struct sc_shared **node, struct sc_shared_ticket *ticket);
enum sc_status sc_shared_join(struct sc_shared *node, const struct sc_shared_ticket *tickets);
void sc_shared_free(struct sc_shared *node);
struct sc_shared *sc_shared_keep(struct sc_shared *node); /* one more free before it goes; NULL for NULL */

/* Fills cpus, also for ranks that share no memory. */
void sc_shared_find_cpus(struct sc_shared_ticket *ticket);

/* As many cores as ranks, at least: a rank that spins takes the core from nobody. */
bool sc_shared_roomy(const struct sc_shared_ticket *tickets, int n);

struct sc_channel *sc_shared_out(struct sc_shared *node, int peer);
struct sc_channel *sc_shared_in(struct sc_shared *node, int peer);

/* The bell counts what others did for this rank. Look at it, then look for work; sleep returns at once when the bell is
 * no longer `seen`, else when it rings or after `ns`. Spurious returns happen. */
uint32_t sc_shared_bell(const struct sc_shared *node);
void sc_shared_sleep(struct sc_shared *node, uint32_t seen, int64_t ns);
void sc_shared_ring(struct sc_shared *node, int peer); /* after publishing */

/* This rank's heartbeat, for the rank after it; and the one of the rank before it: false when it is alone. From any
 * thread, but one at a time. */
void sc_shared_beat(struct sc_shared *node, const struct sc_beat *beat);
bool sc_shared_heard(struct sc_shared *node, int64_t *count, struct sc_beat *beat);

/* Fresh zeroed memory at the end of this rank's box, in whole pages; it takes none until it is written. NULL: there is
 * no more. drop gives its pages back, when nobody needs what is in it; unmap leaves them to those who map them. */
void *sc_shared_extend(struct sc_shared *node, size_t bytes, uint64_t *offset);
void sc_shared_drop(void *memory, size_t bytes);
void sc_shared_unmap(const void *memory, size_t bytes);

/* Part of a peer's box, to read. Fails with SC_PEER when it is not in the box. */
enum sc_status sc_shared_view(struct sc_shared *node, int peer, uint64_t offset, uint64_t bytes, const void **memory);

#endif
