/* SPDX-License-Identifier: Apache-2.0
 * Calls go through the link's table; what is the same for every kind is checked here. */
#include "comm/link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum sc_status sc_link_reserve(struct sc_link *link, size_t bytes, void **buffer)
{
    void *got = NULL;
    SC_TRY(link->table->reserve(link, bytes, &got));
    *buffer = got;
    return SC_OK;
}

enum sc_status sc_link_send(struct sc_link *link, void *buffer, size_t bytes)
{
    assert(buffer);
    return link->table->send(link, buffer, bytes);
}

enum sc_status sc_link_poll(struct sc_link *link, struct sc_received *received)
{
    struct sc_received got = {0};
    SC_TRY(link->table->poll(link, &got));
    *received = got;
    link->n_held += got.data != NULL;
    return SC_OK;
}

void sc_link_give_back(struct sc_link *link, struct sc_received *received)
{
    if (received->data && !received->copy) {
        link->table->give_back(link, received);
        link->n_held--;
    }
    free(received->copy);
    *received = (struct sc_received){0};
}

enum sc_status sc_link_move_out(struct sc_link *link, struct sc_received *received)
{
    const struct sc_received before = *received;
    void *copy = NULL;
    if (posix_memalign(&copy, SC_LINK_ALIGNMENT, before.bytes + 1) != 0) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a message of %zu bytes", before.bytes);
    }
    memcpy(copy, before.data, before.bytes);
    sc_link_give_back(link, received);
    *received = (struct sc_received){.data = copy, .bytes = before.bytes, .copy = copy};
    return SC_OK;
}

bool sc_link_idle(struct sc_link *link)
{
    return link->table->idle(link);
}

size_t sc_link_bytes(struct sc_link *link)
{
    return link->table->bytes(link);
}
