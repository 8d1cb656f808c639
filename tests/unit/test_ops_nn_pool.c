/* SPDX-License-Identifier: Apache-2.0
 * Pools of whole planes at the edge of their shapes; pools by windows are in test_pool.c. */
#include "op_harness.h"

/* [N, C] has no axes to pool: each plane is one element, and its pool is that element or its norm. */
static void a_plane_without_axes_is_its_element(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_F16};
    static const char *const names[] = {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"};
    const double *const wanted[] = {
        OP_VALUES(1, -2, 0, 4, -5, 0.5), OP_VALUES(1, -2, 0, 4, -5, 0.5), OP_VALUES(1, 2, 0, 4, 5, 0.5)};
    for (size_t i = 0; i < 9; i++) {
        struct op_test t;
        const size_t name = i / 3;
        op_open(&t, "", names[name], name == 2 ? 2 : 1);
        op_in(&t, types[i % 3], OP_DIMS(2, 3), OP_VALUES(1, -2, 0, 4, -5, 0.5));
        op_passes(&t, 1);
        op_gives(&t, 0, types[i % 3], OP_DIMS(2, 3), wanted[name], 0);
        op_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_without_axes_is_its_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
