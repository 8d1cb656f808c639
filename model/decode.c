/* SPDX-License-Identifier: Apache-2.0
 * Typed value fields of TensorProto. int32_data holds everything of up to 32 bits but f32 and u32: 8- and 16-bit values
 * and bit patterns one by one, 6-bit codes too; 2- and 4-bit ones as bytes of packed storage. */
#include <string.h>

#include "model/load.h"
#include "model/varint.h"
#include "tensor/pack.h"

unsigned sc_value_field(enum sc_type type)
{
    switch (type) {
    case SC_F32:
    case SC_C64:
        return 4;
    case SC_STRING:
        return 6;
    case SC_I64:
        return 7;
    case SC_F64:
    case SC_C128:
        return 10;
    case SC_U32:
    case SC_U64:
        return 11;
    default:
        return 5;
    }
}

static bool packs_in_pairs(enum sc_type type)
{
    const unsigned bits = sc_type_bits(type);
    return bits == 2 || bits == 4;
}

int64_t sc_value_count(enum sc_type type, int64_t count)
{
    if (type == SC_C64 || type == SC_C128) {
        return 2 * count;
    }
    return packs_in_pairs(type) ? (int64_t)sc_packed_bytes(type, count) : count;
}

struct sink {
    unsigned char *to;
    size_t width; /* bytes that one number fills */
    int64_t left; /* numbers that still fit */
    bool flag; /* bool: any number but 0 is 1 */
    uint64_t mask; /* the bits of a number that count */
    enum sc_type packed; /* type whose packed bytes the numbers are; SC_TYPE_NONE: they are elements */
    int64_t elements; /* of that type, still to come */
};

static void put_packed(struct sink *sink, uint64_t number)
{
    const unsigned char byte = (unsigned char)number;
    int64_t n = 8 / (int64_t)sc_type_bits(sink->packed);
    n = n < sink->elements ? n : sink->elements;
    sc_unpack(sink->packed, &byte, 0, n, sink->to);
    sink->to += n;
    sink->elements -= n;
}

static void put_number(struct sink *sink, uint64_t number)
{
    if (sink->left <= 0) {
        return;
    }
    sink->left--;
    if (sink->packed) {
        put_packed(sink, number);
        return;
    }
    number = sink->flag ? number != 0 : number & sink->mask;
    memcpy(sink->to, &number, sink->width);
    sink->to += sink->width;
}

/* One part of the field: packed numbers, or a single one, or a string. */
static void put_part(struct sink *sink, unsigned field, const unsigned char *data, size_t bytes)
{
    if (field == 6) {
        if (sink->left-- > 0) {
            const struct sc_string string = {(const char *)data, bytes};
            memcpy(sink->to, &string, sizeof string);
            sink->to += sizeof string;
        }
        return;
    }
    const size_t unit = field == 4 ? 4 : field == 10 ? 8 : 0;
    for (size_t at = 0; at < bytes;) {
        uint64_t number = 0;
        size_t used = unit;
        if (unit) {
            memcpy(&number, data + at, unit);
        } else {
            used = sc_varint_read(data + at, bytes - at, &number);
        }
        if (used == 0) {
            return;
        }
        put_number(sink, number);
        at += used;
    }
}

/* The extent of a value of wire type `wire` at data[0..bytes); *skip is the length before it. */
static size_t extent_of(unsigned wire, const unsigned char *data, size_t bytes, size_t *skip)
{
    uint64_t value = 0;
    *skip = 0;
    switch (wire) {
    case SC_WIRE_VARINT:
        return sc_varint_read(data, bytes, &value);
    case SC_WIRE_64:
        return 8;
    case SC_WIRE_32:
        return 4;
    default:
        *skip = sc_varint_read(data, bytes, &value);
        return (size_t)value;
    }
}

static void walk_values(const unsigned char *message, size_t bytes, unsigned field, struct sink *sink)
{
    for (size_t at = 0; at < bytes;) {
        uint64_t tag = 0;
        const size_t tag_bytes = sc_varint_read(message + at, bytes - at, &tag);
        size_t skip;
        at += tag_bytes;
        const size_t extent = extent_of(tag & 7, message + at, bytes - at, &skip);
        at += skip;
        if (tag_bytes == 0 || extent > bytes - at) { /* the walker has seen to it that this is not so */
            return;
        }
        if (tag >> 3 == field) {
            put_part(sink, field, message + at, extent);
        }
        at += extent;
    }
}

static size_t number_bytes(enum sc_type type)
{
    switch (type) {
    case SC_C64:
        return 4;
    case SC_C128:
        return 8;
    default:
        return sc_type_bytes(type);
    }
}

void sc_decode_values(const unsigned char *message, size_t bytes, enum sc_type type, int64_t count, void *to)
{
    struct sink sink = {.to = to,
        .width = number_bytes(type),
        .left = sc_value_count(type, count),
        .flag = type == SC_BOOL,
        .mask = sc_type_bits(type) == 6 ? 63 : ~(uint64_t)0,
        .packed = packs_in_pairs(type) ? type : SC_TYPE_NONE,
        .elements = count};
    walk_values(message, bytes, sc_value_field(type), &sink);
}
