/* SPDX-License-Identifier: Apache-2.0
 * Constant weights of RNN, GRU and LSTM, which are packed once, give the bits of those that each run packs. */
#include "op_case.h"
#include "ops/kernels/gemm.h"

enum { STEPS = 3, BATCH = 2, INPUT = 5, HIDDEN = 7, GATES_MOST = 4, DIRECTIONS = 2 };

static struct {
    float x[STEPS * BATCH * INPUT];
    float w[DIRECTIONS * GATES_MOST * HIDDEN * INPUT], r[DIRECTIONS * GATES_MOST * HIDDEN * HIDDEN];
} data;

static void fill(float *to, size_t n, int seed)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)((int)((i * 37 + (size_t)seed * 11) % 101) - 50) / 64.0F;
    }
}

struct cell {
    const char *op;
    int gates, reset_last;
    size_t last_bytes; /* what GRU packs of its last gate alone */
};

static void run(struct op_case *c, const struct cell *cell, bool constant)
{
    op_open(c, "", cell->op, 22, 3);
    c->node.n_out = strcmp(cell->op, "LSTM") == 0 ? 3 : 2;
    op_int(c, "hidden_size", HIDDEN);
    op_text(c, "direction", "bidirectional");
    if (cell->reset_last) {
        op_int(c, "linear_before_reset", 1);
    }
    op_in(c, SC_F32, data.x, DIMS(STEPS, BATCH, INPUT));
    op_in(c, SC_F32, data.w, DIMS(DIRECTIONS, cell->gates * HIDDEN, INPUT));
    op_in(c, SC_F32, data.r, DIMS(DIRECTIONS, cell->gates * HIDDEN, HIDDEN));
    c->constant[1] = c->constant[2] = constant;
    assert_int_equal(op_run(c), SC_OK);
}

static void constant_weights_are_packed_once_and_give_the_same_bits(void **state)
{
    (void)state;
    const size_t last = sc_gemm_packed_bytes(SC_F32, HIDDEN, HIDDEN);
    const struct cell cells[] = {{"LSTM", 4, 0, 0}, {"GRU", 3, 0, last}, {"GRU", 3, 1, 0}, {"RNN", 1, 0, 0}};
    fill(data.x, sizeof data.x / sizeof(float), 1);
    fill(data.w, sizeof data.w / sizeof(float), 2);
    fill(data.r, sizeof data.r / sizeof(float), 3);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct op_case packed, packing;
        const int64_t N = (int64_t)cells[i].gates * HIDDEN;
        const size_t least = DIRECTIONS *
            (sc_gemm_packed_bytes(SC_F32, INPUT, N) + sc_gemm_packed_bytes(SC_F32, HIDDEN, N) + cells[i].last_bytes);
        run(&packed, &cells[i], true);
        run(&packing, &cells[i], false);
        assert_in_range(packed.packed_bytes, least, least + DIRECTIONS * 3 * 64);
        assert_int_equal(packing.packed_bytes, 0);
        for (int o = 0; o < packed.node.n_out; o++) {
            const struct sc_tensor *t = &packed.out[o].u.tensor;
            op_expect(&packing, o, SC_F32, op_out(&packed, o), t->rank, t->dims);
        }
        op_close(&packed);
        op_close(&packing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_weights_are_packed_once_and_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
