/* SPDX-License-Identifier: Apache-2.0
 * Claims about states that are made once for a text. */
#include "graph_case.h"
#include "runtime/state.h"

enum { CONTEXT = 200 };

/* Made by a row that adds nothing, read at any position, gone with its slot. */
static void a_constant_state_is_made_once_and_read_at_every_position(void **state)
{
    static const struct sc_state_pair constant = {
        .kind = SC_STATE_CONSTANT, .node = -1, .type = SC_F32, .rank = 2, .dims = {1, 0}};
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

static const struct sc_state_pair keys = {
    .kind = SC_STATE_CONSTANT, .node = -1, .type = SC_F32, .rank = 3, .dims = {1, 0, 2}};

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

static const struct sc_state_pair viewed = {
    .kind = SC_STATE_CONSTANT, .node = 0, .type = SC_F32, .heads = 2, .width = 3, .rank = 4, .dims = {1, 2, 0, 3}};

/* Elements of head h, position s, column d of a text whose numbers start at `first`. */
static float element_at(int first, int64_t n, int64_t h, int64_t s, int64_t d)
{
    return (float)(first + (h * n + s) * 3 + d);
}

static void keep_text(struct sc_state_store *store, int slot, int64_t n, int first)
{
    const struct sc_row made = {.slot = slot};
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    float *elements = malloc((size_t)(2 * n * 3) * sizeof *elements);
    assert_non_null(elements);
    sc_tensor_init(&value.u.tensor, SC_F32, 4, (const int64_t[]){1, 2, n, 3});
    value.u.tensor.data = elements;
    for (int64_t i = 0; i < 2 * n * 3; i++) {
        elements[i] = (float)(first + i);
    }
    assert_ok(sc_state_keep(store, 0, &made, 1, &value));
    free(elements);
}

static void expect_view(const struct sc_state_view *view, int64_t n, int first)
{
    assert_int_equal(view->length, n);
    for (int64_t h = 0; h < 2; h++) {
        for (int64_t s = 0; s < n; s++) {
            const float *page = view->pages[s / SC_PAGE_ROWS];
            for (int64_t d = 0; d < 3; d++) {
                const int64_t at =
                    h * view->head_stride + s % SC_PAGE_ROWS * view->row_stride + d * view->column_stride;
                assert_true(page[at] == element_at(first, n, h, s, d));
            }
        }
    }
}

/* Of many slots in one microbatch, each as long as its own source, which a later text makes longer or shorter. */
static void rows_of_many_texts_see_their_own(void **state)
{
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &viewed, .n_slots = 3, .context = CONTEXT};
    const struct sc_row rows[] = {{.slot = 2, .n_new = 1, .pos = 7}, {.slot = 0, .n_new = 1, .pos = 1}};
    const struct sc_row none = {.slot = 1, .n_new = 1};
    const struct sc_value *fed = NULL;
    struct sc_state_store *store = NULL;
    (void)state;
    assert_ok(sc_state_store_create(&options, &store));
    keep_text(store, 0, 5, 1000);
    keep_text(store, 2, 150, 5000);
    for (int round = 0; round < 2; round++) {
        const int64_t n = round ? 70 : 5;
        assert_ok(sc_state_feed(store, 0, rows, 2, &fed));
        assert_int_equal(fed->kind, SC_KIND_STATE);
        assert_int_equal(fed->u.state->n_rows, 2);
        assert_int_equal(fed->u.state->capacity, 150);
        expect_view(&fed->u.state->rows[0], 150, 5000);
        expect_view(&fed->u.state->rows[1], n, 1000);
        sc_state_drop(store, 0);
        keep_text(store, 0, 70, 1000);
    }
    assert_fails(SC_BAD_INPUT, "whose source was not encoded", sc_state_feed(store, 0, &none, 1, &fed));
    sc_state_store_free(store);
}

static const struct sc_state_pair viewed_keys = {.kind = SC_STATE_CONSTANT,
    .node = 0,
    .type = SC_F32,
    .heads = 2,
    .width = 3,
    .keys = true,
    .rank = 4,
    .dims = {1, 2, 0, 3}};

static void feed_one(struct sc_state_store *store, int slot, const struct sc_state_view **view)
{
    const struct sc_row row = {.slot = slot, .n_new = 1};
    const struct sc_value *fed = NULL;
    assert_ok(sc_state_feed(store, 0, &row, 1, &fed));
    *view = &fed->u.state->rows[0];
}

/* As attention reads them, so that no step turns them; what is past the source adds nothing, also behind a longer
 * one. */
static void keys_are_turned_once(void **state)
{
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &viewed_keys, .n_slots = 1, .context = CONTEXT};
    const struct sc_state_view *view = NULL;
    struct sc_state_store *store = NULL;
    (void)state;
    assert_ok(sc_state_store_create(&options, &store));
    for (int64_t n = 150; n > 0; n -= 80) {
        keep_text(store, 0, n, 1000);
        feed_one(store, 0, &view);
        expect_view(view, n, 1000);
        assert_int_equal(view->row_stride, 1);
        assert_int_equal(view->column_stride, SC_PAGE_ROWS);
        const float *last = view->pages[n / SC_PAGE_ROWS];
        for (int64_t i = 0; i < 2 * 3 * SC_PAGE_ROWS; i++) {
            assert_true(i % SC_PAGE_ROWS < n % SC_PAGE_ROWS || last[i] == 0.0F);
        }
    }
    sc_state_store_free(store);
}

/* By another plan, and through a file: as the tensor that the graph made. */
static void what_is_seen_as_a_cache_travels_whole(void **state)
{
    const struct sc_state_pair *const pairs[] = {&viewed, &viewed_keys};
    const struct sc_row made = {.slot = 0}, step = {.slot = 0, .n_new = 1, .ends = 1};
    float elements[2 * 70 * 3], back[2 * 70 * 3];
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        const struct sc_state_options options = {.n_pairs = 1, .pairs = pairs[p], .n_slots = 1, .context = CONTEXT};
        struct sc_state_store *from = NULL, *to = NULL, *loaded = NULL;
        const struct sc_state_view *view = NULL;
        struct sc_arena arena = {0};
        struct sc_value given;
        struct sc_tensor shape;
        assert_ok(sc_state_store_create(&options, &from));
        assert_ok(sc_state_store_create(&options, &to));
        assert_ok(sc_state_store_create(&options, &loaded));
        keep_text(from, 0, 70, 1000);
        assert_ok(sc_state_give(from, 0, &step, &arena, &given));
        assert_int_equal(given.kind, SC_KIND_NONE);
        assert_ok(sc_state_take(to, 0, &step, &given));
        assert_fails(SC_PEER, "no tensor was handed over", sc_state_take(to, 0, &made, &given));
        assert_ok(sc_state_give(from, 0, &made, &arena, &given));
        assert_ok(sc_state_take(to, 0, &made, &given));
        feed_one(to, 0, &view);
        expect_view(view, 70, 1000);
        assert_ok(sc_state_shape(to, 0, 0, &shape));
        assert_ok(sc_state_read(to, 0, 0, 0, 7, elements));
        assert_ok(sc_state_read(to, 0, 0, 7, 2 * 70 * 3 - 7, elements + 7));
        for (int i = 0; i < 2 * 70 * 3; i++) {
            assert_true(elements[i] == (float)(1000 + i));
        }
        assert_ok(sc_state_expect(loaded, 0, 0, 70, &shape));
        assert_ok(sc_state_write(loaded, 0, 0, 0, 11, elements));
        assert_ok(sc_state_write(loaded, 0, 0, 11, 2 * 70 * 3 - 11, elements + 11));
        assert_ok(sc_state_read(loaded, 0, 0, 0, 2 * 70 * 3, back));
        assert_memory_equal(back, elements, sizeof back);
        feed_one(loaded, 0, &view);
        expect_view(view, 70, 1000);
        sc_arena_release(&arena);
        sc_state_store_free(from);
        sc_state_store_free(to);
        sc_state_store_free(loaded);
    }
}

/* What the graph makes, or a file brings, is not read as what it is not. */
static void a_state_of_other_dims_is_no_cache(void **state)
{
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &viewed, .n_slots = 1, .context = CONTEXT};
    const struct sc_row made = {.slot = 0};
    static const int64_t wrong[][4] = {{1, 3, 2, 3}, {1, 2, 3, 2}, {2, 1, 3, 3}, {1, 2, 0, 3}};
    float elements[18] = {0};
    struct sc_state_store *store = NULL;
    (void)state;
    assert_ok(sc_state_store_create(&options, &store));
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        struct sc_value value = {.kind = SC_KIND_TENSOR};
        sc_tensor_init(&value.u.tensor, SC_F32, 4, wrong[w]);
        value.u.tensor.data = elements;
        assert_fails(SC_BAD_INPUT, "want float [1, 2, positions, 3]", sc_state_keep(store, 0, &made, 1, &value));
        assert_int_equal(sc_state_length(store, 0, 0), 0);
        assert_fails(SC_BAD_INPUT, "does not fit one of float",
            sc_state_expect(store, 0, 0, value.u.tensor.dims[2], &value.u.tensor));
        assert_int_equal(sc_state_length(store, 0, 0), 0);
    }
    sc_state_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_constant_state_is_made_once_and_read_at_every_position),
        cmocka_unit_test(its_length_is_that_of_the_source), cmocka_unit_test(it_is_handed_over_once),
        cmocka_unit_test(rows_of_many_texts_see_their_own), cmocka_unit_test(keys_are_turned_once),
        cmocka_unit_test(what_is_seen_as_a_cache_travels_whole), cmocka_unit_test(a_state_of_other_dims_is_no_cache)};
    return cmocka_run_group_tests_name("constant state", tests, NULL, NULL);
}
