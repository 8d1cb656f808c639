/* SPDX-License-Identifier: Apache-2.0
 * Claims about pooling of f32 by bands: against the definition, window by window. */
#include "op_case.h"

#include <math.h>

struct shape {
    int planes, in[2], kernel[2], stride[2], dilation[2], begin[2], end[2];
    bool ceil, include;
};

static void fill(float *x, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int32_t)seed >> 8) / 4194304.0F;
    }
}

/* One window: its largest, or its sum and how many count. NaN once it was met. */
static double window(const struct shape *s, bool average, const float *x, int oy, int ox)
{
    double best = -INFINITY, sum = 0;
    int inside = 0, padded = 0;
    for (int i = 0; i < s->kernel[0]; i++) {
        for (int j = 0; j < s->kernel[1]; j++) {
            const int y = oy * s->stride[0] - s->begin[0] + i * s->dilation[0];
            const int z = ox * s->stride[1] - s->begin[1] + j * s->dilation[1];
            padded += y < s->in[0] + s->end[0] && z < s->in[1] + s->end[1];
            if (y < 0 || z < 0 || y >= s->in[0] || z >= s->in[1]) {
                continue;
            }
            const double value = (double)x[y * s->in[1] + z];
            inside++;
            sum += value;
            best = isnan(value) || value > best ? value : best;
        }
    }
    return average ? sum / (s->include ? padded : inside) : best;
}

static void check(const struct shape *s, bool average)
{
    static float x[40000];
    const int plane = s->in[0] * s->in[1];
    int64_t strides[2], dilations[2], kernel[2], pads[4];
    for (int d = 0; d < 2; d++) {
        kernel[d] = s->kernel[d];
        strides[d] = s->stride[d];
        dilations[d] = s->dilation[d];
        pads[d] = s->begin[d];
        pads[2 + d] = s->end[d];
    }
    assert_true(s->planes * plane <= 40000);
    fill(x, 40000, 9);
    x[plane / 2] = average ? 1.0F : NAN;
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        for (int threads = 1; threads <= 3 && sc_kernels_at((enum sc_isa)isa); threads += 2) {
            struct op_case c;
            op_open(&c, "", average ? "AveragePool" : "MaxPool", average ? 19 : 12, 1);
            c.kernels = sc_kernels_at((enum sc_isa)isa);
            const struct sc_team_options options = {.n_workers = threads};
            assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
            op_ints(&c, "kernel_shape", 2, kernel);
            op_ints(&c, "strides", 2, strides);
            op_ints(&c, "dilations", 2, dilations);
            op_ints(&c, "pads", 4, pads);
            op_int(&c, "ceil_mode", s->ceil);
            if (average) {
                op_int(&c, "count_include_pad", s->include);
            }
            op_in(&c, SC_F32, x, DIMS(1, s->planes, s->in[0], s->in[1]));
            assert_int_equal(op_run(&c), SC_OK);
            const struct sc_tensor *y = &c.out[0].u.tensor;
            const float *got = op_out(&c, 0);
            for (int64_t i = 0; i < sc_tensor_count(y); i++) {
                const int ox = (int)(i % y->dims[3]), oy = (int)(i / y->dims[3] % y->dims[2]);
                const double want = window(s, average, x + i / y->dims[3] / y->dims[2] * plane, oy, ox);
                /* sums of up to 49 numbers below 2 in f32 */
                const double bound = average ? 2e-6 : 0;
                assert_true(isnan(want) ? isnan(got[i]) : fabs((double)got[i] - want) <= bound);
            }
            sc_team_free(c.team);
            op_close(&c);
        }
    }
}

static const struct shape shapes[] = {
    {3, {23, 31}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, false},
    {5, {14, 14}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, false},
    {2, {100, 130}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, true},
    {400, {5, 7}, {5, 3}, {1, 3}, {1, 2}, {2, 1}, {2, 1}, false, true},
    {1, {7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false, false},
    {2, {10, 11}, {3, 2}, {2, 2}, {1, 1}, {0, 1}, {0, 0}, true, true},
    {2, {12, 12}, {3, 3}, {4, 3}, {2, 2}, {1, 0}, {0, 2}, true, false},
};

static void max_pool_is_each_windows_largest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i], false);
    }
}

static void average_pool_divides_by_what_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pool_is_each_windows_largest),
        cmocka_unit_test(average_pool_divides_by_what_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
