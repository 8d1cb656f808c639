/* SPDX-License-Identifier: Apache-2.0
 * Packing, and blocks of C shared out to a team. A block goes down k in steps that keep the rows of A in the first
 * cache and carries C in f32, so that no bit depends on the blocks. */
#include "ops/kernels/gemm.h"

#include "base/int64.h"

#define PANEL 16
#define K_STEP 384
#define FEW_ROWS 16 /* up to here the speed is that of reading B: parts are many panels, every row */
#define PACK_PANELS 4 /* in one part of packing */
#define ALIGN 64

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* 16 bits: widened to f32 on the way. */
static bool is_narrow(enum sc_type type)
{
    return type == SC_F16 || type == SC_BF16;
}

size_t sc_gemm_packed_bytes(enum sc_type type, int64_t K, int64_t N)
{
    return (size_t)div_up(N, PANEL) * PANEL * (size_t)K * sc_type_bytes(type);
}

struct pack_job {
    const struct sc_gemm_b *b;
    void *packed;
};

/* One body for both widths of elements: E is uint32_t or uint16_t. */
#define PACK_PANEL(name, E)                                                                                            \
    static void name(const struct sc_gemm_b *b, int64_t panel, E *to)                                                  \
    {                                                                                                                  \
        const int64_t n0 = panel * PANEL, n = sc_min64(PANEL, b->N - n0);                                              \
        const E *from = (const E *)b->data + n0 * b->column_stride;                                                    \
        to += panel * PANEL * b->K;                                                                                    \
        for (int64_t k = 0; k < b->K; k++, to += PANEL, from += b->row_stride) {                                       \
            for (int64_t j = 0; j < n; j++) {                                                                          \
                to[j] = from[j * b->column_stride];                                                                    \
            }                                                                                                          \
            for (int64_t j = n; j < PANEL; j++) {                                                                      \
                to[j] = 0;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
PACK_PANEL(pack_panel_32, uint32_t)
PACK_PANEL(pack_panel_16, uint16_t)

static void pack_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct pack_job *job = arg;
    const int64_t n_panels = div_up(job->b->N, PANEL);
    const int64_t end = sc_min64(n_panels, (part + 1) * PACK_PANELS);
    for (int64_t panel = part * PACK_PANELS; panel < end; panel++) {
        if (is_narrow(job->b->type)) {
            pack_panel_16(job->b, panel, job->packed);
        } else {
            pack_panel_32(job->b, panel, job->packed);
        }
    }
}

void sc_gemm_pack(const struct sc_kernels *kernels, struct sc_team *team, const struct sc_gemm_b *b, void *packed)
{
    (void)kernels; /* the packed form is the same on every level */
    struct pack_job job = {b, packed};
    sc_team_for(team, div_up(div_up(b->N, PANEL), PACK_PANELS), pack_part, &job);
}

/* How C is cut: blocks of `rows` x `panels`; from the shape only. */
struct blocks {
    int64_t rows, panels, k_step;
};

/* Few rows: about a megabyte of B a part. Many: about 20 million multiply-adds, a quarter of a millisecond on the
 * slowest level that has FMA. Twelve and three panels are whole numbers of register tiles on every level. */
static struct blocks blocks_of(int64_t M, int64_t K)
{
    struct blocks blocks = {M, 12, K};
    const int64_t depth = sc_max64(K, 1);
    if (M <= FEW_ROWS) {
        blocks.panels = sc_max64(12, sc_min64(96, 16384 / depth / 12 * 12));
    } else {
        const int64_t most = depth <= 2048 ? 128 : 64;
        blocks.rows = sc_min64(M, div_up(div_up(M, div_up(M, most)), 8) * 8);
        blocks.panels = sc_max64(3, sc_min64(48, 20000000 / (blocks.rows * PANEL * depth) / 3 * 3));
    }
    blocks.k_step = M <= 8 ? depth : K_STEP;
    return blocks;
}

/* 16-bit types: the widened rows of A and the f32 block of C. */
static size_t part_scratch(const struct blocks *blocks, int64_t K)
{
    const size_t a = (size_t)blocks->rows * (size_t)K, c = (size_t)blocks->rows * (size_t)blocks->panels * PANEL;
    return ((a + c) * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

size_t sc_gemm_scratch_bytes(enum sc_type type, int64_t M, int64_t N, int64_t K, int n_workers)
{
    (void)N;
    if (!is_narrow(type)) {
        return 0;
    }
    size_t most = 0;
    for (int64_t m = 1; m <= sc_min64(M, 128); m++) { /* blocks of more rows have at most as many as one of these */
        const struct blocks blocks = blocks_of(m, K);
        const size_t bytes = part_scratch(&blocks, K);
        most = bytes > most ? bytes : most;
    }
    return most * (size_t)n_workers;
}

struct gemm_job {
    const struct sc_kernels *kernels;
    const struct sc_gemm *gemm;
    struct blocks blocks;
    char *scratch;
    size_t scratch_bytes; /* per worker */
};

/* One block of C, down all of k. `a` and `c` are f32, or 32-bit integers. */
static void run_block(const struct gemm_job *job, struct sc_gemm_tile tile, int64_t panel)
{
    const struct sc_gemm *g = job->gemm;
    const float *a = tile.a;
    for (int64_t k = 0; k < sc_max64(g->K, 1); k += job->blocks.k_step) {
        const int64_t at = panel * PANEL * g->K + k * PANEL;
        tile.k = sc_min64(job->blocks.k_step, g->K - k);
        tile.a = a + k;
        tile.accumulate = k > 0;
        if (!is_narrow(g->type)) {
            tile.b = (const float *)g->packed + at;
            (g->type == SC_F32 ? job->kernels->gemm_tile : job->kernels->gemm_tile_i32)(&tile);
        } else {
            tile.b = (const uint16_t *)g->packed + at;
            (g->type == SC_F16 ? job->kernels->gemm_tile_f16 : job->kernels->gemm_tile_bf16)(&tile);
        }
    }
}

/* Widens the rows of A, runs in f32 and rounds each element of C once. */
static void run_narrow(const struct gemm_job *job, struct sc_gemm_tile tile, int64_t m, int64_t panel, int worker)
{
    const struct sc_gemm *g = job->gemm;
    const struct sc_kernels *kernels = job->kernels;
    float *a = (float *)(void *)(job->scratch + (size_t)worker * job->scratch_bytes);
    float *c = a + job->blocks.rows * g->K;
    for (int64_t i = 0; i < tile.m; i++) {
        const uint16_t *from = (const uint16_t *)g->a + (m + i) * g->a_stride;
        (g->type == SC_F16 ? kernels->f16_to_f32 : kernels->bf16_to_f32)(from, a + i * g->K, g->K);
    }
    tile.a = a;
    tile.a_stride = g->K;
    tile.c = c;
    tile.c_stride = job->blocks.panels * PANEL;
    run_block(job, tile, panel);
    for (int64_t i = 0; i < tile.m; i++) {
        uint16_t *to = (uint16_t *)g->c + (m + i) * g->c_stride + panel * PANEL;
        (g->type == SC_F16 ? kernels->f32_to_f16 : kernels->f32_to_bf16)(c + i * tile.c_stride, to, tile.n);
    }
}

/* Parts go down m first: the next one finds its panels of B in the cache. */
static void run_part(void *arg, int64_t part, int worker)
{
    const struct gemm_job *job = arg;
    const struct sc_gemm *g = job->gemm;
    const int64_t n_down = div_up(g->M, job->blocks.rows);
    const int64_t m = part % n_down * job->blocks.rows, panel = part / n_down * job->blocks.panels;
    const int64_t n = sc_min64(job->blocks.panels * PANEL, g->N - panel * PANEL);
    struct sc_gemm_tile tile = {
        .m = sc_min64(job->blocks.rows, g->M - m), .panels = div_up(n, PANEL), .panel_stride = PANEL * g->K, .n = n};
    if (is_narrow(g->type)) {
        run_narrow(job, tile, m, panel, worker);
        return;
    }
    tile.a = (const float *)g->a + m * g->a_stride;
    tile.a_stride = g->a_stride;
    tile.c = (float *)g->c + m * g->c_stride + panel * PANEL;
    tile.c_stride = g->c_stride;
    run_block(job, tile, panel);
}

void sc_gemm_run(const struct sc_kernels *kernels, struct sc_team *team, const struct sc_gemm *gemm, void *scratch)
{
    if (gemm->M <= 0 || gemm->N <= 0) {
        return;
    }
    struct gemm_job job = {kernels, gemm, blocks_of(gemm->M, gemm->K), scratch, 0};
    job.scratch_bytes = part_scratch(&job.blocks, gemm->K);
    const int64_t n_down = div_up(gemm->M, job.blocks.rows);
    const int64_t n_across = div_up(div_up(gemm->N, PANEL), job.blocks.panels);
    sc_team_for(team, n_down * n_across, run_part, &job);
}
