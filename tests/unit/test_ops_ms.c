/* SPDX-License-Identifier: Apache-2.0
 * Claims about attention of com.microsoft: the same bits as the standard operator, from every kind of cache. */
#include "op_case.h"

#include <math.h>

enum { HQ = 4, HK = 2, D = 8, ROOM = 96, HIDDEN = (HQ + 2 * HK) * D };

static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int)(seed >> 24) - 128) / 128.0F;
    }
}

static float cosines[ROOM * D / 2], sines[ROOM * D / 2];

static void fill_angles(void)
{
    for (int p = 0; p < ROOM; p++) {
        for (int d = 0; d < D / 2; d++) {
            cosines[p * D / 2 + d] = cosf((float)p / (float)(1 << d));
            sines[p * D / 2 + d] = sinf((float)p / (float)(1 << d));
        }
    }
}

/* One step of GroupQueryAttention on packed rows. past: tensors with `room` rows, of which n_past are valid, or
 * states. */
static enum sc_status step(struct op_case *c, const float *qkv, int n, int n_past, int room, const float *past_k,
    const float *past_v, struct sc_state *state_k, struct sc_state *state_v)
{
    static int32_t last, total;
    last = n_past + n - 1;
    total = n_past + n;
    op_open(c, "com.microsoft", "GroupQueryAttention", 1, 3);
    op_int(c, "num_heads", HQ);
    op_int(c, "kv_num_heads", HK);
    op_int(c, "do_rotary", 1);
    op_in(c, SC_F32, qkv, DIMS(1, n, HIDDEN));
    op_in_absent(c);
    op_in_absent(c);
    if (state_k) {
        op_in_state(c, state_k);
        op_in_state(c, state_v);
    } else {
        op_in(c, SC_F32, past_k, DIMS(1, HK, room, D));
        op_in(c, SC_F32, past_v, DIMS(1, HK, room, D));
    }
    op_in(c, SC_I32, &last, DIMS(1));
    op_in(c, SC_I32, &total, DIMS(1));
    op_in(c, SC_F32, cosines, DIMS(ROOM, D / 2));
    op_in(c, SC_F32, sines, DIMS(ROOM, D / 2));
    return op_run(c);
}

static struct sc_state_view views[2];
static void *pages[2][2];
static float memory[2][2][HK * SC_PAGE_ROWS * D];

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
            .type = SC_F32, .heads = HK, .width = D, .capacity = 2 * SC_PAGE_ROWS, .n_rows = 1, .rows = &views[i]};
    }
}

static void group_query_gives_the_same_bits_from_every_cache(void **state)
{
    (void)state;
    static float qkv[ROOM * HIDDEN], past[2][HK * ROOM * D], shared[2][HK * ROOM * D];
    static const int steps[] = {60, 1, 9, 1};
    struct sc_state states[2];
    int length = 0;
    fill_angles();
    fill(qkv, ROOM * HIDDEN, 3);
    open_states(states);
    for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++) {
        const int n = steps[s];
        const size_t bytes = (size_t)(n * HQ * D) * sizeof(float);
        struct op_case grown, buffer, resident;
        assert_int_equal(step(&grown, qkv + length * HIDDEN, n, length, length, past[0], past[1], NULL, NULL), SC_OK);
        assert_int_equal(
            step(&buffer, qkv + length * HIDDEN, n, length, ROOM, shared[0], shared[1], NULL, NULL), SC_OK);
        assert_int_equal(
            step(&resident, qkv + length * HIDDEN, n, length, 0, NULL, NULL, &states[0], &states[1]), SC_OK);
        assert_memory_equal(op_out(&buffer, 0), op_out(&grown, 0), bytes);
        assert_memory_equal(op_out(&resident, 0), op_out(&grown, 0), bytes);
        op_expect_dims(&buffer, 1, DIMS(1, HK, ROOM, D));
        op_expect_dims(&grown, 1, DIMS(1, HK, length + n, D));
        assert_ptr_equal(resident.out[2].u.state, &states[1]);
        length += n;
        for (int i = 0; i < 2; i++) {
            memcpy(past[i], op_out(&grown, 1 + i), sizeof(float) * (size_t)(HK * length * D));
            memcpy(shared[i], op_out(&buffer, 1 + i), sizeof(shared[i]));
            views[i].length = length;
        }
        op_close(&grown);
        op_close(&buffer);
        op_close(&resident);
    }
}

static void group_query_is_attention_of_rotated_heads(void **state)
{
    (void)state;
    enum { N = 5 };
    static float qkv[N * HIDDEN], q[N * HQ * D], k[N * HK * D], v[N * HK * D], none[1];
    static int64_t ids[N];
    fill_angles();
    fill(qkv, N * HIDDEN, 7);
    for (int i = 0; i < N; i++) {
        ids[i] = i;
        memcpy(q + i * HQ * D, qkv + i * HIDDEN, HQ * D * sizeof(float));
        memcpy(k + i * HK * D, qkv + i * HIDDEN + HQ * D, HK * D * sizeof(float));
        memcpy(v + i * HK * D, qkv + i * HIDDEN + (HQ + HK) * D, HK * D * sizeof(float));
    }
    struct op_case group, turned[2], c;
    assert_int_equal(step(&group, qkv, N, 0, 0, none, none, NULL, NULL), SC_OK);
    for (int i = 0; i < 2; i++) {
        op_open(&turned[i], "", "RotaryEmbedding", 23, 1);
        op_int(&turned[i], "num_heads", i == 0 ? HQ : HK);
        op_in(&turned[i], SC_F32, i == 0 ? q : k, DIMS(1, N, (i == 0 ? HQ : HK) * D));
        op_in(&turned[i], SC_F32, cosines, DIMS(ROOM, D / 2));
        op_in(&turned[i], SC_F32, sines, DIMS(ROOM, D / 2));
        op_in(&turned[i], SC_I64, ids, DIMS(1, N));
        assert_int_equal(op_run(&turned[i]), SC_OK);
    }
    op_open(&c, "", "Attention", 23, 1);
    op_int(&c, "q_num_heads", HQ);
    op_int(&c, "kv_num_heads", HK);
    op_int(&c, "is_causal", 1);
    op_in(&c, SC_F32, op_out(&turned[0], 0), DIMS(1, N, HQ * D));
    op_in(&c, SC_F32, op_out(&turned[1], 0), DIMS(1, N, HK * D));
    op_in(&c, SC_F32, v, DIMS(1, N, HK * D));
    assert_int_equal(op_run(&c), SC_OK);
    assert_memory_equal(op_out(&group, 0), op_out(&c, 0), N * HQ * D * sizeof(float));
    op_close(&group);
    op_close(&turned[0]);
    op_close(&turned[1]);
    op_close(&c);
}

/* query_seqlens: of a chunk of 4 the first 2 rows count, the others are NaN. */
static void a_padded_chunk_gives_its_rows_the_bits_that_they_have_without_padding(void **state)
{
    (void)state;
    enum { PAST = 7, N = 4, COUNT = 2, SHARED = 20 };
    static float qkv[N * HIDDEN], past[2][HK * SHARED * D];
    static int32_t last[1], total[1], count[1];
    struct op_case c[2];
    fill_angles();
    fill(qkv, N * HIDDEN, 3);
    fill(past[0], HK * SHARED * D, 4);
    fill(past[1], HK * SHARED * D, 5);
    for (int i = COUNT * HIDDEN; i < N * HIDDEN; i++) {
        qkv[i] = NAN;
    }
    last[0] = PAST + COUNT - 1;
    total[0] = SHARED;
    count[0] = COUNT;
    for (int i = 0; i < 2; i++) {
        op_open(&c[i], "com.microsoft", "GroupQueryAttention", 1, 3);
        op_int(&c[i], "num_heads", HQ);
        op_int(&c[i], "kv_num_heads", HK);
        op_int(&c[i], "do_rotary", 1);
        op_in(&c[i], SC_F32, qkv, DIMS(1, i == 0 ? N : COUNT, HIDDEN));
        op_in_absent(&c[i]);
        op_in_absent(&c[i]);
        op_in(&c[i], SC_F32, past[0], DIMS(1, HK, SHARED, D));
        op_in(&c[i], SC_F32, past[1], DIMS(1, HK, SHARED, D));
        op_in(&c[i], SC_I32, last, DIMS(1));
        op_in(&c[i], SC_I32, total, DIMS(1));
        op_in(&c[i], SC_F32, cosines, DIMS(ROOM, D / 2));
        op_in(&c[i], SC_F32, sines, DIMS(ROOM, D / 2));
        for (int absent = 9; absent < 16; absent++) {
            op_in_absent(&c[i]);
        }
        op_in(&c[i], SC_I32, count, DIMS(1));
        assert_int_equal(op_run(&c[i]), SC_OK);
    }
    assert_memory_equal(op_out(&c[0], 0), op_out(&c[1], 0), COUNT * HQ * D * sizeof(float));
    for (int h = 0; h < HK; h++) {
        const float *padded = (const float *)op_out(&c[0], 1) + h * SHARED * D;
        assert_memory_equal(
            padded, (const float *)op_out(&c[1], 1) + h * SHARED * D, (PAST + COUNT) * D * sizeof(float));
    }
    op_close(&c[0]);
    op_close(&c[1]);
}

static void group_query_past_its_caches_is_refused(void **state)
{
    (void)state;
    static float qkv[2 * HIDDEN];
    struct sc_state states[2];
    struct op_case c;
    fill_angles();
    open_states(states);
    views[0].length = 2 * SC_PAGE_ROWS - 1;
    views[1].length = 2 * SC_PAGE_ROWS - 1;
    assert_int_equal(step(&c, qkv, 2, 2 * SC_PAGE_ROWS - 1, 0, NULL, NULL, &states[0], &states[1]), SC_LIMIT);
    assert_non_null(strstr(sc_error_last()->text, "cache capacity 128 reached"));
    op_close(&c);
    views[0].length = ROOM;
    views[1].length = ROOM;
    assert_int_equal(step(&c, qkv, 1, ROOM, 0, NULL, NULL, &states[0], &states[1]), SC_LIMIT);
    assert_non_null(strstr(sc_error_last()->text, "cos and sin"));
    op_close(&c);
}

static void skip_norm_gives_the_sum_too(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 4}, skip[4] = {1, 0, -1, 0}, gamma[2] = {1, 2};
    const float sum[4] = {2, 2, 2, 4};
    const float s = sqrtf((2 * 2 + 4 * 4) / 2.0F);
    struct op_case c;
    op_open(&c, "com.microsoft", "SkipSimplifiedLayerNormalization", 1, 4);
    c.unwanted[1] = true;
    c.unwanted[2] = true;
    op_in(&c, SC_F32, x, DIMS(1, 2, 2));
    op_in(&c, SC_F32, skip, DIMS(1, 2, 2));
    op_in(&c, SC_F32, gamma, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 3, SC_F32, sum, DIMS(1, 2, 2));
    op_expect_near(&c, 0, (float[]){1, 2, 2 / s, 8 / s}, 1e-6, DIMS(1, 2, 2));
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_query_gives_the_same_bits_from_every_cache),
        cmocka_unit_test(group_query_is_attention_of_rotated_heads),
        cmocka_unit_test(a_padded_chunk_gives_its_rows_the_bits_that_they_have_without_padding),
        cmocka_unit_test(group_query_past_its_caches_is_refused),
        cmocka_unit_test(skip_norm_gives_the_sum_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
