/* SPDX-License-Identifier: Apache-2.0
 * Claims about states read and written from outside, where pages hold other numbers than the model's tensors. */
#include "graph_case.h"
#include "runtime/state.h"
#include "tensor/page.h"

enum { HEADS = 3 };

/* Pages of 8-bit numbers: a row is its codes, then its scales, and comes back as it was given. */
static void pages_of_codes_are_read_and_written_as_they_are(void **state)
{
    (void)state;
    enum { LENGTH = 70, ROW = 40 + 2 * 4, COUNT = HEADS * LENGTH * ROW };
    static uint8_t given[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++) {
        given[i] = (uint8_t)(i * 31 % 251);
    }
    for (int keys = 0; keys < 2; keys++) {
        const struct sc_state_pair pair = {
            .kind = SC_STATE_PAGED, .type = SC_F32, .heads = HEADS, .width = 40, .keys = keys, .format = SC_PAGE_Q8_0};
        const struct sc_state_options options = {.n_pairs = 1, .pairs = &pair, .n_slots = 2, .context = 200};
        const int64_t dims[] = {1, HEADS, LENGTH, ROW}, f32_dims[] = {1, HEADS, LENGTH, 40};
        struct sc_state_store *store = NULL;
        struct sc_tensor shape;
        assert_ok(sc_state_store_create(&options, &store));
        assert_int_equal(sc_state_pair_bytes(&pair, &options), 2 * 4 * 64 * HEADS * ROW);
        sc_tensor_init(&shape, SC_F32, 4, f32_dims);
        assert_fails(SC_BAD_INPUT, "does not fit", sc_state_expect(store, 0, 1, LENGTH, &shape));
        sc_tensor_init(&shape, SC_I8, 4, dims);
        assert_ok(sc_state_expect(store, 0, 1, LENGTH, &shape));
        for (int64_t at = 0; at < COUNT; at += 77) { /* pieces that end within scales too */
            const int64_t n = COUNT - at < 77 ? COUNT - at : 77;
            assert_ok(sc_state_write(store, 0, 1, at, n, given + at));
        }
        assert_ok(sc_state_read(store, 0, 1, 0, COUNT, got));
        assert_memory_equal(got, given, sizeof given);
        float scale; /* of columns 32 to 39 of position 65 in head 1 */
        const struct sc_row row = {.slot = 1, .n_new = 1, .pos = LENGTH};
        const struct sc_value *value = NULL;
        assert_ok(sc_state_begin(store, &row, 1));
        assert_ok(sc_state_feed(store, 0, &row, 1, &value));
        const struct sc_state_view *view = &value->u.state->rows[0];
        const char *head = (const char *)view->pages[1] + view->head_stride;
        memcpy(&scale, head + sc_page_scale_at(view, 40, 65 - 64, 33), sizeof scale);
        assert_memory_equal(&scale, given + (LENGTH + 65) * ROW + 40 + 4, sizeof scale);
        assert_int_equal((uint8_t)head[view->row_stride + 39 * view->column_stride], given[(LENGTH + 65) * ROW + 39]);
        sc_state_store_free(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_codes_are_read_and_written_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
