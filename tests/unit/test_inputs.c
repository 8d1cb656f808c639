/* SPDX-License-Identifier: Apache-2.0
 * Claims about NAME=FILE and NAME=N items. */
#include "graph_case.h"
#include "launch/inputs.h"

#define X(set) "x=" GRAPHS "skipping/test_data_set_" #set "/input_0.pb"
#define Z(set) "z=" GRAPHS "skipping/test_data_set_" #set "/input_1.pb"

struct fixture {
    struct sc_model *model;
    struct sc_arena arena;
    const struct sc_value **values;
    struct sc_fact *facts;
};

static enum sc_status read_items(struct fixture *f, int n, const char *const *items)
{
    return sc_inputs_read(f->model, n, items, &f->arena, &f->values, &f->facts);
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->model = graph_model("skipping");
}

static void close_fixture(struct fixture *f)
{
    sc_model_close(f->model);
    sc_arena_release(&f->arena);
}

static void items_find_their_inputs_in_any_order(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const items[] = {Z(0), X(0)};
    assert_ok(read_items(&f, 2, items));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.values[i]->u.tensor.dims[0], 5);
        assert_int_equal(f.facts[i].rank, 1);
        assert_int_equal(f.facts[i].dims[0], 5);
        assert_null(f.facts[i].value);
    }
    assert_memory_not_equal(f.values[0]->u.tensor.data, f.values[1]->u.tensor.data, 20);
    close_fixture(&f);
}

static void malformed_items_are_bad_usage(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const items[] = {"x", "=file.npy", "x=", "x=file.txt", ""};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(read_items(&f, 1, &items[i]), SC_BAD_USAGE);
    }
    close_fixture(&f);
}

static void unknown_and_missing_inputs_are_named(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const unknown[] = {"w=" GRAPHS "skipping/test_data_set_0/input_0.pb"}, *const one[] = {X(0)};
    assert_fails(SC_BAD_INPUT, "no input 'w'", read_items(&f, 1, unknown));
    assert_fails(SC_BAD_INPUT, "input 'z' is missing", read_items(&f, 1, one));
    assert_fails(SC_BAD_INPUT, "input 'x' is missing", read_items(&f, 0, NULL));
    close_fixture(&f);
}

static void a_name_that_begins_like_an_input_is_another_name(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const longer[] = {"xx=" GRAPHS "skipping/test_data_set_0/input_0.pb"};
    assert_fails(SC_BAD_INPUT, "'xx'", read_items(&f, 1, longer));
    close_fixture(&f);
}

static void files_that_are_not_there_are_named(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const npy[] = {"x=no/such/file.npy"}, *const pb[] = {"x=no/such/file.pb"};
    assert_fails(SC_IO, "no/such/file.npy", read_items(&f, 1, npy));
    assert_fails(SC_IO, "no/such/file.pb", read_items(&f, 1, pb));
    close_fixture(&f);
}

static void named_dims_get_their_sizes_and_others_one(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("computed_shape"); /* x [a, b, c], shape [r] */
    struct sc_fact facts[2];
    const char *const items[] = {"b=7", "r=2"};
    for (int i = 0; i < 2; i++) {
        facts[i] = model->graph->values[model->graph->inputs[i]].fact;
    }
    assert_ok(sc_inputs_settle_dims(model, 2, items, 2, facts));
    static const int64_t dims[] = {1, 7, 1};
    assert_memory_equal(facts[0].dims, dims, sizeof dims);
    assert_int_equal(facts[1].dims[0], 2);
    sc_model_close(model);
}

static void bad_dims_are_bad_usage(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("computed_shape");
    struct sc_fact fact = model->graph->values[model->graph->inputs[0]].fact;
    const char *const items[] = {"q=1", "a=-1", "a=x", "a=1x", "a=", "=3", "a", "a=99999999999999999999"};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(sc_inputs_settle_dims(model, 1, &items[i], 1, &fact), SC_BAD_USAGE);
    }
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_find_their_inputs_in_any_order),
        cmocka_unit_test(malformed_items_are_bad_usage),
        cmocka_unit_test(unknown_and_missing_inputs_are_named),
        cmocka_unit_test(a_name_that_begins_like_an_input_is_another_name),
        cmocka_unit_test(files_that_are_not_there_are_named),
        cmocka_unit_test(named_dims_get_their_sizes_and_others_one),
        cmocka_unit_test(bad_dims_are_bad_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
