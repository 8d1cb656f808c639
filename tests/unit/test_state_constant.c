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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_constant_state_is_made_once_and_read_at_every_position)};
    return cmocka_run_group_tests_name("constant state", tests, NULL, NULL);
}
