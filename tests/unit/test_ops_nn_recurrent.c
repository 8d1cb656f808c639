/* SPDX-License-Identifier: Apache-2.0
 * Claims about RNN, GRU and LSTM that no official case makes. Values are those of the clauses' equations in Python. */
#include "op_harness.h"

/* h = tanh(0.5 x), then tanh(0.5 x + 0.25 h): in f32 neither would be right to twelve digits. */
static void doubles_stay_doubles(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "RNN", 14);
    op_int(&t, "hidden_size", 1);
    op_in(&t, SC_F64, OP_DIMS(2, 1, 1), OP_VALUES(1, 2));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 1), OP_VALUES(0.5));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 1), OP_VALUES(0.25));
    op_passes(&t, 2);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, 1, 1, 1), OP_VALUES(0.46211715726000976, 0.8060082340490717), 1e-14);
    op_gives(&t, 1, SC_F64, OP_DIMS(1, 1, 1), OP_VALUES(0.8060082340490717), 1e-14);
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_stay_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
