/* SPDX-License-Identifier: Apache-2.0
 * Every level against the base one, over the same odd lengths, starts and numbers: a kernel is a line of the list, and
 * a slot of the table without a line fails. What each computes is said by the tests of its family. */
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
    uint16_t words[OUT + STARTS];
    uint8_t bytes[3 * OUT];
};

/* What a kernel is called with: n elements of each, from one start on; y and scales are plain numbers, bits are any. */
struct call {
    const float *x, *y, *scales;
    const int32_t *ints, *more_ints;
    const uint16_t *words;
    const uint8_t *bytes, *zeros;
    int n, which;
};

/* One call of a kernel; writes to `out`, which is zero before. */
typedef void run_fn(const struct sc_kernels *k, const struct call *c, float *out);

static const float special[] = {0.0F, -0.0F, 0x1p-149F, -0x1.8p-130F, FLT_MIN, INFINITY, -INFINITY, NAN, 0.5F, -2.5F,
    0x1p-25F, 0x1.0001p-14F, 65504.0F, 65520.0F, FLT_MAX, -FLT_MAX};
enum { N_SPECIAL = sizeof special / sizeof *special, N_HUGE = 4 };

enum { PLAIN, SPECIAL, HUGE_TOO, N_KINDS };

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static void fill(struct inputs *in, int kind)
{
    uint32_t seed = 11;
    const int n_special = kind == PLAIN ? 0 : kind == SPECIAL ? N_SPECIAL - N_HUGE : N_SPECIAL;
    for (int i = 0; i < OUT + STARTS; i++) {
        in->x[i] = n_special && i % 3 == 0 ? special[i / 3 % n_special] : (float)next(&seed) / 0x1p22F - 2.0F;
        in->y[i] = (float)next(&seed) / 0x1p22F - 2.0F;
        in->words[i] = (uint16_t)next(&seed);
    }
    for (int i = 0; i < 3 * OUT; i++) {
        in->bytes[i] = (uint8_t)next(&seed);
    }
}

#define RUN(name) static void run_##name(const struct sc_kernels *k, const struct call *c, float *out)

RUN(unary)
{
    k->unary[c->which](c->x, out, c->n);
}
RUN(binary)
{
    for (int steps = 0; steps < 4; steps++) {
        k->binary[c->which](c->x, steps & 1, c->x + 7, steps >> 1, out + steps * ROOM, c->n);
    }
}
RUN(sum)
{
    out[0] = k->sum(c->x, c->n);
}
RUN(sum_squares)
{
    out[0] = k->sum_squares(c->x, 0.25F, c->n);
}
RUN(max)
{
    out[0] = k->max(c->x, c->n);
}
RUN(min)
{
    out[0] = k->min(c->x, c->n);
}
RUN(exp_sum)
{
    out[ROOM] = k->exp_sum(c->x, 2.0F, out, c->n);
}
RUN(scale)
{
    k->scale(c->x, 1.5F, out, c->n);
}
RUN(scale_shift)
{
    k->scale_shift(c->x, 0.25F, 1.5F, c->scales, c->y, out, c->n);
}
RUN(turn)
{
    k->turn(c->x, 3, c->n / 3, 3, c->scales, out, ROOM);
}
RUN(copy_rows)
{
    k->copy_rows(c->x, MAX_N, 2, 2, c->n / 2, out, ROOM);
}
RUN(widen_range)
{
    out[0] = out[1] = 0;
    k->widen_range(c->x, c->n, &out[0], &out[1]);
}
RUN(f16_to_f32)
{
    k->f16_to_f32(c->words, out, c->n);
}
RUN(bf16_to_f32)
{
    k->bf16_to_f32(c->words, out, c->n);
}
RUN(f32_to_f16)
{
    k->f32_to_f16(c->x, (uint16_t *)out, c->n);
}
RUN(f32_to_bf16)
{
    k->f32_to_bf16(c->x, (uint16_t *)out, c->n);
}

static const int64_t offsets[8] = {0, 5, 2, 9, 30, 31, 4, 17};

RUN(taps)
{
    k->taps(c->x, offsets, c->scales, 3, c->scales, out, c->n);
}
RUN(taps_max)
{
    k->taps_max(c->x, offsets, 3, out, c->n);
}
RUN(axpy)
{
    memcpy(out, c->scales, (size_t)c->n * sizeof *out);
    k->axpy(0.75F, c->x, out, c->n);
}

static struct sc_gemm_tile tile_of(const struct call *c, const void *b, float *out)
{
    return (struct sc_gemm_tile){.m = 3,
        .k = c->n,
        .panels = 1,
        .a = c->y,
        .a_stride = 5,
        .b = b,
        .b_stride = 8,
        .panel_stride = 16,
        .c = out,
        .c_stride = 16,
        .n = c->n < 16 ? c->n : 16};
}

RUN(gemm_tile)
{
    const struct sc_gemm_tile tile = tile_of(c, c->x, out);
    k->gemm_tile(&tile);
}
RUN(gemm_tile_i32)
{
    const struct sc_gemm_tile tile = tile_of(c, c->x, out);
    k->gemm_tile_i32(&tile);
}

/* Words of numbers from 1 to 2 with any sign and fraction, here and there what is none. */
static const uint16_t *halves(const struct call *c, uint16_t one, uint16_t kept, uint16_t infinity)
{
    static uint16_t words[OUT];
    for (int i = 0; i < OUT; i++) {
        words[i] = (uint16_t)((c->words[i] & (0x8000 | kept)) | (c->x[i] * 0 != 0 ? infinity : one));
    }
    return words;
}

RUN(gemm_tile_f16)
{
    const struct sc_gemm_tile tile = tile_of(c, halves(c, 0x3c00, 0x3ff, 0x7c00), out);
    k->gemm_tile_f16(&tile);
}
RUN(gemm_tile_bf16)
{
    const struct sc_gemm_tile tile = tile_of(c, halves(c, 0x3f80, 0x7f, 0x7f80), out);
    k->gemm_tile_bf16(&tile);
}

RUN(double_tile)
{
    double x[MAX_N + SC_DOUBLE_ROWS], panel[MAX_N * SC_DOUBLE_COLUMNS];
    double sums[SC_DOUBLE_ROWS * SC_DOUBLE_COLUMNS] = {0.1, 0.2};
    for (int i = 0; i < MAX_N * SC_DOUBLE_COLUMNS; i++) {
        panel[i] = (double)c->x[i] / 3;
        x[i % (MAX_N + SC_DOUBLE_ROWS)] = (double)c->y[i] / 7;
    }
    k->double_tile(x, 1, panel, c->n, sums);
    for (int i = 0; i < SC_DOUBLE_ROWS * SC_DOUBLE_COLUMNS; i++) { /* which NaN it is may differ */
        sums[i] = isnan(sums[i]) ? 123.5 : sums[i];
    }
    memcpy(out, sums, sizeof sums);
}

RUN(code_block)
{
    struct sc_coded coded = {.codes = (int8_t *)(out + 2)};
    k->code_block(c->x, c->n, &coded);
    if (isnan(coded.scale)) {
        memset(coded.codes, 0, MAX_N); /* nobody reads them */
        coded.sum = 0;
        coded.scale = 123.5F;
    }
    out[0] = coded.scale;
    memcpy(&out[1], &coded.sum, sizeof coded.sum);
}

/* Up to four blocks of four rows; scales make each block's product less than 16. */
static void run_dot(void (*dot)(const struct sc_code_dot *), const struct call *c, float *out)
{
    enum { ROWS = 4, BLOCKS = 3, LONGEST = 48 };
    int8_t a[ROWS * BLOCKS * LONGEST];
    float a_scales[ROWS * BLOCKS], b_scales[BLOCKS * 16];
    int32_t a_sums[ROWS * BLOCKS] = {0};
    uint8_t zeros[BLOCKS * 16];
    const int64_t block = 16 * (1 + c->n % 3), blocks = c->n / 3 % (BLOCKS + 1);
    for (int64_t i = 0; i < ROWS * blocks * block; i++) {
        a[i] = (int8_t)(c->bytes[i] == 0x80 ? 0 : (int8_t)c->bytes[i]);
        a_sums[i / block] += a[i];
    }
    for (int i = 0; i < BLOCKS * 16; i++) {
        a_scales[i % (ROWS * BLOCKS)] = c->x[i] * 0x1p-9F;
        b_scales[i] = c->y[i] * 0x1p-9F;
        zeros[i] = c->zeros[i] % 16;
    }
    for (int each = 0; each < 6; each++) {
        const struct sc_code_dot d = {.b = {.bits = 2 << each % 3,
                                          .block = block,
                                          .blocks = blocks,
                                          .codes = c->zeros,
                                          .scales = b_scales,
                                          .zeros = each < 3 ? zeros : NULL,
                                          .zero = 2,
                                          .panels = 1},
            .rows = c->n % (ROWS + 1),
            .a_stride = blocks * block,
            .a = a,
            .a_scales = a_scales,
            .a_sums = a_sums,
            .y = out + each * ROWS * 16,
            .y_stride = 16};
        dot(&d);
    }
}

RUN(dot_codes)
{
    run_dot(k->dot_codes, c, out);
}
RUN(dot_codes_vnni)
{
    run_dot(k->dot_codes_vnni, c, out);
}

RUN(widen_codes)
{
    const struct sc_code_panels panel = {.bits = 2 << c->n % 3,
        .block = 16,
        .blocks = c->n / 16,
        .codes = c->bytes,
        .scales = c->x,
        .float_zeros = c->n % 2 ? c->scales : NULL,
        .zero = 8};
    k->widen_codes(&panel, out);
}

/* Two panels and up to four rows. */
RUN(dot_floats)
{
    for (int each = 0; each < 6; each++) {
        const struct sc_code_rows r = {.b = {.bits = 2 << each % 3,
                                           .block = 16,
                                           .blocks = (c->n + 15) / 16,
                                           .codes = c->bytes,
                                           .scales = c->scales,
                                           .zeros = each < 3 ? c->zeros : NULL,
                                           .zero = 8,
                                           .panels = 2,
                                           .stride = 64},
            .rows = 1 + c->n % 4,
            .k = c->n,
            .a = c->x,
            .a_stride = 3,
            .y = out + each * 4 * 32,
            .y_stride = 32};
        k->dot_floats(&r);
    }
}

static void run_bytes(void (*run)(const struct sc_byte_tile *), const struct call *c, float *out)
{
    const struct sc_byte_tile tile = {.m = c->n % 10,
        .quads = c->n / 2 % 10,
        .panels = 1 + c->n % 2,
        .a = (const int8_t *)c->bytes,
        .a_stride = 40,
        .b = c->zeros,
        .panel_stride = 9 * 64,
        .c = (int32_t *)out,
        .c_stride = 32};
    run(&tile);
}

RUN(byte_tile)
{
    run_bytes(k->byte_tile, c, out);
}
RUN(byte_tile_vnni)
{
    run_bytes(k->byte_tile_vnni, c, out);
}

RUN(byte_quads)
{
    const uint8_t *const rows[4] = {c->bytes, c->bytes + c->n, c->bytes + 17, c->bytes + 3};
    k->byte_quads(rows, c->n % 2 ? 0x80 : 0, (uint8_t *)out, c->n % 3 ? (int32_t *)out + 16 : NULL);
}

RUN(byte_row)
{
    const int32_t sum = k->byte_row(c->bytes, c->n, c->n % 2 ? 0x80 : 0, (int8_t *)out);
    memcpy(&out[ROOM], &sum, sizeof sum);
}

RUN(gather_bytes)
{
    const struct sc_byte_windows windows = {.x = c->bytes,
        .offsets = offsets,
        .k = c->n % 9,
        .step = 1 + c->n % 2,
        .n_runs = 3,
        .runs = {{.from = 3, .at = 0, .n = 5}, {.from = 100, .at = 5, .n = 5}, {.from = 41, .at = 10, .n = 6}},
        .sums = c->n % 4 ? (int32_t *)out + ROOM : NULL};
    k->gather_bytes(&windows, (uint8_t *)out);
}

RUN(byte_taps)
{
    for (int each = 0; each < 4; each++) {
        const struct sc_byte_taps taps = {.x = c->bytes,
            .offsets = offsets,
            .w = each < 2 ? (const int8_t *)c->zeros : NULL,
            .n_taps = c->n % 9,
            .step = 1 + each % 2,
            .n = c->n};
        k->byte_taps(&taps, (int32_t *)out + each * ROOM);
    }
}

RUN(shift_sums)
{
    memcpy(out, c->more_ints, (size_t)c->n * sizeof *out);
    const struct sc_sum_shift shift = {
        .add = 77, .factor = {3, -5}, .x = {c->n % 2 ? c->ints : NULL, c->n % 3 ? c->more_ints + 3 : NULL}};
    k->shift_sums(&shift, (int32_t *)out, c->n);
}

RUN(sums_to_bytes)
{
    double factors[MAX_N];
    for (int i = 0; i < MAX_N; i++) {
        factors[i] = (double)c->y[i] * 0x1p-24;
    }
    for (int each = 0; each < 4; each++) {
        const struct sc_byte_rounding rounding = {
            .bias = 1000.5, .zero = 7, .factors = factors, .factor_step = each & 1, .is_signed = each >> 1};
        k->sums_to_bytes(&rounding, c->ints, c->n, (uint8_t *)(out + each * ROOM));
    }
}

RUN(floats_to_bytes)
{
    for (int each = 0; each < 4; each++) { /* one scale or one an element, bytes with a sign or without */
        const struct sc_byte_scale scale = {
            .scales = c->y, .zeros = c->zeros, .step = each & 1, .is_signed = each >> 1};
        k->floats_to_bytes(c->x, &scale, c->n, (uint8_t *)(out + each * ROOM));
    }
}

RUN(bytes_to_floats)
{
    for (int each = 0; each < 4; each++) {
        const struct sc_byte_scale scale = {
            .scales = c->y, .zeros = each < 2 ? NULL : c->zeros, .step = each & 1, .is_signed = each >> 1};
        k->bytes_to_floats(c->bytes, &scale, c->n, out + each * ROOM);
    }
}

RUN(gather_windows)
{
    const int64_t in[1] = {c->n}, strides[1] = {1}, kernel[1] = {3}, dilation[1] = {1 + c->n % 2};
    int32_t starts[1][16];
    for (int j = 0; j < 16; j++) {
        starts[0][j] = j * (1 + c->n % 3) - 1;
    }
    const struct sc_windows windows = {.x = c->x,
        .channels = 3,
        .plane = MAX_N,
        .axes = 1,
        .starts = (const int32_t(*)[16])starts,
        .in = in,
        .strides = strides,
        .kernel = kernel,
        .dilation = dilation,
        .n = c->n % 17,
        .to = out,
        .row_step = 20};
    k->gather_windows(&windows);
}

/* How results of two levels compare: to the last bit, as the same floats, or so many units in the last place apart, of
 * the result or of `least` where that is more. Chains of multiply-adds round twice a step where the base level has no
 * FMA. */
enum { BITS = -1, FLOATS = 0 };

#define SLOT(name) offsetof(struct sc_kernels, name)
#define IS_PRODUCT(name) /* its unit is that of x: see kernels.h */                                                    \
    (SC_UNARY_##name == SC_UNARY_silu || SC_UNARY_##name == SC_UNARY_gelu_erf ||                                       \
        SC_UNARY_##name == SC_UNARY_gelu_tanh || SC_UNARY_##name == SC_UNARY_hard_swish)

static const struct kernel {
    const char *name;
    run_fn *run;
    size_t slot, of_base; /* where the pointer is; in the base table, if elsewhere */
    int which;
    double units, least;
    int kind; /* which numbers it takes */
} kernels[] = {
#define X(name)                                                                                                        \
    {"unary " #name, run_unary, SLOT(unary[SC_UNARY_##name]), 0, SC_UNARY_##name, 5, IS_PRODUCT(name) ? 4 : 0,         \
        HUGE_TOO},
    SC_UNARY_F32(X)
#undef X
#define X(name) {"binary " #name, run_binary, SLOT(binary[SC_BINARY_##name]), 0, SC_BINARY_##name, FLOATS, 0, HUGE_TOO},
        SC_BINARY_F32(X)
#undef X
            {"sum", run_sum, SLOT(sum), 0, 0, FLOATS, 0, HUGE_TOO},
    {"sum_squares", run_sum_squares, SLOT(sum_squares), 0, 0, 80, 16, HUGE_TOO},
    {"max", run_max, SLOT(max), 0, 0, FLOATS, 0, HUGE_TOO},
    {"min", run_min, SLOT(min), 0, 0, FLOATS, 0, HUGE_TOO},
    {"exp_sum", run_exp_sum, SLOT(exp_sum), 0, 0, 200, 16, HUGE_TOO},
    {"scale", run_scale, SLOT(scale), 0, 0, FLOATS, 0, HUGE_TOO},
    {"scale_shift", run_scale_shift, SLOT(scale_shift), 0, 0, FLOATS, 0, HUGE_TOO},
    {"axpy", run_axpy, SLOT(axpy), 0, 0, 2, 16, HUGE_TOO},
    {"gemm_tile", run_gemm_tile, SLOT(gemm_tile), 0, 0, 200, 16, SPECIAL},
    {"gemm_tile_i32", run_gemm_tile_i32, SLOT(gemm_tile_i32), 0, 0, BITS, 0, HUGE_TOO},
    {"gemm_tile_f16", run_gemm_tile_f16, SLOT(gemm_tile_f16), 0, 0, 200, 16, SPECIAL},
    {"gemm_tile_bf16", run_gemm_tile_bf16, SLOT(gemm_tile_bf16), 0, 0, 200, 16, SPECIAL},
    {"double_tile", run_double_tile, SLOT(double_tile), 0, 0, BITS, 0, HUGE_TOO},
    {"code_block", run_code_block, SLOT(code_block), 0, 0, BITS, 0, HUGE_TOO},
    {"dot_codes", run_dot_codes, SLOT(dot_codes), 0, 0, 16, 16, SPECIAL},
    {"dot_codes_vnni", run_dot_codes_vnni, SLOT(dot_codes_vnni), SLOT(dot_codes), 0, 16, 16, SPECIAL},
    {"dot_floats", run_dot_floats, SLOT(dot_floats), 0, 0, 200, 4096, SPECIAL},
    {"widen_codes", run_widen_codes, SLOT(widen_codes), 0, 0, FLOATS, 0, HUGE_TOO},
    {"byte_tile", run_byte_tile, SLOT(byte_tile), 0, 0, BITS, 0, PLAIN},
    {"byte_tile_vnni", run_byte_tile_vnni, SLOT(byte_tile_vnni), SLOT(byte_tile), 0, BITS, 0, PLAIN},
    {"byte_quads", run_byte_quads, SLOT(byte_quads), 0, 0, BITS, 0, PLAIN},
    {"byte_row", run_byte_row, SLOT(byte_row), 0, 0, BITS, 0, PLAIN},
    {"gather_bytes", run_gather_bytes, SLOT(gather_bytes), 0, 0, BITS, 0, PLAIN},
    {"byte_taps", run_byte_taps, SLOT(byte_taps), 0, 0, BITS, 0, PLAIN},
    {"shift_sums", run_shift_sums, SLOT(shift_sums), 0, 0, BITS, 0, HUGE_TOO},
    {"sums_to_bytes", run_sums_to_bytes, SLOT(sums_to_bytes), 0, 0, BITS, 0, HUGE_TOO},
    {"floats_to_bytes", run_floats_to_bytes, SLOT(floats_to_bytes), 0, 0, BITS, 0, HUGE_TOO},
    {"bytes_to_floats", run_bytes_to_floats, SLOT(bytes_to_floats), 0, 0, FLOATS, 0, HUGE_TOO},
    {"widen_range", run_widen_range, SLOT(widen_range), 0, 0, FLOATS, 0, HUGE_TOO},
    {"gather_windows", run_gather_windows, SLOT(gather_windows), 0, 0, FLOATS, 0, HUGE_TOO},
    {"turn", run_turn, SLOT(turn), 0, 0, FLOATS, 0, HUGE_TOO},
    {"copy_rows", run_copy_rows, SLOT(copy_rows), 0, 0, FLOATS, 0, HUGE_TOO},
    {"taps", run_taps, SLOT(taps), 0, 0, 8, 16, SPECIAL},
    {"taps_max", run_taps_max, SLOT(taps_max), 0, 0, FLOATS, 0, HUGE_TOO},
    {"f16_to_f32", run_f16_to_f32, SLOT(f16_to_f32), 0, 0, FLOATS, 0, PLAIN},
    {"f32_to_f16", run_f32_to_f16, SLOT(f32_to_f16), 0, 0, BITS, 0, HUGE_TOO},
    {"bf16_to_f32", run_bf16_to_f32, SLOT(bf16_to_f32), 0, 0, FLOATS, 0, PLAIN},
    {"f32_to_bf16", run_f32_to_bf16, SLOT(f32_to_bf16), 0, 0, BITS, 0, HUGE_TOO},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static bool agree(const struct kernel *kernel, float a, float b)
{
    if (memcmp(&a, &b, sizeof a) == 0) {
        return true;
    }
    if (kernel->units == BITS || isnan(a) || isnan(b)) {
        return kernel->units != BITS && isnan(a) && isnan(b);
    }
    const double most = kernel->units * fmax(0x1p-24 * fmax(fabs((double)b), kernel->least), 0x1p-149);
    return kernel->units > 0 && isfinite(a) && isfinite(b) && fabs((double)a - (double)b) <= most;
}

/* A table of one slot: a line that calls another kernel ends here. */
static struct sc_kernels alone(const struct sc_kernels *from, size_t slot, size_t as)
{
    struct sc_kernels table;
    memset(&table, 0, sizeof table);
    memcpy((char *)&table + as, (const char *)from + slot, sizeof(void *));
    return table;
}

/* Runs both; whether the base level wrote something. */
static bool compare(
    const struct kernel *kernel, const struct sc_kernels *level, const struct inputs *in, int start, int n)
{
    static float here[OUT], base[OUT];
    const struct sc_kernels *first = sc_kernels_at(SC_ISA_BASE);
    const struct sc_kernels one = alone(level, kernel->slot, kernel->slot);
    const struct sc_kernels other = alone(first, kernel->of_base ? kernel->of_base : kernel->slot, kernel->slot);
    const struct call call = {.x = in->x + start,
        .y = in->y + start,
        .scales = in->y,
        .ints = (const int32_t *)(const void *)(in->x + start),
        .more_ints = (const int32_t *)(const void *)(in->y + start),
        .words = in->words + start,
        .bytes = in->bytes + start,
        .zeros = in->bytes,
        .n = n,
        .which = kernel->which};
    bool wrote = false;
    memset(here, 0, sizeof here);
    memset(base, 0, sizeof base);
    kernel->run(&one, &call, here);
    kernel->run(&other, &call, base);
    for (int i = 0; i < OUT; i++) {
        if (!agree(kernel, here[i], base[i])) {
            fail_msg("%s at level %s, %d elements from place %d: element %d is %a, at base %a", kernel->name,
                level->name, n, start, i, (double)here[i], (double)base[i]);
        }
        wrote |= base[i] != 0;
    }
    return wrote;
}

static bool has(const struct sc_kernels *level, const struct kernel *kernel)
{
    void *pointer;
    memcpy(&pointer, (const char *)level + kernel->slot, sizeof pointer);
    return pointer && (!kernel->of_base || sc_kernels_have_vnni());
}

static void every_level_gives_what_the_base_level_gives(void **state)
{
    (void)state;
    static struct inputs in[N_KINDS];
    for (int kind = 0; kind < N_KINDS; kind++) {
        fill(&in[kind], kind);
    }
    for (int isa = SC_ISA_BASE + 1; isa < SC_ISA_N; isa++) {
        const struct sc_kernels *level = sc_kernels_at((enum sc_isa)isa);
        for (int each = 0; level && each < N_KERNELS; each++) {
            bool wrote = !has(level, &kernels[each]);
            for (int run = 0; has(level, &kernels[each]) && run < (MAX_N + 1) * STARTS * N_KINDS; run++) {
                const int kind = run % N_KINDS, place = run / N_KINDS;
                if (kind <= kernels[each].kind) {
                    wrote |= compare(&kernels[each], level, &in[kind], place / (MAX_N + 1), place % (MAX_N + 1));
                }
            }
            assert_true(wrote);
        }
    }
}

/* Adding a kernel to the table without a line of the list ends here. */
static void every_slot_of_the_table_has_a_line(void **state)
{
    (void)state;
    assert_int_equal(sizeof(run_fn *), sizeof(void *));
    for (size_t slot = SLOT(unary); slot < sizeof(struct sc_kernels); slot += sizeof(void *)) {
        int lines = slot == SLOT(gemm_rows) || slot == SLOT(gemm_panels); /* numbers */
        for (int each = 0; each < N_KERNELS; each++) {
            lines += kernels[each].slot == slot;
        }
        if (lines != 1) {
            fail_msg("%d lines are of the kernel at byte %zu of struct sc_kernels", lines, slot);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_of_the_table_has_a_line),
        cmocka_unit_test(every_level_gives_what_the_base_level_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
