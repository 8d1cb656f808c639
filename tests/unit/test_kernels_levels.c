/* SPDX-License-Identifier: Apache-2.0
 * Every level against the base one, over the same odd lengths, starts and numbers: a kernel is a line of the list. What
 * each computes is said by the tests of its family. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/kernels.h"

enum { MAX_N = 70, STARTS = 5, ROOM = MAX_N + STARTS, OUT = 16 * ROOM };

/* Inputs begin anywhere, so that no vector is aligned. */
struct inputs {
    float x[OUT + STARTS], y[OUT + STARTS];
    uint16_t words[ROOM];
    uint8_t bytes[ROOM];
};

/* One call of a kernel on n elements from `start` on; writes to `out`, which is zero before. */
typedef void run_fn(const struct sc_kernels *k, const struct inputs *in, int start, int n, float *out);

static const float special[] = {0.0F, -0.0F, 0x1p-149F, -0x1.8p-130F, FLT_MIN, FLT_MAX, -FLT_MAX, INFINITY, -INFINITY,
    NAN, 0.5F, -2.5F, 65504.0F, 65520.0F, 0x1p-25F, 0x1.0001p-14F};

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static void fill(struct inputs *in, bool with_special)
{
    uint32_t seed = 11;
    for (int i = 0; i < OUT + STARTS; i++) {
        const bool odd = with_special && i % 3 == 0;
        in->x[i] =
            odd ? special[(size_t)i / 3 % (sizeof special / sizeof *special)] : (float)next(&seed) / 0x1p22F - 2.0F;
        in->y[i] = (float)next(&seed) / 0x1p22F - 2.0F;
    }
    for (int i = 0; i < ROOM; i++) {
        in->words[i] = (uint16_t)next(&seed);
        in->bytes[i] = (uint8_t)next(&seed);
    }
}

#define RUN(name) static void run_##name(const struct sc_kernels *k, const struct inputs *in, int s, int n, float *out)

RUN(sum)
{
    out[0] = k->sum(in->x + s, n);
}
RUN(sum_squares)
{
    out[0] = k->sum_squares(in->x + s, 0.25F, n);
}
RUN(max)
{
    out[0] = k->max(in->x + s, n);
}
RUN(scale)
{
    k->scale(in->x + s, 1.5F, out, n);
}
RUN(scale_shift)
{
    k->scale_shift(in->x + s, 0.25F, 1.5F, in->y, in->y + s, out, n);
}
RUN(f16_to_f32)
{
    k->f16_to_f32(in->words + s, out, n);
}
RUN(bf16_to_f32)
{
    k->bf16_to_f32(in->words + s, out, n);
}
RUN(f32_to_f16)
{
    k->f32_to_f16(in->x + s, (uint16_t *)out, n);
}
RUN(f32_to_bf16)
{
    k->f32_to_bf16(in->x + s, (uint16_t *)out, n);
}
RUN(turn)
{
    k->turn(in->x + s, 3, n / 3, 3, in->y, out, ROOM);
}
RUN(copy_rows)
{
    k->copy_rows(in->x + s, MAX_N, 2, 2, n / 2, out, ROOM);
}

RUN(taps_max)
{
    static const int64_t offsets[3] = {0, 5, 2};
    k->taps_max(in->x + s, offsets, 3, out, n);
}

RUN(widen_range)
{
    out[0] = out[1] = 0;
    k->widen_range(in->x + s, n, &out[0], &out[1]);
}

RUN(floats_to_bytes)
{
    for (int each = 0; each < 4; each++) { /* one scale or one an element, bytes with a sign or without */
        const struct sc_byte_scale scale = {
            .scales = in->y + s, .zeros = in->bytes, .step = each & 1, .is_signed = each >> 1};
        k->floats_to_bytes(in->x + s, &scale, n, (uint8_t *)(out + each * ROOM));
    }
}

RUN(bytes_to_floats)
{
    for (int each = 0; each < 4; each++) {
        const struct sc_byte_scale scale = {
            .scales = in->y + s, .zeros = each < 2 ? NULL : in->bytes, .step = each & 1, .is_signed = each >> 1};
        k->bytes_to_floats(in->bytes + s, &scale, n, out + each * ROOM);
    }
}

/* Chains of multiply-adds, which the base level rounds twice a step where the processor has no FMA. */
RUN(axpy)
{
    memcpy(out, in->y, (size_t)n * sizeof *out);
    k->axpy(0.75F, in->x + s, out, n);
}

RUN(taps)
{
    static const int64_t offsets[3] = {0, 5, 2};
    k->taps(in->x + s, offsets, in->y, 3, in->y, out, n);
}

RUN(gemm_tile)
{
    const struct sc_gemm_tile tile = {.m = 3,
        .k = n,
        .panels = 1,
        .a = in->y + s,
        .a_stride = 5,
        .b = in->x + s,
        .b_stride = 8,
        .panel_stride = 16,
        .c = out,
        .c_stride = 16,
        .n = n < 16 ? n : 16};
    k->gemm_tile(&tile);
}

RUN(exp_sum)
{
    out[ROOM] = k->exp_sum(in->x + s, 2.0F, out, n);
}

static const struct kernel {
    const char *name;
    run_fn *run;
    double units; /* 0: the same bits; else how far apart, in units in the last place of the result, or of 16 */
    bool special; /* takes numbers that are none, infinities, denormals */
} kernels[] = {
    {"sum", run_sum, 0, true},
    {"sum_squares", run_sum_squares, 80, true},
    {"max", run_max, 0, true},
    {"scale", run_scale, 0, true},
    {"scale_shift", run_scale_shift, 0, true},
    {"f16_to_f32", run_f16_to_f32, 0, true},
    {"bf16_to_f32", run_bf16_to_f32, 0, true},
    {"f32_to_f16", run_f32_to_f16, 0, true},
    {"f32_to_bf16", run_f32_to_bf16, 0, true},
    {"turn", run_turn, 0, true},
    {"copy_rows", run_copy_rows, 0, true},
    {"taps_max", run_taps_max, 0, true},
    {"widen_range", run_widen_range, 0, true},
    {"floats_to_bytes", run_floats_to_bytes, 0, true},
    {"bytes_to_floats", run_bytes_to_floats, 0, true},
    {"axpy", run_axpy, 2, true},
    {"taps", run_taps, 8, true},
    {"gemm_tile", run_gemm_tile, 200, false},
    {"exp_sum", run_exp_sum, 200, false},
};

static bool near(float a, float b, double units)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    return a == b ||
        (isfinite(a) && isfinite(b) && fabs((double)a - (double)b) <= units * 0x1p-24 * fmax(fabs((double)b), 16));
}

static void compare(const struct kernel *kernel, const char *level, int start, int n, const float *a, const float *b)
{
    for (int i = 0; i < OUT; i++) {
        const bool same = memcmp(&a[i], &b[i], sizeof a[i]) == 0 || (isnan(a[i]) && isnan(b[i])) ||
            (kernel->units > 0 && near(a[i], b[i], kernel->units));
        if (!same) {
            fail_msg("%s at level %s, %d elements from place %d: element %d is %a, at base %a", kernel->name, level, n,
                start, i, (double)a[i], (double)b[i]);
        }
    }
}

static void every_level_gives_what_the_base_level_gives(void **state)
{
    (void)state;
    static struct inputs plain, odd;
    static float here[OUT], base[OUT];
    fill(&plain, false);
    fill(&odd, true);
    for (int isa = SC_ISA_BASE + 1; isa < SC_ISA_N; isa++) {
        const struct sc_kernels *level = sc_kernels_at((enum sc_isa)isa);
        for (size_t each = 0; level && each < sizeof kernels / sizeof *kernels; each++) {
            for (int run = 0; run < (MAX_N + 1) * STARTS * 2; run++) {
                const int n = run / 2 % (MAX_N + 1), start = run / 2 / (MAX_N + 1);
                const struct inputs *in = run % 2 ? &odd : &plain;
                if (in == &odd && !kernels[each].special) {
                    continue;
                }
                memset(here, 0, sizeof here);
                memset(base, 0, sizeof base);
                kernels[each].run(level, in, start, n, here);
                kernels[each].run(sc_kernels_at(SC_ISA_BASE), in, start, n, base);
                compare(&kernels[each], level->name, start, n, here, base);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_level_gives_what_the_base_level_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
