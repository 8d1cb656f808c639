/* SPDX-License-Identifier: Apache-2.0
 * What a message looks like: a versioned header, then values. */
#ifndef SC_COMM_WIRE_H
#define SC_COMM_WIRE_H

#include "tensor/value.h"

#define SC_WIRE_VERSION 5
#define SC_WIRE_ROWS 64 /* of one microbatch */
#define SC_WIRE_SLOTS 1024
#define SC_WIRE_NOTE 48 /* bytes */

enum sc_wire_kind {
    SC_WIRE_DATA, /* values of one edge for one microbatch */
    SC_WIRE_POISON, /* a failed microbatch: body is a struct sc_error; same path as data */
    SC_WIRE_CONTROL, /* small commands between sessions */
    SC_WIRE_STATE, /* what slots hold, asked for, given and told between rank 0 and the owners */
    SC_WIRE_END /* no more microbatches */
};

/* The rows of a microbatch: which request's cache each batch row continues, and where. */
struct sc_row {
    int32_t slot; /* -1: stateless */
    int32_t n_new; /* positions that this microbatch adds */
    int64_t pos; /* length of the slot's state before it */
    int32_t shares; /* 1 + another slot: this one begins as that one's first `pos` positions; 0: it goes on as it is */
    int32_t ends; /* 1: its prompt ends with this microbatch */
    unsigned char note[SC_WIRE_NOTE]; /* for whoever turns outputs into what travels; the runtime carries it */
};

/* Some of the slots, by bits. */
struct sc_slots {
    uint64_t words[SC_WIRE_SLOTS / 64];
};

static inline void sc_slots_add(struct sc_slots *slots, int slot)
{
    slots->words[slot / 64] |= (uint64_t)1 << slot % 64;
}

static inline bool sc_slots_has(const struct sc_slots *slots, int slot)
{
    return (slots->words[slot / 64] >> slot % 64 & 1) != 0;
}

struct sc_wire_header {
    uint32_t magic, version;
    int32_t kind;
    int32_t edge; /* index of the edge in the plan; -1 for none */
    int64_t seq; /* microbatch number */
    int32_t n_values;
    int32_t n_rows;
    uint64_t payload_bytes;
    int64_t slowest_ns; /* what the slowest of the stages that the microbatch has been through computed for it */
    struct sc_slots dropped; /* whose states are given back first */
    struct sc_row rows[SC_WIRE_ROWS]; /* n_rows of them travel */
};

/* Bytes of a header with so many rows. */
size_t sc_wire_header_bytes(int n_rows);

/* Bytes of header + values; every kind of value but states, nested at most 8 deep: 0 for what cannot travel. */
size_t sc_wire_bytes(int n_rows, const struct sc_value *const *values, int n);

/* Writes header (magic, version, n_values, payload_bytes are set here) and values into buffer of sc_wire_bytes bytes.
 */
void sc_wire_write(const struct sc_wire_header *header, const struct sc_value *const *values, int n, void *buffer);

/* A value that shows plain bytes (borrowed), for messages that carry no tensor. */
void sc_wire_bytes_value(const void *data, size_t bytes, struct sc_value *value);

/* A poison message holds one value that shows the bytes of a struct sc_error (borrowed). sc_wire_read_error takes it
 * out of a received value; sc_wire_error_check makes any bytes a well-formed error: texts end, the code is one of ours.
 */
void sc_wire_error_value(const struct sc_error *error, struct sc_value *value);
enum sc_status sc_wire_read_error(const struct sc_value *value, struct sc_error *error);
void sc_wire_error_check(struct sc_error *error);

/* What a message says before its rows, not checked yet; SC_PEER when it is shorter than that. */
enum sc_status sc_wire_peek(const void *buffer, size_t bytes, struct sc_wire_header *header);

/* Checks everything (a peer is hostile until checked) and gives values that show the buffer's memory (owner link, data
 * aligned to 64); item arrays and string headers come from `arena`. Fails with SC_PEER. */
enum sc_status sc_wire_read(const void *buffer, size_t bytes, struct sc_wire_header *header, struct sc_arena *arena,
    int max_values, struct sc_value *values);

#endif
