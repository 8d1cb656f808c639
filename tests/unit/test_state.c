/* SPDX-License-Identifier: Apache-2.0
 * Claims about the state store: pages and views of them, dense states that move on. */
#include "graph_case.h"
#include "runtime/state.h"

enum { HEADS = 3, WIDTH = 8, SLOTS = 4, CONTEXT = 200 };

static const struct sc_state_pair pairs[] = {
    {.kind = SC_STATE_PAGED, .type = SC_F32, .heads = HEADS, .width = WIDTH, .keys = true},
    {.kind = SC_STATE_PAGED, .type = SC_F16, .heads = HEADS, .width = WIDTH, .capacity = 70},
    {.kind = SC_STATE_DENSE, .type = SC_F32, .rank = 3, .dims = {1, 0, 2}},
    {.kind = SC_STATE_DENSE, .type = SC_F32, .rank = 2, .dims = {1, 3}},
};

static struct sc_state_store *make(void)
{
    struct sc_state_store *store = NULL;
    const struct sc_state_options options = {.n_pairs = 4, .pairs = pairs, .n_slots = SLOTS, .context = CONTEXT};
    assert_ok(sc_state_store_create(&options, &store));
    return store;
}

/* As after a microbatch of n positions from 0. */
static void hold(struct sc_state_store *store, int pair, int slot, int n)
{
    const struct sc_row row = {.slot = slot, .n_new = n};
    assert_ok(sc_state_begin(store, &row, 1));
    assert_ok(sc_state_keep(store, pair, &row, 1, NULL));
}

static const struct sc_value *feed(struct sc_state_store *store, int pair, int slot, int64_t pos, int n_new)
{
    const struct sc_value *value = NULL;
    const struct sc_row row = {.slot = slot, .n_new = n_new, .pos = pos};
    assert_ok(sc_state_begin(store, &row, 1));
    assert_ok(sc_state_feed(store, pair, &row, 1, &value));
    return value;
}

static void a_row_sees_its_slot_at_its_position(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_row rows[] = {{.slot = 2, .n_new = 1, .pos = 199}, {.slot = 0, .n_new = 5, .pos = 0}};
    const struct sc_value *value = NULL;
    hold(store, 0, 2, 199);
    assert_ok(sc_state_begin(store, rows, 2));
    assert_ok(sc_state_feed(store, 0, rows, 2, &value));
    assert_int_equal(value->kind, SC_KIND_STATE);
    const struct sc_state *fed = value->u.state;
    assert_int_equal(fed->n_rows, 2);
    assert_int_equal(fed->capacity, CONTEXT);
    assert_int_equal(fed->heads, HEADS);
    assert_int_equal(fed->width, WIDTH);
    assert_int_equal(fed->rows[0].length, 199);
    assert_int_equal(fed->rows[1].length, 0);
    assert_int_equal(fed->rows[0].n_pages, 4); /* 200 positions */
    assert_int_equal(fed->rows[1].n_pages, 1); /* not one more than is written */
    sc_state_store_free(store);
}

/* Strides of keys run along positions, those of values along the width. */
static void pages_lie_as_their_readers_want_them(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_state_view *keys = &feed(store, 0, 0, 0, 1)->u.state->rows[0];
    assert_int_equal(keys->row_stride, 1);
    assert_int_equal(keys->column_stride, SC_PAGE_ROWS);
    assert_int_equal(keys->head_stride, WIDTH * SC_PAGE_ROWS);
    const struct sc_state_view *values = &feed(store, 1, 0, 0, 1)->u.state->rows[0];
    assert_int_equal(values->row_stride, WIDTH);
    assert_int_equal(values->column_stride, 1);
    sc_state_store_free(store);
}

static void pages_of_slots_and_pairs_never_overlap(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const size_t page[2] = {HEADS * WIDTH * SC_PAGE_ROWS * 4, HEADS * WIDTH * SC_PAGE_ROWS * 2};
    for (int slot = 0; slot < SLOTS; slot++) {
        const struct sc_row written[2] = {{.slot = slot, .n_new = CONTEXT}, {.slot = slot, .n_new = 70}};
        assert_ok(sc_state_begin(store, written, 1));
        for (int p = 0; p < 2; p++) {
            assert_ok(sc_state_keep(store, p, &written[p], 1, NULL));
        }
    }
    for (int p = 0; p < 2; p++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const struct sc_state_view *view = &feed(store, p, slot, p ? 69 : CONTEXT - 1, 1)->u.state->rows[0];
            assert_int_equal(view->n_pages, p ? 2 : 4);
            for (int64_t i = 0; i < view->n_pages; i++) {
                assert_int_equal((uintptr_t)view->pages[i] % 64, 0);
                for (size_t b = 0; b < page[p]; b++) { /* zeroes at first, then our mark */
                    assert_int_equal(((unsigned char *)view->pages[i])[b], 0);
                }
                memset(view->pages[i], 1 + 10 * p + slot, page[p]);
            }
        }
    }
    for (int p = 0; p < 2; p++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const struct sc_state_view *view = &feed(store, p, slot, p ? 69 : CONTEXT - 1, 1)->u.state->rows[0];
            for (int64_t i = 0; i < view->n_pages; i++) {
                for (size_t b = 0; b < page[p]; b++) {
                    assert_int_equal(((unsigned char *)view->pages[i])[b], 1 + 10 * p + slot);
                }
            }
        }
    }
    sc_state_store_free(store);
}

static void a_cache_takes_its_capacity_and_no_more(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_value *value = NULL;
    hold(store, 0, 0, CONTEXT);
    hold(store, 1, 0, 70);
    (void)feed(store, 0, 0, CONTEXT - 1, 1);
    (void)feed(store, 1, 0, 60, 10);
    const struct sc_row past_context = {.slot = 0, .n_new = 1, .pos = CONTEXT};
    const struct sc_row past_capacity = {.slot = 0, .n_new = 11, .pos = 60};
    assert_fails(SC_LIMIT, "capacity of 200", sc_state_feed(store, 0, &past_context, 1, &value));
    assert_fails(SC_LIMIT, "capacity of 70", sc_state_feed(store, 1, &past_capacity, 1, &value));
    sc_state_store_free(store);
}

static void rows_of_no_slot_or_before_the_start_are_refused(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_value *value = NULL;
    const struct sc_row bad[] = {{.slot = SLOTS, .n_new = 1}, {.slot = -1, .n_new = 1}};
    const struct sc_row before[] = {{.slot = 0, .n_new = 1, .pos = -1}, {.slot = 0, .n_new = -1, .pos = 1},
        {.slot = 0, .n_new = INT32_MAX, .pos = INT64_MAX}};
    for (int p = 0; p < 4; p++) {
        for (int i = 0; i < 2; i++) {
            assert_fails(SC_BAD_INPUT, "slot", sc_state_feed(store, p, &bad[i], 1, &value));
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(sc_state_feed(store, p, &before[i], 1, &value), SC_LIMIT);
        }
    }
    assert_null(value);
    sc_state_store_free(store);
}

static struct sc_value rows_of(float *data, int64_t n)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value.u.tensor, SC_F32, 3, (const int64_t[]){1, n, 2});
    value.u.tensor.data = data;
    return value;
}

static void a_dense_state_starts_empty_and_moves_on_when_kept(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    float data[2 * CONTEXT];
    for (int i = 0; i < 2 * CONTEXT; i++) {
        data[i] = (float)i;
    }
    for (int slot = 0; slot < 2; slot++) {
        assert_int_equal(feed(store, 2, slot, 0, 1)->u.tensor.dims[1], 0);
    }
    for (int64_t n = 1; n <= CONTEXT; n++) { /* grows by one a step, past every size that was ever reserved */
        const struct sc_row row = {.slot = 1, .n_new = 1, .pos = n - 1};
        const struct sc_value kept = rows_of(data, n);
        const struct sc_tensor *before = &feed(store, 2, 1, n - 1, 1)->u.tensor;
        assert_int_equal(before->dims[1], n - 1);
        assert_memory_equal(before->data, data, (size_t)(n - 1) * 8);
        assert_ok(sc_state_keep(store, 2, &row, 1, &kept));
    }
    assert_int_equal(feed(store, 2, 0, 0, 1)->u.tensor.dims[1], 0);
    sc_state_store_free(store);
}

static void a_dense_state_is_fed_again_until_it_is_kept(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    float data[] = {1, 2, 3, 4};
    const struct sc_row row = {.slot = 0, .n_new = 2, .pos = 0};
    const struct sc_value kept = rows_of(data, 2);
    (void)feed(store, 2, 0, 0, 2);
    assert_ok(sc_state_keep(store, 2, &row, 1, &kept));
    for (int i = 0; i < 2; i++) { /* a microbatch that failed kept nothing */
        const struct sc_tensor *again = &feed(store, 2, 0, 2, 1)->u.tensor;
        assert_int_equal(again->dims[1], 2);
        assert_memory_equal(again->data, data, sizeof data);
    }
    sc_state_store_free(store);
}

static void a_strided_new_state_is_kept_dense(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    float data[] = {1, 2, 3, 4, 5, 6};
    const float want[] = {1, 4, 2, 5, 3, 6};
    struct sc_value kept = rows_of(data, 3);
    kept.u.tensor.strides[1] = 1;
    kept.u.tensor.strides[2] = 3;
    const struct sc_row row = {.slot = 0, .n_new = 3, .pos = 0};
    (void)feed(store, 2, 0, 0, 3);
    assert_ok(sc_state_keep(store, 2, &row, 1, &kept));
    assert_memory_equal(feed(store, 2, 0, 3, 1)->u.tensor.data, want, sizeof want);
    sc_state_store_free(store);
}

static void position_zero_starts_a_state_anew(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    float data[] = {7, 8, 9};
    struct sc_value kept = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&kept.u.tensor, SC_F32, 2, (const int64_t[]){1, 3});
    kept.u.tensor.data = data;
    const struct sc_row row = {.slot = 3, .n_new = 1, .pos = 0};
    const float zeros[3] = {0, 0, 0};
    assert_memory_equal(feed(store, 3, 3, 0, 1)->u.tensor.data, zeros, sizeof zeros);
    assert_ok(sc_state_keep(store, 3, &row, 1, &kept));
    assert_memory_equal(feed(store, 3, 3, 1, 1)->u.tensor.data, data, sizeof data);
    assert_memory_equal(feed(store, 3, 3, 0, 1)->u.tensor.data, zeros, sizeof zeros);
    sc_state_store_free(store);
}

static void a_dense_state_takes_one_row_that_has_begun(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_value *value = NULL;
    const struct sc_row rows[] = {{.slot = 0, .n_new = 1}, {.slot = 1, .n_new = 1}};
    const struct sc_row later = {.slot = 1, .n_new = 1, .pos = 5};
    assert_fails(SC_BAD_INPUT, "one row", sc_state_feed(store, 2, rows, 2, &value));
    assert_fails(SC_BAD_INPUT, "position 5, but holds 0", sc_state_feed(store, 2, &later, 1, &value));
    sc_state_store_free(store);
}

static void a_slot_continues_where_it_holds_something(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_value *value = NULL;
    const struct sc_row rows[] = {{.slot = 0, .n_new = 10}, {.slot = 1, .n_new = 10}};
    const struct sc_row third = {.slot = 0, .n_new = 1, .pos = 11}, failed = {.slot = 0, .n_new = 4, .pos = 6};
    assert_ok(sc_state_keep(store, 0, rows, 2, NULL));
    (void)feed(store, 0, 0, 10, 1);
    (void)feed(store, 0, 0, 7, 1); /* going back */
    assert_fails(SC_BAD_INPUT, "position 11, but holds 10", sc_state_feed(store, 0, &third, 1, &value));
    sc_state_cut(store, 0, &failed, 1);
    (void)feed(store, 0, 0, 6, 1);
    (void)feed(store, 0, 1, 10, 1); /* the other slot */
    const struct sc_row after = {.slot = 0, .n_new = 1, .pos = 7};
    assert_fails(SC_BAD_INPUT, "position 7, but holds 6", sc_state_feed(store, 0, &after, 1, &value));
    sc_state_cut(store, 0, &third, 1); /* holds less: nothing to cut */
    (void)feed(store, 0, 0, 6, 1);
    const struct sc_row nowhere[] = {{.slot = -1}, {.slot = SLOTS}, {.slot = 0, .pos = -5}};
    sc_state_cut(store, 0, nowhere, 3);
    (void)feed(store, 0, 0, 6, 1);
    sc_state_store_free(store);
}

static void a_dense_state_goes_on_from_where_it_stands_alone(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    const struct sc_value *value = NULL;
    float data[] = {1, 2, 3, 4};
    const struct sc_row row = {.slot = 0, .n_new = 2};
    const struct sc_value kept = rows_of(data, 2);
    (void)feed(store, 2, 0, 0, 2);
    assert_ok(sc_state_keep(store, 2, &row, 1, &kept));
    (void)feed(store, 2, 0, 2, 1);
    const struct sc_row back = {.slot = 0, .n_new = 1, .pos = 1}, at_end = {.slot = 0, .n_new = 1, .pos = 2};
    assert_fails(SC_BAD_INPUT, "cannot be taken back", sc_state_feed(store, 2, &back, 1, &value));
    sc_state_cut(store, 2, &at_end, 1); /* what failed had not moved it on */
    (void)feed(store, 2, 0, 2, 1);
    sc_state_cut(store, 2, &back, 1); /* what failed had */
    assert_fails(SC_BAD_INPUT, "position 1, but holds 0", sc_state_feed(store, 2, &back, 1, &value));
    assert_int_equal(feed(store, 2, 0, 0, 1)->u.tensor.dims[1], 0);
    sc_state_store_free(store);
}

static void bytes_are_those_of_whole_pages(void **state)
{
    (void)state;
    struct sc_state_options options = {.n_slots = 1, .context = 200};
    assert_int_equal(sc_state_pair_bytes(&pairs[0], &options), 4 * 64 * HEADS * WIDTH * 4);
    assert_int_equal(sc_state_pair_bytes(&pairs[1], &options), 2 * 64 * HEADS * WIDTH * 2); /* its own capacity is 70 */
    assert_int_equal(sc_state_pair_bytes(&pairs[2], &options), 0);
    options.n_slots = 3;
    assert_int_equal(sc_state_pair_bytes(&pairs[0], &options), 12 * 64 * HEADS * WIDTH * 4);
    options.n_pages = 7;
    assert_int_equal(sc_state_pair_bytes(&pairs[0], &options), 7 * 64 * HEADS * WIDTH * 4);
    assert_int_equal(sc_state_pair_bytes(&pairs[1], &options), 6 * 64 * HEADS * WIDTH * 2);
}

static struct sc_state_store *make_paged(int64_t n_pages)
{
    struct sc_state_store *store = NULL;
    const struct sc_state_options options = {
        .n_pairs = 2, .pairs = pairs, .n_slots = SLOTS, .context = CONTEXT, .n_pages = n_pages};
    assert_ok(sc_state_store_create(&options, &store));
    return store;
}

static void mark(struct sc_state_view view, int64_t page, unsigned char with)
{
    memset(view.pages[page], with, HEADS * WIDTH * SC_PAGE_ROWS * 2);
}

static unsigned char marked(struct sc_state_view view, int64_t page)
{
    return *(unsigned char *)view.pages[page];
}

static void a_slot_begins_as_another_and_their_ways_part(void **state)
{
    (void)state;
    for (int writer = 0; writer < 2; writer++) { /* whoever writes first into the page that both have */
        struct sc_state_store *store = make_paged(0);
        const struct sc_row shared = {.slot = 1, .n_new = 1, .pos = 69, .shares = 1 + 3};
        const struct sc_value *value;
        struct sc_state_view of[2];
        for (int p = 0; p < 2; p++) {
            hold(store, p, 3, 70);
            of[0] = feed(store, p, 3, 69, 1)->u.state->rows[0];
            mark(of[0], 0, 10);
            mark(of[0], 1, 20);
        }
        for (int p = 0; p < 2; p++) { /* the way of a stage: begun once, then fed */
            if (p == 0) {
                assert_ok(sc_state_begin(store, &shared, 1));
            }
            assert_ok(sc_state_feed(store, p, &shared, 1, &value));
            of[1] = value->u.state->rows[0];
            of[0] = feed(store, p, 3, 69, 1)->u.state->rows[0];
            assert_ptr_equal(of[0].pages[0], of[1].pages[0]);
            assert_ptr_not_equal(of[0].pages[1], of[1].pages[1]); /* the row is about to write there */
            assert_int_equal(marked(of[1], 1), 20);
            mark(of[writer], 1, 30);
            assert_int_equal(marked(of[1 - writer], 1), 20);
        }
        sc_state_store_free(store);
    }
}

static void what_is_not_there_cannot_be_shared(void **state)
{
    (void)state;
    struct sc_state_store *store = make_paged(0), *dense = make();
    const struct sc_row more = {.slot = 1, .n_new = 1, .pos = 71, .shares = 1 + 3},
                        nobody = {.slot = 1, .n_new = 1, .pos = 5, .shares = 1 + SLOTS},
                        itself = {.slot = 3, .n_new = 1, .pos = 5, .shares = 1 + 3};
    hold(store, 0, 3, 70);
    hold(store, 1, 3, 70);
    assert_fails(SC_BAD_INPUT, "holds 70", sc_state_begin(store, &more, 1));
    assert_fails(SC_BAD_INPUT, "slot 4", sc_state_begin(store, &nobody, 1));
    assert_fails(SC_BAD_INPUT, "slot 3", sc_state_begin(store, &itself, 1));
    hold(dense, 0, 3, 70);
    hold(dense, 1, 3, 70);
    const struct sc_row row = {.slot = 1, .n_new = 1, .pos = 5, .shares = 1 + 3};
    assert_fails(SC_BAD_INPUT, "cannot be shared", sc_state_begin(dense, &row, 1));
    sc_state_store_free(store);
    sc_state_store_free(dense);
}

static void a_pool_that_is_full_refuses_until_a_slot_is_dropped(void **state)
{
    (void)state;
    struct sc_state_store *store = make_paged(3);
    const struct sc_row second = {.slot = 2, .n_new = 70};
    hold(store, 0, 0, 128);
    assert_fails(SC_LIMIT, "the pool 3", sc_state_begin(store, &second, 1));
    sc_state_drop(store, 0);
    assert_ok(sc_state_begin(store, &second, 1));
    const struct sc_row first = {.slot = 0, .n_new = 1, .pos = 128};
    const struct sc_value *value;
    assert_ok(sc_state_begin(store, &first, 1));
    assert_fails(SC_BAD_INPUT, "holds 0", sc_state_feed(store, 0, &first, 1, &value));
    sc_state_store_free(store);
}

static void a_store_too_large_for_memory_is_refused(void **state)
{
    (void)state;
    struct sc_state_store *store = NULL;
    const int64_t many = (int64_t)1 << 30;
    const struct sc_state_pair huge = {.kind = SC_STATE_PAGED, .type = SC_F32, .heads = many, .width = many};
    const struct sc_state_pair large = {.kind = SC_STATE_PAGED, .type = SC_F32, .heads = 1 << 10, .width = 1 << 20};
    struct sc_state_options options = {.n_pairs = 1, .pairs = &huge, .n_slots = 1, .context = 64};
    assert_int_equal(sc_state_store_create(&options, &store), SC_LIMIT); /* a page's bytes do not fit 64 bits */
    options.pairs = &large;
    options.context = (int64_t)1 << 50;
    assert_int_equal(sc_state_store_create(&options, &store), SC_NO_MEMORY); /* nor do those of all pages */
    options.context = (int64_t)1 << 20;
    assert_int_equal(sc_state_store_create(&options, &store), SC_NO_MEMORY);
    assert_null(store);
}

/* 130 positions over three pages of keys, of which element (head, position, column) is its number in the tensor. */
static void a_state_is_read_and_written_as_one_dense_tensor(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    struct sc_tensor shape;
    enum { LENGTH = 130, COUNT = HEADS * LENGTH * WIDTH };
    static float given[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++) {
        given[i] = (float)i;
    }
    const int64_t dims[] = {1, HEADS, LENGTH, WIDTH};
    sc_tensor_init(&shape, SC_F32, 4, dims);
    assert_ok(sc_state_expect(store, 0, 1, LENGTH, &shape));
    for (int64_t at = 0; at < COUNT; at += 77) { /* pieces that end within rows */
        const int64_t n = COUNT - at < 77 ? COUNT - at : 77;
        assert_ok(sc_state_write(store, 0, 1, at, n, given + at));
    }
    assert_int_equal(sc_state_length(store, 0, 1), LENGTH);
    const struct sc_state_view *view = &feed(store, 0, 1, LENGTH, 1)->u.state->rows[0];
    for (int64_t h = 0; h < HEADS; h++) {
        for (int64_t s = 0; s < LENGTH; s++) {
            const float *page = view->pages[s / SC_PAGE_ROWS];
            const float *row = page + h * view->head_stride + s % SC_PAGE_ROWS * view->row_stride;
            assert_float_equal(row[3 * view->column_stride], given[(h * LENGTH + s) * WIDTH + 3], 0);
        }
    }
    assert_ok(sc_state_shape(store, 0, 1, &shape));
    assert_memory_equal(shape.dims, dims, sizeof dims);
    for (int64_t at = 0; at < COUNT; at += 501) {
        const int64_t n = COUNT - at < 501 ? COUNT - at : 501;
        assert_ok(sc_state_read(store, 0, 1, at, n, got + at));
    }
    assert_memory_equal(got, given, sizeof given);
    assert_fails(SC_BAD_INPUT, "elements", sc_state_read(store, 0, 1, COUNT - 1, 2, got));
    assert_fails(SC_BAD_INPUT, "elements", sc_state_write(store, 0, 1, -1, 1, got));
    assert_fails(SC_BAD_INPUT, "slot 4", sc_state_read(store, 0, SLOTS, 0, 1, got));
    sc_state_store_free(store);
}

/* Keys and values in one tensor, whose element is its number: the later half of the heads lies as values do. */
static void a_joined_state_is_read_and_written_as_its_tensor(void **state)
{
    (void)state;
    enum { LENGTH = 70, COUNT = 2 * HEADS * LENGTH * WIDTH };
    static const struct sc_state_pair joined = {
        .kind = SC_STATE_PAGED, .type = SC_F32, .heads = 2 * HEADS, .width = WIDTH, .keys = true, .joined = true};
    const struct sc_state_options options = {.n_pairs = 1, .pairs = &joined, .n_slots = 1, .context = CONTEXT};
    const int64_t dims[] = {2, 1, HEADS, LENGTH, WIDTH};
    static float given[COUNT], got[COUNT];
    struct sc_state_store *store = NULL;
    struct sc_tensor shape;
    for (int i = 0; i < COUNT; i++) {
        given[i] = (float)i;
    }
    assert_ok(sc_state_store_create(&options, &store));
    sc_tensor_init(&shape, SC_F32, 4, dims);
    assert_fails(SC_BAD_INPUT, "does not fit", sc_state_expect(store, 0, 0, LENGTH, &shape));
    sc_tensor_init(&shape, SC_F32, 5, dims);
    assert_ok(sc_state_expect(store, 0, 0, LENGTH, &shape));
    assert_ok(sc_state_write(store, 0, 0, 0, COUNT, given));
    const struct sc_state_view *view = &feed(store, 0, 0, LENGTH, 1)->u.state->rows[0];
    for (int64_t h = 0; h < 2 * HEADS; h++) {
        const float *page = (const float *)view->pages[1] + h * view->head_stride;
        const int64_t row = 3, column = 5, number = (h * LENGTH + SC_PAGE_ROWS + row) * WIDTH + column;
        assert_float_equal(page[h < HEADS ? column * SC_PAGE_ROWS + row : row * WIDTH + column], given[number], 0);
    }
    assert_ok(sc_state_shape(store, 0, 0, &shape));
    assert_int_equal(shape.rank, 5);
    assert_memory_equal(shape.dims, dims, sizeof dims);
    assert_ok(sc_state_read(store, 0, 0, 0, COUNT, got));
    assert_memory_equal(got, given, sizeof given);
    sc_state_store_free(store);
}

static void a_dense_state_too(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    struct sc_tensor shape;
    const int64_t dims[] = {1, 5, 2};
    static const float given[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    float got[10];
    sc_tensor_init(&shape, SC_F32, 3, dims);
    assert_ok(sc_state_expect(store, 2, 3, 9, &shape));
    assert_ok(sc_state_write(store, 2, 3, 0, 4, given));
    assert_ok(sc_state_write(store, 2, 3, 4, 6, given + 4));
    const struct sc_tensor *fed = &feed(store, 2, 3, 9, 1)->u.tensor;
    assert_memory_equal(fed->dims, dims, sizeof dims);
    assert_memory_equal(fed->data, given, sizeof given);
    assert_ok(sc_state_read(store, 2, 3, 0, 10, got));
    assert_memory_equal(got, given, sizeof given);
    sc_state_store_free(store);
}

static void a_state_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct sc_state_store *store = make();
    struct sc_tensor shape;
    const int64_t dims[] = {1, HEADS, 10, WIDTH}, wide[] = {1, HEADS, 10, WIDTH + 1}, flat[] = {1, 4};
    sc_tensor_init(&shape, SC_F16, 4, dims);
    assert_fails(SC_BAD_INPUT, "float16 [1,3,10,8] does not fit one of float [1,3,10,8]",
        sc_state_expect(store, 0, 0, 10, &shape));
    sc_tensor_init(&shape, SC_F32, 4, wide);
    assert_fails(SC_BAD_INPUT, "does not fit", sc_state_expect(store, 0, 0, 10, &shape));
    sc_tensor_init(&shape, SC_F32, 4, dims);
    assert_fails(SC_BAD_INPUT, "does not fit", sc_state_expect(store, 0, 0, 11, &shape));
    assert_fails(SC_LIMIT, "201 positions", sc_state_expect(store, 0, 0, CONTEXT + 1, &shape));
    sc_tensor_init(&shape, SC_F32, 2, flat);
    assert_fails(SC_BAD_INPUT, "[1,4] does not fit one of float [1,3]", sc_state_expect(store, 3, 0, 10, &shape));
    sc_state_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_sees_its_slot_at_its_position),
        cmocka_unit_test(pages_lie_as_their_readers_want_them),
        cmocka_unit_test(pages_of_slots_and_pairs_never_overlap),
        cmocka_unit_test(a_cache_takes_its_capacity_and_no_more),
        cmocka_unit_test(rows_of_no_slot_or_before_the_start_are_refused),
        cmocka_unit_test(a_dense_state_starts_empty_and_moves_on_when_kept),
        cmocka_unit_test(a_dense_state_is_fed_again_until_it_is_kept),
        cmocka_unit_test(a_strided_new_state_is_kept_dense),
        cmocka_unit_test(position_zero_starts_a_state_anew),
        cmocka_unit_test(a_dense_state_takes_one_row_that_has_begun),
        cmocka_unit_test(a_slot_continues_where_it_holds_something),
        cmocka_unit_test(a_dense_state_goes_on_from_where_it_stands_alone),
        cmocka_unit_test(bytes_are_those_of_whole_pages),
        cmocka_unit_test(a_slot_begins_as_another_and_their_ways_part),
        cmocka_unit_test(what_is_not_there_cannot_be_shared),
        cmocka_unit_test(a_pool_that_is_full_refuses_until_a_slot_is_dropped),
        cmocka_unit_test(a_store_too_large_for_memory_is_refused),
        cmocka_unit_test(a_state_is_read_and_written_as_one_dense_tensor),
        cmocka_unit_test(a_joined_state_is_read_and_written_as_its_tensor),
        cmocka_unit_test(a_dense_state_too),
        cmocka_unit_test(a_state_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
