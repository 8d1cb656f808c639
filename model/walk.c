/* SPDX-License-Identifier: Apache-2.0
 * One pass over the wire format, driven by the descriptors that protoc-c made, with an explicit stack of messages.
 * Lengths of messages in the skeleton are not known before their end: five bytes are kept free for them and filled in
 * then (a varint may be padded). */
#include "model/walk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/proto/onnx.pb-c.h"
#include "model/varint.h"

#define LENGTH_BYTES 5
#define MAX_SKELETON_BYTES ((size_t)1 << 30)
#define PAYLOAD_FIELD 100000
/* float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data */
#define VALUE_FIELDS (1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 11)

struct frame {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end; /* of the message in the file */
    size_t length_at; /* where its length goes in the skeleton */
    uint64_t seen; /* singular fields, by index in the descriptor */
    size_t payload; /* index, for tensors */
};

struct walker {
    const char *what;
    const struct sc_file *file;
    const unsigned char *data;
    size_t at;
    size_t dropped; /* up to here the file's pages have been let go of */
    struct sc_skeleton *skeleton;
    int depth;
    struct frame frames[SC_MAX_NESTING];
};

static enum sc_status bad(const struct walker *walker, size_t at, const char *why)
{
    const struct frame *frame = &walker->frames[walker->depth > 0 ? walker->depth - 1 : 0];
    return sc_fail(SC_BAD_MODEL, "'%s' is damaged or not of this kind: %s at byte %zu, in a %s", walker->what, why, at,
        frame->descriptor->short_name);
}

static enum sc_status bad_field(
    const struct walker *walker, size_t at, const ProtobufCFieldDescriptor *field, const char *why)
{
    const struct frame *frame = &walker->frames[walker->depth - 1];
    return sc_fail(SC_BAD_MODEL, "'%s' is damaged or not of this kind: field '%s' of a %s %s, at byte %zu",
        walker->what, field->name, frame->descriptor->short_name, why, at);
}

static enum sc_status reserve(struct walker *walker, size_t more)
{
    struct sc_skeleton *skeleton = walker->skeleton;
    if (more <= skeleton->capacity - skeleton->bytes) {
        return SC_OK;
    }
    if (more > MAX_SKELETON_BYTES - skeleton->bytes) {
        return sc_fail(SC_LIMIT, "'%s' has more than 1 GiB besides the values of its tensors", walker->what);
    }
    size_t capacity = skeleton->capacity ? 2 * skeleton->capacity : 4096;
    capacity = capacity < skeleton->bytes + more ? skeleton->bytes + more : capacity;
    unsigned char *data = realloc(skeleton->data, capacity);
    if (!data) {
        return sc_fail(
            SC_NO_MEMORY, "out of memory: %zu bytes wanted for the skeleton of '%s'", capacity, walker->what);
    }
    skeleton->data = data;
    skeleton->capacity = capacity;
    return SC_OK;
}

static enum sc_status put_bytes(struct walker *walker, const unsigned char *data, size_t bytes)
{
    SC_TRY(reserve(walker, bytes));
    if (bytes) {
        memcpy(walker->skeleton->data + walker->skeleton->bytes, data, bytes);
    }
    walker->skeleton->bytes += bytes;
    return SC_OK;
}

static enum sc_status put_varint(struct walker *walker, uint64_t value)
{
    unsigned char buffer[10];
    return put_bytes(walker, buffer, sc_varint_write(buffer, value));
}

static enum sc_status put_tag(struct walker *walker, uint32_t id, unsigned wire)
{
    return put_varint(walker, (uint64_t)id << 3 | wire);
}

static enum sc_status read_varint(struct walker *walker, uint64_t *value)
{
    const size_t end = walker->frames[walker->depth - 1].end;
    const size_t n = sc_varint_read(walker->data + walker->at, end - walker->at, value);
    if (n == 0) {
        return bad(walker, walker->at, "a malformed number");
    }
    walker->at += n;
    return SC_OK;
}

/* The length of a length-delimited field; its content then starts at walker->at and lies inside the message. */
static enum sc_status read_length(struct walker *walker, size_t *length)
{
    const size_t start = walker->at;
    uint64_t value;
    SC_TRY(read_varint(walker, &value));
    if (value > walker->frames[walker->depth - 1].end - walker->at) {
        return bad(walker, start, "a length that goes past the end");
    }
    *length = (size_t)value;
    return SC_OK;
}

/* The length in bytes of the value at walker->at, which for wire type 2 is that of the content after its length. */
static enum sc_status read_extent(struct walker *walker, unsigned wire, size_t *bytes)
{
    const size_t room = walker->frames[walker->depth - 1].end - walker->at;
    uint64_t value;
    switch (wire) {
    case SC_WIRE_VARINT:
        *bytes = sc_varint_read(walker->data + walker->at, room, &value);
        return *bytes ? SC_OK : bad(walker, walker->at, "a malformed number");
    case SC_WIRE_64:
    case SC_WIRE_32:
        *bytes = wire == SC_WIRE_64 ? 8 : 4;
        return *bytes <= room ? SC_OK : bad(walker, walker->at, "a number that is cut off");
    case SC_WIRE_BYTES:
        return read_length(walker, bytes);
    default:
        return bad(walker, walker->at, "a field of an unknown kind");
    }
}

static unsigned wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return SC_WIRE_64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return SC_WIRE_32;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return SC_WIRE_BYTES;
    default:
        return SC_WIRE_VARINT;
    }
}

/* Counts the elements of a packed run of `bytes` at walker->at; fails when the last one is cut off. */
static enum sc_status count_packed(struct walker *walker, unsigned wire, size_t bytes, int64_t *count)
{
    if (wire != SC_WIRE_VARINT) {
        const size_t unit = wire == SC_WIRE_64 ? 8 : 4;
        *count = (int64_t)(bytes / unit);
        return bytes % unit == 0 ? SC_OK : bad(walker, walker->at, "a list of numbers with a broken length");
    }
    const unsigned char *data = walker->data + walker->at;
    int64_t n = 0;
    for (size_t at = 0; at < bytes; n++) {
        uint64_t value;
        const size_t used = sc_varint_read(data + at, bytes - at, &value);
        if (used == 0) {
            return bad(walker, walker->at + at, "a malformed number");
        }
        at += used;
    }
    *count = n;
    return SC_OK;
}

/* Refuses a second occurrence of a singular field; the members of a oneof count as one field. */
static enum sc_status check_singular(struct walker *walker, size_t start, const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return SC_OK;
    }
    struct frame *frame = &walker->frames[walker->depth - 1];
    const ProtobufCFieldDescriptor *fields = frame->descriptor->fields;
    size_t index = (size_t)(field - fields);
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        for (index = 0; !(fields[index].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
             fields[index].quantifier_offset != field->quantifier_offset;) {
            index++;
        }
    }
    if (frame->seen >> index & 1) {
        return bad_field(walker, start, field, "is given twice");
    }
    frame->seen |= (uint64_t)1 << index;
    return SC_OK;
}

static enum sc_status add_payload(struct walker *walker, struct frame *frame)
{
    struct sc_skeleton *skeleton = walker->skeleton;
    if (skeleton->n_payloads == skeleton->cap_payloads) {
        const size_t capacity = skeleton->cap_payloads ? 2 * skeleton->cap_payloads : 64;
        struct sc_payload *payloads = realloc(skeleton->payloads, capacity * sizeof *payloads);
        if (!payloads) {
            return sc_fail(SC_NO_MEMORY, "out of memory: a list of %zu tensors wanted", capacity);
        }
        skeleton->payloads = payloads;
        skeleton->cap_payloads = capacity;
    }
    frame->payload = skeleton->n_payloads++;
    skeleton->payloads[frame->payload] =
        (struct sc_payload){.message = walker->at, .message_bytes = frame->end - walker->at};
    SC_TRY(put_tag(walker, PAYLOAD_FIELD, SC_WIRE_VARINT));
    return put_varint(walker, frame->payload + 1);
}

static bool is_tensor(const struct frame *frame)
{
    return frame->descriptor == &sc__onnx__tensor_proto__descriptor;
}

/* Opens the message that starts at walker->at. */
static enum sc_status push(struct walker *walker, const ProtobufCMessageDescriptor *descriptor, size_t bytes)
{
    if (walker->depth == SC_MAX_NESTING) {
        return sc_fail(SC_BAD_MODEL, "'%s' nests messages more than %d deep", walker->what, SC_MAX_NESTING);
    }
    static const unsigned char zeros[LENGTH_BYTES];
    struct frame *frame = &walker->frames[walker->depth];
    *frame = (struct frame){.descriptor = descriptor, .end = walker->at + bytes};
    if (walker->depth > 0) {
        frame->length_at = walker->skeleton->bytes;
        SC_TRY(put_bytes(walker, zeros, LENGTH_BYTES));
    }
    walker->depth++;
    return is_tensor(frame) ? add_payload(walker, frame) : SC_OK;
}

static void pop(struct walker *walker)
{
    const struct frame *frame = &walker->frames[--walker->depth];
    if (walker->depth == 0) {
        return;
    }
    size_t length = walker->skeleton->bytes - frame->length_at - LENGTH_BYTES;
    unsigned char *to = walker->skeleton->data + frame->length_at;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7) {
        to[i] = (unsigned char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    }
}

/* Touching a weight's header may bring megabytes with it (the page cache maps in folios): they go again at once, or a
 * look at all headers would hold the whole file. */
static void let_go(struct walker *walker)
{
    enum { FOLIO = 2 << 20, STEP = 4 << 20 };
    if (walker->at - walker->dropped >= STEP) {
        const size_t from = walker->dropped > FOLIO ? walker->dropped - FOLIO : 0;
        sc_file_drop(walker->file, from, walker->at - from);
        walker->dropped = walker->at;
    }
}

/* A value field of a tensor: where it lies goes to the payload, nothing to the skeleton. */
static enum sc_status take_values(
    struct walker *walker, size_t start, const ProtobufCFieldDescriptor *field, unsigned wire)
{
    struct sc_payload *payload = &walker->skeleton->payloads[walker->frames[walker->depth - 1].payload];
    const unsigned unit = wire_of(field->type);
    if (wire != unit && wire != SC_WIRE_BYTES) {
        return bad_field(walker, start, field, "has a wrong wire type");
    }
    SC_TRY(check_singular(walker, start, field));
    size_t bytes;
    SC_TRY(read_extent(walker, wire, &bytes));
    payload->fields |= 1u << field->id;
    if (field->type == PROTOBUF_C_TYPE_BYTES && field->label != PROTOBUF_C_LABEL_REPEATED) {
        payload->raw = walker->at;
        payload->raw_bytes = bytes;
    } else {
        int64_t count = 1;
        if (wire != unit) {
            SC_TRY(count_packed(walker, unit, bytes, &count));
            payload->chunk = walker->at;
            payload->chunk_bytes = bytes;
            payload->n_chunks = payload->n_chunks ? 2 : 1;
        } else {
            payload->n_chunks = 2;
        }
        payload->n_elements += count;
    }
    walker->at += bytes;
    let_go(walker);
    return SC_OK;
}

static enum sc_status copy_field(
    struct walker *walker, size_t start, const ProtobufCFieldDescriptor *field, unsigned wire)
{
    const unsigned unit = wire_of(field->type);
    const bool packed = wire == SC_WIRE_BYTES && unit != SC_WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED;
    if (wire != unit && !packed) {
        return bad_field(walker, start, field, "has a wrong wire type");
    }
    SC_TRY(check_singular(walker, start, field));
    size_t bytes;
    SC_TRY(read_extent(walker, wire, &bytes));
    SC_TRY(put_tag(walker, field->id, wire));
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return push(walker, field->descriptor, bytes);
    }
    if (packed) {
        int64_t count;
        SC_TRY(count_packed(walker, unit, bytes, &count));
    }
    const unsigned char *content = walker->data + walker->at;
    if (field->type == PROTOBUF_C_TYPE_STRING && memchr(content, 0, bytes)) {
        return bad_field(walker, start, field, "has a NUL inside");
    }
    if (wire == SC_WIRE_BYTES) {
        SC_TRY(put_varint(walker, bytes));
    }
    walker->at += bytes;
    return put_bytes(walker, content, bytes);
}

static enum sc_status walk_field(struct walker *walker)
{
    const struct frame *frame = &walker->frames[walker->depth - 1];
    const size_t start = walker->at;
    uint64_t tag;
    SC_TRY(read_varint(walker, &tag));
    const unsigned wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 32) {
        return bad(walker, start, "a field number out of range");
    }
    if (wire != SC_WIRE_VARINT && wire != SC_WIRE_64 && wire != SC_WIRE_BYTES && wire != SC_WIRE_32) {
        return bad(walker, start, "a group, or a field of an unknown kind");
    }
    const uint32_t id = (uint32_t)(tag >> 3);
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(frame->descriptor, id);
    if (!field || (is_tensor(frame) && id == PAYLOAD_FIELD)) {
        size_t bytes;
        SC_TRY(read_extent(walker, wire, &bytes));
        walker->at += bytes;
        return SC_OK;
    }
    if (is_tensor(frame) && id < 32 && VALUE_FIELDS >> id & 1) {
        return take_values(walker, start, field, wire);
    }
    return copy_field(walker, start, field, wire);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t fingerprint_of(const struct sc_skeleton *skeleton)
{
    uint64_t hash = mix(0xcbf29ce484222325u, skeleton->bytes);
    for (size_t at = 0; at < skeleton->bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, skeleton->data + at, skeleton->bytes - at < 8 ? skeleton->bytes - at : 8);
        hash = mix(hash, word);
    }
    for (size_t i = 0; i < skeleton->n_payloads; i++) {
        const struct sc_payload *payload = &skeleton->payloads[i];
        hash = mix(mix(hash, payload->raw_bytes), (uint64_t)payload->n_elements << 12 ^ payload->fields);
    }
    return hash;
}

enum sc_status sc_walk(const char *what, const struct ProtobufCMessageDescriptor *root, const struct sc_file *file,
    struct sc_skeleton *skeleton)
{
    static const unsigned char nothing[1];
    struct walker walker = {
        .what = what, .file = file, .data = file->data ? file->data : nothing, .skeleton = skeleton};
    *skeleton = (struct sc_skeleton){0};
    enum sc_status status = push(&walker, root, file->bytes);
    while (status == SC_OK && walker.depth > 0) {
        if (walker.at == walker.frames[walker.depth - 1].end) {
            pop(&walker);
        } else {
            status = walk_field(&walker);
        }
    }
    if (status != SC_OK) {
        sc_skeleton_release(skeleton);
        return status;
    }
    skeleton->fingerprint = fingerprint_of(skeleton);
    return SC_OK;
}

void sc_skeleton_release(struct sc_skeleton *skeleton)
{
    free(skeleton->data);
    free(skeleton->payloads);
    *skeleton = (struct sc_skeleton){0};
}

static void *unpack_alloc(void *arena, size_t bytes)
{
    return sc_arena_alloc(arena, bytes);
}

static void unpack_free(void *arena, void *data)
{
    (void)arena;
    (void)data;
}

enum sc_status sc_skeleton_unpack(const char *what, const struct ProtobufCMessageDescriptor *root,
    const struct sc_skeleton *skeleton, struct sc_arena *arena, const struct ProtobufCMessage **message)
{
    /* An empty message takes six bytes here and some two hundred as a struct; real ones are far from that. */
    arena->limit_bytes = ((size_t)1 << 30) + 16 * skeleton->bytes;
    ProtobufCAllocator allocator = {unpack_alloc, unpack_free, arena};
    static const unsigned char nothing[1];
    *message = protobuf_c_message_unpack(root, &allocator, skeleton->bytes, skeleton->data ? skeleton->data : nothing);
    return *message ? SC_OK : sc_fail(SC_BAD_MODEL, "'%s' cannot be unpacked", what);
}
