/* SPDX-License-Identifier: Apache-2.0
 * Packing of bytes. */
#include "ops/kernels/gemm_bytes.h"

#include <string.h>

enum { PANEL = 16, QUAD = 4, PACK_ROWS = 32, PACK_PANELS = 4, ALIGN = 64 };

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int64_t sc_bytes_depth(int64_t K)
{
    return div_up(K, QUAD) * QUAD;
}

static size_t rows_bytes(int64_t M, int64_t K)
{
    return align_up((size_t)M * (size_t)sc_bytes_depth(K));
}

static size_t panels_bytes(int64_t K, int64_t N)
{
    return align_up((size_t)div_up(N, PANEL) * PANEL * (size_t)sc_bytes_depth(K));
}

size_t sc_bytes_rows_size(int64_t M, int64_t K)
{
    return rows_bytes(M, K) + align_up((size_t)M * sizeof(int32_t));
}

size_t sc_bytes_panels_size(int64_t K, int64_t N)
{
    return panels_bytes(K, N) + (size_t)div_up(N, PANEL) * PANEL * sizeof(int32_t);
}

const int32_t *sc_bytes_row_sums(const void *packed, int64_t M, int64_t K)
{
    return (const int32_t *)(const void *)((const char *)packed + rows_bytes(M, K));
}

const int32_t *sc_bytes_column_sums(const void *packed, int64_t K, int64_t N)
{
    return (const int32_t *)(const void *)((const char *)packed + panels_bytes(K, N));
}

static uint8_t turn_of(enum sc_type type, bool is_b)
{
    return (type == SC_I8) == is_b ? 0x80 : 0;
}

int32_t sc_bytes_zero(enum sc_type type, bool is_b, const void *zeros, int64_t at)
{
    const uint8_t turned = (uint8_t)((zeros ? ((const uint8_t *)zeros)[at] : 0) ^ turn_of(type, is_b));
    return is_b ? turned : (int8_t)turned;
}

void sc_bytes_tile(const struct sc_kernels *kernels, const struct sc_byte_tile *tile)
{
    (kernels->byte_tile_vnni && sc_kernels_have_vnni() ? kernels->byte_tile_vnni : kernels->byte_tile)(tile);
}

struct pack_job {
    const struct sc_kernels *kernels;
    const uint8_t *data;
    uint8_t turn;
    int64_t rows, columns;
    void *packed;
    int32_t *sums;
};

static void pack_rows_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct pack_job *job = arg;
    const int64_t K = job->columns, depth = sc_bytes_depth(K);
    const int64_t end = (part + 1) * PACK_ROWS < job->rows ? (part + 1) * PACK_ROWS : job->rows;
    for (int64_t m = part * PACK_ROWS; m < end; m++) {
        int8_t *to = (int8_t *)job->packed + m * depth;
        job->sums[m] = job->kernels->byte_row(job->data + m * K, K, job->turn, to);
        memset(to + K, 0, (size_t)(depth - K));
    }
}

void sc_bytes_pack_rows(const struct sc_kernels *kernels, struct sc_team *team, enum sc_type type, const void *data,
    int64_t M, int64_t K, void *packed)
{
    struct pack_job job = {.kernels = kernels,
        .data = data,
        .turn = turn_of(type, false),
        .rows = M,
        .columns = K,
        .packed = packed,
        .sums = (int32_t *)(void *)((char *)packed + rows_bytes(M, K))};
    sc_team_for(team, div_up(M, PACK_ROWS), pack_rows_part, &job);
}

static void pack_panel(const struct pack_job *job, int64_t panel)
{
    const int64_t K = job->rows, N = job->columns, n0 = panel * PANEL;
    const size_t n = (size_t)(N - n0 < PANEL ? N - n0 : PANEL);
    uint8_t *to = (uint8_t *)job->packed + n0 * sc_bytes_depth(K);
    int32_t *sums = job->sums + n0;
    uint8_t edge[QUAD][PANEL];
    memset(sums, 0, PANEL * sizeof(*sums));
    memset(edge, job->turn, sizeof(edge)); /* which the turning makes zeros */
    for (int64_t k = 0; k < K; k += QUAD, to += PANEL * QUAD) {
        const uint8_t *four[QUAD];
        for (int i = 0; i < QUAD; i++) {
            four[i] = edge[i];
            if (k + i >= K) {
                memset(edge[i], job->turn, PANEL);
            } else if (n < PANEL) {
                memcpy(edge[i], job->data + (k + i) * N + n0, n);
            } else {
                four[i] = job->data + (k + i) * N + n0;
            }
        }
        job->kernels->byte_quads(four, job->turn, to, sums);
    }
}

static void pack_panels_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct pack_job *job = arg;
    const int64_t panels = div_up(job->columns, PANEL);
    const int64_t end = (part + 1) * PACK_PANELS < panels ? (part + 1) * PACK_PANELS : panels;
    for (int64_t panel = part * PACK_PANELS; panel < end; panel++) {
        pack_panel(job, panel);
    }
}

void sc_bytes_pack_panels(const struct sc_kernels *kernels, struct sc_team *team, enum sc_type type, const void *data,
    int64_t K, int64_t N, void *packed)
{
    struct pack_job job = {.kernels = kernels,
        .data = data,
        .turn = turn_of(type, true),
        .rows = K,
        .columns = N,
        .packed = packed,
        .sums = (int32_t *)(void *)((char *)packed + panels_bytes(K, N))};
    sc_team_for(team, div_up(div_up(N, PANEL), PACK_PANELS), pack_panels_part, &job);
}
