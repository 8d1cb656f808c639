/* SPDX-License-Identifier: Apache-2.0
 * Claims about outputs of pieces as one tensor: what is read back from their files. */
#include "graph_case.h"
#include "launch/joined.h"

struct fixture {
    char folder[32];
    struct sc_arena arena;
    struct sc_outputs outputs;
    struct sc_joined_output output;
    struct sc_joined joined;
};

static void open_fixture(struct fixture *f, bool stacked, int axis)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/test_joined.XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    assert_ok(sc_outputs_open(f->folder, &f->outputs));
    f->output = (struct sc_joined_output){.name = "y", .stacked = stacked, .axis = axis};
    f->joined = (struct sc_joined){.n = 1, .outputs = &f->output, .folder = &f->outputs};
}

static void close_fixture(struct fixture *f)
{
    char command[64];
    sc_joined_release(&f->joined);
    sc_outputs_release(&f->outputs);
    sc_arena_release(&f->arena);
    snprintf(command, sizeof command, "rmdir %s", f->folder); /* nothing else is left in it */
    assert_int_equal(system(command), 0);
}

/* A piece whose elements are what `first` counts up from. */
static enum sc_status add(struct fixture *f, int rank, const int64_t *dims, float first)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    const struct sc_value *const values = &value;
    float data[64];
    sc_tensor_init(&value.u.tensor, SC_F32, rank, dims);
    value.u.tensor.data = data;
    for (int i = 0; i < 64; i++) {
        data[i] = first + (float)i;
    }
    return sc_joined_add(&f->joined, &values);
}

static void assert_file(struct fixture *f, int rank, const int64_t *dims, const float *wanted)
{
    char path[64];
    struct sc_tensor tensor;
    assert_ok(sc_joined_end(&f->output));
    assert_ok(sc_outputs_commit(&f->outputs));
    snprintf(path, sizeof path, "%s/y.npy", f->folder);
    assert_ok(sc_npy_read(path, &f->arena, &tensor));
    assert_int_equal(tensor.rank, rank);
    assert_int_equal(f->output.all.u.tensor.rank, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(tensor.dims[d], dims[d]);
        assert_int_equal(f->output.all.u.tensor.dims[d], dims[d]);
    }
    assert_memory_equal(tensor.data, wanted, sc_tensor_bytes(&tensor));
    unlink(path);
}

static void pieces_are_stacked_along_a_new_axis(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, 0);
    assert_ok(add(&f, 2, (int64_t[]){1, 2}, 10));
    assert_ok(add(&f, 2, (int64_t[]){1, 2}, 20));
    assert_ok(add(&f, 2, (int64_t[]){1, 2}, 30));
    assert_file(&f, 3, (int64_t[]){3, 1, 2}, (float[]){10, 11, 20, 21, 30, 31});
    close_fixture(&f);
}

static void scalars_are_stacked_to_a_list(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, 0);
    assert_ok(add(&f, 0, NULL, 1));
    assert_ok(add(&f, 0, NULL, 2));
    assert_file(&f, 1, (int64_t[]){2}, (float[]){1, 2});
    close_fixture(&f);
}

static void pieces_of_any_length_are_joined_along_the_first_axis(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, false, 0);
    assert_ok(add(&f, 2, (int64_t[]){1, 2}, 10));
    assert_ok(add(&f, 2, (int64_t[]){0, 2}, 20));
    assert_ok(add(&f, 2, (int64_t[]){2, 2}, 30));
    assert_file(&f, 2, (int64_t[]){3, 2}, (float[]){10, 11, 30, 31, 32, 33});
    close_fixture(&f);
}

static void rows_of_pieces_are_put_in_order(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, false, -2);
    assert_ok(add(&f, 3, (int64_t[]){2, 2, 2}, 10));
    assert_ok(add(&f, 3, (int64_t[]){2, 2, 2}, 20));
    assert_ok(add(&f, 3, (int64_t[]){2, 1, 2}, 30)); /* the rest */
    assert_file(&f, 3, (int64_t[]){2, 5, 2},
        (float[]){10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 14, 15, 16, 17, 24, 25, 26, 27, 32, 33});
    close_fixture(&f);
}

static void dims_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, 0);
    assert_ok(add(&f, 2, (int64_t[]){1, 2}, 0));
    assert_fails(SC_BAD_INPUT,
        "output 'y' is float[1,3] in piece 1, which cannot be stacked on the pieces before, float[1,1,2] together",
        add(&f, 2, (int64_t[]){1, 3}, 0));
    close_fixture(&f);
    open_fixture(&f, false, 1);
    assert_ok(add(&f, 2, (int64_t[]){2, 2}, 0));
    assert_ok(add(&f, 2, (int64_t[]){2, 1}, 0));
    assert_fails(SC_BAD_INPUT, "which cannot be joined to the pieces before", add(&f, 2, (int64_t[]){2, 2}, 0));
    close_fixture(&f);
    open_fixture(&f, false, 1);
    assert_ok(add(&f, 2, (int64_t[]){2, 0}, 0));
    assert_fails(SC_BAD_INPUT, "which cannot be joined to the pieces before", add(&f, 2, (int64_t[]){2, 1}, 0));
    close_fixture(&f);
    open_fixture(&f, false, 2);
    assert_fails(
        SC_BAD_INPUT, "output 'y' has rank 2, and no axis 2 to join it along", add(&f, 2, (int64_t[]){2, 2}, 0));
    close_fixture(&f);
}

static void without_a_folder_dims_are_counted_alone(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, false, 1);
    f.joined.folder = NULL;
    assert_ok(add(&f, 2, (int64_t[]){2, 3}, 0));
    assert_ok(add(&f, 2, (int64_t[]){2, 3}, 0));
    assert_int_equal(f.output.all.u.tensor.dims[1], 6);
    assert_ok(sc_joined_end(&f.output));
    close_fixture(&f);
}

static void what_is_no_tensor_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    const struct sc_value none = {.kind = SC_KIND_SEQUENCE}, *const values = &none;
    open_fixture(&f, true, 0);
    assert_fails(SC_UNSUPPORTED, "output 'y' is no tensor", sc_joined_add(&f.joined, &values));
    f.output.left = true;
    assert_ok(sc_joined_add(&f.joined, &values));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_stacked_along_a_new_axis),
        cmocka_unit_test(scalars_are_stacked_to_a_list),
        cmocka_unit_test(pieces_of_any_length_are_joined_along_the_first_axis),
        cmocka_unit_test(rows_of_pieces_are_put_in_order),
        cmocka_unit_test(dims_that_do_not_go_together_are_refused),
        cmocka_unit_test(without_a_folder_dims_are_counted_alone),
        cmocka_unit_test(what_is_no_tensor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
