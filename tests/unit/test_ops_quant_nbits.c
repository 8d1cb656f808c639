/* SPDX-License-Identifier: Apache-2.0
 * MatMulNBits against doubles, in every form of its inputs, on every level and by several threads. Rows of A are whole
 * numbers of which each block has 127, so that rounding them to 8 bits changes nothing. */
#include "op_case.h"

#include <math.h>

enum { MOST_M = 70, MOST_K = 300, MOST_N = 70, MOST_BLOCKS = 20 };
enum zero_kind { NO_ZEROS, PACKED_ZEROS, FLOAT_ZEROS };

struct product {
    int64_t M, K, N, bits, block, accuracy;
    enum zero_kind zeros;
    bool constant, grouped, biased;
};

static float a[MOST_M * MOST_K], scales[MOST_N * MOST_BLOCKS], float_zeros[MOST_N * MOST_BLOCKS], bias[MOST_N];
static uint8_t b[MOST_N * MOST_BLOCKS * 64], zeros[MOST_N * MOST_BLOCKS];
static int32_t groups[MOST_K];

static int64_t blocks_of(const struct product *p)
{
    return (p->K + p->block - 1) / p->block;
}

static void fill(const struct product *p)
{
    for (int64_t i = 0; i < p->M * p->K; i++) {
        a[i] = i % p->K % p->block == 0 ? 127 : (float)((i * 37) % 255 - 127);
    }
    for (size_t i = 0; i < sizeof b; i++) {
        b[i] = (uint8_t)(i * 89 + i / 256);
    }
    for (int i = 0; i < MOST_N * MOST_BLOCKS; i++) {
        scales[i] = 0.25F * (float)(i % 13 + 1);
        float_zeros[i] = 0.5F * (float)(i % 31);
        zeros[i] = (uint8_t)(i * 53 + 7);
    }
    for (int64_t k = 0; k < p->K; k++) {
        groups[k] = (int32_t)(k * 7 % blocks_of(p));
    }
    for (int n = 0; n < MOST_N; n++) {
        bias[n] = (float)n;
    }
}

static int code_at(const uint8_t *data, int64_t bits, int64_t i)
{
    return data[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

static double weight(const struct product *p, int64_t n, int64_t k)
{
    const int64_t blocks = blocks_of(p), at = p->grouped ? groups[k] : k / p->block;
    double zero = 1 << (p->bits - 1);
    if (p->zeros == PACKED_ZEROS) {
        zero = code_at(zeros + n * ((blocks * p->bits + 7) / 8), p->bits, at);
    } else if (p->zeros == FLOAT_ZEROS) {
        zero = (double)float_zeros[n * blocks + at];
    }
    return (code_at(b + n * blocks * p->block * p->bits / 8, p->bits, k) - zero) * (double)scales[n * blocks + at];
}

static void open(struct op_case *c, const struct product *p)
{
    const int64_t blocks = blocks_of(p);
    op_open(c, "com.microsoft", "MatMulNBits", 1, 1);
    op_int(c, "K", p->K);
    op_int(c, "N", p->N);
    op_int(c, "bits", p->bits);
    op_int(c, "block_size", p->block);
    op_int(c, "accuracy_level", p->accuracy);
    op_in(c, SC_F32, a, DIMS(p->M, p->K));
    c->constant[1] = c->constant[2] = c->constant[3] = p->constant;
    op_in(c, SC_U8, b, DIMS(p->N, blocks, p->block * p->bits / 8));
    op_in(c, SC_F32, scales, DIMS(p->N * blocks));
    if (p->zeros == PACKED_ZEROS) {
        op_in(c, SC_U8, zeros, DIMS(p->N * ((blocks * p->bits + 7) / 8)));
    } else if (p->zeros == FLOAT_ZEROS) {
        op_in(c, SC_F32, float_zeros, DIMS(p->N * blocks));
    } else {
        op_in_absent(c);
    }
    if (p->grouped) {
        op_in(c, SC_I32, groups, DIMS(p->K));
    } else {
        op_in_absent(c);
    }
    if (p->biased) {
        op_in(c, SC_F32, bias, DIMS(p->N));
    }
}

static void check(const struct product *p, const float *got)
{
    for (int64_t m = 0; m < p->M; m++) {
        for (int64_t n = 0; n < p->N; n++) {
            double sum = p->biased ? (double)bias[n] : 0, size = fabs(sum);
            for (int64_t k = 0; k < p->K; k++) {
                const double part = (double)a[m * p->K + k] * weight(p, n, k);
                sum += part;
                size += fabs(part);
            }
            if (!(fabs((double)got[m * p->N + n] - sum) <= 2e-6 * size)) {
                fail_msg(
                    "row %lld, column %lld is %g, want %g", (long long)m, (long long)n, (double)got[m * p->N + n], sum);
            }
        }
    }
}

static void run(const struct product *p, const struct sc_kernels *kernels, int threads, float *y)
{
    struct op_case c;
    const struct sc_team_options options = {.n_workers = threads};
    open(&c, p);
    c.kernels = kernels;
    assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
    assert_int_equal(op_run(&c), SC_OK);
    memcpy(y, op_out(&c, 0), (size_t)(p->M * p->N) * sizeof(float));
    sc_team_free(c.team);
    op_close(&c);
}

static void products_are_those_of_the_widened_weights(void **state)
{
    (void)state;
    static const struct product products[] = {
        {1, 64, 16, 4, 32, 0, NO_ZEROS, true, false, false},
        {1, 300, 70, 4, 32, 4, NO_ZEROS, true, false, true},
        {9, 300, 70, 4, 64, 4, PACKED_ZEROS, true, false, false},
        {70, 200, 33, 4, 32, 0, PACKED_ZEROS, true, false, true},
        {3, 300, 20, 2, 16, 4, PACKED_ZEROS, true, false, false},
        {3, 300, 20, 2, 16, 0, FLOAT_ZEROS, true, false, false},
        {70, 130, 70, 8, 32, 4, PACKED_ZEROS, true, false, true},
        {2, 300, 17, 8, 256, 0, NO_ZEROS, true, false, false},
        {10, 300, 17, 4, 512, 0, FLOAT_ZEROS, true, false, false},
        {4, 100, 40, 4, 16, 4, FLOAT_ZEROS, true, false, false},
        {5, 100, 40, 4, 16, 0, PACKED_ZEROS, true, true, true},
    };
    static float y[MOST_M * MOST_N], again[MOST_M * MOST_N];
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct product p = products[i];
        fill(&p);
        for (int isa = 0; isa < SC_ISA_N; isa++) {
            const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa);
            if (!kernels) {
                continue;
            }
            const size_t bytes = (size_t)(p.M * p.N) * sizeof(float);
            p = products[i];
            run(&p, kernels, 1, y);
            check(&p, y);
            p.constant = false;
            run(&p, kernels, 3, again);
            assert_memory_equal(again, y, bytes);
            for (p.M = 1; p.M < products[i].M && p.M < 20; p.M++) { /* the first rows without the others */
                run(&p, kernels, 1, again);
                assert_memory_equal(again, y, (size_t)(p.M * p.N) * sizeof(float));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_widened_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
