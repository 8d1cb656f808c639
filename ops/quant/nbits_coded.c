/* SPDX-License-Identifier: Apache-2.0
 * First all rows are rounded; then a part unpacks sixteen columns and multiplies every row by them. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/shape/shape.h"

enum { COLUMNS = 16 };

struct rooms {
    int8_t *a; /* [M][length] */
    float *a_scales; /* [M][blocks] */
    int32_t *a_sums;
    char *workers; /* each worker_bytes */
    size_t bytes;
};

static int64_t length_of(const struct sc_blocks *b)
{
    return b->blocks * b->block;
}

static char *take(char *base, size_t *total, size_t bytes)
{
    char *at = base ? base + *total : NULL;
    *total += (bytes + 63) / 64 * 64;
    return at;
}

/* Of one part: unpacked columns, and their scales and zero points by block. */
struct columns {
    int8_t *codes; /* [COLUMNS][length] */
    float *scales; /* [blocks][COLUMNS] */
    int32_t *zeros;
    size_t bytes;
};

static struct columns cut_columns(const struct sc_blocks *b, char *base)
{
    struct columns c = {0};
    c.codes = (int8_t *)take(base, &c.bytes, (size_t)(COLUMNS * length_of(b)));
    c.scales = (float *)(void *)take(base, &c.bytes, (size_t)(COLUMNS * b->blocks) * sizeof(float));
    c.zeros = (int32_t *)(void *)take(base, &c.bytes, (size_t)(COLUMNS * b->blocks) * sizeof(int32_t));
    return c;
}

static struct rooms cut_rooms(const struct sc_nbits *nbits, char *base)
{
    const struct sc_blocks *b = &nbits->blocks;
    struct rooms r = {0};
    r.a = (int8_t *)take(base, &r.bytes, (size_t)(nbits->M * length_of(b)));
    r.a_scales = (float *)(void *)take(base, &r.bytes, (size_t)(nbits->M * b->blocks) * sizeof(float));
    r.a_sums = (int32_t *)(void *)take(base, &r.bytes, (size_t)(nbits->M * b->blocks) * sizeof(int32_t));
    r.workers = take(base, &r.bytes, 0);
    return r;
}

size_t sc_nbits_scratch_bytes(const struct sc_nbits *nbits, int n_workers)
{
    return cut_rooms(nbits, NULL).bytes + cut_columns(&nbits->blocks, NULL).bytes * (size_t)n_workers;
}

struct job {
    const struct sc_nbits *nbits;
    struct rooms rooms;
};

static void round_part(void *arg, int64_t m, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_blocks *b = &job->nbits->blocks;
    int8_t *codes = job->rooms.a + m * length_of(b);
    memset(codes + b->width, 0, (size_t)(length_of(b) - b->width));
    for (int64_t i = 0; i < b->blocks; i++) {
        const int64_t first = i * b->block, n = b->width - first < b->block ? b->width - first : b->block;
        struct sc_coded coded = {.codes = codes + first};
        job->nbits->kernels->code_block(job->nbits->a + m * b->width + first, n, &coded);
        job->rooms.a_scales[m * b->blocks + i] = coded.scale;
        job->rooms.a_sums[m * b->blocks + i] = coded.sum;
    }
}

static void unpack(const struct job *job, int64_t first, int64_t n, const struct columns *c)
{
    const struct sc_blocks *b = &job->nbits->blocks;
    const int middle = 1 << (b->bits - 1);
    for (int64_t j = 0; j < n; j++) {
        job->nbits->kernels->unpack_codes(
            b->data + (size_t)(first + j) * b->row_bytes, b->bits, length_of(b), c->codes + j * length_of(b));
        for (int64_t i = 0; i < b->blocks; i++) {
            c->scales[i * COLUMNS + j] = sc_blocks_scale(b, first + j, i);
            c->zeros[i * COLUMNS + j] = b->zeros ? (int32_t)sc_blocks_zero(b, first + j, i) - middle : 0;
        }
    }
}

static void columns_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_nbits *nbits = job->nbits;
    const struct sc_blocks *b = &nbits->blocks;
    const int64_t first = part * COLUMNS, n = b->rows - first < COLUMNS ? b->rows - first : COLUMNS;
    const size_t bytes = cut_columns(b, NULL).bytes;
    char *room = job->rooms.workers + (size_t)worker * bytes;
    const struct columns c = cut_columns(b, room);
    if (n < COLUMNS) {
        memset(room, 0, bytes);
    }
    unpack(job, first, n, &c);
    struct sc_code_dot dot = {.block = b->block,
        .blocks = b->blocks,
        .b = c.codes,
        .b_stride = length_of(b),
        .b_scales = c.scales,
        .zeros = b->zeros ? c.zeros : NULL};
    for (int64_t m = 0; m < nbits->M; m++) {
        float row[COLUMNS];
        dot.a = job->rooms.a + m * length_of(b);
        dot.a_scales = job->rooms.a_scales + m * b->blocks;
        dot.a_sums = job->rooms.a_sums + m * b->blocks;
        nbits->kernels->dot_codes(&dot, row);
        nbits->put(nbits->arg, m, first, n, row);
    }
}

void sc_nbits_run(const struct sc_nbits *nbits, struct sc_team *team)
{
    struct job job = {.nbits = nbits, .rooms = cut_rooms(nbits, nbits->scratch)};
    sc_team_for(team, nbits->M, round_part, &job);
    sc_team_for(team, sc_parts(nbits->blocks.rows, COLUMNS), columns_part, &job);
}
