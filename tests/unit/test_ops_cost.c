/* SPDX-License-Identifier: Apache-2.0
 * An operator that picks does not cost what it could have picked from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/cost.h"
#include "ops/shape/shape.h"

static void a_row_of_a_table_costs_a_row(void **state)
{
    (void)state;
    struct sc_fact table, indices, out;
    sc_fact_of_rank(&table, SC_F32, 2);
    sc_fact_of_rank(&indices, SC_I64, 1);
    sc_fact_of_rank(&out, SC_F32, 2);
    table.dims[0] = 32000;
    indices.dims[0] = out.dims[0] = 3;
    table.dims[1] = out.dims[1] = 64;
    const struct sc_fact *in[] = {&table, &indices};
    struct sc_fact *outs[] = {&out};
    const struct sc_infer infer = {.n_in = 2, .n_out = 1, .in = in, .out = outs};
    static const char *const names[] = {"Gather", "GatherElements", "GatherND"};
    for (int i = 0; i < 3; i++) {
        struct sc_cost cost = {0};
        sc_op_find("", names[i], 13)->cost(&infer, &cost);
        assert_true(cost.read_bytes == 3 * 64 * 4 + 3 * 8);
        assert_true(cost.written_bytes == 3 * 64 * 4);
        assert_true(cost.operations == 3 * 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_a_table_costs_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
