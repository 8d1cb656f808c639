/* SPDX-License-Identifier: Apache-2.0
 * Head and tail count without bound and wrap with their type; each is written by one side alone. */
#include "comm/ring.h"

_Static_assert((SC_LINK_BUFFERS & (SC_LINK_BUFFERS - 1)) == 0, "counters that wrap need a power of two");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a lock would lie in the memory of one process");

bool sc_ring_put(struct sc_ring *ring, const struct sc_ring_entry *entry)
{
    const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    const uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (tail - head >= SC_LINK_BUFFERS) {
        return false;
    }
    ring->entries[tail % SC_LINK_BUFFERS] = *entry;
    atomic_store(&ring->tail, tail + 1);
    return true;
}

bool sc_ring_take(struct sc_ring *ring, struct sc_ring_entry *entry)
{
    const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (atomic_load(&ring->tail) == head) {
        return false;
    }
    *entry = ring->entries[head % SC_LINK_BUFFERS];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}
