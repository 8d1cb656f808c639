/* SPDX-License-Identifier: Apache-2.0
 * A link to one peer: messages in order, never blocking. */
#ifndef SC_COMM_LINK_H
#define SC_COMM_LINK_H

#include <stdbool.h>

#include "base/error.h"

#define SC_LINK_BUFFERS 256
#define SC_LINK_ALIGNMENT 64 /* of data */

/* Messages are whole: a fixed header (comm/wire.h), then payload, in one buffer that the link owns.
 *
 *   sender:    reserve ──► fill ──► send            (buffer NULL: none is free now, poll and try again)
 *   receiver:  poll ──► read in place ──► give_back (data NULL: nothing came)
 *
 * Buffers come from a pool that grows to its bound during warm-up and is then fixed: steady traffic allocates nothing.
 * At most SC_LINK_BUFFERS messages are on their way or not yet given back; at least half of that is always possible.
 * A receiver that holds more than half of them moves what it holds out of the buffers: then the sender always gets one
 * in time, however many messages wait.
 * Messages may be given back in any order. A buffer may be sent with fewer bytes than were reserved.
 * Messages of one link arrive in the order they were sent. Over 1 GiB they travel in pieces, unseen here.
 * A link belongs to the thread that drives its world. */
struct sc_link {
    const struct sc_link_table *table;
    int peer;
    int n_held; /* buffers that were shown and not given back */
};

struct sc_received {
    const void *data; /* aligned to 64 */
    size_t bytes;
    void *handle; /* the link's own */
    void *copy; /* where it was moved to; NULL: it lies in its buffer */
};

struct sc_link_table {
    const char *name; /* "mpi", "local", "self" */
    enum sc_status (*reserve)(struct sc_link *link, size_t bytes, void **buffer);
    enum sc_status (*send)(struct sc_link *link, void *buffer, size_t bytes);
    enum sc_status (*poll)(struct sc_link *link, struct sc_received *received);
    void (*give_back)(struct sc_link *link, struct sc_received *received);
    bool (*idle)(struct sc_link *link); /* everything that was sent has left */
    size_t (*bytes)(struct sc_link *link);
};

enum sc_status sc_link_reserve(struct sc_link *link, size_t bytes, void **buffer);
enum sc_status sc_link_send(struct sc_link *link, void *buffer, size_t bytes);
enum sc_status sc_link_poll(struct sc_link *link, struct sc_received *received);
void sc_link_give_back(struct sc_link *link, struct sc_received *received);

/* The message moves to memory that giving it back frees, and its buffer goes back now. */
enum sc_status sc_link_move_out(struct sc_link *link, struct sc_received *received);

bool sc_link_idle(struct sc_link *link);
size_t sc_link_bytes(struct sc_link *link); /* of this side's buffers */

#endif
