/* SPDX-License-Identifier: Apache-2.0
 * Varints of the protobuf wire format. */
#ifndef SC_MODEL_VARINT_H
#define SC_MODEL_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum sc_wire { SC_WIRE_VARINT = 0, SC_WIRE_64 = 1, SC_WIRE_BYTES = 2, SC_WIRE_32 = 5 };

/* Reads a varint from data[0..bytes). Returns its length, or 0 when it is cut off or longer than 64 bits. */
static inline size_t sc_varint_read(const unsigned char *data, size_t bytes, uint64_t *value)
{
    uint64_t result = 0;
    for (size_t i = 0; i < bytes && i < 10; i++) {
        if (i == 9 && data[i] > 1) {
            return 0;
        }
        result |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (data[i] < 0x80) {
            *value = result;
            return i + 1;
        }
    }
    return 0;
}

/* Writes at most 10 bytes; returns how many. */
static inline size_t sc_varint_write(unsigned char *data, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) {
        data[n++] = (unsigned char)(value | 0x80);
    }
    data[n++] = (unsigned char)value;
    return n;
}

#endif
