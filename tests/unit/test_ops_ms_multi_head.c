/* SPDX-License-Identifier: Apache-2.0
 * Claims about MultiHeadAttention: the same bits from every form of its inputs and from every cache, and what is
 * refused. Against ONNX Runtime it is held by tests/data/microsoft, which has no packed forms on the CPU. */
#include "op_case.h"
#include "tensor/convert.h"

enum { H = 3, D = 8, ROOM = 96, HIDDEN = H * D };

static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int)(seed >> 24) - 128) / 128.0F;
    }
}

static void open_mha(struct op_case *c, int n_out)
{
    op_open(c, "com.microsoft", "MultiHeadAttention", 1, n_out);
    op_int(c, "num_heads", H);
}

/* Rows of HIDDEN as heads of several, side by side: part i of n. */
static void pack(const float *from, int rows, int i, int n, float *to)
{
    for (int r = 0; r < rows * H; r++) {
        memcpy(to + (r * n + i) * D, from + r * D, D * sizeof *to);
    }
}

static void packed_forms_give_the_bits_of_rows_apart(void **state)
{
    (void)state;
    enum { N = 5 };
    static float rows[3][N * HIDDEN], qkv[3 * N * HIDDEN], kv[2 * N * HIDDEN], bias[3 * HIDDEN];
    struct op_case apart, packed, pairs;
    fill(bias, 3 * HIDDEN, 5);
    for (int i = 0; i < 3; i++) {
        fill(rows[i], N * HIDDEN, 11 + (unsigned)i);
        pack(rows[i], N, i, 3, qkv);
    }
    pack(rows[1], N, 0, 2, kv);
    pack(rows[2], N, 1, 2, kv);
    open_mha(&apart, 1);
    for (int i = 0; i < 3; i++) {
        op_in(&apart, SC_F32, rows[i], DIMS(1, N, HIDDEN));
    }
    op_in(&apart, SC_F32, bias, DIMS(3 * HIDDEN));
    assert_int_equal(op_run(&apart), SC_OK);
    open_mha(&packed, 1);
    op_in(&packed, SC_F32, qkv, DIMS(1, N, H, 3, D));
    op_in_absent(&packed);
    op_in_absent(&packed);
    op_in(&packed, SC_F32, bias, DIMS(3 * HIDDEN));
    assert_int_equal(op_run(&packed), SC_OK);
    open_mha(&pairs, 1);
    op_in(&pairs, SC_F32, rows[0], DIMS(1, N, HIDDEN));
    op_in(&pairs, SC_F32, kv, DIMS(1, N, H, 2, D));
    op_in_absent(&pairs);
    op_in(&pairs, SC_F32, bias, DIMS(3 * HIDDEN));
    assert_int_equal(op_run(&pairs), SC_OK);
    assert_memory_equal(op_out(&packed, 0), op_out(&apart, 0), N * HIDDEN * sizeof(float));
    assert_memory_equal(op_out(&pairs, 0), op_out(&apart, 0), N * HIDDEN * sizeof(float));
    op_close(&apart);
    op_close(&packed);
    op_close(&pairs);
}

static struct sc_state_view views[2];
static void *pages[2][2];
static float memory[2][2][H * SC_PAGE_ROWS * D];

static void open_states(struct sc_state states[2])
{
    for (int i = 0; i < 2; i++) {
        pages[i][0] = memory[i][0];
        pages[i][1] = memory[i][1];
        views[i] = (struct sc_state_view){.pages = pages[i],
            .n_pages = 2,
            .head_stride = SC_PAGE_ROWS * D,
            .row_stride = i == 0 ? 1 : D,
            .column_stride = i == 0 ? SC_PAGE_ROWS : 1};
        states[i] = (struct sc_state){
            .type = SC_F32, .heads = H, .width = D, .capacity = 2 * SC_PAGE_ROWS, .n_rows = 1, .rows = &views[i]};
    }
}

/* n causal rows after n_past others, which hidden[] lets them see. */
static enum sc_status step(struct op_case *c, float rows[3][ROOM * HIDDEN], int n, int n_past,
    float past[2][H * ROOM * D], const int32_t *lets, struct sc_state *states)
{
    open_mha(c, 3);
    op_int(c, "unidirectional", 1);
    for (int i = 0; i < 3; i++) {
        op_in(c, SC_F32, rows[i] + n_past * HIDDEN, DIMS(1, n, HIDDEN));
    }
    op_in_absent(c);
    op_in(c, SC_I32, lets, DIMS(1, n_past + n));
    op_in_absent(c);
    for (int i = 0; i < 2; i++) {
        if (states) {
            op_in_state(c, &states[i]);
        } else {
            op_in(c, SC_F32, past[i], DIMS(1, H, n_past, D));
        }
    }
    return op_run(c);
}

static void a_kept_cache_gives_the_bits_of_one_that_grows(void **state)
{
    (void)state;
    static float rows[3][ROOM * HIDDEN], past[2][H * ROOM * D];
    static const int steps[] = {60, 1, 9, 1};
    static int32_t lets[ROOM];
    struct sc_state states[2];
    int length = 0;
    open_states(states);
    for (int i = 0; i < 3; i++) {
        fill(rows[i], ROOM * HIDDEN, 21 + (unsigned)i);
    }
    for (int i = 0; i < ROOM; i++) {
        lets[i] = i % 7 != 3;
    }
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const int n = steps[s];
        struct op_case grown, kept;
        assert_int_equal(step(&grown, rows, n, length, past, lets, NULL), SC_OK);
        assert_int_equal(step(&kept, rows, n, length, past, lets, states), SC_OK);
        assert_memory_equal(op_out(&kept, 0), op_out(&grown, 0), (size_t)(n * HIDDEN) * sizeof(float));
        op_expect_dims(&grown, 1, DIMS(1, H, length + n, D));
        assert_ptr_equal(kept.out[2].u.state, &states[1]);
        length += n;
        for (int i = 0; i < 2; i++) {
            memcpy(past[i], op_out(&grown, 1 + i), sizeof(float) * (size_t)(H * length * D));
            views[i].length = length;
        }
        op_close(&grown);
        op_close(&kept);
    }
}

/* One call of DecoderMaskedMultiHeadAttention in buffers of ROOM rows, or n of them in pages. */
static enum sc_status step_masked(struct op_case *c, float rows[3][ROOM * HIDDEN], int n, int n_past,
    float buffers[2][H * ROOM * D], struct sc_state *states)
{
    static int32_t told[1];
    told[0] = n_past;
    op_open(c, "com.microsoft", "DecoderMaskedMultiHeadAttention", 1, 3);
    op_int(c, "num_heads", H);
    op_int(c, "past_present_share_buffer", 1);
    for (int i = 0; i < 3; i++) {
        op_in(c, SC_F32, rows[i] + n_past * HIDDEN, DIMS(1, n, HIDDEN));
    }
    op_in_absent(c);
    op_in_absent(c);
    for (int i = 0; i < 2; i++) {
        if (states) {
            op_in_state(c, &states[i]);
        } else {
            op_in(c, SC_F32, buffers[i], DIMS(1, H, ROOM, D));
        }
    }
    op_in(c, SC_I32, told, DIMS(1));
    return op_run(c);
}

static void some_masked_queries_in_pages_give_the_bits_of_as_many_calls(void **state)
{
    (void)state;
    enum { N = 70 };
    static float rows[3][ROOM * HIDDEN], buffers[2][H * ROOM * D];
    struct sc_state states[2];
    struct op_case whole, c;
    open_states(states);
    for (int i = 0; i < 3; i++) {
        fill(rows[i], ROOM * HIDDEN, 31 + (unsigned)i);
    }
    assert_int_equal(step_masked(&whole, rows, N, 0, NULL, states), SC_OK);
    for (int n = 0; n < N; n++) {
        assert_int_equal(step_masked(&c, rows, 1, n, buffers, NULL), SC_OK);
        op_expect_dims(&c, 1, DIMS(1, H, ROOM, D));
        assert_memory_equal(op_out(&c, 0), (const float *)op_out(&whole, 0) + n * HIDDEN, HIDDEN * sizeof(float));
        for (int i = 0; i < 2; i++) {
            memcpy(buffers[i], op_out(&c, 1 + i), sizeof buffers[i]);
        }
        op_close(&c);
    }
    op_close(&whole);
    assert_int_equal(step_masked(&c, rows, 2, 0, buffers, NULL), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "query has 2 rows, want 1"));
    op_close(&c);
}

enum { TEXTS = 2, LONGEST = 70 };
static const int lengths[TEXTS] = {LONGEST, 5};

/* Key and value of each text [1, H, length, D] in pages, as many queries of each. */
struct texts {
    float rows[2][TEXTS][H * LONGEST * D], queries[TEXTS * 3 * HIDDEN], bias[3 * HIDDEN];
    float memory[2][TEXTS][2][H * SC_PAGE_ROWS * D];
    void *pages[2][TEXTS][2];
    struct sc_state_view views[2][TEXTS];
    struct sc_state states[2];
};

static void make_texts(struct texts *t)
{
    fill(t->queries, TEXTS * 3 * HIDDEN, 51);
    fill(t->bias, 3 * HIDDEN, 52);
    for (int i = 0; i < 2 * TEXTS; i++) {
        const int kind = i / TEXTS, text = i % TEXTS, n = lengths[text];
        struct sc_state_view *view = &t->views[kind][text];
        *view = (struct sc_state_view){.pages = t->pages[kind][text],
            .n_pages = 2,
            .length = n,
            .head_stride = SC_PAGE_ROWS * D,
            .row_stride = kind == 0 ? 1 : D,
            .column_stride = kind == 0 ? SC_PAGE_ROWS : 1};
        fill(t->rows[kind][text], H * n * D, 61 + (unsigned)i);
        for (int e = 0; e < H * n * D; e++) {
            const int h = e / (n * D), at = e / D % n, d = e % D;
            float *page = view->pages[at / SC_PAGE_ROWS] = t->memory[kind][text][at / SC_PAGE_ROWS];
            page[h * view->head_stride + at % SC_PAGE_ROWS * view->row_stride + d * view->column_stride] =
                t->rows[kind][text][e];
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        t->states[kind] = (struct sc_state){
            .type = SC_F32, .heads = H, .width = D, .capacity = LONGEST, .n_rows = TEXTS, .rows = t->views[kind]};
    }
}

/* n queries a text, of one text or, in pages, of all. */
static enum sc_status cross(struct op_case *c, struct texts *t, bool masked, int n, int text)
{
    op_open(c, "com.microsoft", masked ? "DecoderMaskedMultiHeadAttention" : "MultiHeadAttention", 1, 1);
    op_int(c, "num_heads", H);
    op_in(c, SC_F32, t->queries + (text < 0 ? 0 : text * n * HIDDEN), DIMS(text < 0 ? TEXTS : 1, n, HIDDEN));
    for (int kind = 0; kind < 2; kind++) {
        if (text < 0) {
            op_in_state(c, &t->states[kind]);
        } else {
            op_in(c, SC_F32, t->rows[kind][text], DIMS(1, H, lengths[text], D));
        }
    }
    for (int i = 3; i < 10 && masked; i++) {
        op_in_absent(c);
    }
    op_in(c, SC_F32, t->bias, DIMS(3 * HIDDEN));
    static int values[] = {0, 1, 2, -1, -1, -1, -1, -1, -1, -1, 3}; /* that params look for */
    c->node.in = values;
    return op_run(c);
}

/* Of many texts in one batch, each with as many keys as it has; several queries of each are as many alone. */
static void caches_that_are_read_alone_give_the_bits_of_each_text(void **state)
{
    (void)state;
    static struct texts t;
    make_texts(&t);
    for (int masked = 0; masked < 2; masked++) {
        for (int n = 1; n <= 3; n += 2) {
            struct op_case all, one;
            assert_int_equal(cross(&all, &t, masked, n, -1), SC_OK);
            op_expect_dims(&all, 0, DIMS(TEXTS, n, HIDDEN));
            for (int text = 0; text < TEXTS; text++) {
                assert_int_equal(cross(&one, &t, false, n, text), SC_OK);
                assert_memory_equal((const float *)op_out(&all, 0) + text * n * HIDDEN, op_out(&one, 0),
                    (size_t)(n * HIDDEN) * sizeof(float));
                op_close(&one);
            }
            op_close(&all);
        }
    }
}

static void caches_that_are_read_alone_come_in_pairs_and_give_nothing_back(void **state)
{
    (void)state;
    static struct texts t;
    struct op_case c;
    make_texts(&t);
    open_mha(&c, 1);
    op_in(&c, SC_F32, t.queries, DIMS(TEXTS, 1, HIDDEN));
    op_in_state(&c, &t.states[0]);
    op_in(&c, SC_F32, t.rows[1][0], DIMS(TEXTS, H, 5, D));
    assert_int_equal(op_run(&c), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "key and value do not come in pairs"));
    op_close(&c);
    open_mha(&c, 3);
    op_in(&c, SC_F32, t.queries, DIMS(TEXTS, 1, HIDDEN));
    op_in_state(&c, &t.states[0]);
    op_in_state(&c, &t.states[1]);
    assert_int_equal(op_run(&c), SC_UNSUPPORTED);
    assert_non_null(strstr(sc_error_last()->text, "more than the output of caches that are read alone"));
    op_close(&c);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const float x[4 * HIDDEN];
    static const int32_t mask[8];
    struct op_case c;
    open_mha(&c, 1);
    op_in(&c, SC_F32, x, DIMS(1, 2, HIDDEN));
    op_in(&c, SC_F32, x, DIMS(1, 2, HIDDEN));
    assert_int_equal(op_run(&c), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "none of the forms"));
    op_close(&c);
    open_mha(&c, 1);
    for (int i = 0; i < 3; i++) {
        op_in(&c, SC_F32, x, DIMS(1, 2, i == 1 ? HIDDEN - H : HIDDEN));
    }
    assert_int_equal(op_run(&c), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "key has shape [1,2,21], want [1,2,24]"));
    op_close(&c);
    open_mha(&c, 1);
    for (int i = 0; i < 3; i++) {
        op_in(&c, SC_F32, x, DIMS(1, 2, HIDDEN));
    }
    op_in_absent(&c);
    op_in(&c, SC_I32, mask, DIMS(1, 3));
    assert_int_equal(op_run(&c), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "key_padding_mask is [1,3], the batch 1, with 2 queries and 2 keys"));
    op_close(&c);
}

/* Inputs are numbers of bfloat16; what the two types give differs by its rounding. */
static void bfloat16_gives_what_f32_gives_rounded(void **state)
{
    (void)state;
    enum { N = 5 };
    static float rows[3][N * HIDDEN];
    static uint16_t narrow[3][N * HIDDEN];
    struct op_case wide, c;
    open_mha(&wide, 1);
    open_mha(&c, 1);
    for (int i = 0; i < 3; i++) {
        fill(rows[i], N * HIDDEN, 21 + (unsigned)i);
        sc_convert(SC_F32, rows[i], SC_BF16, narrow[i], N * HIDDEN, 0);
        sc_convert(SC_BF16, narrow[i], SC_F32, rows[i], N * HIDDEN, 0);
        op_in(&wide, SC_F32, rows[i], DIMS(1, N, HIDDEN));
        op_in(&c, SC_BF16, narrow[i], DIMS(1, N, HIDDEN));
    }
    assert_int_equal(op_run(&wide), SC_OK);
    assert_int_equal(op_run(&c), SC_OK);
    static uint16_t want[N * HIDDEN];
    sc_convert(SC_F32, op_out(&wide, 0), SC_BF16, want, N * HIDDEN, 0);
    assert_memory_equal(op_out(&c, 0), want, sizeof want);
    op_close(&wide);
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_forms_give_the_bits_of_rows_apart),
        cmocka_unit_test(a_kept_cache_gives_the_bits_of_one_that_grows),
        cmocka_unit_test(some_masked_queries_in_pages_give_the_bits_of_as_many_calls),
        cmocka_unit_test(caches_that_are_read_alone_give_the_bits_of_each_text),
        cmocka_unit_test(caches_that_are_read_alone_come_in_pairs_and_give_nothing_back),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(bfloat16_gives_what_f32_gives_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
