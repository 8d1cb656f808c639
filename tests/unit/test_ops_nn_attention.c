/* SPDX-License-Identifier: Apache-2.0
 * Claims about Attention and the caches that it keeps, against a naive computation in double. */
#include "op_case.h"
#include "ops/nn/attention_op.h"

#include <math.h>

enum { B = 2, HQ = 4, HK = 2, D = 8, DV = 5, CAPACITY = 128 };

static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int)(seed >> 24) - 128) / 128.0F;
    }
}

/* What the naive computation knows. Tensors are dense [batch, heads, rows, width]. */
struct naive {
    int n_q, total;
    int offset[B]; /* absolute position of the first query */
    int length[B]; /* keys that there are */
    bool causal;
    int left, right; /* -1: none */
    double softcap;
    const float *bias; /* [n_q, bias_length] or NULL */
    int bias_length;
    const float *q, *k, *v;
};

static bool visible(const struct naive *t, int b, int i, int j)
{
    const int p = t->offset[b] + i;
    return j < t->length[b] && !(t->causal && j > p) && !(t->left >= 0 && j < p - t->left) &&
        !(t->right >= 0 && j > p + t->right) && !(t->bias && j >= t->bias_length);
}

static void naive_row(const struct naive *t, int b, int h, int i, float *y)
{
    double s[CAPACITY];
    double most = -INFINITY;
    double sum = 0;
    double acc[DV] = {0};
    const int hk = h / (HQ / HK);
    for (int j = 0; j < t->total; j++) {
        double dot = 0;
        for (int d = 0; d < D; d++) {
            dot += (double)t->q[((b * HQ + h) * t->n_q + i) * D + d] *
                (double)t->k[((b * HK + hk) * t->total + j) * D + d];
        }
        dot /= sqrt((double)D);
        dot = t->softcap > 0 ? t->softcap * tanh(dot / t->softcap) : dot;
        dot += t->bias && j < t->bias_length ? (double)t->bias[i * t->bias_length + j] : 0;
        s[j] = visible(t, b, i, j) ? dot : -INFINITY;
        most = s[j] > most ? s[j] : most;
    }
    for (int j = 0; j < t->total; j++) {
        const double p = s[j] > -INFINITY ? exp(s[j] - most) : 0;
        sum += p;
        for (int d = 0; d < DV; d++) {
            acc[d] += p * (double)t->v[((b * HK + hk) * t->total + j) * DV + d];
        }
    }
    for (int d = 0; d < DV; d++) {
        y[d] = sum > 0 ? (float)(acc[d] / sum) : 0.0F;
    }
}

static void naive_attention(const struct naive *t, float *y)
{
    for (int row = 0; row < B * HQ * t->n_q; row++) {
        naive_row(t, row / t->n_q / HQ, row / t->n_q % HQ, row % t->n_q, y + row * DV);
    }
}

static void grouped_causal_windowed_softcapped_attention_is_as_the_clause_says(void **state)
{
    (void)state;
    enum { NQ = 5, NK = 70 };
    static float q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * DV], bias[NQ * NK], want[B * HQ * NQ * DV];
    fill(q, B * HQ * NQ * D, 1);
    fill(k, B * HK * NK * D, 2);
    fill(v, B * HK * NK * DV, 3);
    fill(bias, NQ * NK, 4);
    for (int variant = 0; variant < 16; variant++) {
        struct naive t = {.n_q = NQ, .total = NK, .length = {NK, NK}, .left = -1, .right = -1, .q = q, .k = k, .v = v};
        struct op_case c;
        op_open(&c, "", "Attention", 25, 1);
        if (variant & 1) {
            op_int(&c, "is_causal", 1);
            t.causal = true;
        }
        if (variant & 2) {
            op_float(&c, "softcap", 0.5F);
            t.softcap = 0.5;
        }
        if (variant & 4) {
            op_int(&c, "left_window_size", 2);
            op_int(&c, "right_window_size", 1);
            t.left = 2;
            t.right = 1;
        }
        op_in(&c, SC_F32, q, DIMS(B, HQ, NQ, D));
        op_in(&c, SC_F32, k, DIMS(B, HK, NK, D));
        op_in(&c, SC_F32, v, DIMS(B, HK, NK, DV));
        if (variant & 8) { /* shorter than the keys: the rest is masked */
            op_in(&c, SC_F32, bias, DIMS(NQ, 40));
            t.bias = bias;
            t.bias_length = 40;
        }
        naive_attention(&t, want);
        assert_int_equal(op_run(&c), SC_OK);
        op_expect_near(&c, 0, want, 1e-5, DIMS(B, HQ, NQ, DV)); /* exp and sums in f32 */
        op_close(&c);
    }
}

static void nonpad_lengths_may_be_shorter_than_the_queries(void **state)
{
    (void)state;
    enum { NQ = 4, NK = 6 };
    float q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * DV], want[B * HQ * NQ * DV];
    fill(q, B * HQ * NQ * D, 1);
    fill(k, B * HK * NK * D, 2);
    fill(v, B * HK * NK * DV, 3);
    const int64_t lengths[B] = {2, 6};
    const struct naive t = {.n_q = NQ,
        .total = NK,
        .length = {2, 6},
        .offset = {-2, 2},
        .causal = true,
        .left = -1,
        .right = -1,
        .q = q,
        .k = k,
        .v = v};
    naive_attention(&t, want);
    struct op_case c;
    op_open(&c, "", "Attention", 24, 1);
    op_int(&c, "is_causal", 1);
    op_in(&c, SC_F32, q, DIMS(B, HQ, NQ, D));
    op_in(&c, SC_F32, k, DIMS(B, HK, NK, D));
    op_in(&c, SC_F32, v, DIMS(B, HK, NK, DV));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, lengths, DIMS(B));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want, 1e-5, DIMS(B, HQ, NQ, DV));
    const float *y = op_out(&c, 0);
    for (int d = 0; d < 2 * DV; d++) {
        assert_true(y[d] == 0.0F); /* the first two queries see nothing */
    }
    op_close(&c);
    const int64_t bad[B] = {2, 7};
    op_open(&c, "", "Attention", 24, 1);
    op_in(&c, SC_F32, q, DIMS(B, HQ, NQ, D));
    op_in(&c, SC_F32, k, DIMS(B, HK, NK, D));
    op_in(&c, SC_F32, v, DIMS(B, HK, NK, DV));
    op_in_absent(&c);
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, bad, DIMS(B));
    op_expect_failure(&c, SC_BAD_INPUT, "nonpad_kv_seqlen is 7");
    op_close(&c);
}

/* Q and K of f32 with values of f64 and a mask of integers: what f32 alone gives, to f32's rounding. */
static void values_and_masks_may_have_other_types(void **state)
{
    (void)state;
    enum { NQ = 3, NK = 70, PAST = 5 };
    static float q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * DV], bias[NQ * NK], want[B * HQ * NQ * DV];
    static double past_v[B * HK * PAST * DV], new_v[B * HK * (NK - PAST) * DV];
    static float past_k[B * HK * PAST * D], new_k[B * HK * (NK - PAST) * D];
    static int16_t mask[NQ * NK];
    fill(q, B * HQ * NQ * D, 1);
    fill(k, B * HK * NK * D, 2);
    fill(v, B * HK * NK * DV, 3);
    for (int i = 0; i < NQ * NK; i++) {
        mask[i] = (int16_t)(i % 5 - 2);
        bias[i] = mask[i];
    }
    for (int i = 0; i < B * HK * NK * D; i++) {
        const int head = i / NK / D, row = i / D % NK, d = i % D;
        *(row < PAST ? &past_k[(head * PAST + row) * D + d] : &new_k[(head * (NK - PAST) + row - PAST) * D + d]) = k[i];
    }
    for (int i = 0; i < B * HK * NK * DV; i++) {
        const int head = i / NK / DV, row = i / DV % NK, d = i % DV;
        *(row < PAST ? &past_v[(head * PAST + row) * DV + d] : &new_v[(head * (NK - PAST) + row - PAST) * DV + d]) =
            (double)v[i];
    }
    const struct naive t = {.n_q = NQ,
        .total = NK,
        .length = {NK, NK},
        .left = -1,
        .right = -1,
        .bias = bias,
        .bias_length = NK,
        .q = q,
        .k = k,
        .v = v};
    naive_attention(&t, want);
    struct op_case c;
    op_open(&c, "", "Attention", 25, 3);
    op_in(&c, SC_F32, q, DIMS(B, HQ, NQ, D));
    op_in(&c, SC_F32, new_k, DIMS(B, HK, NK - PAST, D));
    op_in(&c, SC_F64, new_v, DIMS(B, HK, NK - PAST, DV));
    op_in(&c, SC_I16, mask, DIMS(NQ, NK));
    op_in(&c, SC_F32, past_k, DIMS(B, HK, PAST, D));
    op_in(&c, SC_F64, past_v, DIMS(B, HK, PAST, DV));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want, 1e-6, DIMS(B, HQ, NQ, DV)); /* computed in f64 */
    const double *present = op_out(&c, 2);
    for (int i = 0; i < B * HK * NK * DV; i++) {
        assert_true(present[i] == (double)v[i]);
    }
    op_close(&c);
}

static void three_d_inputs_are_the_same_attention(void **state)
{
    (void)state;
    enum { NQ = 3, NK = 3 };
    float q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * D];
    fill(q, B * HQ * NQ * D, 1);
    fill(k, B * HK * NK * D, 2);
    fill(v, B * HK * NK * D, 3);
    struct op_case flat;
    op_open(&flat, "", "Attention", 23, 1);
    op_int(&flat, "q_num_heads", HQ);
    op_int(&flat, "kv_num_heads", HK);
    op_in(&flat, SC_F32, q, DIMS(B, NQ, HQ * D));
    op_in(&flat, SC_F32, k, DIMS(B, NK, HK * D));
    op_in(&flat, SC_F32, v, DIMS(B, NK, HK * D));
    assert_int_equal(op_run(&flat), SC_OK);
    op_expect_dims(&flat, 0, DIMS(B, NQ, HQ * D));
    struct op_case c; /* the same memory through strides of [batch, heads, rows, width] */
    op_open(&c, "", "Attention", 23, 1);
    const float *const data[3] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        const int64_t heads = i == 0 ? HQ : HK;
        struct sc_tensor *t = op_in(&c, SC_F32, data[i], DIMS(B, heads, NQ, D));
        t->strides[1] = D;
        t->strides[2] = heads * D;
    }
    assert_int_equal(op_run(&c), SC_OK);
    const float *a = op_out(&flat, 0);
    const float *b = op_out(&c, 0);
    for (int i = 0; i < B * HQ * NQ * D; i++) {
        const int batch = i / (HQ * NQ * D), h = i / (NQ * D) % HQ, row = i / D % NQ, d = i % D;
        assert_true(b[i] == a[((batch * NQ + row) * HQ + h) * D + d]);
    }
    op_close(&flat);
    op_close(&c);
}

/* A resident cache of one batch row per state row. Keys lie [head][width][64], values [head][64][width]. */
struct cache {
    struct sc_state state;
    struct sc_state_view rows[B];
    void *pages[B][CAPACITY / SC_PAGE_ROWS];
    float memory[B][CAPACITY / SC_PAGE_ROWS][HK * SC_PAGE_ROWS * D];
};

static void open_cache(struct cache *cache, bool keys, int64_t width, const int64_t *lengths)
{
    memset(cache, 0, sizeof(*cache));
    cache->state = (struct sc_state){
        .type = SC_F32, .heads = HK, .width = width, .capacity = CAPACITY, .n_rows = B, .rows = cache->rows};
    for (int b = 0; b < B; b++) {
        for (int p = 0; p < CAPACITY / SC_PAGE_ROWS; p++) {
            cache->pages[b][p] = cache->memory[b][p];
        }
        cache->rows[b] = (struct sc_state_view){.pages = cache->pages[b],
            .n_pages = CAPACITY / SC_PAGE_ROWS,
            .length = lengths[b],
            .head_stride = SC_PAGE_ROWS * width,
            .row_stride = keys ? 1 : width,
            .column_stride = keys ? SC_PAGE_ROWS : 1};
    }
}

static void dense_attention(struct op_case *c, int n_past, int n, const float *q, const float *k, const float *v,
    const float *past_k, const float *past_v)
{
    op_open(c, "", "Attention", 23, 3);
    op_int(c, "is_causal", 1);
    op_in(c, SC_F32, q, DIMS(B, HQ, n, D));
    op_in(c, SC_F32, k, DIMS(B, HK, n, D));
    op_in(c, SC_F32, v, DIMS(B, HK, n, DV));
    op_in_absent(c);
    op_in(c, SC_F32, past_k, DIMS(B, HK, n_past, D));
    op_in(c, SC_F32, past_v, DIMS(B, HK, n_past, DV));
    assert_int_equal(op_run(c), SC_OK);
}

static void appending_to_a_resident_cache_gives_the_bits_of_concatenation(void **state)
{
    (void)state;
    static struct cache keys, values;
    static float past_k[B * HK * CAPACITY * D], past_v[B * HK * CAPACITY * DV];
    const int64_t zero[B] = {0};
    open_cache(&keys, true, D, zero);
    open_cache(&values, false, DV, zero);
    int length = 0;
    static const int steps[] = {60, 1, 7, 1, 50};
    for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++) {
        const int n = steps[s];
        static float q[B * HQ * 64 * D], k[B * HK * 64 * D], v[B * HK * 64 * DV];
        fill(q, B * HQ * n * D, 10 + (unsigned)s);
        fill(k, B * HK * n * D, 20 + (unsigned)s);
        fill(v, B * HK * n * DV, 30 + (unsigned)s);
        struct op_case dense, c;
        dense_attention(&dense, length, n, q, k, v, past_k, past_v);
        op_open(&c, "", "Attention", 23, 3);
        op_int(&c, "is_causal", 1);
        op_in(&c, SC_F32, q, DIMS(B, HQ, n, D));
        op_in(&c, SC_F32, k, DIMS(B, HK, n, D));
        op_in(&c, SC_F32, v, DIMS(B, HK, n, DV));
        op_in_absent(&c);
        op_in_state(&c, &keys.state);
        op_in_state(&c, &values.state);
        assert_int_equal(op_run(&c), SC_OK);
        assert_int_equal(c.out[1].kind, SC_KIND_STATE);
        assert_ptr_equal(c.out[1].u.state, &keys.state);
        assert_memory_equal(op_out(&c, 0), op_out(&dense, 0), sizeof(float) * (size_t)(B * HQ * n * DV));
        assert_int_equal(keys.rows[0].length, length); /* lengths belong to the runtime */
        length += n;
        memcpy(past_k, op_out(&dense, 1), sizeof(float) * (size_t)(B * HK * length * D));
        memcpy(past_v, op_out(&dense, 2), sizeof(float) * (size_t)(B * HK * length * DV));
        for (int b = 0; b < B; b++) {
            keys.rows[b].length = length;
            values.rows[b].length = length;
        }
        op_close(&dense);
        op_close(&c);
    }
}

enum { ROWS = 3, KEYS = 9, PLACES = 5, BEFORE = 3 };

static void open_by_distance(struct op_case *c, int64_t heads, int64_t before, const float *table)
{
    static float q[B * HQ * ROWS * D], k[B * HK * KEYS * D], v[B * HK * KEYS * DV];
    fill(q, B * HQ * ROWS * D, 1);
    fill(k, B * HK * KEYS * D, 2);
    fill(v, B * HK * KEYS * DV, 3);
    op_open(c, table ? "sc" : "", "Attention", table ? 1 : 23, 1);
    op_int(c, "before", before);
    op_in(c, SC_F32, q, DIMS(B, HQ, ROWS, D));
    op_in(c, SC_F32, k, DIMS(B, HK, KEYS, D));
    op_in(c, SC_F32, v, DIMS(B, HK, KEYS, DV));
    for (int i = SC_ATTENTION_MASK; table && i < SC_ATTENTION_DISTANCES; i++) {
        op_in_absent(c);
    }
    if (table) {
        op_in(c, SC_F32, table, DIMS(heads, PLACES));
    }
}

/* The same bits: each score gets the same number, at the same time. */
static void a_table_by_distance_is_the_mask_that_it_stands_for(void **state)
{
    (void)state;
    static float table[HQ * PLACES], mask[HQ * ROWS * KEYS];
    fill(table, HQ * PLACES, 4);
    for (int heads = 1; heads <= HQ; heads += HQ - 1) {
        for (int i = 0; i < HQ * ROWS * KEYS; i++) {
            const int h = i / ROWS / KEYS, at = i % KEYS - i / KEYS % ROWS + BEFORE;
            mask[i] = table[(heads == 1 ? 0 : h) * PLACES + (at < 0 ? 0 : at >= PLACES ? PLACES - 1 : at)];
        }
        struct op_case by_distance, masked;
        open_by_distance(&by_distance, heads, BEFORE, table);
        open_by_distance(&masked, HQ, 0, NULL);
        op_in(&masked, SC_F32, mask, DIMS(1, HQ, ROWS, KEYS));
        assert_int_equal(SC_OK, op_run(&by_distance));
        assert_int_equal(SC_OK, op_run(&masked));
        assert_memory_equal(op_out(&by_distance, 0), op_out(&masked, 0), sizeof(float) * B * HQ * ROWS * DV);
        op_close(&by_distance);
        op_close(&masked);
    }
}

static void a_table_by_distance_of_other_heads_or_without_a_place_0_is_refused(void **state)
{
    (void)state;
    static const float table[HQ * PLACES];
    struct op_case c;
    open_by_distance(&c, 3, BEFORE, table);
    op_expect_failure(&c, SC_BAD_INPUT, "a table of distances [3,5] is not one of 4 heads with distance 0 at place 3");
    op_close(&c);
    open_by_distance(&c, HQ, PLACES, table);
    op_expect_failure(&c, SC_BAD_INPUT, "a table of distances [4,5] is not one of 4 heads with distance 0 at place 5");
    op_close(&c);
}

static void append_past_capacity_is_refused(void **state)
{
    (void)state;
    static struct cache keys, values;
    const int64_t lengths[B] = {3, CAPACITY - 1};
    open_cache(&keys, true, D, lengths);
    open_cache(&values, false, DV, lengths);
    static float q[B * HQ * 2 * D], k[B * HK * 2 * D], v[B * HK * 2 * DV];
    struct op_case c;
    op_open(&c, "", "Attention", 23, 3);
    op_in(&c, SC_F32, q, DIMS(B, HQ, 2, D));
    op_in(&c, SC_F32, k, DIMS(B, HK, 2, D));
    op_in(&c, SC_F32, v, DIMS(B, HK, 2, DV));
    op_in_absent(&c);
    op_in_state(&c, &keys.state);
    op_in_state(&c, &values.state);
    op_expect_failure(&c, SC_LIMIT, "cache capacity 128 reached");
    op_close(&c);
}

static void scatter_into_a_resident_cache_is_read_by_attention(void **state)
{
    (void)state;
    enum { N = 70 };
    static struct cache caches[2];
    static float q[B * HQ * N * D], k[B * HK * N * D], v[B * HK * N * DV], none[1];
    fill(q, B * HQ * N * D, 1);
    fill(k, B * HK * N * D, 2);
    fill(v, B * HK * N * DV, 3);
    const int64_t zero[B] = {0};
    const int64_t lengths[B] = {N, N};
    open_cache(&caches[0], true, D, zero);
    open_cache(&caches[1], false, DV, zero);
    for (int i = 0; i < 2; i++) {
        struct op_case scatter;
        op_open(&scatter, "", "TensorScatter", 24, 1);
        op_in_state(&scatter, &caches[i].state);
        op_in(&scatter, SC_F32, i == 0 ? k : v, DIMS(B, HK, N, i == 0 ? D : DV));
        op_in(&scatter, SC_I64, zero, DIMS(B));
        assert_int_equal(op_run(&scatter), SC_OK);
        assert_ptr_equal(scatter.out[0].u.state, &caches[i].state);
        op_close(&scatter);
    }
    struct op_case dense, c;
    dense_attention(&dense, 0, N, q, k, v, none, none);
    op_open(&c, "", "Attention", 24, 1);
    op_int(&c, "is_causal", 1);
    op_in(&c, SC_F32, q, DIMS(B, HQ, N, D));
    op_in_state(&c, &caches[0].state);
    op_in_state(&c, &caches[1].state);
    op_in_absent(&c);
    op_in_absent(&c);
    op_in_absent(&c);
    op_in(&c, SC_I64, lengths, DIMS(B));
    assert_int_equal(op_run(&c), SC_OK);
    assert_memory_equal(op_out(&c, 0), op_out(&dense, 0), sizeof(float) * (size_t)(B * HQ * N * DV));
    op_close(&dense);
    op_close(&c);
}

static void tensor_scatter_wraps_only_when_circular(void **state)
{
    (void)state;
    float past[6] = {0}, update[4] = {1, 2, 3, 4};
    const int64_t at[1] = {2};
    struct op_case c;
    op_open(&c, "", "TensorScatter", 24, 1);
    op_text(&c, "mode", "circular");
    op_in(&c, SC_F32, past, DIMS(1, 3, 2));
    op_in(&c, SC_F32, update, DIMS(1, 2, 2));
    op_in(&c, SC_I64, at, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){3, 4, 0, 0, 1, 2}, DIMS(1, 3, 2));
    op_close(&c);
    op_open(&c, "", "TensorScatter", 24, 1);
    op_in(&c, SC_F32, past, DIMS(1, 3, 2));
    op_in(&c, SC_F32, update, DIMS(1, 2, 2));
    op_in(&c, SC_I64, at, DIMS(1));
    op_expect_failure(&c, SC_LIMIT, "cache capacity 3 reached");
    op_close(&c);
}

static void attention_refuses_what_does_not_fit(void **state)
{
    (void)state;
    static float x[1024];
    struct op_case c;
    op_open(&c, "", "Attention", 23, 1); /* 3-D without heads */
    op_in(&c, SC_F32, x, DIMS(1, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 8));
    op_expect_failure(&c, SC_BAD_MODEL, "heads");
    op_close(&c);
    op_open(&c, "", "Attention", 23, 1);
    op_in(&c, SC_F32, x, DIMS(1, 3, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_expect_failure(&c, SC_BAD_MODEL, "cannot share");
    op_close(&c);
    op_open(&c, "", "Attention", 23, 1);
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 4));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_expect_failure(&c, SC_BAD_INPUT, "head width");
    op_close(&c);
    op_open(&c, "", "Attention", 23, 1);
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_in(&c, SC_F32, x, DIMS(1, 2, 2, 8));
    op_in(&c, SC_F32, x, DIMS(2, 5));
    op_expect_failure(&c, SC_BAD_INPUT, "mask");
    op_close(&c);
}

static void attention_over_no_keys_is_zero(void **state)
{
    (void)state;
    static float q[B * HQ * D], none[1];
    fill(q, B * HQ * D, 1);
    struct op_case c;
    op_open(&c, "", "Attention", 23, 1);
    op_in(&c, SC_F32, q, DIMS(B, HQ, 1, D));
    op_in(&c, SC_F32, none, DIMS(B, HK, 0, D));
    op_in(&c, SC_F32, none, DIMS(B, HK, 0, DV));
    assert_int_equal(op_run(&c), SC_OK);
    const float want[B * HQ * DV] = {0};
    op_expect_near(&c, 0, want, 0, DIMS(B, HQ, 1, DV));
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouped_causal_windowed_softcapped_attention_is_as_the_clause_says),
        cmocka_unit_test(nonpad_lengths_may_be_shorter_than_the_queries),
        cmocka_unit_test(values_and_masks_may_have_other_types),
        cmocka_unit_test(three_d_inputs_are_the_same_attention),
        cmocka_unit_test(appending_to_a_resident_cache_gives_the_bits_of_concatenation),
        cmocka_unit_test(append_past_capacity_is_refused),
        cmocka_unit_test(a_table_by_distance_is_the_mask_that_it_stands_for),
        cmocka_unit_test(a_table_by_distance_of_other_heads_or_without_a_place_0_is_refused),
        cmocka_unit_test(scatter_into_a_resident_cache_is_read_by_attention),
        cmocka_unit_test(tensor_scatter_wraps_only_when_circular),
        cmocka_unit_test(attention_refuses_what_does_not_fit),
        cmocka_unit_test(attention_over_no_keys_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
