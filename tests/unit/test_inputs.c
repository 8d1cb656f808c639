/* SPDX-License-Identifier: Apache-2.0
 * Claims about inputs from files and at random. */
#include "graph_case.h"
#include "launch/inputs.h"
#include "launch/sound.h"

#define X(set) "x=" GRAPHS "skipping/test_data_set_" #set "/input_0.pb"
#define Z(set) "z=" GRAPHS "skipping/test_data_set_" #set "/input_1.pb"

struct fixture {
    struct sc_model *model;
    struct sc_arena arena;
    struct sc_inputs made;
};

static enum sc_status read_items(struct fixture *f, int n, const char *const *items)
{
    const struct sc_input_request request = {.n_items = n, .items = items};
    return sc_inputs_make(f->model, &request, &f->arena, &f->made);
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
        assert_int_equal(f.made.values[i]->u.tensor.dims[0], 5);
        assert_int_equal(f.made.facts[i].rank, 1);
        assert_int_equal(f.made.facts[i].dims[0], 5);
        assert_null(f.made.facts[i].value);
    }
    assert_memory_not_equal(f.made.values[0]->u.tensor.data, f.made.values[1]->u.tensor.data, 20);
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

static void what_is_not_given_is_made_by_seed_in_the_dims_of_what_is(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const char *const items[] = {X(0)};
    const struct sc_input_request request = {.n_items = 1, .items = items, .random = true, .seed = 7};
    struct sc_inputs again, other;
    assert_ok(sc_inputs_make(f.model, &request, &f.arena, &f.made));
    assert_ok(sc_inputs_make(f.model, &request, &f.arena, &again));
    struct sc_input_request another = request;
    another.seed = 8;
    assert_ok(sc_inputs_make(f.model, &another, &f.arena, &other));
    const struct sc_tensor *z = &f.made.values[1]->u.tensor;
    assert_int_equal(z->type, SC_F32);
    assert_int_equal(z->dims[0], 5); /* as in x, which is given */
    assert_memory_equal(z->data, again.values[1]->u.tensor.data, 20);
    assert_memory_not_equal(z->data, other.values[1]->u.tensor.data, 20);
    for (int i = 0; i < 5; i++) {
        const float v = ((const float *)z->data)[i];
        assert_true(v >= -1 && v < 1);
    }
    close_fixture(&f);
}

#define SOUND SC_SOURCE_DIR "/tests/data/sounds/"

static void sound_lies_along_the_last_axis_at_the_rate_that_is_asked(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_value value;
    struct sc_graph_value input = {.name = "sound", .fact = {.kind = SC_KIND_TENSOR, .type = SC_F32, .rank = 2}};
    assert_ok(sc_sound_read(SOUND "rate_8000.wav", 0, &input, &arena, &value));
    const int64_t n = value.u.tensor.dims[1];
    assert_int_equal(value.u.tensor.rank, 2);
    assert_int_equal(value.u.tensor.dims[0], 1);
    assert_true(n > 100);
    input.fact.rank = -1;
    assert_ok(sc_sound_read(SOUND "rate_8000.wav", 16000, &input, &arena, &value));
    assert_int_equal(value.u.tensor.rank, 1);
    assert_int_equal(value.u.tensor.dims[0], 2 * n);
    input.fact.type = SC_I64;
    assert_fails(
        SC_BAD_INPUT, "input 'sound' is int64", sc_sound_read(SOUND "rate_8000.wav", 0, &input, &arena, &value));
    input.fact = (struct sc_fact){.kind = SC_KIND_TENSOR, .type = SC_F32, .rank = 0};
    assert_fails(SC_BAD_INPUT, "of rank 0", sc_sound_read(SOUND "rate_8000.wav", 0, &input, &arena, &value));
    sc_arena_release(&arena);
}

/* input [batch, 64], state [2, batch, 8]: what is known of the batch counts, then what a state begins as. */
static void states_begin_as_zeros(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../states/vad");
    struct sc_arena arena = {0};
    struct sc_inputs made;
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    const char *dims[] = {"batch=3"};
    struct sc_input_request request = {.random = true, .n_dims = 1, .dims = dims, .n_states = n, .states = pairs};
    assert_ok(sc_inputs_make(model, &request, &arena, &made));
    const struct sc_tensor *zeros = &made.values[1]->u.tensor;
    assert_int_equal(sc_tensor_count(zeros), 2 * 3 * 8);
    for (int i = 0; i < 2 * 3 * 8; i++) {
        assert_true(((const float *)zeros->data)[i] == 0);
    }
    sc_arena_reset(&arena);
    const char *said[] = {"state=stateN"};
    assert_ok(sc_pairs_say(model, 1, said));
    request.n_dims = 0; /* what the user calls a state may grow along any open dim */
    request.random = false;
    const char *items[] = {"sr=" SC_SOURCE_DIR "/tests/data/states/vad/sr.npy",
        "input=" SC_SOURCE_DIR "/tests/data/states/vad/chunks/0.npy"};
    request.n_items = 2;
    request.items = items;
    assert_ok(sc_inputs_make(model, &request, &arena, &made)); /* the batch is that of the input */
    assert_int_equal(made.values[1]->u.tensor.dims[1], 1);
    sc_model_close(model);
    sc_arena_release(&arena);
}

static void an_open_dim_of_an_input_to_make_is_named(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const struct sc_input_request request = {.random = true, .seed = 7};
    assert_fails(SC_BAD_USAGE, "input 'x' has no size in dim 0 ('n'): give -d n=N",
        sc_inputs_make(f.model, &request, &f.arena, &f.made));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_find_their_inputs_in_any_order),
        cmocka_unit_test(malformed_items_are_bad_usage),
        cmocka_unit_test(unknown_and_missing_inputs_are_named),
        cmocka_unit_test(a_name_that_begins_like_an_input_is_another_name),
        cmocka_unit_test(files_that_are_not_there_are_named),
        cmocka_unit_test(what_is_not_given_is_made_by_seed_in_the_dims_of_what_is),
        cmocka_unit_test(sound_lies_along_the_last_axis_at_the_rate_that_is_asked),
        cmocka_unit_test(states_begin_as_zeros),
        cmocka_unit_test(an_open_dim_of_an_input_to_make_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
