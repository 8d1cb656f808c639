/* SPDX-License-Identifier: Apache-2.0
 * Rows of codes times panels of codes. Parameters: CODE_NAME (the function), CODE_QUADS (which sums of quads.h),
 * CODE_BITS (of a code of the panels), CODE_TAKE (the s-th quad of a chunk), CODE_TARGET (attribute of all
 * functions). */

#define CODE_PASTE2(a, b) a##b
#define CODE_PASTE(a, b) CODE_PASTE2(a, b)
#define CODE_OP(name) CODE_PASTE(CODE_QUADS, name)
#define CODE_BODY CODE_PASTE(CODE_NAME, _body)

CODE_TARGET SC_INLINE void CODE_BODY(const struct sc_code_dot *d, int64_t m0, int64_t p0, const int M, const int P)
{
    const struct sc_code_panels *b = &d->b;
    const uint8_t *chunk = b->codes + p0 * b->stride;
    const int8_t *a = d->a + m0 * d->a_stride;
    v16 total[SC_CODE_ROWS][SC_CODE_PANELS];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            total[m][p] = v_zero();
        }
    }
    for (int64_t i = 0; i < b->blocks; i++) {
        CODE_OP(_sums) sum[SC_CODE_ROWS][SC_CODE_PANELS];
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                sum[m][p] = CODE_OP(_zero)();
            }
        }
        if (M <= SC_CODE_PREFETCH_ROWS && !b->by_column) {
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                code_prefetch((const char *)b->scales + (p0 + p) * b->stride + 64 * (i + SC_SCALES_AHEAD));
            }
        }
        for (int64_t k = 0; k < b->block; k += 32 / CODE_BITS) {
            if (M <= SC_CODE_PREFETCH_ROWS) {
#pragma GCC unroll 8
                for (int p = 0; p < P; p++) {
                    code_prefetch(chunk + p * b->stride + SC_CODE_AHEAD);
                }
            }
#pragma GCC unroll 4
            for (int s = 0; s < 8 / CODE_BITS; s++) {
                CODE_OP(_b) codes[SC_CODE_PANELS];
#pragma GCC unroll 8
                for (int p = 0; p < P; p++) {
                    codes[p] = CODE_TAKE(chunk + p * b->stride, s);
                }
#pragma GCC unroll 8
                for (int m = 0; m < M; m++) {
                    const CODE_OP(_a) x = CODE_OP(_set)(a + m * d->a_stride + 4 * s);
#pragma GCC unroll 8
                    for (int p = 0; p < P; p++) {
                        sum[m][p] = CODE_OP(_step)(x, codes[p], sum[m][p]);
                    }
                }
            }
            chunk += SC_QUAD_BYTES;
            a += 32 / CODE_BITS;
        }
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            const v16 scales = code_scales(b, p0 + p, i);
#pragma GCC unroll 8
            for (int m = 0; m < M; m++) {
                const int64_t at = (m0 + m) * b->blocks + i;
                const w16 whole = w_sub(CODE_OP(_end)(sum[m][p]), code_shift(b, p0 + p, i, d->a_sums[at]));
                total[m][p] = v_fma(w_to_float(whole), v_mul(scales, v_set(d->a_scales[at])), total[m][p]);
            }
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            v_store(d->y + (m0 + m) * d->y_stride + 16 * (p0 + p), total[m][p]);
        }
    }
}

#define X(M, P)                                                                                                        \
    CODE_TARGET static __attribute__((noinline)) void CODE_PASTE(CODE_NAME, _##M##_##P)(                               \
        const void *product, int64_t m, int64_t p)                                                                     \
    {                                                                                                                  \
        CODE_BODY(product, m, p, M, P);                                                                                \
    }
SC_CODE_SHAPES(X)
#undef X

static void CODE_NAME(const struct sc_code_dot *d)
{
    static const struct sc_shape shapes[] = {
#define X(M, P) {M, P, CODE_PASTE(CODE_NAME, _##M##_##P)},
        SC_CODE_SHAPES(X)
#undef X
    };
    sc_shapes_run(shapes, d, d->rows, d->b.panels);
}

#undef CODE_PASTE2
#undef CODE_PASTE
#undef CODE_OP
#undef CODE_BODY
#undef CODE_NAME
#undef CODE_QUADS
#undef CODE_BITS
#undef CODE_TAKE
#undef CODE_TARGET
