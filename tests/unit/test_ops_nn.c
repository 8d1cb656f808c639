/* SPDX-License-Identifier: Apache-2.0
 * Claims about products and normalisations. */
#include "op_case.h"

#include <math.h>

/* Numbers that look random and are exact in f16. */
static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int)(seed >> 24) - 128) / 64.0F;
    }
}

static void matmul_broadcasts_batches_of_strided_b(void **state)
{
    (void)state;
    enum { B = 2, H = 3, M = 2, K = 5, N = 4 };
    float a[B * H * M * K], b[H * N * K], want[B * H * M * N];
    fill(a, B * H * M * K, 1);
    fill(b, H * N * K, 2);
    for (int i = 0; i < B * H; i++) {
        for (int m = 0; m < M; m++) {
            for (int n = 0; n < N; n++) {
                double sum = 0;
                for (int k = 0; k < K; k++) {
                    sum += (double)a[(i * M + m) * K + k] * (double)b[((i % H) * N + n) * K + k];
                }
                want[(i * M + m) * N + n] = (float)sum;
            }
        }
    }
    struct op_case c;
    op_open(&c, "", "MatMul", 13, 1);
    op_in(&c, SC_F32, a, DIMS(B, H, M, K));
    struct sc_tensor *t = op_in(&c, SC_F32, b, DIMS(H, K, N));
    t->strides[1] = 1;
    t->strides[2] = K;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want, 1e-6, DIMS(B, H, M, N));
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_broadcasts_batches_of_strided_b),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
