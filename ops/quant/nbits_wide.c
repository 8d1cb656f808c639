/* SPDX-License-Identifier: Apache-2.0
 * A part widens a few panels, a step of k at a time, and multiplies all rows by them. */
#include <string.h>

#include "ops/quant/nbits.h"
#include "ops/shape/shape.h"

enum { PANEL = SC_NBITS_PANEL, PANELS = SC_NBITS_COLUMNS / PANEL, FEW_ROWS = 8, SHORT_STEP = 64, LONG_STEP = 256 };

struct job {
    const struct sc_nbits *nbits;
    int64_t step; /* of k */
    size_t panel_bytes, wide_bytes, c_bytes; /* of a worker: PANELS panels' rooms, the widened step, the results */
};

static struct job open_job(const struct sc_nbits *nbits)
{
    struct job job = {.nbits = nbits, .step = nbits->M <= FEW_ROWS ? SHORT_STEP : LONG_STEP};
    const struct sc_blocks *b = &nbits->blocks;
    const int64_t depth = nbits->grouped ? b->width : job.step;
    job.panel_bytes = nbits->grouped ? 0 : sc_nbits_panel_bytes(nbits);
    job.wide_bytes = (size_t)depth * SC_NBITS_COLUMNS * sizeof(float);
    job.c_bytes = (size_t)nbits->M * SC_NBITS_COLUMNS * sizeof(float);
    return job;
}

static size_t worker_bytes(const struct job *job)
{
    return PANELS * job->panel_bytes + job->wide_bytes + job->c_bytes;
}

size_t sc_nbits_wide_scratch(const struct sc_nbits *nbits, int n_workers)
{
    const struct job job = open_job(nbits);
    return worker_bytes(&job) * (size_t)n_workers;
}

/* Codes [k, k + step) of a panel: whole blocks, or a piece of one, as both are powers of two. */
static void widen(const struct job *job, const struct sc_nbits_panel *p, int64_t k, float *to)
{
    const struct sc_blocks *b = &job->nbits->blocks;
    const int64_t left = b->blocks * b->block - k, n = left < job->step ? left : job->step;
    const int64_t block = b->block < n ? b->block : n, at = k / b->block * PANEL;
    const struct sc_code_panel panel = {.bits = b->bits,
        .block = block,
        .blocks = n / block,
        .codes = p->codes + k * PANEL / 8 * b->bits,
        .scales = p->scales + at,
        .zeros = p->zeros ? p->zeros + at : NULL,
        .zero = b->zero};
    job->nbits->kernels->widen_codes(&panel, to);
}

static void multiply(const struct job *job, int64_t first, int64_t n, char *room)
{
    const struct sc_nbits *nbits = job->nbits;
    const int64_t K = nbits->blocks.width, panels = sc_parts(n, PANEL);
    float *wide = (float *)(void *)(room + PANELS * job->panel_bytes);
    struct sc_nbits_panel opened[PANELS];
    for (int64_t p = 0; p < panels; p++) {
        opened[p] = sc_nbits_panel_open(nbits, first / PANEL + p, room + (size_t)p * job->panel_bytes);
    }
    for (int64_t k = 0; k < K; k += job->step) {
        for (int64_t p = 0; p < panels; p++) {
            widen(job, &opened[p], k, wide + p * PANEL * job->step);
        }
        const struct sc_gemm_tile tile = {.m = nbits->M,
            .k = K - k < job->step ? K - k : job->step,
            .panels = panels,
            .a = nbits->a + k,
            .a_stride = K,
            .b = wide,
            .panel_stride = PANEL * job->step,
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
    (nbits->grouped ? multiply_grouped : multiply)(job, first, n, room);
    float *c = (float *)(void *)(room + PANELS * job->panel_bytes + job->wide_bytes);
    for (int64_t m = 0; m < nbits->M; m++) {
        nbits->put(nbits->arg, m, first, n, c + m * SC_NBITS_COLUMNS);
    }
}

void sc_nbits_wide_run(const struct sc_nbits *nbits, struct sc_team *team)
{
    struct job job = open_job(nbits);
    sc_team_for(team, sc_parts(nbits->blocks.rows, SC_NBITS_COLUMNS), columns_part, &job);
}
