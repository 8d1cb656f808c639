/* SPDX-License-Identifier: Apache-2.0
 * Products: right to a proven bound, and the same bits for every M, tile and number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/gemm.h"

#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16};

static void *need(size_t bytes)
{
    void *memory = calloc(1, bytes + 64);
    assert_non_null(memory);
    return memory;
}

static float random_float(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 40) / 8388608.0 - 1.0);
}

/* n random numbers, rounded to the type, at `to`; the same in f32 at `wide`. */
static void fill(enum sc_type type, int64_t n, uint64_t seed, void *to, float *wide)
{
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    for (int64_t i = 0; i < n; i++) {
        wide[i] = random_float(&seed);
    }
    if (type == SC_F16) {
        base->f32_to_f16(wide, to, n);
        base->f16_to_f32(to, wide, n);
    } else if (type == SC_BF16) {
        base->f32_to_bf16(wide, to, n);
        base->bf16_to_f32(to, wide, n);
    } else {
        memcpy(to, wide, (size_t)n * sizeof(float));
    }
}

static void widen(enum sc_type type, const void *from, int64_t n, float *to)
{
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    if (type == SC_F16) {
        base->f16_to_f32(from, to, n);
    } else if (type == SC_BF16) {
        base->bf16_to_f32(from, to, n);
    } else {
        memcpy(to, from, (size_t)n * sizeof(float));
    }
}

struct problem {
    enum sc_type type;
    int64_t M, N, K;
    size_t element;
    void *a, *b, *packed, *c;
    float *a_wide, *b_wide;
};

static void problem_init(struct problem *p, enum sc_type type, int64_t M, int64_t N, int64_t K)
{
    *p = (struct problem){type, M, N, K, sc_type_bytes(type), NULL, NULL, NULL, NULL, NULL, NULL};
    p->a = need((size_t)(M * K) * p->element);
    p->b = need((size_t)(K * N) * p->element);
    p->c = need((size_t)(M * N) * p->element);
    p->packed = need(sc_gemm_packed_bytes(type, K, N));
    p->a_wide = need((size_t)(M * K) * sizeof(float));
    p->b_wide = need((size_t)(K * N) * sizeof(float));
    fill(type, M * K, 3, p->a, p->a_wide);
    fill(type, K * N, 5, p->b, p->b_wide);
    const struct sc_gemm_b b = {type, K, N, p->b, N, 1};
    sc_gemm_pack(sc_kernels_at(SC_ISA_BASE), NULL, &b, p->packed);
}

static void problem_release(struct problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->packed);
    free(p->a_wide);
    free(p->b_wide);
}

/* Rows [from, from + M) of the problem into c, of row stride c_stride. */
static void run_rows(const struct problem *p, const struct sc_kernels *kernels, struct sc_team *team, int64_t from,
    int64_t M, void *c, int64_t c_stride)
{
    void *scratch = need(sc_gemm_scratch_bytes(p->type, M, p->N, p->K, sc_team_size(team)));
    const struct sc_gemm gemm = {.type = p->type,
        .M = M,
        .N = p->N,
        .K = p->K,
        .a = (const char *)p->a + (size_t)(from * p->K) * p->element,
        .a_stride = p->K,
        .packed = p->packed,
        .c = c,
        .c_stride = c_stride};
    sc_gemm_run(kernels, team, &gemm, scratch);
    free(scratch);
}

/* A chain of K fused (or twice rounded) steps is off by at most 2 K u sum |a b|, u = 2^-24 (Higham, 3.1; the second
 * order is covered by 2.01); rounding to 16 bits adds half a unit of its last place. */
static void check_result(const struct problem *p, const void *c)
{
    const double half_ulp = p->type == SC_F16 ? 0x1p-11 : p->type == SC_BF16 ? 0x1p-8 : 0;
    float *got = need((size_t)(p->M * p->N) * sizeof(float));
    widen(p->type, c, p->M * p->N, got);
    for (int64_t i = 0; i < p->M * p->N; i++) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < p->K; k++) {
            const double product = (double)p->a_wide[i / p->N * p->K + k] * (double)p->b_wide[k * p->N + i % p->N];
            sum += product;
            size += fabs(product);
        }
        const double chain = 2.01 * (double)p->K * 0x1p-24 * size;
        const double bound = chain + half_ulp * (fabs(sum) + chain) + (p->type == SC_F16 ? 0x1p-25 : 0);
        if (!(fabs((double)got[i] - sum) <= bound)) {
            fail_msg("M %d N %d K %d, element %d: got %a, want %a", (int)p->M, (int)p->N, (int)p->K, (int)i,
                (double)got[i], sum);
        }
    }
    free(got);
}

static void all_small_shapes_are_right(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 33};
    static const int64_t widths[] = {1, 15, 16, 17, 48, 70, 131};
    static const int64_t depths[] = {0, 1, 33, 400};
    EACH_LEVEL
    {
        for (size_t each = 0; each < 3 * 12 * 7 * 4; each++) {
            struct problem p;
            problem_init(&p, types[each % 3], sizes[each / 3 % 12], widths[each / 36 % 7], depths[each / 252]);
            memset(p.c, 0x7b, (size_t)(p.M * p.N) * p.element);
            run_rows(&p, kernels, NULL, 0, p.M, p.c, p.N);
            check_result(&p, p.c);
            problem_release(&p);
        }
    }
}

static void large_shape_is_right_on_two_threads(void **state)
{
    (void)state;
    const struct sc_team_options options = {2, NULL, NULL};
    struct sc_team *team;
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    EACH_LEVEL
    {
        for (int type = 0; type < 3; type++) {
            struct problem p;
            problem_init(&p, types[type], 150, 333, 500);
            run_rows(&p, kernels, team, 0, p.M, p.c, p.N);
            check_result(&p, p.c);
            problem_release(&p);
        }
    }
    sc_team_free(team);
}

/* The rows of the problem in chunks of every size give the bits of the whole, on any number of threads. */
static void a_row_has_the_same_bits_in_every_company(void **state)
{
    (void)state;
    static const int64_t chunks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64};
    const struct sc_team_options options = {2, NULL, NULL};
    struct sc_team *team;
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    EACH_LEVEL
    {
        for (int type = 0; type < 3; type++) {
            struct problem p;
            problem_init(&p, types[type], 64, 210, 777);
            run_rows(&p, kernels, NULL, 0, 64, p.c, p.N);
            const size_t row_bytes = (size_t)p.N * p.element;
            char *c = need(64 * row_bytes);
            for (size_t which = 0; which < 24; which++) {
                const int64_t chunk = chunks[which / 2];
                memset(c, 0x7b, 64 * row_bytes);
                for (int64_t from = 0; from < 64; from += chunk) {
                    const int64_t m = 64 - from < chunk ? 64 - from : chunk;
                    run_rows(&p, kernels, which % 2 != 0 ? team : NULL, from, m, c + (size_t)from * row_bytes, p.N);
                }
                assert_memory_equal(c, p.c, 64 * row_bytes);
            }
            free(c);
            problem_release(&p);
        }
    }
    sc_team_free(team);
}

/* The definition, step by step, for the levels with FMA. */
static void an_element_is_one_chain_of_fused_steps(void **state)
{
    (void)state;
    struct problem p;
    problem_init(&p, SC_F32, 11, 50, 900);
    EACH_LEVEL
    {
        run_rows(&p, kernels, NULL, 0, p.M, p.c, p.N);
        for (int64_t i = 0; i < p.M * p.N; i++) {
            float sum = 0;
            for (int64_t k = 0; k < p.K; k++) {
                const float a = p.a_wide[i / p.N * p.K + k], b = p.b_wide[k * p.N + i % p.N];
                sum = isa == SC_ISA_BASE ? sum + a * b : fmaf(a, b, sum);
            }
            assert_true(((const float *)p.c)[i] == sum);
        }
    }
    problem_release(&p);
}

static void strides_of_c_leave_the_gaps_alone(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        for (int type = 0; type < 3; type++) {
            for (int64_t M = 1; M <= 20; M += 19) {
                struct problem p;
                problem_init(&p, types[type], M, 37, 21);
                run_rows(&p, kernels, NULL, 0, M, p.c, 37);
                const size_t wide = 45 * p.element, narrow = 37 * p.element;
                char *c = need((size_t)M * wide), gap[32];
                memset(c, 0x5a, (size_t)M * wide);
                memset(gap, 0x5a, sizeof(gap));
                run_rows(&p, kernels, NULL, 0, M, c, 45);
                for (int64_t i = 0; i < M; i++) {
                    assert_memory_equal(c + (size_t)i * wide, (char *)p.c + (size_t)i * narrow, narrow);
                    assert_memory_equal(c + (size_t)i * wide + narrow, gap, 8 * p.element);
                }
                free(c);
                problem_release(&p);
            }
        }
    }
}

static void a_transposed_b_packs_alike(void **state)
{
    (void)state;
    for (int type = 0; type < 3; type++) {
        struct problem p;
        problem_init(&p, types[type], 1, 75, 40);
        char *turned = need((size_t)(p.K * p.N) * p.element);
        for (int64_t i = 0; i < p.K * p.N; i++) {
            const int64_t k = i / p.N, n = i % p.N;
            memcpy(turned + (size_t)(n * p.K + k) * p.element, (const char *)p.b + (size_t)i * p.element, p.element);
        }
        const size_t bytes = sc_gemm_packed_bytes(p.type, p.K, p.N);
        assert_int_equal(bytes, 80 * 40 * p.element);
        char *packed = need(bytes);
        memset(packed, 0x7b, bytes);
        const struct sc_gemm_b b = {p.type, p.K, p.N, turned, 1, p.K};
        sc_gemm_pack(sc_kernels_at(SC_ISA_BASE), NULL, &b, packed);
        assert_memory_equal(packed, p.packed, bytes);
        free(packed);
        free(turned);
        problem_release(&p);
    }
}

/* Infinities and NaN stay in their rows and columns. */
static void special_numbers_stay_where_they_belong(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        struct problem p;
        problem_init(&p, SC_F32, 5, 40, 30);
        ((float *)p.a)[2 * 30 + 4] = NAN;
        ((float *)p.b)[7 * 40 + 39] = INFINITY;
        const struct sc_gemm_b b = {SC_F32, 30, 40, p.b, 40, 1};
        sc_gemm_pack(kernels, NULL, &b, p.packed);
        run_rows(&p, kernels, NULL, 0, 5, p.c, 40);
        for (int i = 0; i < 200; i++) {
            const float c = ((const float *)p.c)[i];
            assert_int_equal(isnan(c) != 0, i / 40 == 2);
            assert_int_equal(isinf(c) != 0, i % 40 == 39 && i / 40 != 2);
        }
        problem_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_small_shapes_are_right),
        cmocka_unit_test(large_shape_is_right_on_two_threads),
        cmocka_unit_test(a_row_has_the_same_bits_in_every_company),
        cmocka_unit_test(an_element_is_one_chain_of_fused_steps),
        cmocka_unit_test(strides_of_c_leave_the_gaps_alone),
        cmocka_unit_test(a_transposed_b_packs_alike),
        cmocka_unit_test(special_numbers_stay_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
