/* SPDX-License-Identifier: Apache-2.0
 * Claims about bounds: what an operator makes lies between them, and what is said to be one number is. */
#include "passes/interval.h"
#include "model_case.h"

#include <math.h>

struct bounds {
    const char *op;
    enum sc_type type; /* of the result */
    double in[3][2]; /* NaN: absent */
    double least, most;
    bool same;
};

#define NONE                                                                                                           \
    {                                                                                                                  \
        NAN, NAN                                                                                                       \
    }

static const struct bounds table[] = {
    {"Add", SC_I64, {{1, 2}, {-3, 5}, NONE}, -2, 7, false}, {"Sub", SC_I64, {{1, 2}, {-3, 5}, NONE}, -4, 5, false},
    {"Mul", SC_I64, {{-2, 3}, {-5, 4}, NONE}, -15, 12, false}, {"Neg", SC_I64, {{-2, 3}, NONE, NONE}, -3, 2, false},
    {"Abs", SC_I64, {{-2, 3}, NONE, NONE}, 0, 3, false}, {"Abs", SC_I64, {{-7, -3}, NONE, NONE}, 3, 7, false},
    {"Div", SC_I64, {{-7, 7}, {2, 2}, NONE}, -3, 3, false}, /* towards 0 */
    {"Div", SC_I64, {{1, 1}, {-1, 1}, NONE}, -INFINITY, INFINITY, false},
    {"Min", SC_I64, {{20, 1e9}, {15, 15}, NONE}, 15, 15, true},
    {"Min", SC_I64, {{10, 1e9}, {15, 15}, NONE}, 10, 15, false}, {"Max", SC_I64, {{-1e9, 3}, {4, 4}, NONE}, 4, 4, true},
    {"Clip", SC_I64, {{-1e9, -9}, {-3, -3}, {4, 4}}, -3, -3, true},
    {"Clip", SC_I64, {{5, 1e9}, NONE, {4, 4}}, 4, 4, true}, {"Where", SC_I64, {{1, 1}, {2, 3}, {7, 9}}, 2, 3, false},
    {"Where", SC_I64, {{0, 0}, {2, 3}, {7, 7}}, 7, 7, true}, {"Where", SC_I64, {{0, 1}, {2, 3}, {7, 9}}, 2, 9, false},
    {"Cast", SC_I64, {{-1.5, 2.9}, NONE, NONE}, -1, 2, false},
    {"Cast", SC_I64, {{-INFINITY, 3}, NONE, NONE}, -INFINITY, INFINITY, false}, /* what it makes of that is anything */
    {"Cast", SC_I32, {{0, 0x1p40}, NONE, NONE}, -INFINITY, INFINITY, false}, /* the low bits */
    {"Cast", SC_BOOL, {{0.5, 2}, NONE, NONE}, 1, 1, true}, {"Cast", SC_BOOL, {{0, 2}, NONE, NONE}, 0, 1, false},
    {"Mul", SC_I32, {{0x1p20, 0x1p20}, {0x1p20, 0x1p20}, NONE}, -INFINITY, INFINITY, true},
    {"Less", SC_BOOL, {{1, 3}, {4, 5}, NONE}, 1, 1, true}, {"Less", SC_BOOL, {{5, 6}, {4, 5}, NONE}, 0, 0, true},
    {"Less", SC_BOOL, {{1, 4}, {4, 5}, NONE}, 0, 1, false},
    {"LessOrEqual", SC_BOOL, {{1, 4}, {4, 5}, NONE}, 1, 1, true},
    {"Greater", SC_BOOL, {{4, 9}, {4, 4}, NONE}, 0, 1, false},
    {"GreaterOrEqual", SC_BOOL, {{4, 9}, {4, 4}, NONE}, 1, 1, true},
    {"Equal", SC_BOOL, {{4, 4}, {4, 4}, NONE}, 1, 1, true}, {"Equal", SC_BOOL, {{4, 5}, {6, 8}, NONE}, 0, 0, true},
    {"And", SC_BOOL, {{0, 1}, {0, 0}, NONE}, 0, 0, true}, {"Or", SC_BOOL, {{0, 1}, {0, 0}, NONE}, 0, 1, false},
    {"Not", SC_BOOL, {{0, 0}, NONE, NONE}, 1, 1, true}, {"Sign", SC_I64, {{-4, 0}, NONE, NONE}, -1, 0, false},
    {"Log", SC_F32, {{-1, 4}, NONE, NONE}, -INFINITY, INFINITY, false},
    {"Sub", SC_F32, {{INFINITY, INFINITY}, {1, INFINITY}, NONE}, -INFINITY, INFINITY, false},
    {"Min", SC_F32, {{-INFINITY, INFINITY}, {1, 1}, NONE}, -INFINITY, INFINITY, false}, /* NaN stays NaN */
};

static struct sc_interval bounds_of(const struct bounds *row)
{
    const struct sc_node node = {.op = row->op, .domain = "", .version = 13, .n_in = 3};
    struct sc_interval in[3];
    const struct sc_interval *at[SC_INTERVAL_MOST] = {NULL};
    for (int i = 0; i < 3; i++) {
        in[i] = (struct sc_interval){row->in[i][0], row->in[i][1], row->in[i][0] == row->in[i][1]};
        at[i] = isnan(row->in[i][0]) ? NULL : &in[i];
    }
    assert_true(sc_interval_knows(&node));
    return sc_interval_of(&node, row->type, at);
}

static void bounds_are_those_of_the_operator(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof table / sizeof table[0]; r++) {
        const struct sc_interval x = bounds_of(&table[r]);
        if (x.least != table[r].least || x.most != table[r].most || x.same != table[r].same) {
            fail_msg("row %d, %s: %g to %g, same %d", (int)r, table[r].op, x.least, x.most, (int)x.same);
        }
    }
}

/* A kernel of floats is off by some units in the last place. */
static void floats_have_room_for_what_rounding_does(void **state)
{
    (void)state;
    static const struct bounds rows[] = {
        {"Log", SC_F32, {{8, 8}, NONE, NONE}, 2.0794415, 2.0794416, true},
        {"Sqrt", SC_F32, {{2, 4}, NONE, NONE}, 1.4142135, 2, false},
        {"Div", SC_F32, {{1, 1}, {3, 3}, NONE}, 0.33333333, 0.33333334, true},
        {"Add", SC_F16, {{1000, 1000}, {1, 2}, NONE}, 1000, 1002, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct sc_interval x = bounds_of(&rows[r]);
        const double room = rows[r].type == SC_F16 ? 5e-3 : 1e-5;
        assert_true(x.least < rows[r].least && x.least > rows[r].least * (1 - room));
        assert_true(x.most > rows[r].most && x.most < rows[r].most * (1 + room));
        assert_int_equal(x.same, rows[r].same);
    }
}

static void floats_that_overflow_are_infinite(void **state)
{
    (void)state;
    const struct bounds row = {"Mul", SC_F16, {{300, 300}, {200, 400}, NONE}, 0, 0, false};
    const struct sc_interval x = bounds_of(&row);
    assert_true(x.least < 60000 && x.most == INFINITY);
}

static void others_are_not_known(void **state)
{
    (void)state;
    const struct sc_node random = {.op = "RandomNormalLike", .domain = "", .version = 1, .n_in = 1};
    const struct sc_node other = {.op = "Add", .domain = "com.example", .version = 1, .n_in = 2};
    const struct sc_node short_of = {.op = "Add", .domain = "", .version = 14, .n_in = 1};
    const struct sc_node many = {.op = "Min", .domain = "", .version = 13, .n_in = 5};
    const struct sc_node old = {.op = "Clip", .domain = "", .version = 6, .n_in = 1};
    assert_false(sc_interval_knows(&random));
    assert_false(sc_interval_knows(&other));
    assert_false(sc_interval_knows(&short_of));
    assert_false(sc_interval_knows(&many));
    assert_false(sc_interval_knows(&old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_of_the_operator),
        cmocka_unit_test(floats_have_room_for_what_rounding_does),
        cmocka_unit_test(floats_that_overflow_are_infinite),
        cmocka_unit_test(others_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
