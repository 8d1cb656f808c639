/* SPDX-License-Identifier: Apache-2.0
 * Codes of one kind, widened and multiplied. Parameters: WIDE_BITS (of a code), WIDE_SHARED (1: all columns have the
 * same zero point). */

#define WIDE_PASTE2(a, b, c) a##_##b##_##c
#define WIDE_PASTE(a, b, c) WIDE_PASTE2(a, b, c)
#define WIDE_FN(name) WIDE_PASTE(name, WIDE_BITS, WIDE_SHARED)
#define WIDE_CODES (32 / WIDE_BITS) /* of a column, in a chunk */

/* Lane j of a chunk has all codes of column j: those of k and k + 4 are WIDE_BITS apart. */
SC_INLINE v16 WIDE_FN(float_of)(w16 lanes, const int k, const struct block *block, v16 table)
{
    const int shift = 8 * (k % 4) + WIDE_BITS * (k / 4);
#if defined(SC_LEVEL_AVX512) && WIDE_BITS < 8
    const v16 code = look_up(lanes, shift, table);
    return v_mul(WIDE_SHARED ? code : v_sub(code, block->zero), block->scale);
#else
    (void)table;
    return v_mul(take_code(lanes, shift, block->zero, WIDE_BITS), block->scale);
#endif
}

static void WIDE_FN(widen)(const struct sc_code_panels *b, float *to)
{
    const v16 table = make_table(WIDE_SHARED ? b->zero : 0, WIDE_BITS);
    const uint8_t *chunk = b->codes;
    for (int64_t i = 0; i < b->blocks; i++) {
        const struct block block = open_block(b, 0, i);
        for (int64_t k = 0; k < b->block; k += WIDE_CODES) {
            const w16 lanes = w_load((const int32_t *)(const void *)chunk);
#pragma GCC unroll 16
            for (int at = 0; at < WIDE_CODES; at++) {
                v_store(to + 16 * at, WIDE_FN(float_of)(lanes, at, &block, table));
            }
            chunk += SC_QUAD_BYTES;
            to += 16 * WIDE_CODES;
        }
    }
}

/* Where the sums of a few rows and panels are on their way down k. */
struct WIDE_FN(walk) {
    const float *a;
    int64_t a_stride, b_stride;
    const uint8_t *chunk;
    v16 table;
    struct block blocks[SC_WIDE_PANELS];
    v16 sum[SC_WIDE_ROWS][SC_WIDE_PANELS];
};

/* The first n columns of A that meet a chunk: all of them, or at the end of a row some. */
SC_INLINE void WIDE_FN(add_chunk)(struct WIDE_FN(walk) * w, int64_t n, const int M, const int P)
{
    w16 lanes[SC_WIDE_PANELS];
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) {
        lanes[p] = w_load((const int32_t *)(const void *)(w->chunk + p * w->b_stride));
        code_prefetch(w->chunk + p * w->b_stride + SC_CODE_AHEAD);
    }
#pragma GCC unroll 16
    for (int k = 0; k < WIDE_CODES; k++) {
        if (k >= n) {
            break;
        }
        v16 row[SC_WIDE_PANELS];
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) {
            row[p] = WIDE_FN(float_of)(lanes[p], k, &w->blocks[p], w->table);
        }
#pragma GCC unroll 4
        for (int m = 0; m < M; m++) {
            const v16 x = v_set(w->a[m * w->a_stride + k]);
#pragma GCC unroll 4
            for (int p = 0; p < P; p++) {
                w->sum[m][p] = v_fma(x, row[p], w->sum[m][p]);
            }
        }
    }
    w->chunk += SC_QUAD_BYTES;
    w->a += WIDE_CODES;
}

SC_INLINE void WIDE_FN(dot_body)(const struct sc_code_rows *r, int64_t m0, int64_t p0, const int M, const int P)
{
    struct WIDE_FN(walk) w = {.a = r->a + m0 * r->a_stride,
        .a_stride = r->a_stride,
        .b_stride = r->b.stride,
        .chunk = r->b.codes + p0 * r->b.stride,
        .table = make_table(WIDE_SHARED ? r->b.zero : 0, WIDE_BITS)};
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) {
            w.sum[m][p] = v_zero();
        }
    }
    for (int64_t i = 0; i < r->b.blocks; i++) {
        const int64_t left = r->k - i * r->b.block, n = left < r->b.block ? left : r->b.block;
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) {
            w.blocks[p] = open_block(&r->b, p0 + p, i);
        }
        for (int64_t k = 0; k < n / WIDE_CODES; k++) {
            WIDE_FN(add_chunk)(&w, WIDE_CODES, M, P);
        }
        if (n % WIDE_CODES > 0) {
            WIDE_FN(add_chunk)(&w, n % WIDE_CODES, M, P);
        }
    }
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) {
            v_store(r->y + (m0 + m) * r->y_stride + 16 * (p0 + p), w.sum[m][p]);
        }
    }
}

#define X(M, P)                                                                                                        \
    static __attribute__((noinline)) void WIDE_FN(dot_##M##_##P)(const void *product, int64_t m, int64_t p)            \
    {                                                                                                                  \
        WIDE_FN(dot_body)(product, m, p, M, P);                                                                        \
    }
SC_WIDE_SHAPES(X)
#undef X

static void WIDE_FN(dot)(const struct sc_code_rows *r)
{
    static const struct sc_shape shapes[] = {
#define X(M, P) {M, P, WIDE_FN(dot_##M##_##P)},
        SC_WIDE_SHAPES(X)
#undef X
    };
    sc_shapes_run(shapes, r, r->rows, r->b.panels);
}

#undef WIDE_PASTE2
#undef WIDE_PASTE
#undef WIDE_FN
#undef WIDE_CODES
#undef WIDE_BITS
#undef WIDE_SHARED
