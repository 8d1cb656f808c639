/* SPDX-License-Identifier: Apache-2.0
 * At most SC_LINK_BUFFERS entries, so every look-up is a short scan. Capacities are powers of two: a buffer is replaced
 * only a few times in its life, and pages that are never written cost nothing. */
#include "comm/pool.h"

#include <assert.h>
#include <stdlib.h>

#define HEADER 64 /* a multiple of the alignment of data */

_Static_assert(sizeof(struct sc_buffer) <= HEADER, "a buffer's header fits before its data");

static size_t capacity_for(size_t bytes)
{
    size_t capacity = 4096;
    while (capacity < bytes && capacity < SIZE_MAX / 4) {
        capacity *= 2;
    }
    return capacity < bytes ? bytes : capacity;
}

static struct sc_buffer *make(size_t bytes)
{
    const size_t capacity = capacity_for(bytes);
    if (capacity > SIZE_MAX - HEADER * 2) {
        return NULL;
    }
    void *memory = NULL;
    if (posix_memalign(&memory, HEADER, HEADER + capacity) != 0) {
        return NULL;
    }
    struct sc_buffer *buffer = memory;
    *buffer = (struct sc_buffer){.capacity = capacity, .is_free = true};
    return buffer;
}

/* The slot of the smallest free buffer that fits, else of the largest free one, else -1. */
static int find_free(const struct sc_pool *pool, size_t bytes)
{
    int best = -1;
    for (int i = 0; i < pool->n_buffers; i++) {
        const struct sc_buffer *buffer = pool->buffers[i];
        if (!buffer->is_free) {
            continue;
        }
        if (best < 0) {
            best = i;
            continue;
        }
        const size_t held = pool->buffers[best]->capacity;
        const bool better =
            held < bytes ? buffer->capacity > held : buffer->capacity >= bytes && buffer->capacity < held;
        if (better) {
            best = i;
        }
    }
    return best;
}

enum sc_status sc_pool_take(struct sc_pool *pool, size_t bytes, struct sc_buffer **buffer)
{
    int slot = find_free(pool, bytes);
    const bool fits = slot >= 0 && pool->buffers[slot]->capacity >= bytes;
    if (!fits) {
        if (slot < 0 && pool->n_buffers == SC_LINK_BUFFERS) {
            *buffer = NULL;
            return SC_OK;
        }
        struct sc_buffer *made = make(bytes);
        if (!made) {
            return sc_fail(SC_NO_MEMORY, "out of memory for a message of %zu bytes", bytes);
        }
        if (pool->n_buffers < SC_LINK_BUFFERS) {
            slot = pool->n_buffers++;
        } else {
            free(pool->buffers[slot]);
        }
        pool->buffers[slot] = made;
    }
    struct sc_buffer *taken = pool->buffers[slot];
    taken->is_free = false;
    taken->bytes = bytes;
    taken->ready_bytes = 0;
    taken->slot = slot;
    *buffer = taken;
    return SC_OK;
}

bool sc_pool_full(const struct sc_pool *pool)
{
    return pool->n_buffers == SC_LINK_BUFFERS && find_free(pool, 0) < 0;
}

void sc_pool_give(struct sc_buffer *buffer)
{
    assert(!buffer->is_free);
    buffer->is_free = true;
}

void sc_pool_release(struct sc_pool *pool)
{
    for (int i = 0; i < pool->n_buffers; i++) {
        free(pool->buffers[i]);
    }
    *pool = (struct sc_pool){.n_buffers = 0};
}

void *sc_buffer_data(struct sc_buffer *buffer)
{
    return (char *)buffer + HEADER;
}

struct sc_buffer *sc_buffer_of(void *data)
{
    return (struct sc_buffer *)((char *)data - HEADER);
}

void sc_queue_add(struct sc_queue *queue, struct sc_buffer *buffer)
{
    buffer->next = NULL;
    if (queue->last) {
        queue->last->next = buffer;
    } else {
        queue->first = buffer;
    }
    queue->last = buffer;
}

struct sc_buffer *sc_queue_take(struct sc_queue *queue)
{
    struct sc_buffer *buffer = queue->first;
    if (buffer) {
        queue->first = buffer->next;
        queue->last = queue->first ? queue->last : NULL;
    }
    return buffer;
}
