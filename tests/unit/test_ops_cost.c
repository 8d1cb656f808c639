/* SPDX-License-Identifier: Apache-2.0
 * An operator that picks does not cost what it could have picked from; a recurrent layer reads its weights at every
 * step, and packs those that are not constant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/cost.h"
#include "ops/nn/recurrent.h"
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

/* 2 steps of 3 rows: each reads 4 gates of 7 neurons by 5 inputs and 7 states, 336 weights. */
static void a_recurrent_layer_packs_what_is_not_constant(void **state)
{
    (void)state;
    const int64_t dims[4][3] = {{2, 3, 5}, {1, 28, 5}, {1, 28, 7}, {2, 3, 7}};
    struct sc_fact facts[4];
    for (int i = 0; i < 4; i++) {
        sc_fact_tensor(&facts[i], SC_F32, 3, dims[i]);
    }
    const struct sc_fact *in[] = {&facts[0], &facts[1], &facts[2]};
    struct sc_fact *out[] = {&facts[3]};
    struct sc_graph_value values[3] = {{.place = SC_PLACE_INPUT}};
    const struct sc_graph graph = {.values = values, .n_values = 3};
    int inputs[] = {0, 1, 2};
    const struct sc_node node = {.op = "LSTM", .domain = "", .in = inputs, .n_in = 3};
    const struct sc_recurrent_params params = {.cell = SC_CELL_LSTM, .gates = 4, .directions = 1};
    const struct sc_infer infer = {
        .graph = &graph, .node = &node, .params = &params, .n_in = 3, .n_out = 1, .in = in, .out = out};
    for (int constant = 0; constant < 2; constant++) {
        const double copied = constant ? 0 : 2 * 336 * 4;
        struct sc_cost cost = {0};
        values[1].place = values[2].place = constant ? SC_PLACE_INITIALIZER : SC_PLACE_INPUT;
        sc_op_find("", "LSTM", 14)->cost(&infer, &cost);
        assert_true(cost.read_bytes == 2 * 336 * 4 + 2 * 3 * 5 * 4 + copied);
        assert_true(cost.written_bytes == 2 * 3 * 7 * 4 + copied);
        assert_true(cost.operations == 2 * 6 * 336 + 30 * 6 * 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_a_table_costs_a_row),
        cmocka_unit_test(a_recurrent_layer_packs_what_is_not_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
