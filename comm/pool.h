/* SPDX-License-Identifier: Apache-2.0
 * Message buffers of one direction of a link: a bounded set, made on demand and then used again and again. */
#ifndef SC_COMM_POOL_H
#define SC_COMM_POOL_H

#include <stdbool.h>

#include "base/error.h"
#include "comm/link.h"

#define SC_BUFFER_HEADER 64 /* a multiple of the alignment of data */

/* A buffer's header lies in front of its data, in one allocation.
 *
 *   free ── take ──► taken ── (queued, travelling, shown) ── give ──► free
 *
 * When no free buffer is large enough, a few more are made, or, at the bound, a free one is replaced by a larger one:
 * so allocations end once the sizes of the traffic are known. A pool has no lock. Zeros are an empty pool on the heap;
 * release frees every buffer, taken or not. */
struct sc_buffer {
    struct sc_buffer *next; /* in the queue it waits in */
    size_t capacity;
    size_t bytes; /* of the message in it */
    size_t ready_bytes; /* of which have arrived, or have been handed on */
    uint64_t offset; /* where it lies in what its source made it of */
    int slot; /* its place in the pool */
    bool is_free;
};

/* Where buffers lie, when not on the heap: header and data together, aligned to 64. */
struct sc_pool_source {
    void *(*make)(void *arg, size_t bytes, uint64_t *offset); /* NULL: no memory */
    void (*drop)(void *arg, void *memory, size_t bytes); /* a free one, replaced by a larger */
    void *arg;
};

struct sc_pool {
    struct sc_buffer *buffers[SC_LINK_BUFFERS];
    int n_buffers;
    int last; /* the slot that was taken last */
    const struct sc_pool_source *source; /* NULL: the heap */
};

/* First in, first out. Zeros: empty. */
struct sc_queue {
    struct sc_buffer *first, *last;
};

/* *buffer is NULL when all are taken. Fails only with SC_NO_MEMORY. */
enum sc_status sc_pool_take(struct sc_pool *pool, size_t bytes, struct sc_buffer **buffer);
bool sc_pool_full(const struct sc_pool *pool); /* sc_pool_take would give NULL */
void sc_pool_give(struct sc_buffer *buffer);
void sc_pool_release(struct sc_pool *pool); /* not for one with a source, whose memory is its own affair */
size_t sc_pool_bytes(const struct sc_pool *pool); /* of all its buffers */

size_t sc_buffer_all(const struct sc_buffer *buffer); /* bytes of header and data */
void *sc_buffer_data(struct sc_buffer *buffer);
struct sc_buffer *sc_buffer_of(void *data); /* the inverse */

void sc_queue_add(struct sc_queue *queue, struct sc_buffer *buffer);
struct sc_buffer *sc_queue_take(struct sc_queue *queue); /* NULL: empty */

#endif
