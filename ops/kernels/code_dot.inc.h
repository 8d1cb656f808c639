/* SPDX-License-Identifier: Apache-2.0
 * Rows of codes times a panel of codes. Parameters: CODE_NAME (the function), CODE_QUADS (which sums of quads.h), CODE_BITS
 * (of a code of the panel), CODE_TAKE (the s-th quad of a chunk), CODE_TARGET (attribute of all functions). */

#define CODE_PASTE2(a, b) a##b
#define CODE_PASTE(a, b) CODE_PASTE2(a, b)
#define CODE_OP(name) CODE_PASTE(CODE_QUADS, name)
#define CODE_BODY CODE_PASTE(CODE_NAME, _body)

CODE_TARGET SC_INLINE void CODE_BODY(const struct sc_code_dot *d, int64_t m0, const int M)
{
    const uint8_t *chunk = d->b;
    const int8_t *a = d->a + m0 * d->a_stride;
    v16 total[SC_CODE_ROWS];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
        total[m] = v_zero();
    }
    for (int64_t b = 0; b < d->blocks; b++) {
        CODE_OP(_sums) sum[SC_CODE_ROWS];
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            sum[m] = CODE_OP(_zero)();
        }
        for (int64_t k = 0; k < d->block; k += 32 / CODE_BITS) {
#pragma GCC unroll 4
            for (int s = 0; s < 8 / CODE_BITS; s++) {
                const CODE_OP(_b) codes = CODE_TAKE(chunk, s);
#pragma GCC unroll 8
                for (int m = 0; m < M; m++) {
                    sum[m] = CODE_OP(_step)(CODE_OP(_set)(a + m * d->a_stride + 4 * s), codes, sum[m]);
                }
            }
            chunk += SC_QUAD_BYTES;
            a += 32 / CODE_BITS;
        }
        const v16 scales = v_load(d->b_scales + 16 * b);
        const w16 zeros = d->zeros != NULL ? w_load(d->zeros + 16 * b) : w_set(d->zero);
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            const int64_t at = (m0 + m) * d->blocks + b;
            const w16 whole = w_sub(CODE_OP(_end)(sum[m]), w_mul(zeros, w_set(d->a_sums[at])));
            total[m] = v_fma(w_to_float(whole), v_mul(scales, v_set(d->a_scales[at])), total[m]);
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
        v_store(d->y + 16 * (m0 + m), total[m]);
    }
}

CODE_TARGET static __attribute__((noinline)) void CODE_PASTE(CODE_NAME, _one)(const struct sc_code_dot *d, int64_t m)
{
    CODE_BODY(d, m, 1);
}

CODE_TARGET static __attribute__((noinline)) void CODE_PASTE(CODE_NAME, _most)(const struct sc_code_dot *d, int64_t m)
{
    CODE_BODY(d, m, SC_CODE_ROWS);
}

static void CODE_NAME(const struct sc_code_dot *d)
{
    int64_t m = 0;
    for (; m + SC_CODE_ROWS <= d->rows; m += SC_CODE_ROWS) {
        CODE_PASTE(CODE_NAME, _most)(d, m);
    }
    for (; m < d->rows; m++) {
        CODE_PASTE(CODE_NAME, _one)(d, m);
    }
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
