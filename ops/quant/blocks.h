/* SPDX-License-Identifier: Apache-2.0
 * Weights quantised in blocks along rows: one description for every operator that has them. */
#ifndef SC_OPS_QUANT_BLOCKS_H
#define SC_OPS_QUANT_BLOCKS_H

#include "ops/op.h"

/* Row n has `width` elements of 2, 4 or 8 bits, low bits first, in blocks of `block`. An element is (q - zero) * scale.
 *   data    [rows, row_bytes]: blocks of block * bits / 8 bytes; the last one may be short
 *   scales  [rows, blocks] of scale_type
 *   zeros   by zeros_type: SC_TYPE_NONE: all are `zero`; U8: packed like data, each row in whole bytes; else floats
 *           of that type, [rows, blocks]
 * by_row: all blocks of a row have one scale and zero point: scales [rows], zeros [rows] codes, packed as one row. */
struct sc_blocks {
    int bits;
    bool is_signed; /* elements are two's complement */
    bool by_row;
    int64_t rows, width, block, blocks;
    const uint8_t *data;
    size_t row_bytes;
    enum sc_type scale_type, zeros_type;
    const void *scales, *zeros;
    float zero;
    size_t zeros_row_bytes;
    const int32_t *groups; /* element k has the scale and zero point of block groups[k]; NULL: of its own */
};

float sc_blocks_scale(const struct sc_blocks *blocks, int64_t n, int64_t block);
float sc_blocks_zero(const struct sc_blocks *blocks, int64_t n, int64_t block);

/* Elements of row n as floats, `step` floats apart. */
void sc_blocks_row(const struct sc_blocks *blocks, int64_t n, float *to, int64_t step);

#endif
