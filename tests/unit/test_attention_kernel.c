/* SPDX-License-Identifier: Apache-2.0
 * Attention against the definition in double, and the same bits in every company: chunks, threads, views, later keys.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attention_setup.h"

static double get(enum sc_type type, const void *data, int64_t i)
{
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    float f = 0;
    switch (type) {
    case SC_F64:
        return ((const double *)data)[i];
    case SC_F32:
        return (double)((const float *)data)[i];
    case SC_F16:
        base->f16_to_f32((const uint16_t *)data + i, &f, 1);
        return (double)f;
    default:
        base->bf16_to_f32((const uint16_t *)data + i, &f, 1);
        return (double)f;
    }
}

static bool sees(const struct sc_attention *a, int64_t position, int64_t j)
{
    return (!a->causal || j <= position) && (a->left_window < 0 || j >= position - a->left_window) &&
        (a->right_window < 0 || j <= position + a->right_window) && (a->bias == NULL || j < a->bias_length);
}

/* |got - want| may be: width roundings of each score and of the number they are summed to, doubled for the weight's
 * quotient, |v| < 1; n more in the sums; then one rounding to the type of a number below `size`. */
static double bound_of(const struct sc_attention *a, double size)
{
    const double u = a->type == SC_F64 || a->v_type == SC_F64 ? 0x1p-53 : 0x1p-24;
    const double last = a->type == SC_F16 ? 0x1p-11 : a->type == SC_BF16 ? 0x1p-8 : a->type == SC_F32 ? 0x1p-24 : 0;
    const double width = (double)a->qk_width, n = (double)a->keys[0].length;
    return (4 * width * width * fabs(a->scale) + 2 * n + 40) * u + last * size;
}

static void check_number(const struct sc_attention *a, double got, double want, const char *what, int64_t row)
{
    const bool same = isinf(want) ? got == want : fabs(got - want) <= bound_of(a, fabs(want) + 0.01);
    if (!same) {
        fail_msg("%s, row %d: got %g, want %g", what, (int)row, got, want);
    }
}

/* The definition, for one row r = (b, h, i). stages: scores, softcap, bias, softmax. */
static void reference_row(const struct setup *s, int64_t r, double *stages[4], double *y)
{
    const struct sc_attention *a = &s->a;
    const int64_t n = s->length, i = r % a->n_q, h = r / a->n_q % a->q_heads, b = r / a->n_q / a->q_heads;
    const int64_t kv = b * a->kv_heads + h / (a->q_heads / a->kv_heads);
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double dot = 0;
        for (int64_t d = 0; d < a->qk_width; d++) {
            dot += s->q[r * a->qk_width + d] * s->k[(kv * n + j) * a->qk_width + d];
        }
        stages[0][j] = a->scale * dot;
        stages[1][j] = a->softcap > 0 ? a->softcap * tanh(stages[0][j] / a->softcap) : stages[0][j];
        const int64_t at = j - a->offset[b] - i + a->before, last = a->n_distances - 1;
        const double distance = a->distances ? s->distances[h * a->distance_stride +
                                                   (at < 0             ? 0
                                                           : at > last ? last
                                                                       : at)]
                                             : 0;
        const double slope = a->slopes ? (double)a->slopes[h] * (double)(j - a->offset[b] - i) : 0;
        stages[2][j] = sees(a, a->offset[b] + i, j) ? stages[1][j] + slope + distance + s->bias[r * n + j] : -INFINITY;
        most = fmax(most, stages[2][j]);
    }
    for (int64_t j = 0; j < n; j++) {
        stages[3][j] = most == -INFINITY ? 0 : exp(stages[2][j] - most);
        sum += stages[3][j];
    }
    for (int64_t d = 0; d < a->v_width; d++) {
        y[d] = 0;
    }
    for (int64_t j = 0; j < n; j++) {
        stages[3][j] = sum > 0 ? stages[3][j] / sum : 0;
        for (int64_t d = 0; d < a->v_width; d++) {
            y[d] += stages[3][j] * s->v[(kv * n + j) * a->v_width + d];
        }
    }
}

static void make_reference(struct setup *s)
{
    const struct sc_attention *a = &s->a;
    const int64_t n_rows = MAX_BATCH * a->q_heads * a->n_q;
    double stage[4][512];
    double *stages[4] = {stage[0], stage[1], stage[2], stage[3]};
    assert_true(s->length <= 512);
    s->want_y = need(s, (size_t)(n_rows * a->v_width) * sizeof(double));
    s->want_tap = need(s, (size_t)(n_rows * a->qk_length) * sizeof(double));
    for (int64_t r = 0; r < n_rows; r++) {
        reference_row(s, r, stages, s->want_y + r * a->v_width);
        for (int64_t j = 0; a->tap != SC_TAP_NONE && j < a->qk_length; j++) {
            const double rest = a->tap == SC_TAP_BIAS ? -INFINITY : 0;
            s->want_tap[r * a->qk_length + j] = j < s->length ? stages[a->tap][j] : rest;
        }
    }
}

static void check(const struct setup *s)
{
    const struct sc_attention *a = &s->a;
    for (int64_t r = 0; r < MAX_BATCH * a->q_heads * a->n_q; r++) {
        const int64_t i = r % a->n_q, h = r / a->n_q % a->q_heads, b = r / a->n_q / a->q_heads;
        const int64_t y = b * a->y_strides[0] + h * a->y_strides[1] + i * a->y_strides[2];
        for (int64_t d = 0; d < a->v_width; d++) {
            check_number(a, get(a->type, a->y, y + d), s->want_y[r * a->v_width + d], "y", r);
        }
        for (int64_t j = r * a->qk_length; a->tap != SC_TAP_NONE && j < (r + 1) * a->qk_length; j++) {
            check_number(a, get(a->type, a->qk_out, j), s->want_tap[j], "tap", r);
        }
    }
}

static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64};

/* Runs one set of options over all types, views and levels. */
static void check_everywhere(struct options o)
{
    for (int t = 0; t < 4; t++) {
        for (int view = 0; view < N_VIEW_KINDS; view++) {
            o.type = types[t];
            o.view = (enum view_kind)view;
            struct setup s;
            make(&s, &o);
            make_reference(&s);
            EACH_LEVEL
            {
                run(&s, kernels, NULL);
                check(&s);
            }
            release(&s);
        }
    }
}

static void plain_attention_is_right(void **state)
{
    (void)state;
    check_everywhere(plain);
}

static void values_of_another_type_are_right(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct options o = plain;
        o.v_type = types[t];
        o.tap = SC_TAP_SOFTMAX;
        o.bias = ADDED;
        check_everywhere(o);
    }
}

static void every_length_is_right(void **state)
{
    (void)state;
    for (int64_t length = 0; length <= 200; length += length < 5 || length % 64 > 61 ? 1 : 7) {
        struct options o = plain;
        o.length = length;
        o.offset = length - 2;
        o.n_q = 2;
        o.causal = true;
        check_everywhere(o);
    }
}

static void widths_off_the_lanes_are_right(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 16, 33, 48};
    for (int i = 0; i < 10; i++) {
        struct options o = plain;
        o.n_q = 3;
        o.qk_width = widths[i % 5];
        o.v_width = widths[(2 * i + i / 5) % 5];
        check_everywhere(o);
    }
}

static void causal_is_right_with_every_sign_of_offset(void **state)
{
    (void)state;
    static const int64_t offsets[] = {-100, -3, 0, 1, 62, 141, 200};
    for (int i = 0; i < 7; i++) {
        struct options o = plain;
        o.causal = true;
        o.offset = offsets[i];
        check_everywhere(o);
    }
}

static void windows_are_right(void **state)
{
    (void)state;
    static const int64_t windows[] = {-1, 0, 5, 70, INT64_MAX / 2};
    for (int i = 0; i < 25; i++) {
        struct options o = plain;
        o.n_q = 3;
        o.kv_heads = 1;
        o.causal = i % 2 != 0;
        o.left = windows[i % 5];
        o.right = windows[i / 5];
        o.offset = 90;
        check_everywhere(o);
    }
}

static void bias_mask_and_softcap_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        struct options o = plain;
        o.bias = (enum bias_kind)(i % 4);
        o.softcap = i / 4 % 2 != 0 ? 1.5 : 0;
        o.causal = i / 8 != 0;
        o.offset = 100;
        check_everywhere(o);
    }
}

static void slopes_are_right(void **state)
{
    (void)state;
    static const float slopes[4] = {0.25F, 0.0625F, -0.125F, 0};
    for (int i = 0; i < 4; i++) {
        struct options o = plain;
        o.slopes = slopes;
        o.bias = i / 2 ? MASK : NO_BIAS;
        o.causal = i % 2 != 0;
        o.left = i == 3 ? 20 : -1;
        o.offset = 100;
        check_everywhere(o);
    }
}

/* Inside the table, past one of its ends and past both; one that is all there is; with what else is added. */
static void tables_by_distance_are_right(void **state)
{
    (void)state;
    static const int64_t tables[][2] = {{400, 200}, {70, 69}, {70, 0}, {20, 10}, {1, 0}};
    for (int i = 0; i < 20; i++) {
        struct options o = plain;
        o.type = i % 4 == 3 ? SC_F64 : i % 4 == 2 ? SC_F16 : SC_F32;
        o.n_distances = tables[i / 4][0];
        o.before = tables[i / 4][1];
        o.one_for_all = i % 3 == 2;
        o.bias = i % 4 == 1 ? ADDED : NO_BIAS;
        o.causal = i % 2 != 0;
        o.left = i % 5 == 4 ? 90 : -1;
        o.offset = i % 3 ? 145 : 60;
        check_everywhere(o);
    }
}

static void taps_show_each_stage(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct options o = plain;
        o.tap = (enum sc_attention_tap)(i % 4);
        o.bias = i / 4 == 1 ? MASK : i / 4 == 2 ? ADDED : NO_BIAS;
        o.softcap = 1.5;
        o.causal = true;
        o.left = 70;
        o.offset = 100;
        check_everywhere(o);
    }
}

static void a_row_that_sees_nothing_is_zero(void **state)
{
    (void)state;
    struct options o = plain;
    o.causal = true;
    o.offset = -20;
    struct setup s;
    make(&s, &o);
    EACH_LEVEL
    {
        const size_t bytes = (size_t)(MAX_BATCH * s.a.q_heads * s.a.n_q * s.a.v_width) * sizeof(float);
        memset(s.a.y, 0x7b, bytes);
        run(&s, kernels, NULL);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(((const char *)s.a.y)[i], 0);
        }
    }
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_attention_is_right),
        cmocka_unit_test(values_of_another_type_are_right),
        cmocka_unit_test(every_length_is_right),
        cmocka_unit_test(widths_off_the_lanes_are_right),
        cmocka_unit_test(causal_is_right_with_every_sign_of_offset),
        cmocka_unit_test(windows_are_right),
        cmocka_unit_test(bias_mask_and_softcap_are_right),
        cmocka_unit_test(slopes_are_right),
        cmocka_unit_test(tables_by_distance_are_right),
        cmocka_unit_test(taps_show_each_stage),
        cmocka_unit_test(a_row_that_sees_nothing_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
