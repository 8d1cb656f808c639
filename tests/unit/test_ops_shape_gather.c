/* SPDX-License-Identifier: Apache-2.0
 * GatherElements on rows longer than what it reads at a time and parts that begin within a row, of every width. */
#include <stdio.h>

#include "op_harness.h"

enum { OUTER = 3, MIDDLE = 40, INNER = 301, N = OUTER * MIDDLE * INNER };

static void pick_along(enum sc_type type, enum sc_type of_indices, int axis)
{
    static const int64_t dims[3] = {OUTER, MIDDLE, INNER};
    static double x[N], indices[N], wanted[N];
    const int64_t dim = dims[axis], step = axis == 0 ? MIDDLE * INNER : axis == 1 ? INNER : 1;
    for (int64_t i = 0; i < N; i++) {
        x[i] = (double)(i * 7 % 128);
    }
    for (int64_t i = 0; i < N; i++) {
        const int64_t to = i * 31 % dim, here = i / step % dim;
        indices[i] = (double)(i % 3 ? to : to - dim);
        wanted[i] = x[i + (to - here) * step];
    }
    struct op_test t;
    op_open(&t, "", "GatherElements", 13);
    op_int(&t, "axis", axis - (axis == 1 ? 3 : 0));
    op_in(&t, type, 3, dims, x);
    op_in(&t, of_indices, 3, dims, indices);
    op_passes(&t, 1);
    op_gives(&t, 0, type, 3, dims, wanted, 0);
    op_close(&t);
}

static void single_elements_follow_any_axis(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_U8, SC_BF16, SC_F32, SC_I64};
    for (int k = 0; k < 4; k++) {
        for (int axis = 0; axis < 3; axis++) {
            pick_along(types[k], k % 2 ? SC_I32 : SC_I64, axis);
        }
    }
}

static void an_index_outside_is_named(void **state)
{
    (void)state;
    static const int64_t wrong[] = {3, -4, INT64_MAX, INT64_MIN};
    for (int k = 0; k < 4; k++) {
        char text[160];
        struct op_test t;
        op_open(&t, "", "GatherElements", 13);
        op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(1, 2, 3));
        op_in_raw(&t, SC_I64, OP_DIMS(1), &wrong[k]);
        snprintf(text, sizeof text, "node 'n' (GatherElements): index %lld is outside of axis 0, which has 3 entries",
            (long long)wrong[k]);
        op_fails(&t, 1, SC_BAD_INPUT, text);
        op_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_elements_follow_any_axis),
        cmocka_unit_test(an_index_outside_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
