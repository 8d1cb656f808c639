/* SPDX-License-Identifier: Apache-2.0
 * Memory that the ranks of one node share: a box of each rank. */
#ifndef SC_COMM_NODE_H
#define SC_COMM_NODE_H

#include "comm/ring.h"

#define SC_NODE_CPUS 1024

/* The way from one rank to another: full buffers go by `sent`, empty ones come back by `back`. */
struct sc_channel {
    struct sc_ring sent, back;
    _Atomic uint32_t starved; /* the sender waits for a buffer: wake it */
};

enum sc_node_links { SC_LINKS_MPI, SC_LINKS_ANY, SC_LINKS_SHM };

/* By this the others find a rank's box. */
struct sc_node_ticket {
    int64_t pid;
    uint64_t nonce; /* the same in the box: the pid was seen in the same namespace */
    int32_t fd;
    int32_t rank; /* in the world; the caller's, as `links` */
    int32_t links; /* what this rank wants: enum sc_node_links */
    uint64_t cpus[SC_NODE_CPUS / 64]; /* that this rank may run on */
};

/* A box is an anonymous file of one rank. Its head holds the rank's bell and its channels to every other rank of the
 * node; behind it lie the buffers of its messages, made as they are needed. No file has a name, so nothing is left
 * behind however a rank ends. Ranks are numbered by their place on the node.
 *
 *   create ──► exchange tickets ──► join ──► channels, bell, buffers ──► free (safe on NULL)
 *
 * Linux only: elsewhere create fails. A node belongs to the thread that drives its world. */
struct sc_node;

enum sc_status sc_node_create(int place, int n, struct sc_node **node, struct sc_node_ticket *ticket);
enum sc_status sc_node_join(struct sc_node *node, const struct sc_node_ticket *tickets);
void sc_node_free(struct sc_node *node);

/* As many cores as ranks, at least: a rank that spins takes the core from nobody. */
bool sc_node_roomy(const struct sc_node_ticket *tickets, int n);

struct sc_channel *sc_node_out(struct sc_node *node, int peer);
struct sc_channel *sc_node_in(struct sc_node *node, int peer);

/* The bell counts what others did for this rank. Look at it, then look for work; sleep returns at once when the bell is
 * no longer `seen`, else when it rings or after `ns`. Spurious returns happen. */
uint32_t sc_node_bell(const struct sc_node *node);
void sc_node_sleep(struct sc_node *node, uint32_t seen, int64_t ns);
void sc_node_ring(struct sc_node *node, int peer); /* after publishing */

/* Fresh zeroed memory at the end of this rank's box, in whole pages; it takes none until it is written. NULL: there is
 * no more. drop gives its pages back, when nobody needs what is in it; unmap leaves them to those who map them. */
void *sc_node_extend(struct sc_node *node, size_t bytes, uint64_t *offset);
void sc_node_drop(void *memory, size_t bytes);
void sc_node_unmap(const void *memory, size_t bytes);

/* Part of a peer's box, to read. Fails with SC_PEER when it is not in the box. */
enum sc_status sc_node_view(struct sc_node *node, int peer, uint64_t offset, uint64_t bytes, const void **memory);

#endif
