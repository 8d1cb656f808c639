/* SPDX-License-Identifier: Apache-2.0
 * Panels of codes: the codes of sixteen columns, then their scales, then their zero points. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

enum { PANEL = SC_NBITS_PANEL, CHUNK = 64 };

/* Where the parts of a panel begin. */
struct layout {
    size_t scales, zeros, bytes;
    int64_t blocks; /* that have scales of their own */
};

static struct layout layout_of(const struct sc_blocks *b)
{
    struct layout l = {.blocks = b->by_row ? 1 : b->blocks};
    const size_t n = (size_t)l.blocks * PANEL;
    l.scales = sc_room_round((size_t)(b->blocks * b->block) * PANEL / 8 * (size_t)b->bits);
    l.zeros = l.scales + sc_room_round(n * sizeof(float));
    l.bytes = l.zeros;
    if (b->zeros_type != SC_TYPE_NONE) {
        l.bytes += sc_room_round(n * (b->zeros_type == SC_U8 ? 1 : sizeof(float)));
    }
    return l;
}

size_t sc_nbits_packed_bytes(const struct sc_blocks *b)
{
    return (size_t)sc_parts(b->rows, PANEL) * layout_of(b).bytes;
}

/* Entry k of column j goes to chunk k / (32 / bits), byte 4 j + k % 4, above those of the quads before it. */
static void pack_codes(const struct sc_blocks *b, int64_t first, int64_t n, uint8_t *to)
{
    const int bits = b->bits, quads = 8 / bits, mask = (1 << bits) - 1;
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

static void pack_panel(const struct sc_blocks *b, int64_t panel, uint8_t *to)
{
    const struct layout l = layout_of(b);
    const int64_t first = panel * PANEL, n = b->rows - first < PANEL ? b->rows - first : PANEL;
    float *scales = (float *)(void *)(to + l.scales), *zeros = (float *)(void *)(to + l.zeros);
    if (b->data) {
        pack_codes(b, first, n, to);
    }
    for (int64_t i = 0; i < l.blocks * n; i++) {
        const int64_t block = i / n, j = i % n, at = block * PANEL + j;
        if (b->scales) {
            scales[at] = sc_blocks_scale(b, first + j, block);
        }
        if (b->zeros && b->zeros_type == SC_U8) {
            to[l.zeros + (size_t)at] = (uint8_t)sc_blocks_zero(b, first + j, block);
        } else if (b->zeros) {
            zeros[at] = sc_blocks_zero(b, first + j, block);
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
    pack_panel(job->blocks, panel, job->packed + (size_t)panel * layout_of(job->blocks).bytes);
}

void sc_nbits_pack(const struct sc_blocks *blocks, struct sc_team *team, uint8_t *packed)
{
    struct pack_job job = {blocks, packed};
    sc_team_for(team, sc_parts(blocks->rows, PANEL), pack_part, &job);
}

size_t sc_nbits_room_bytes(const struct sc_nbits *nbits, int64_t n)
{
    return nbits->packed ? 0 : (size_t)n * layout_of(&nbits->blocks).bytes;
}

struct sc_code_panels sc_nbits_open(const struct sc_nbits *nbits, int64_t first, int64_t n, char *room)
{
    const struct sc_blocks *b = &nbits->blocks;
    const struct layout l = layout_of(b);
    const uint8_t *at = nbits->packed ? nbits->packed + (size_t)first * l.bytes : (const uint8_t *)room;
    if (!nbits->packed) {
        memset(room, 0, (size_t)n * l.bytes);
    }
    for (int64_t p = 0; p < n && !nbits->packed; p++) {
        pack_panel(b, first + p, (uint8_t *)room + (size_t)p * l.bytes);
    }
    struct sc_code_panels panels = {.bits = b->bits,
        .block = b->block,
        .blocks = b->blocks,
        .codes = at,
        .scales = (const float *)(const void *)(at + l.scales),
        .zero = b->zero,
        .by_column = b->by_row,
        .panels = n,
        .stride = (int64_t)l.bytes};
    if (b->zeros_type == SC_U8) {
        panels.zeros = at + l.zeros;
    } else if (b->zeros_type != SC_TYPE_NONE) {
        panels.float_zeros = (const float *)(const void *)(at + l.zeros);
    }
    return panels;
}
