/* SPDX-License-Identifier: Apache-2.0
 * Panels of codes, and what their blocks stand for. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { PANEL = SC_NBITS_PANEL, CHUNK = 64 };

static int64_t length_of(const struct sc_blocks *b)
{
    return b->blocks * b->block;
}

static size_t codes_bytes(const struct sc_blocks *b) /* of one panel */
{
    return (size_t)length_of(b) * PANEL / 8 * (size_t)b->bits;
}

size_t sc_nbits_packed_bytes(const struct sc_blocks *b)
{
    return (size_t)sc_parts(b->rows, PANEL) * codes_bytes(b);
}

/* Entry k of column j goes to chunk k / (32 / bits), byte 4 j + k % 4, above those of the quads before it. */
static void pack_panel(const struct sc_blocks *b, int64_t panel, uint8_t *to)
{
    const int64_t first = panel * PANEL, n = b->rows - first < PANEL ? b->rows - first : PANEL;
    const int bits = b->bits, quads = 8 / bits, mask = (1 << bits) - 1;
    memset(to, 0, codes_bytes(b));
    for (int64_t j = 0; j < n; j++) {
        const uint8_t *row = b->data + (size_t)(first + j) * b->row_bytes;
        uint8_t *lane = to + 4 * j;
        const int64_t held = (int64_t)b->row_bytes * quads; /* the last block may be short */
        for (int64_t k = 0; k < held; k += 4 * quads, lane += CHUNK) {
            for (int i = 0; i < 4 * quads && k + i < held; i++) {
                const int64_t bit = (k + i) * bits;
                lane[i % 4] |= (uint8_t)((row[bit / 8] >> (bit % 8) & mask) << (i / 4 * bits));
            }
        }
    }
}

struct pack_job {
    const struct sc_blocks *blocks;
    uint8_t *packed;
};

static void pack_part(void *arg, int64_t panel, int worker)
{
    (void)worker;
    const struct pack_job *job = arg;
    pack_panel(job->blocks, panel, job->packed + (size_t)panel * codes_bytes(job->blocks));
}

void sc_nbits_pack(const struct sc_blocks *blocks, struct sc_team *team, uint8_t *packed)
{
    struct pack_job job = {blocks, packed};
    sc_team_for(team, sc_parts(blocks->rows, PANEL), pack_part, &job);
}

static size_t floats_bytes(const struct sc_nbits *nbits) /* of [blocks][16], and of [16][blocks] */
{
    return ((size_t)nbits->blocks.blocks * PANEL * sizeof(float) + 63) / 64 * 64;
}

size_t sc_nbits_panel_bytes(const struct sc_nbits *nbits)
{
    return 4 * floats_bytes(nbits) + (nbits->packed ? 0 : (codes_bytes(&nbits->blocks) + 63) / 64 * 64);
}

/* Rows [first, first + n) of [rows, blocks] floats, turned. */
static void turn(const struct sc_nbits *nbits, enum sc_type type, const void *from, int64_t first, float *to)
{
    const struct sc_blocks *b = &nbits->blocks;
    const int64_t n = b->rows - first < PANEL ? b->rows - first : PANEL;
    const float *rows = (const float *)from + first * b->blocks;
    if (type != SC_F32) {
        float *wide = to + floats_bytes(nbits) / sizeof(float);
        sc_convert(type, sc_const_at(from, first * b->blocks, sc_type_bytes(type)), SC_F32, wide, n * b->blocks, 0);
        rows = wide;
    }
    if (n < PANEL) {
        memset(to, 0, floats_bytes(nbits));
    }
    nbits->kernels->turn(rows, b->blocks, n, b->blocks, NULL, to, PANEL);
}

static void spread_zeros(const struct sc_blocks *b, int64_t first, const struct sc_nbits_panel *p)
{
    const int64_t n = b->rows - first < PANEL ? b->rows - first : PANEL;
    const int mask = (1 << b->bits) - 1;
    for (int64_t j = 0; j < n; j++) {
        const uint8_t *row = (const uint8_t *)b->zeros + (size_t)(first + j) * b->zeros_row_bytes;
        for (int64_t i = 0; i < b->blocks; i++) {
            const int code = row[i * b->bits / 8] >> (i * b->bits % 8) & mask;
            p->whole_zeros[i * PANEL + j] = code;
            p->zeros[i * PANEL + j] = (float)code;
        }
    }
}

/* One scale and zero point for all blocks of a column. */
static void spread_rows(const struct sc_blocks *b, int64_t first, struct sc_nbits_panel *p)
{
    const int64_t n = b->rows - first < PANEL ? b->rows - first : PANEL;
    memset(p->scales, 0, (size_t)(b->blocks * PANEL) * sizeof(float));
    for (int64_t j = 0; j < n; j++) {
        const float scale = sc_blocks_scale(b, first + j, 0), zero = sc_blocks_zero(b, first + j, 0);
        for (int64_t i = 0; i < b->blocks; i++) {
            p->scales[i * PANEL + j] = scale;
            if (p->zeros) {
                p->zeros[i * PANEL + j] = zero;
                p->whole_zeros[i * PANEL + j] = (int32_t)zero;
            }
        }
    }
}

struct sc_nbits_panel sc_nbits_panel_open(const struct sc_nbits *nbits, int64_t panel, char *room)
{
    const struct sc_blocks *b = &nbits->blocks;
    const size_t bytes = floats_bytes(nbits);
    struct sc_nbits_panel p = {.scales = (float *)(void *)room};
    if (nbits->packed) {
        p.codes = nbits->packed + (size_t)panel * codes_bytes(b);
    } else {
        pack_panel(b, panel, (uint8_t *)room + 4 * bytes);
        p.codes = (const uint8_t *)room + 4 * bytes;
    }
    if (b->zeros) {
        p.zeros = (float *)(void *)(room + bytes);
        p.whole_zeros = (int32_t *)(void *)(room + 2 * bytes);
        memset(room + bytes, 0, 2 * bytes);
    }
    if (b->by_row) {
        spread_rows(b, panel * PANEL, &p);
        return p;
    }
    turn(nbits, b->scale_type, b->scales, panel * PANEL, p.scales);
    if (b->zeros && b->zeros_type == SC_U8) {
        spread_zeros(b, panel * PANEL, &p);
    } else if (b->zeros) {
        turn(nbits, b->zeros_type, b->zeros, panel * PANEL, p.zeros);
    }
    return p;
}
