/* SPDX-License-Identifier: Apache-2.0
 * Claims about sizes of open dims. The model has the inputs x [a, b, c] and shape [r]. */
#include "graph_case.h"
#include "launch/dims.h"

struct fixture {
    struct sc_model *model;
    struct sc_arena arena;
    struct sc_dims dims;
};

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.model = graph_model("computed_shape")};
    assert_ok(sc_dims_init(f->model, &f->arena, &f->dims));
}

static void close_fixture(struct fixture *f)
{
    sc_model_close(f->model);
    sc_arena_release(&f->arena);
}

static void assert_dims(const struct sc_fact *fact, int rank, const int64_t *dims)
{
    assert_int_equal(fact->rank, rank);
    assert_memory_equal(fact->dims, dims, (size_t)rank * sizeof *dims);
}

static void names_get_their_sizes_and_what_is_open_becomes_one(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const items[] = {"b=7", "r=2"};
    const char *open;
    assert_ok(sc_dims_add_all(&f.dims, 2, items));
    assert_ok(sc_dims_fill(&f.dims, &f.arena, &open));
    assert_dims(&f.dims.facts[0], 3, (const int64_t[]){1, 7, 1});
    assert_dims(&f.dims.facts[1], 1, (const int64_t[]){2});
    assert_string_equal(open, "a, c");
    close_fixture(&f);
}

static void a_shape_gives_all_dims_of_an_input(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    assert_ok(sc_dims_add(&f.dims, "x=4x3x0"));
    assert_ok(sc_dims_require(&f.dims, 0));
    assert_dims(&f.dims.facts[0], 3, (const int64_t[]){4, 3, 0});
    assert_fails(SC_BAD_USAGE, "'b' is both 3 and 5", sc_dims_add(&f.dims, "b=5"));
    assert_fails(SC_BAD_USAGE, "input 'x' has size 5 in dim 0 ('a'), want 4", sc_dims_add(&f.dims, "x=5x3x0"));
    close_fixture(&f);
}

static void open_dims_are_named_with_what_to_give(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    assert_ok(sc_dims_add(&f.dims, "a=2"));
    assert_fails(SC_BAD_USAGE, "input 'x' has no size in dim 1 ('b'): give -d b=N -d c=N", sc_dims_require(&f.dims, 0));
    f.dims.facts[0].dims[2] = SC_DIM_UNKNOWN; /* without a name */
    assert_fails(SC_BAD_USAGE, "input 'x' has no size in dim 1 ('b'): give -d x=2xNxN", sc_dims_require(&f.dims, 0));
    f.dims.facts[0].rank = -1;
    assert_fails(SC_BAD_USAGE, "input 'x' has no declared shape: give -d x=NxN...", sc_dims_require(&f.dims, 0));
    assert_ok(sc_dims_add(&f.dims, "x=2x3"));
    assert_ok(sc_dims_require(&f.dims, 0));
    close_fixture(&f);
}

static void given_tensors_bind_names_and_must_fit(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const struct sc_fact declared = f.dims.facts[0];
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    const int64_t dims[] = {2, 3, 4}, flat[] = {24};
    assert_ok(sc_tensor_new(&f.arena, declared.type, 3, dims, &value.u.tensor));
    assert_ok(sc_dims_add(&f.dims, "c=4"));
    assert_ok(sc_dims_bind(&f.dims, 0, &value));
    assert_dims(&f.dims.facts[0], 3, dims);
    close_fixture(&f);

    open_fixture(&f);
    assert_ok(sc_tensor_new(&f.arena, declared.type, 3, dims, &value.u.tensor));
    assert_ok(sc_dims_add(&f.dims, "c=5"));
    assert_fails(SC_BAD_INPUT, "input 'x' has size 4 in dim 2 ('c'), want 5", sc_dims_bind(&f.dims, 0, &value));
    assert_ok(sc_tensor_new(&f.arena, declared.type, 1, flat, &value.u.tensor));
    assert_fails(SC_BAD_INPUT, "input 'x' has rank 1, want 3", sc_dims_bind(&f.dims, 0, &value));
    assert_ok(sc_tensor_new(&f.arena, SC_BOOL, 3, dims, &value.u.tensor));
    assert_fails(SC_BAD_INPUT, "input 'x' is bool, want float", sc_dims_bind(&f.dims, 0, &value));
    close_fixture(&f);
}

static void malformed_items_are_bad_usage(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const items[] = {"q=1", "a=-1", "a=y", "a=1y", "a=", "=3", "a", "a=99999999999999999999", "x=1x2",
        "x=1x2x3x4", "x=1xx3", "x=x", "x=1x2x", "a=1x2", "shape=2x2", "a= 1", "a=+1"};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        assert_int_equal(sc_dims_add(&f.dims, items[i]), SC_BAD_USAGE);
    }
    assert_fails(SC_BAD_USAGE, "the model has no dim 'shap', did you mean 'shape'?", sc_dims_add(&f.dims, "shap=1"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_get_their_sizes_and_what_is_open_becomes_one),
        cmocka_unit_test(a_shape_gives_all_dims_of_an_input),
        cmocka_unit_test(open_dims_are_named_with_what_to_give),
        cmocka_unit_test(given_tensors_bind_names_and_must_fit),
        cmocka_unit_test(malformed_items_are_bad_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
