/* SPDX-License-Identifier: Apache-2.0
 * A part multiplies all rows by a few panels: as they are widened, or where rows are many by a step of k that was
 * widened before. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/shape/shape.h"

enum { PANEL = SC_NBITS_PANEL, PANELS = SC_NBITS_COLUMNS / PANEL, FEW_ROWS = 4, STEP = 256 };

struct job {
    const struct sc_nbits *nbits;
    size_t room_bytes, wide_bytes, c_bytes; /* of a worker: panels' room, the widened step, the results */
};

static bool are_few(const struct sc_nbits *nbits)
{
    return nbits->M <= FEW_ROWS && !nbits->grouped;
}

static struct job open_job(const struct sc_nbits *nbits)
{
    struct job job = {.nbits = nbits};
    const int64_t depth = are_few(nbits) ? 0 : nbits->grouped ? nbits->blocks.width : STEP;
    job.room_bytes = nbits->grouped ? 0 : sc_nbits_room_bytes(nbits, PANELS);
    job.wide_bytes = (size_t)depth * SC_NBITS_COLUMNS * sizeof(float);
    job.c_bytes = (size_t)nbits->M * SC_NBITS_COLUMNS * sizeof(float);
    return job;
}

static size_t worker_bytes(const struct job *job)
{
    return job->room_bytes + job->wide_bytes + job->c_bytes;
}

size_t sc_nbits_wide_scratch(const struct sc_nbits *nbits, int n_workers)
{
    const struct job job = open_job(nbits);
    return worker_bytes(&job) * (size_t)n_workers;
}

static void multiply_few(const struct job *job, int64_t first, int64_t n, char *room)
{
    const struct sc_nbits *nbits = job->nbits;
    const int64_t K = nbits->blocks.width;
    const struct sc_code_rows rows = {.b = sc_nbits_open(nbits, first / PANEL, sc_parts(n, PANEL), room),
        .rows = nbits->M,
        .k = K,
        .a = nbits->a,
        .a_stride = K,
        .y = (float *)(void *)(room + job->room_bytes),
        .y_stride = SC_NBITS_COLUMNS};
    nbits->kernels->dot_floats(&rows);
}

/* Codes [k, k + STEP) of panel p: whole blocks, or a piece of one, as both are powers of two. */
static void widen(const struct job *job, const struct sc_code_panels *panels, int64_t p, int64_t k, float *to)
{
    const int64_t left = panels->blocks * panels->block - k, n = left < STEP ? left : STEP;
    const int64_t stride = p * panels->stride, at = panels->by_column ? 0 : k / panels->block * PANEL;
    struct sc_code_panels step = *panels;
    step.block = panels->block < n ? panels->block : n;
    step.blocks = n / step.block;
    step.codes += stride + k * PANEL / 8 * panels->bits;
    step.scales += stride / (int64_t)sizeof(float) + at;
    step.zeros = panels->zeros ? panels->zeros + stride + at : NULL;
    step.float_zeros = panels->float_zeros ? panels->float_zeros + stride / (int64_t)sizeof(float) + at : NULL;
    job->nbits->kernels->widen_codes(&step, to);
}

static void multiply(const struct job *job, int64_t first, int64_t n, char *room)
{
    const struct sc_nbits *nbits = job->nbits;
    const int64_t K = nbits->blocks.width;
    const struct sc_code_panels panels = sc_nbits_open(nbits, first / PANEL, sc_parts(n, PANEL), room);
    float *wide = (float *)(void *)(room + job->room_bytes);
    for (int64_t k = 0; k < K; k += STEP) {
        for (int64_t p = 0; p < panels.panels; p++) {
            widen(job, &panels, p, k, wide + p * PANEL * STEP);
        }
        const struct sc_gemm_tile tile = {.m = nbits->M,
            .k = K - k < STEP ? K - k : STEP,
            .panels = panels.panels,
            .a = nbits->a + k,
            .a_stride = K,
            .b = wide,
            .panel_stride = PANEL * STEP,
            .c = (float *)(void *)((char *)wide + job->wide_bytes),
            .c_stride = SC_NBITS_COLUMNS,
            .n = n,
            .accumulate = k > 0};
        nbits->kernels->gemm_tile(&tile);
    }
}

/* Where every k has a block of its own choice, panels are widened whole. */
static void multiply_grouped(const struct job *job, int64_t first, int64_t n, char *room)
{
    const struct sc_nbits *nbits = job->nbits;
    const int64_t K = nbits->blocks.width;
    float *wide = (float *)(void *)room;
    memset(wide, 0, job->wide_bytes);
    for (int64_t j = 0; j < n; j++) {
        sc_blocks_row(&nbits->blocks, first + j, wide + j / PANEL * PANEL * K + j % PANEL, PANEL);
    }
    const struct sc_gemm_tile tile = {.m = nbits->M,
        .k = K,
        .panels = sc_parts(n, PANEL),
        .a = nbits->a,
        .a_stride = K,
        .b = wide,
        .panel_stride = PANEL * K,
        .c = (float *)(void *)((char *)wide + job->wide_bytes),
        .c_stride = SC_NBITS_COLUMNS,
        .n = n};
    nbits->kernels->gemm_tile(&tile);
}

static void columns_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_nbits *nbits = job->nbits;
    char *room = (char *)nbits->scratch + (size_t)worker * worker_bytes(job);
    const int64_t first = part * SC_NBITS_COLUMNS, left = nbits->blocks.rows - first;
    const int64_t n = left < SC_NBITS_COLUMNS ? left : SC_NBITS_COLUMNS;
    (nbits->grouped ? multiply_grouped : are_few(nbits) ? multiply_few : multiply)(job, first, n, room);
    float *c = (float *)(void *)(room + job->room_bytes + job->wide_bytes);
    for (int64_t m = 0; m < nbits->M; m++) {
        nbits->put(nbits->arg, m, first, n, c + m * SC_NBITS_COLUMNS);
    }
}

void sc_nbits_wide_run(const struct sc_nbits *nbits, struct sc_team *team)
{
    struct job job = open_job(nbits);
    sc_team_for(team, sc_parts(nbits->blocks.rows, SC_NBITS_COLUMNS), columns_part, &job);
}
