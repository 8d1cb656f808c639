/* SPDX-License-Identifier: Apache-2.0
 * The body of a product of one tile. Parameters: TILE_NAME (the function), TILE_B (element type of B),
 * TILE_V (sixteen sums), TILE_LOAD (sixteen elements of B to TILE_V), TILE_OPS (f or i: the helpers on sums, f_zero and
 * so on), TILE_PREFIX (of the static helpers).
 * Rows and panels are constants of each instance and their loops are unrolled in full: otherwise GCC keeps the sums in
 * memory. Whatever the instance, a sum is one chain over k. */

#define TILE_PASTE2(a, b) a##b
#define TILE_PASTE(a, b) TILE_PASTE2(a, b)
#define TILE_BODY TILE_PASTE(TILE_PREFIX, _body)
#define TILE_PICK TILE_PASTE(TILE_PREFIX, _pick)
#define TILE_OP(name) TILE_PASTE(TILE_OPS, name)

SC_INLINE void TILE_BODY(const struct sc_gemm_tile *t, int64_t m0, int64_t p0, const int M, const int P)
{
    const int64_t a_stride = t->a_stride, a_step = t->a_step, panel_stride = t->panel_stride, b_stride = t->b_stride;
    const float *a = t->a + m0 * a_stride;
    const TILE_B *b = (const TILE_B *)t->b + p0 * panel_stride;
    float *c = t->c + m0 * t->c_stride + p0 * 16;
    const int last =
        t->n - p0 * 16 < P * 16 ? (int)(t->n - p0 * 16 - (P - 1) * 16) : 16; /* columns of the last panel */
    TILE_V sum[SC_TILE_ROWS][SC_TILE_PANELS];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            sum[m][p] = TILE_OP(_zero)();
        }
    }
    if (t->accumulate != 0) {
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
            for (int p = 0; p < P - 1; p++) {
                sum[m][p] = TILE_OP(_read)(c + m * t->c_stride + p * 16);
            }
            sum[m][P - 1] = TILE_OP(_read_n)(c + m * t->c_stride + (P - 1) * 16, last);
        }
    }
    for (int64_t k = 0; k < t->k; k++) {
        TILE_V row[SC_TILE_PANELS];
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            row[p] = TILE_LOAD(b + p * panel_stride);
            if (M <= SC_TILE_PREFETCH_ROWS) {
                const int ahead = SC_TILE_AHEAD(M, sizeof(TILE_B));
                __builtin_prefetch(b + p * panel_stride + ahead, 0, SC_TILE_AHEAD_CACHE);
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            const TILE_V x = TILE_OP(_set)(a + m * a_stride);
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                sum[m][p] = TILE_OP(_step)(x, row[p], sum[m][p]);
            }
        }
        a += a_step;
        b += b_stride;
    }
    if (t->bias != NULL) {
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            const TILE_V bias = TILE_OP(_set)(t->bias + m0 + m);
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                sum[m][p] = TILE_OP(_add)(sum[m][p], bias);
            }
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P - 1; p++) {
            TILE_OP(_write)(c + m * t->c_stride + p * 16, sum[m][p]);
        }
        TILE_OP(_write_n)(c + m * t->c_stride + (P - 1) * 16, sum[m][P - 1], last);
    }
}

/* One instance for each number of rows and each number of panels that fits the registers with it. */
#define TILE_CASE(M, P)                                                                                                \
    case (M)*16 + (P):                                                                                                 \
        TILE_PASTE(TILE_PREFIX, _##M##_##P)(t, m0, p0);                                                                \
        return;
#define X(M, P)                                                                                                        \
    static __attribute__((noinline)) void TILE_PASTE(TILE_PREFIX, _##M##_##P)(                                         \
        const struct sc_gemm_tile *t, int64_t m0, int64_t p0)                                                          \
    {                                                                                                                  \
        TILE_BODY(t, m0, p0, M, P);                                                                                    \
    }
SC_TILE_SHAPES(X)
#undef X

static void TILE_PICK(const struct sc_gemm_tile *t, int64_t m0, int64_t p0, int rows, int panels)
{
    switch (rows * 16 + panels) {
        SC_TILE_SHAPES(TILE_CASE)
    default:
        break;
    }
}

void TILE_NAME(const struct sc_gemm_tile *tile)
{
    if (tile->m <= 0 || tile->n <= 0) {
        return;
    }
    struct sc_gemm_tile t = *tile;
    t.a_step = t.a_step == 0 ? 1 : t.a_step;
    t.b_stride = t.b_stride == 0 ? 16 : t.b_stride;
    const int64_t n_blocks = (t.m + SC_TILE_ROWS - 1) / SC_TILE_ROWS; /* as even as they can be */
    const int64_t rows = t.m / n_blocks, longer = t.m % n_blocks;
    const int panels = tile_panels[rows + (longer > 0)];
    for (int64_t p0 = 0; p0 < t.panels; p0 += panels) {
        const int p = t.panels - p0 < panels ? (int)(t.panels - p0) : panels;
        int64_t m0 = 0;
        for (int64_t block = 0; block < n_blocks; block++) {
            const int64_t m = rows + (block < longer);
            TILE_PICK(&t, m0, p0, (int)m, p);
            m0 += m;
        }
    }
}

#undef TILE_PASTE2
#undef TILE_PASTE
#undef TILE_BODY
#undef TILE_PICK
#undef TILE_OP
#undef TILE_CASE
#undef TILE_NAME
#undef TILE_B
#undef TILE_V
#undef TILE_LOAD
#undef TILE_OPS
#undef TILE_PREFIX
