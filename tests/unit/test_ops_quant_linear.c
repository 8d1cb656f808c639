/* SPDX-License-Identifier: Apache-2.0
 * Quantising to bytes and back, against plain loops: in every layout of scales, on every level and by several
 * threads. */
#include "op_case.h"

#include <math.h>

enum { ROWS = 7, COLUMNS = 53, N = ROWS * COLUMNS, MANY = 70001 };

static float x[MANY], scales[COLUMNS];
static uint8_t zeros[COLUMNS], bytes[MANY];

static void fill(void)
{
    for (int i = 0; i < MANY; i++) {
        x[i] = (float)((i * 7919) % 2001 - 1000) * 0.5F;
        bytes[i] = (uint8_t)(i * 31);
    }
    x[5] = NAN;
    x[6] = INFINITY;
    x[7] = -INFINITY;
    for (int i = 0; i < COLUMNS; i++) {
        scales[i] = 0.5F * (float)(i % 9 + 1);
        zeros[i] = (uint8_t)(i * 37 + 3);
    }
}

/* axis -1: one scale. */
static int index_of(int axis, int i)
{
    return axis < 0 ? 0 : axis == 0 ? i / COLUMNS : i % COLUMNS;
}

static int to_byte(float value, float scale, bool is_signed, uint8_t zero_byte)
{
    const double zero = is_signed ? (int8_t)zero_byte : zero_byte, low = is_signed ? -128 : 0;
    const double whole = rint((double)(value / scale)) + zero;
    return (int)(whole >= low ? fmin(whole, low + 255) : low);
}

static void run(const char *name, int axis, bool is_signed, const struct sc_kernels *kernels)
{
    const bool quantize = name[0] == 'Q';
    const enum sc_type type = is_signed ? SC_I8 : SC_U8;
    const int n = axis < 0 ? 1 : axis == 0 ? ROWS : COLUMNS;
    struct op_case c;
    op_open(&c, "", name, 13, 1);
    op_int(&c, "axis", axis < 0 ? 1 : axis);
    op_in(&c, quantize ? SC_F32 : type, quantize ? (void *)x : (void *)bytes, DIMS(ROWS, COLUMNS));
    op_in(&c, SC_F32, scales, DIMS(n));
    op_in(&c, type, zeros, DIMS(n));
    c.kernels = kernels;
    assert_int_equal(op_run(&c), SC_OK);
    const void *got = op_out(&c, 0);
    for (int i = 0; i < N; i++) {
        const int at = index_of(axis, i);
        if (quantize) {
            const int byte = is_signed ? ((const int8_t *)got)[i] : ((const uint8_t *)got)[i];
            assert_int_equal(byte, to_byte(x[i], scales[at], is_signed, zeros[at]));
        } else {
            const int byte = is_signed ? (int8_t)bytes[i] : bytes[i], zero = is_signed ? (int8_t)zeros[at] : zeros[at];
            assert_true(((const float *)got)[i] == (float)(byte - zero) * scales[at]);
        }
    }
    op_close(&c);
}

static void bytes_and_floats_agree_with_the_rule_in_every_layout(void **state)
{
    (void)state;
    fill();
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        for (int axis = -1; sc_kernels_at((enum sc_isa)isa) && axis < 2; axis++) {
            for (int is_signed = 0; is_signed < 2; is_signed++) {
                run("QuantizeLinear", axis, is_signed, sc_kernels_at((enum sc_isa)isa));
                run("DequantizeLinear", axis, is_signed, sc_kernels_at((enum sc_isa)isa));
            }
        }
    }
}

static void dynamic_ranges_hold_all_elements_and_zero(void **state)
{
    (void)state;
    static const int lengths[] = {0, 1, 15, 33, MANY};
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        for (int l = 0; sc_kernels_at((enum sc_isa)isa) && l < 5; l++) {
            float low = 0, high = 0;
            fill();
            for (int i = 0; i < lengths[l]; i++) {
                x[i] = isfinite(x[i]) ? x[i] : 1;
                low = fminf(low, x[i]);
                high = fmaxf(high, x[i]);
            }
            const float scale = (high - low) / 255.0F;
            const uint8_t zero = scale > 0 ? (uint8_t)rint((double)(-low / scale)) : 0;
            struct op_case c;
            op_open(&c, "", "DynamicQuantizeLinear", 11, 3);
            op_in(&c, SC_F32, x, DIMS(lengths[l]));
            c.kernels = sc_kernels_at((enum sc_isa)isa);
            const struct sc_team_options options = {.n_workers = 2};
            assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
            assert_int_equal(op_run(&c), SC_OK);
            op_expect(&c, 1, SC_F32, &scale, 0, NULL);
            op_expect(&c, 2, SC_U8, &zero, 0, NULL);
            const uint8_t *got = op_out(&c, 0);
            for (int i = 0; i < lengths[l]; i++) {
                assert_int_equal(got[i], scale > 0 ? to_byte(x[i], scale, false, zero) : 0);
            }
            sc_team_free(c.team);
            op_close(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_floats_agree_with_the_rule_in_every_layout),
        cmocka_unit_test(dynamic_ranges_hold_all_elements_and_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
