/* SPDX-License-Identifier: Apache-2.0
 * Bits of an element start at bit (index * width) of a little-endian stream, whatever the width: one rule for 2, 4 and
 * 6 bits, with quick loops for whole bytes of the first two. */
#include "tensor/pack.h"

#include <string.h>

#include "tensor/tensor.h"

static unsigned bits_at(const unsigned char *packed, int64_t bit, unsigned bits)
{
    unsigned value = packed[bit / 8] >> (bit % 8);
    if ((unsigned)(bit % 8) + bits > 8) {
        value |= (unsigned)packed[bit / 8 + 1] << (8 - bit % 8);
    }
    return value & ((1u << bits) - 1);
}

/* (value ^ top) - top extends the sign of a value whose top bit is `top`; top == 0 leaves it. */
static unsigned char extended(unsigned value, unsigned top)
{
    return (unsigned char)((value ^ top) - top);
}

void sc_unpack(enum sc_type type, const void *packed, int64_t from, int64_t count, void *plain)
{
    const unsigned bits = sc_type_bits(type);
    if (bits >= 8 || bits == 0) {
        const size_t bytes = sc_type_bytes(type);
        memcpy(plain, (const char *)packed + (size_t)from * bytes, (size_t)count * bytes);
        return;
    }
    const unsigned top = type == SC_I4 ? 8 : type == SC_I2 ? 2 : 0;
    const unsigned char *source = packed;
    unsigned char *target = plain;
    int64_t i = 0;
    if (bits == 4 && from % 2 == 0) {
        const unsigned char *pair = source + from / 2;
        for (; i + 2 <= count; i += 2, pair++) {
            target[i] = extended(*pair & 15, top);
            target[i + 1] = extended(*pair >> 4, top);
        }
    }
    for (; i < count; i++) {
        target[i] = extended(bits_at(source, (from + i) * bits, bits), top);
    }
}

void sc_pack(enum sc_type type, const void *plain, int64_t count, void *packed)
{
    const unsigned bits = sc_type_bits(type);
    if (bits >= 8 || bits == 0) {
        memcpy(packed, plain, (size_t)count * sc_type_bytes(type));
        return;
    }
    const unsigned char *source = plain;
    unsigned char *target = packed;
    memset(target, 0, sc_packed_bytes(type, count));
    for (int64_t i = 0; i < count; i++) {
        const int64_t bit = i * bits;
        const unsigned value = (source[i] & ((1u << bits) - 1)) << (bit % 8);
        target[bit / 8] |= (unsigned char)value;
        if (value > 255) {
            target[bit / 8 + 1] |= (unsigned char)(value >> 8);
        }
    }
}
