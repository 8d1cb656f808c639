/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/parcel.h"

#include <string.h>

#include "runtime/stage.h"

enum sc_status sc_parcel_send(
    struct sc_session *session, int peer, enum sc_wire_kind kind, const struct sc_value *value)
{
    const struct sc_wire_header header = {.kind = (int32_t)kind, .edge = -1};
    const size_t bytes = sc_wire_bytes(0, &value, 1);
    struct sc_link *link;
    void *buffer = NULL;
    SC_TRY(sc_world_link(session->world, peer, &link));
    for (int64_t idle = 0; !buffer; idle++) {
        SC_TRY(sc_link_reserve(link, bytes, &buffer));
        if (!buffer) {
            sc_session_pause(session, idle);
        }
    }
    sc_wire_write(&header, &value, 1, buffer);
    return sc_link_send(link, buffer, bytes);
}

enum sc_status sc_parcel_poll(struct sc_session *session, int peer, struct sc_received *received)
{
    struct sc_link *link;
    SC_TRY(sc_world_link(session->world, peer, &link));
    return sc_link_poll(link, received);
}

static enum sc_status read_message(const struct sc_received *received, int peer, void *to, size_t bytes)
{
    struct sc_wire_header header;
    struct sc_arena arena = {0};
    struct sc_value value;
    enum sc_status status = sc_wire_read(received->data, received->bytes, &header, &arena, 1, &value);
    if (status == SC_OK && header.kind == SC_WIRE_POISON && header.n_values == 1) {
        struct sc_error error;
        status = sc_wire_read_error(&value, &error);
        status = status == SC_OK ? sc_error_set(&error) : status;
    } else if (status == SC_OK &&
        (header.n_values != 1 || value.kind != SC_KIND_TENSOR || sc_tensor_bytes(&value.u.tensor) != bytes)) {
        status = sc_fail(SC_PEER, "rank %d sent another message than the %zu bytes that were due", peer, bytes);
    } else if (status == SC_OK && bytes > 0) {
        memcpy(to, value.u.tensor.data, bytes);
    }
    sc_arena_release(&arena);
    return status;
}

enum sc_status sc_parcel_open(
    struct sc_session *session, int peer, struct sc_received *received, void *to, size_t bytes)
{
    struct sc_link *link;
    const enum sc_status status = read_message(received, peer, to, bytes);
    if (sc_world_link(session->world, peer, &link) == SC_OK) { /* it is there: the message came by it */
        sc_link_give_back(link, received);
    }
    return status;
}

enum sc_status sc_parcel_take(struct sc_session *session, int peer, void *to, size_t bytes)
{
    struct sc_received received = {0};
    for (int64_t idle = 0; !received.data; idle++) {
        SC_TRY(sc_parcel_poll(session, peer, &received));
        if (!received.data) {
            sc_session_pause(session, idle);
        }
    }
    return sc_parcel_open(session, peer, &received, to, bytes);
}
