/* SPDX-License-Identifier: Apache-2.0
 * Claims about models with recorded data sets. */
#include "graph_case.h"
#include "launch/recorded.h"

struct fixture {
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_recorded recorded;
};

static void open_fixture(struct fixture *f, const char *name)
{
    memset(f, 0, sizeof *f);
    f->model = graph_model(name);
    f->recorded.folder = sc_path_join(&f->arena, GRAPHS, name);
    f->recorded.graph = f->model->graph;
    assert_ok(sc_recorded_list(&f->recorded, &f->arena));
}

static void close_fixture(struct fixture *f)
{
    sc_names_release(&f->recorded.sets);
    sc_model_close(f->model);
    sc_arena_release(&f->arena);
}

static void a_folder_of_folders_gives_those_with_a_model_in_order(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_names one = {0}, many = {0}, alone = {0};
    assert_ok(sc_recorded_find(&arena, GRAPHS "skipping", &one, &alone));
    assert_int_equal(one.n, 1);
    assert_string_equal(one.name[0], GRAPHS "skipping");
    assert_ok(sc_recorded_find(&arena, SC_SOURCE_DIR "/tests/data/graphs", &many, &alone));
    assert_true(many.n > 20);
    for (int i = 1; i < many.n; i++) {
        assert_true(strcmp(many.name[i - 1], many.name[i]) < 0);
    }
    assert_fails(
        SC_BAD_INPUT, "holds no model.onnx", sc_recorded_find(&arena, SC_SOURCE_DIR "/tests/unit", &many, &alone));
    assert_fails(
        SC_BAD_INPUT, "not a folder", sc_recorded_find(&arena, SC_SOURCE_DIR "/no_such_folder", &many, &alone));
    assert_int_equal(alone.n, 0);
    assert_ok(sc_recorded_find(&arena, SC_SOURCE_DIR "/examples/embed", &one, &alone));
    assert_ok(sc_recorded_find(&arena, GRAPHS "skipping/model.onnx", &one, &alone));
    assert_int_equal(one.n, 1);
    assert_int_equal(alone.n, 2); /* without data sets, and a file */
    sc_names_release(&one);
    sc_names_release(&many);
    sc_names_release(&alone);
    sc_arena_release(&arena);
}

static void data_sets_come_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "running_sum");
    assert_int_equal(f.recorded.sets.n, 11);
    for (int s = 0; s < 11; s++) {
        const struct sc_value **inputs;
        assert_ok(sc_recorded_inputs(&f.recorded, s, &f.arena, &inputs));
        assert_float_equal(((const float *)inputs[1]->u.tensor.data)[0], s, 0);
    }
    close_fixture(&f);
}

static void a_folder_without_data_sets_is_refused(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_recorded recorded = {.folder = SC_SOURCE_DIR "/examples/shakespeare"};
    assert_fails(SC_BAD_INPUT, "no test_data_set_0", sc_recorded_list(&recorded, &arena));
    sc_names_release(&recorded.sets);
    sc_arena_release(&arena);
}

static void inputs_that_no_set_gives_are_left_to_their_defaults(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(
        &f, "defaults"); /* x is in every set, w in the second and last, k in the third, shape in the first none */
    const struct sc_value **inputs;
    struct sc_inputs opened;
    int end;
    assert_ok(sc_recorded_inputs(&f.recorded, 1, &f.arena, &inputs));
    assert_non_null(inputs[0]);
    assert_non_null(inputs[1]);
    assert_null(inputs[2]);
    assert_ok(sc_recorded_open(&f.recorded, 0, &f.arena, &opened, &end));
    assert_int_equal(opened.facts[0].dims[0], 2); /* "n" in the declaration */
    for (int i = 0; i < 4; i++) {
        assert_true(opened.given[i]);
    }
    assert_int_equal(end, f.recorded.sets.n);
    f.recorded.sets.n = 1;
    assert_ok(sc_recorded_open(&f.recorded, 0, &f.arena, &opened, &end));
    assert_true(opened.given[0]);
    assert_false(opened.given[1]);
    close_fixture(&f);
}

static void sets_of_another_mode_need_another_session(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_inputs opened;
    int end;
    open_fixture(
        &f, "branches"); /* (flag, use_cache_branch): (true, true), (false, true), (true, false), (false, false) */
    assert_ok(sc_recorded_open(&f.recorded, 0, &f.arena, &opened, &end));
    assert_int_equal(end, 1);
    assert_int_equal(opened.modes[0], 0); /* x */
    assert_int_equal(opened.modes[1], 1);
    assert_int_equal(opened.modes[2], 1);
    assert_ok(sc_recorded_open(&f.recorded, 3, &f.arena, &opened, &end));
    assert_int_equal(end, 4);
    assert_int_equal(opened.modes[1], -1);
    assert_int_equal(opened.modes[2], -1);
    close_fixture(&f);
}

static void an_output_that_is_not_recorded_is_named(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_value value;
    open_fixture(&f, "skipping");
    assert_ok(sc_recorded_output(&f.recorded, 0, 0, &f.arena, &value));
    assert_int_equal(value.kind, SC_KIND_TENSOR);
    char none[] = "test_data_set_none";
    f.recorded.sets.name[0] = none;
    assert_fails(SC_BAD_INPUT, "test_data_set_none holds no output_0.pb for output",
        sc_recorded_output(&f.recorded, 0, 0, &f.arena, &value));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_folders_gives_those_with_a_model_in_order),
        cmocka_unit_test(data_sets_come_in_the_order_of_their_numbers),
        cmocka_unit_test(a_folder_without_data_sets_is_refused),
        cmocka_unit_test(inputs_that_no_set_gives_are_left_to_their_defaults),
        cmocka_unit_test(sets_of_another_mode_need_another_session),
        cmocka_unit_test(an_output_that_is_not_recorded_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
