/* SPDX-License-Identifier: Apache-2.0
 * A tile of a product of bytes. Parameters: BYTE_NAME (the function), BYTE_QUADS (which sums of quads.h), BYTE_TARGET
 * (attribute of all functions), BYTE_ROWS and BYTE_PANELS (the most of a register tile), BYTE_LIST (the most panels for
 * 1, 2, ... rows, never growing), BYTE_SHAPES (X for each number of rows and of panels that may come up). */

#define BYTE_PASTE2(a, b) a##b
#define BYTE_PASTE(a, b) BYTE_PASTE2(a, b)
#define BYTE_OP(name) BYTE_PASTE(BYTE_QUADS, name)
#define BYTE_BODY BYTE_PASTE(BYTE_QUADS, _tile_body)
#define BYTE_PICK BYTE_PASTE(BYTE_QUADS, _tile_pick)

BYTE_TARGET SC_INLINE void BYTE_BODY(const struct sc_byte_tile *t, int64_t m0, int64_t p0, const int M, const int P)
{
    const int64_t a_stride = t->a_stride, panel_stride = t->panel_stride;
    const int8_t *a = t->a + m0 * a_stride;
    const uint8_t *b = t->b + p0 * panel_stride;
    BYTE_OP(_sums) sum[BYTE_ROWS][BYTE_PANELS];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            sum[m][p] = BYTE_OP(_zero)();
        }
    }
    for (int64_t q = 0; q < t->quads; q++) {
        BYTE_OP(_b) row[BYTE_PANELS];
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            row[p] = BYTE_OP(_load)(b + p * panel_stride);
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            const BYTE_OP(_a) x = BYTE_OP(_set)(a + m * a_stride);
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                sum[m][p] = BYTE_OP(_step)(x, row[p], sum[m][p]);
            }
        }
        a += 4;
        b += SC_QUAD_BYTES;
    }
    int32_t *c = t->c + m0 * t->c_stride + p0 * 16;
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) {
            w_store(c + m * t->c_stride + p * 16, BYTE_OP(_end)(sum[m][p]));
        }
    }
}

#define X(M, P)                                                                                                        \
    BYTE_TARGET static __attribute__((noinline)) void BYTE_PASTE(BYTE_QUADS, _tile_##M##_##P)(                         \
        const struct sc_byte_tile *t, int64_t m0, int64_t p0)                                                          \
    {                                                                                                                  \
        BYTE_BODY(t, m0, p0, M, P);                                                                                    \
    }
BYTE_SHAPES(X)
#undef X

#define BYTE_CASE(M, P)                                                                                                \
    case (M)*16 + (P):                                                                                                 \
        BYTE_PASTE(BYTE_QUADS, _tile_##M##_##P)(t, m0, p0);                                                            \
        return;
static void BYTE_PICK(const struct sc_byte_tile *t, int64_t m0, int64_t p0, int rows, int panels)
{
    switch (rows * 16 + panels) {
        BYTE_SHAPES(BYTE_CASE)
    default:
        break;
    }
}

void BYTE_NAME(const struct sc_byte_tile *t)
{
    static const int most[] = {0, BYTE_LIST};
    if (t->m <= 0) {
        return;
    }
    const int64_t blocks = (t->m + BYTE_ROWS - 1) / BYTE_ROWS; /* as even as they can be */
    const int64_t rows = t->m / blocks, longer = t->m % blocks;
    const int panels = most[rows + (longer > 0)];
    for (int64_t p = 0; p < t->panels; p += panels) {
        const int across = t->panels - p < panels ? (int)(t->panels - p) : panels;
        int64_t m0 = 0;
        for (int64_t block = 0; block < blocks; block++) {
            const int m = (int)(rows + (block < longer));
            BYTE_PICK(t, m0, p, m, across);
            m0 += m;
        }
    }
}

#undef BYTE_PASTE2
#undef BYTE_PASTE
#undef BYTE_OP
#undef BYTE_BODY
#undef BYTE_PICK
#undef BYTE_CASE
#undef BYTE_NAME
#undef BYTE_QUADS
#undef BYTE_TARGET
#undef BYTE_SHAPES
#undef BYTE_ROWS
#undef BYTE_PANELS
#undef BYTE_LIST
