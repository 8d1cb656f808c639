/* SPDX-License-Identifier: Apache-2.0
 * From a mapped file to a skeleton: its messages without the values of tensors. */
#ifndef SC_MODEL_WALK_H
#define SC_MODEL_WALK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

#define SC_MAX_NESTING 100 /* messages within messages */

struct ProtobufCMessageDescriptor;
struct ProtobufCMessage;

/* Where the values of one TensorProto lie in the file. Offsets are from the file's start. */
struct sc_payload {
    size_t message, message_bytes; /* the content of the TensorProto */
    size_t raw, raw_bytes; /* of raw_data */
    size_t chunk, chunk_bytes; /* of the only packed part of a typed field; valid when n_chunks == 1 */
    int n_chunks; /* parts of typed fields: packed runs, and single values */
    int64_t n_elements; /* of typed fields (string_data included) */
    uint32_t fields; /* bit i: field number i occurs (4 float_data, 5 int32_data, ... 9 raw_data) */
};

/* The file's bytes in protobuf form again, minus unknown fields and tensor values. Each TensorProto in it has
 * sc_payload = 1 + its index in `payloads`. What protobuf-c does not check is checked: nesting, lengths, well-formed
 * varints, wire types, singular fields given once, strings without NUL. Zeros: empty; release is safe on it. */
struct sc_skeleton {
    unsigned char *data;
    size_t bytes, capacity;
    struct sc_payload *payloads;
    size_t n_payloads, cap_payloads;
    uint64_t fingerprint; /* of the bytes and the sizes of the payloads */
};

/* Walks a mapped file as a message of type `root`, letting go of its pages on the way. `what` names the file in
 * messages. Fails with SC_BAD_MODEL. */
enum sc_status sc_walk(const char *what, const struct ProtobufCMessageDescriptor *root, const struct sc_file *file,
    struct sc_skeleton *skeleton);
void sc_skeleton_release(struct sc_skeleton *skeleton);

/* The skeleton as protobuf-c's structs in the arena, whose limit is set here. */
enum sc_status sc_skeleton_unpack(const char *what, const struct ProtobufCMessageDescriptor *root,
    const struct sc_skeleton *skeleton, struct sc_arena *arena, const struct ProtobufCMessage **message);

#endif
