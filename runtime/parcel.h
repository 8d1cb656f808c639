/* SPDX-License-Identifier: Apache-2.0
 * Messages between two ranks that belong to no microbatch: weights, caches; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_PARCEL_H
#define SC_RUNTIME_PARCEL_H

#include "comm/wire.h"
#include "runtime/session.h"

/* Bytes of one message, with the headers of message and buffer just below a power of two, which is what buffers are. */
#define SC_PARCEL_BYTES ((size_t)(512 << 10) - 4096)

/* One value as a message; waits while no buffer is free. */
enum sc_status sc_parcel_send(
    struct sc_session *session, int peer, enum sc_wire_kind kind, const struct sc_value *value);

/* The next message of a peer; received->data stays NULL when none came. */
enum sc_status sc_parcel_poll(struct sc_session *session, int peer, struct sc_received *received);

/* Copies the content of a message, `bytes` of it, to `to`, and gives the message back. A poison message is the error
 * that it holds; SC_PEER for one of another size. */
enum sc_status sc_parcel_open(
    struct sc_session *session, int peer, struct sc_received *received, void *to, size_t bytes);

/* Waits for the next message of a peer and opens it. */
enum sc_status sc_parcel_take(struct sc_session *session, int peer, void *to, size_t bytes);

#endif
