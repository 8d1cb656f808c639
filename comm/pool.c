/* SPDX-License-Identifier: Apache-2.0
 * At most SC_LINK_BUFFERS entries, so every look-up is a short scan. Capacities are powers of two: a buffer is replaced
 * only a few times in its life, and pages that are never written cost nothing. */
#include "comm/pool.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(sizeof(struct sc_buffer) <= SC_BUFFER_HEADER, "a buffer's header fits before its data");

/* Buffers are made by so many. One comes back when its receiver has done with it, which may be late by a step: a decode
 * step, which has one or two on the way, then still finds one and allocates nothing. */
enum { GROWTH = 4 };

/* Bytes of header and data. */
static size_t size_for(size_t bytes)
{
    size_t all = 4096;
    while (all < bytes + SC_BUFFER_HEADER && all < SIZE_MAX / 4) {
        all *= 2;
    }
    return all;
}

static struct sc_buffer *make(const struct sc_pool *pool, size_t bytes)
{
    const size_t all = size_for(bytes);
    uint64_t offset = 0;
    void *memory = NULL;
    if (bytes > all - SC_BUFFER_HEADER) {
        return NULL;
    }
    if (pool->source) {
        memory = pool->source->make(pool->source->arg, all, &offset);
    } else if (posix_memalign(&memory, SC_BUFFER_HEADER, all) != 0) {
        memory = NULL;
    }
    struct sc_buffer *buffer = memory;
    if (buffer) {
        *buffer = (struct sc_buffer){.capacity = all - SC_BUFFER_HEADER, .offset = offset, .is_free = true};
    }
    return buffer;
}

static void drop(const struct sc_pool *pool, struct sc_buffer *buffer)
{
    if (pool->source) {
        pool->source->drop(pool->source->arg, buffer, sc_buffer_all(buffer));
    } else {
        free(buffer);
    }
}

/* The slot of the smallest free buffer that fits, else of the largest free one, else -1. Equal ones take turns. */
static int find_free(const struct sc_pool *pool, size_t bytes)
{
    int best = -1;
    for (int k = 0; k < pool->n_buffers; k++) {
        const int i = (pool->last + 1 + k) % pool->n_buffers;
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

/* Makes room for `bytes` in a pool that is not full: GROWTH buffers while there is memory for them. Returns the
 * first. */
static int grow(struct sc_pool *pool, size_t bytes)
{
    const int first = pool->n_buffers;
    while (pool->n_buffers < SC_LINK_BUFFERS && pool->n_buffers < first + GROWTH) {
        struct sc_buffer *made = make(pool, bytes);
        if (!made) {
            break;
        }
        pool->buffers[pool->n_buffers++] = made;
    }
    return pool->n_buffers > first ? first : -1;
}

/* A free buffer at the bound, which is too small, becomes a larger one. */
static bool replace(struct sc_pool *pool, int slot, size_t bytes)
{
    struct sc_buffer *made = make(pool, bytes);
    if (made) {
        drop(pool, pool->buffers[slot]);
        pool->buffers[slot] = made;
    }
    return made != NULL;
}

enum sc_status sc_pool_take(struct sc_pool *pool, size_t bytes, struct sc_buffer **buffer)
{
    int slot = find_free(pool, bytes);
    const bool fits = slot >= 0 && pool->buffers[slot]->capacity >= bytes;
    if (!fits && pool->n_buffers < SC_LINK_BUFFERS) {
        slot = grow(pool, bytes);
    } else if (slot < 0) {
        *buffer = NULL;
        return SC_OK;
    } else if (!fits && !replace(pool, slot, bytes)) {
        slot = -1;
    }
    if (slot < 0) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a message of %zu bytes", bytes);
    }
    struct sc_buffer *taken = pool->buffers[slot];
    taken->is_free = false;
    taken->bytes = bytes;
    taken->ready_bytes = 0;
    taken->slot = slot;
    pool->last = slot;
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

size_t sc_pool_bytes(const struct sc_pool *pool)
{
    size_t bytes = 0;
    for (int i = 0; i < pool->n_buffers; i++) {
        bytes += sc_buffer_all(pool->buffers[i]);
    }
    return bytes;
}

void sc_pool_release(struct sc_pool *pool)
{
    assert(!pool->source);
    for (int i = 0; i < pool->n_buffers; i++) {
        free(pool->buffers[i]);
    }
    *pool = (struct sc_pool){.n_buffers = 0};
}

size_t sc_buffer_all(const struct sc_buffer *buffer)
{
    return SC_BUFFER_HEADER + buffer->capacity;
}

void *sc_buffer_data(struct sc_buffer *buffer)
{
    return (char *)buffer + SC_BUFFER_HEADER;
}

struct sc_buffer *sc_buffer_of(void *data)
{
    return (struct sc_buffer *)((char *)data - SC_BUFFER_HEADER);
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
