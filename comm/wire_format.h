/* SPDX-License-Identifier: Apache-2.0
 * The layout of a message, shared by its writer and its reader. */
#ifndef SC_COMM_WIRE_FORMAT_H
#define SC_COMM_WIRE_FORMAT_H

#include "comm/wire.h"

/*   offset 0   struct sc_wire_header, up to its last row
 *   then       records, one per value, each at a multiple of 8:
 *     NONE       record
 *     TENSOR     record, rank × int64 dims, padding to 64, dense elements (plain or packed as `storage` says)
 *                of strings: record, dims, n × uint64 lengths, the bytes one after the other
 *     SEQUENCE   record, the records of its n items
 *     OPTIONAL   record (n is 0 or 1), the record of its item
 * Byte order is that of the machines, which must agree: the magic number differs otherwise. */
#define SC_WIRE_MAGIC 0x53434d31u
#define SC_WIRE_ALIGN 64
#define SC_WIRE_DEPTH 8 /* a sequence or optional inside at most 7 others */

struct sc_wire_record {
    uint8_t kind;
    uint8_t type;
    uint8_t storage; /* of a tensor; of an optional: the kind that it holds */
    uint8_t rank;
    uint32_t zero;
    int64_t n; /* elements of a tensor, items of a sequence or optional */
};

#endif
