/* SPDX-License-Identifier: Apache-2.0
 * A rank's link to itself: a sent buffer waits in a queue until the same thread polls for it. */
#include "comm/pool.h"
#include "comm/world_table.h"

#include <stdlib.h>

struct link_self {
    struct sc_link link; /* first: links are passed as struct sc_link */
    struct sc_pool pool;
    struct sc_queue sent;
};

static enum sc_status reserve(struct sc_link *link, size_t bytes, void **data)
{
    struct link_self *self = (struct link_self *)link;
    struct sc_buffer *buffer = NULL;
    SC_TRY(sc_pool_take(&self->pool, bytes, &buffer));
    *data = buffer ? sc_buffer_data(buffer) : NULL;
    return SC_OK;
}

static enum sc_status send(struct sc_link *link, void *data, size_t bytes)
{
    struct link_self *self = (struct link_self *)link;
    struct sc_buffer *buffer = sc_buffer_of(data);
    buffer->bytes = bytes;
    sc_queue_add(&self->sent, buffer);
    return SC_OK;
}

static enum sc_status poll(struct sc_link *link, struct sc_received *received)
{
    struct link_self *self = (struct link_self *)link;
    struct sc_buffer *buffer = sc_queue_take(&self->sent);
    if (buffer) {
        *received = (struct sc_received){.data = sc_buffer_data(buffer), .bytes = buffer->bytes, .handle = buffer};
    }
    return SC_OK;
}

static void give_back(struct sc_link *link, struct sc_received *received)
{
    (void)link;
    sc_pool_give(received->handle);
}

static bool idle(struct sc_link *link)
{
    (void)link;
    return true;
}

static size_t count_bytes(struct sc_link *link)
{
    return sc_pool_bytes(&((struct link_self *)link)->pool);
}

static const struct sc_link_table table = {.name = "self",
    .reserve = reserve,
    .send = send,
    .poll = poll,
    .give_back = give_back,
    .idle = idle,
    .bytes = count_bytes};

enum sc_status sc_link_self_create(int rank, struct sc_link **link)
{
    struct link_self *self = calloc(1, sizeof *self);
    if (!self) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a link");
    }
    self->link = (struct sc_link){.table = &table, .peer = rank};
    *link = &self->link;
    return SC_OK;
}

void sc_link_self_free(struct sc_link *link)
{
    struct link_self *self = (struct link_self *)link;
    sc_pool_release(&self->pool);
    free(self);
}
