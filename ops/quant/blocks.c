/* SPDX-License-Identifier: Apache-2.0
 * A block is read byte by byte; its scale and zero point once. */
#include "ops/quant/blocks.h"

#include "tensor/convert.h"

static float read_float(enum sc_type type, const void *data, int64_t i)
{
    float value;
    if (type == SC_F32) {
        return ((const float *)data)[i];
    }
    sc_convert(type, (const char *)data + (size_t)i * sc_type_bytes(type), SC_F32, &value, 1, 0);
    return value;
}

static int read_code(const uint8_t *data, int bits, int64_t i)
{
    const int64_t bit = i * bits;
    return data[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

float sc_blocks_zero(const struct sc_blocks *b, int64_t n, int64_t block)
{
    if (b->zeros_type == SC_TYPE_NONE) {
        return b->zero;
    }
    if (b->zeros_type != SC_U8) {
        return read_float(b->zeros_type, b->zeros, n * b->blocks + block);
    }
    const uint8_t *zeros = (const uint8_t *)b->zeros + (b->by_row ? 0 : (size_t)n * b->zeros_row_bytes);
    const int code = read_code(zeros, b->bits, b->by_row ? n : block);
    return (float)(b->is_signed && code >> (b->bits - 1) ? code - (1 << b->bits) : code);
}

float sc_blocks_scale(const struct sc_blocks *b, int64_t n, int64_t block)
{
    return read_float(b->scale_type, b->scales, b->by_row ? n : n * b->blocks + block);
}

static void grouped_row(const struct sc_blocks *b, int64_t n, float *to, int64_t step)
{
    const uint8_t *row = b->data + (size_t)n * b->row_bytes;
    for (int64_t k = 0; k < b->width; k++) {
        const float zero = sc_blocks_zero(b, n, b->groups[k]);
        to[k * step] = ((float)read_code(row, b->bits, k) - zero) * sc_blocks_scale(b, n, b->groups[k]);
    }
}

void sc_blocks_row(const struct sc_blocks *b, int64_t n, float *to, int64_t step)
{
    const uint8_t *row = b->data + (size_t)n * b->row_bytes;
    const int sign = b->is_signed ? 1 << (b->bits - 1) : 0; /* q ^ sign counts from the lowest value */
    if (b->groups) {
        grouped_row(b, n, to, step);
        return;
    }
    for (int64_t block = 0; block < b->blocks; block++) {
        const float scale = sc_blocks_scale(b, n, block);
        const float zero = sc_blocks_zero(b, n, block) + (float)sign;
        const int64_t first = block * b->block;
        const int64_t end = first + b->block < b->width ? first + b->block : b->width;
        for (int64_t k = first; k < end; k++) {
            to[k * step] = ((float)(read_code(row, b->bits, k) ^ sign) - zero) * scale;
        }
    }
}
