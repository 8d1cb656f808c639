/* SPDX-License-Identifier: Apache-2.0
 * A bounded queue between one producer and one consumer, in memory that both see, perhaps in two processes. */
#ifndef SC_COMM_RING_H
#define SC_COMM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/link.h"

/* What a link over shared memory says of a message: where its buffer lies in the file of the sender. */
struct sc_ring_entry {
    uint64_t offset, capacity; /* of the buffer's place, its header included */
    uint64_t bytes; /* of the message */
    uint32_t slot; /* the buffer's number in the sender's pool */
    uint32_t zero;
};

/* Zeros are an empty ring. put and take neither lock nor wait. What the producer wrote anywhere before it put is seen
 * by the consumer after it took, and what the consumer did before it took by a producer that found the place free. Both
 * are totally ordered with other sequentially consistent operations: "put, then look at a flag" meets "set the flag,
 * then take", one of the two sees the other. */
struct sc_ring {
    _Alignas(64) _Atomic uint32_t tail; /* entries put; the producer's */
    _Alignas(64) _Atomic uint32_t head; /* entries taken; the consumer's */
    _Alignas(64) struct sc_ring_entry entries[SC_LINK_BUFFERS];
};

bool sc_ring_put(struct sc_ring *ring, const struct sc_ring_entry *entry); /* false: full */
bool sc_ring_take(struct sc_ring *ring, struct sc_ring_entry *entry); /* false: empty */

#endif
