/* SPDX-License-Identifier: Apache-2.0
 * First all rows are rounded; then a part multiplies every row by a few panels. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

/* FEW_ROWS take panels side by side, as their speed is that of reading them; more of them take long enough over one. */
enum { PANEL = SC_NBITS_PANEL, ROWS = 64 /* that are put together */, FEW_ROWS = 16 };

struct rooms {
    int8_t *a; /* [M][length] */
    float *a_scales; /* [M][blocks] */
    int32_t *a_sums;
    char *workers; /* each the room of a part's panels */
    size_t bytes;
};

static int64_t length_of(const struct sc_blocks *b)
{
    return b->blocks * b->block;
}

static struct rooms cut_rooms(const struct sc_nbits *nbits, char *base)
{
    const struct sc_blocks *b = &nbits->blocks;
    struct rooms r = {0};
    struct sc_room room = {.at = base};
    r.a = sc_room_bytes(&room, (size_t)(nbits->M * length_of(b)));
    r.a_scales = sc_room_bytes(&room, (size_t)(nbits->M * b->blocks) * sizeof(float));
    r.a_sums = sc_room_bytes(&room, (size_t)(nbits->M * b->blocks) * sizeof(int32_t));
    r.workers = sc_room_bytes(&room, 0);
    r.bytes = room.used;
    return r;
}

static int64_t part_columns(const struct sc_nbits *nbits)
{
    return nbits->M <= FEW_ROWS ? SC_NBITS_COLUMNS : PANEL;
}

static size_t worker_bytes(const struct sc_nbits *nbits)
{
    return sc_nbits_room_bytes(nbits, part_columns(nbits) / PANEL);
}

size_t sc_nbits_coded_scratch(const struct sc_nbits *nbits, int n_workers)
{
    return cut_rooms(nbits, NULL).bytes + worker_bytes(nbits) * (size_t)n_workers;
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

static void columns_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_nbits *nbits = job->nbits;
    const struct sc_kernels *k = nbits->kernels;
    const struct sc_blocks *b = &nbits->blocks;
    const int64_t columns = part_columns(nbits), first = part * columns, left = b->rows - first;
    const int64_t n = left < columns ? left : columns;
    char *room = job->rooms.workers + (size_t)worker * worker_bytes(nbits);
    float y[ROWS * PANEL];
    _Static_assert(FEW_ROWS * SC_NBITS_COLUMNS <= ROWS * PANEL, "all of few rows are put together");
    struct sc_code_dot dot = {.b = sc_nbits_open(nbits, first / PANEL, sc_parts(n, PANEL), room),
        .a_stride = length_of(b),
        .y = y,
        .y_stride = columns};
    for (int64_t m0 = 0; m0 < nbits->M; m0 += ROWS) {
        dot.rows = nbits->M - m0 < ROWS ? nbits->M - m0 : ROWS;
        dot.a = job->rooms.a + m0 * length_of(b);
        dot.a_scales = job->rooms.a_scales + m0 * b->blocks;
        dot.a_sums = job->rooms.a_sums + m0 * b->blocks;
        (k->dot_codes_vnni && sc_kernels_have_vnni() ? k->dot_codes_vnni : k->dot_codes)(&dot);
        for (int64_t m = 0; m < dot.rows; m++) {
            nbits->put(nbits->arg, m0 + m, first, n, y + m * columns);
        }
    }
}

void sc_nbits_coded_run(const struct sc_nbits *nbits, struct sc_team *team)
{
    struct job job = {.nbits = nbits, .rooms = cut_rooms(nbits, nbits->scratch)};
    sc_team_for(team, nbits->M, round_part, &job);
    sc_team_for(team, sc_parts(nbits->blocks.rows, part_columns(nbits)), columns_part, &job);
}
