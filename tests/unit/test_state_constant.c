/* SPDX-License-Identifier: Apache-2.0
 * Claims about states that are made once for a text. */
#include "graph_case.h"
#include "runtime/state.h"

enum { CONTEXT = 200 };

/* Made by a row that adds nothing, read at any position, gone with its slot. */
static void a_constant_state_is_made_once_and_read_at_every_position(void **state)
{
    static const struct sc_state_pair constant = {.kind = SC_STATE_CONSTANT, .type = SC_F32, .rank = 2, .dims = {1, 0}};
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &constant, .n_slots = 2, .context = CONTEXT};
    const struct sc_row made = {.slot = 1}, other = {.slot = 0, .n_new = 1}, nowhere = {.slot = 2};
    float elements[3] = {4, 5, 6};
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    const struct sc_value *fed = NULL;
    struct sc_state_store *store = NULL;
    (void)state;
    sc_tensor_init(&value.u.tensor, SC_F32, 2, (const int64_t[]){1, 3});
    value.u.tensor.data = elements;
    assert_ok(sc_state_store_create(&options, &store));
    assert_ok(sc_state_begin(store, &made, 1));
    assert_fails(SC_BAD_INPUT, "slot 2 is not one of 2", sc_state_keep(store, 0, &nowhere, 1, &value));
    assert_ok(sc_state_keep(store, 0, &made, 1, &value));
    elements[0] = 0; /* it is a copy */
    for (int64_t pos = 0; pos < CONTEXT; pos += 64) {
        const struct sc_row row = {.slot = 1, .n_new = 1, .pos = pos};
        assert_ok(sc_state_feed(store, 0, &row, 1, &fed));
        assert_memory_equal(fed->u.tensor.data, ((const float[]){4, 5, 6}), sizeof elements);
    }
    assert_fails(SC_BAD_INPUT, "whose source was not encoded", sc_state_feed(store, 0, &other, 1, &fed));
    sc_state_drop(store, 1);
    assert_fails(SC_BAD_INPUT, "whose source was not encoded", sc_state_feed(store, 0, &made, 1, &fed));
    assert_ok(sc_state_keep(store, 0, &made, 1, &value));
    sc_state_cut(store, 0, &made, 1); /* the microbatch that made it failed elsewhere */
    assert_fails(SC_BAD_INPUT, "whose source was not encoded", sc_state_feed(store, 0, &made, 1, &fed));
    sc_state_store_free(store);
}

static const struct sc_state_pair keys = {.kind = SC_STATE_CONSTANT, .type = SC_F32, .rank = 3, .dims = {1, 0, 2}};

/* Keys of a source of three positions. */
static void make_keys(float elements[6], struct sc_value *value)
{
    value->kind = SC_KIND_TENSOR;
    sc_tensor_init(&value->u.tensor, SC_F32, 3, (const int64_t[]){1, 3, 2});
    for (int i = 0; i < 6; i++) {
        elements[i] = (float)(i + 1);
    }
    value->u.tensor.data = elements;
}

/* Longer than a context of two positions; a step that fails leaves it as it is. */
static void its_length_is_that_of_the_source(void **state)
{
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &keys, .n_slots = 1, .context = 2};
    const struct sc_row made = {.slot = 0}, step = {.slot = 0, .n_new = 1};
    struct sc_value value;
    struct sc_tensor shape;
    struct sc_state_store *store = NULL;
    float elements[6];
    (void)state;
    make_keys(elements, &value);
    assert_ok(sc_state_store_create(&options, &store));
    assert_ok(sc_state_keep(store, 0, &made, 1, &value));
    assert_int_equal(sc_state_length(store, 0, 0), 3);
    sc_state_cut(store, 0, &step, 1);
    assert_int_equal(sc_state_length(store, 0, 0), 3);
    assert_ok(sc_state_shape(store, 0, 0, &shape));
    assert_fails(SC_BAD_INPUT, "a source of 2 positions has 3", sc_state_expect(store, 0, 0, 2, &shape));
    assert_ok(sc_state_expect(store, 0, 0, 3, &shape));
    assert_ok(sc_state_write(store, 0, 0, 0, 6, elements));
    sc_state_store_free(store);
}

/* Once, by the row that makes it; rows that add positions bring nothing. */
static void it_is_handed_over_once(void **state)
{
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &keys, .n_slots = 1, .context = 2};
    const struct sc_row made = {.slot = 0}, step = {.slot = 0, .n_new = 1, .ends = 1};
    struct sc_value value, given;
    struct sc_state_store *from = NULL, *to = NULL;
    struct sc_arena arena = {0};
    float elements[6], taken[6];
    (void)state;
    make_keys(elements, &value);
    assert_ok(sc_state_store_create(&options, &from));
    assert_ok(sc_state_store_create(&options, &to));
    assert_ok(sc_state_keep(from, 0, &made, 1, &value));
    assert_ok(sc_state_give(from, 0, &step, &arena, &given));
    assert_int_equal(given.kind, SC_KIND_NONE);
    assert_ok(sc_state_take(to, 0, &step, &given));
    assert_int_equal(sc_state_length(to, 0, 0), 0);
    assert_fails(SC_PEER, "no tensor was handed over", sc_state_take(to, 0, &made, &given));
    assert_ok(sc_state_give(from, 0, &made, &arena, &given));
    assert_ok(sc_state_take(to, 0, &made, &given));
    assert_int_equal(sc_state_length(to, 0, 0), 3);
    assert_ok(sc_state_read(to, 0, 0, 0, 6, taken));
    assert_memory_equal(taken, elements, sizeof taken);
    sc_arena_release(&arena);
    sc_state_store_free(from);
    sc_state_store_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_constant_state_is_made_once_and_read_at_every_position),
        cmocka_unit_test(its_length_is_that_of_the_source), cmocka_unit_test(it_is_handed_over_once)};
    return cmocka_run_group_tests_name("constant state", tests, NULL, NULL);
}
