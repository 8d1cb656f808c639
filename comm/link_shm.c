/* SPDX-License-Identifier: Apache-2.0
 * Links over memory that two ranks of a node share. The sender's pool lies in its own box: a message is written there,
 * and read there by the receiver, who maps each buffer once, when it first sees it. What travels is an entry of a ring.
 * A message of any size goes this way, as buffers grow like those of the other links. */
#include "comm/link_shm.h"

#include <stdlib.h>

#include "comm/pool.h"

struct view { /* of a buffer of the peer, by slot */
    uint64_t offset, capacity; /* 0: not seen yet */
    const void *memory;
};

struct link_shm {
    struct sc_link link; /* first: links are passed as struct sc_link */
    struct sc_shared *node;
    int place; /* of the peer on the node */
    struct sc_pool pool;
    struct sc_pool_source source;
    struct sc_channel *out, *in;
    struct view views[SC_LINK_BUFFERS];
};

static void *make_buffer(void *arg, size_t bytes, uint64_t *offset)
{
    struct link_shm *shm = arg;
    return sc_shared_extend(shm->node, bytes, offset);
}

static void drop_buffer(void *arg, void *memory, size_t bytes)
{
    (void)arg;
    sc_shared_drop(memory, bytes);
}

static enum sc_status take_back(struct link_shm *shm)
{
    struct sc_ring_entry entry;
    while (sc_ring_take(&shm->out->back, &entry)) {
        if (entry.slot >= (uint32_t)shm->pool.n_buffers || shm->pool.buffers[entry.slot]->is_free) {
            return sc_fail(SC_PEER, "rank %d gave back a message that it did not have", shm->link.peer);
        }
        sc_pool_give(shm->pool.buffers[entry.slot]);
    }
    return SC_OK;
}

static enum sc_status reserve(struct sc_link *link, size_t bytes, void **data)
{
    struct link_shm *shm = (struct link_shm *)link;
    struct sc_buffer *buffer = NULL;
    SC_TRY(take_back(shm));
    if (sc_pool_full(&shm->pool)) { /* first the flag, then another look: see sc_ring */
        atomic_store(&shm->out->starved, 1);
        SC_TRY(take_back(shm));
    }
    SC_TRY(sc_pool_take(&shm->pool, bytes, &buffer));
    *data = buffer ? sc_buffer_data(buffer) : NULL;
    return SC_OK;
}

static enum sc_status send(struct sc_link *link, void *data, size_t bytes)
{
    struct link_shm *shm = (struct link_shm *)link;
    const struct sc_buffer *buffer = sc_buffer_of(data);
    const struct sc_ring_entry entry = {
        .offset = buffer->offset, .capacity = sc_buffer_all(buffer), .bytes = bytes, .slot = (uint32_t)buffer->slot};
    if (!sc_ring_put(&shm->out->sent, &entry)) { /* a ring has room for all buffers of a pool */
        return sc_fail(SC_PEER, "the messages to rank %d are out of order", link->peer);
    }
    sc_shared_ring(shm->node, shm->place);
    return SC_OK;
}

/* Sees to it that the entry's buffer is mapped. */
static enum sc_status show(struct link_shm *shm, const struct sc_ring_entry *entry, struct view **shown)
{
    if (entry->slot >= SC_LINK_BUFFERS || entry->capacity < SC_BUFFER_HEADER || entry->capacity > SIZE_MAX / 2 ||
        entry->bytes > entry->capacity - SC_BUFFER_HEADER) {
        return sc_fail(SC_PEER, "rank %d sent a message of no known form", shm->link.peer);
    }
    struct view *view = &shm->views[entry->slot];
    if (view->offset != entry->offset || view->capacity != entry->capacity) {
        const void *memory;
        SC_TRY(sc_shared_view(shm->node, shm->place, entry->offset, entry->capacity, &memory));
        if (view->memory) {
            sc_shared_unmap(view->memory, (size_t)view->capacity);
        }
        *view = (struct view){.offset = entry->offset, .capacity = entry->capacity, .memory = memory};
    }
    *shown = view;
    return SC_OK;
}

static enum sc_status poll(struct sc_link *link, struct sc_received *received)
{
    struct link_shm *shm = (struct link_shm *)link;
    struct sc_ring_entry entry;
    struct view *view;
    if (!sc_ring_take(&shm->in->sent, &entry)) {
        return SC_OK;
    }
    SC_TRY(show(shm, &entry, &view));
    *received = (struct sc_received){
        .data = (const char *)view->memory + SC_BUFFER_HEADER, .bytes = (size_t)entry.bytes, .handle = view};
    return SC_OK;
}

static void give_back(struct sc_link *link, struct sc_received *received)
{
    struct link_shm *shm = (struct link_shm *)link;
    const struct view *view = received->handle;
    const struct sc_ring_entry entry = {.slot = (uint32_t)(view - shm->views)};
    (void)sc_ring_put(&shm->in->back, &entry); /* full only for a peer that sent a buffer twice: its loss */
    if (atomic_load(&shm->in->starved)) {
        atomic_store(&shm->in->starved, 0);
        sc_shared_ring(shm->node, shm->place);
    }
}

static bool idle(struct sc_link *link)
{
    (void)link;
    return true; /* the receiver can map a sent message even when this rank has ended */
}

/* What is mapped of the peer's buffers is in this rank's memory too, once read. */
static size_t count_bytes(struct sc_link *link)
{
    const struct link_shm *shm = (struct link_shm *)link;
    size_t bytes = sc_pool_bytes(&shm->pool);
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        bytes += shm->views[i].memory ? (size_t)shm->views[i].capacity : 0;
    }
    return bytes;
}

static const struct sc_link_table table = {.name = "shm",
    .reserve = reserve,
    .send = send,
    .poll = poll,
    .give_back = give_back,
    .idle = idle,
    .bytes = count_bytes};

enum sc_status sc_link_shm_create(struct sc_shared *node, int place, int peer, struct sc_link **link)
{
    struct link_shm *shm = calloc(1, sizeof *shm);
    if (!shm) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a link");
    }
    shm->link = (struct sc_link){.table = &table, .peer = peer};
    shm->node = node;
    shm->place = place;
    shm->source = (struct sc_pool_source){.make = make_buffer, .drop = drop_buffer, .arg = shm};
    shm->pool.source = &shm->source;
    shm->out = sc_shared_out(node, place);
    shm->in = sc_shared_in(node, place);
    *link = &shm->link;
    return SC_OK;
}

void sc_link_shm_free(struct sc_link *link)
{
    struct link_shm *shm = (struct link_shm *)link;
    for (int i = 0; shm && i < SC_LINK_BUFFERS; i++) {
        if (i < shm->pool.n_buffers) {
            sc_shared_unmap(shm->pool.buffers[i], sc_buffer_all(shm->pool.buffers[i]));
        }
        if (shm->views[i].memory) {
            sc_shared_unmap(shm->views[i].memory, (size_t)shm->views[i].capacity);
        }
    }
    free(shm);
}
