/* SPDX-License-Identifier: Apache-2.0
 * Claims about quantised caches of GroupQueryAttention; what they give is held against ONNX Runtime in
 * tests/data/microsoft. */
#include "op_case.h"

enum { HEADS = 2, D = 8, PAST = 3 };

static void open_case(struct op_case *c, const char *kind, int bits, enum sc_type cache)
{
    static float row[3 * HEADS * D];
    static uint8_t past[HEADS * PAST * D];
    static int32_t last = PAST, total = PAST + 1;
    op_open(c, "com.microsoft", "GroupQueryAttention", 1, 3);
    op_int(c, "num_heads", HEADS);
    op_int(c, "kv_num_heads", HEADS);
    op_text(c, "k_quant_type", kind);
    op_text(c, "v_quant_type", kind);
    op_int(c, "kv_cache_bit_width", bits);
    op_in(c, SC_F32, row, DIMS(1, 1, 3 * HEADS * D));
    op_in_absent(c);
    op_in_absent(c);
    for (int i = 0; i < 2; i++) {
        op_in(c, cache, past, DIMS(1, HEADS, PAST, cache == SC_U8 ? D / 2 : D));
    }
    op_in(c, SC_I32, &last, DIMS(1));
    op_in(c, SC_I32, &total, DIMS(1));
    for (int i = 7; i < 12; i++) {
        op_in_absent(c);
    }
}

static void refused(struct op_case *c, enum sc_status status, const char *words)
{
    assert_int_equal(op_run(c), status);
    if (!strstr(sc_error_last()->text, words)) {
        fail_msg("%s", sc_error_last()->text);
    }
    op_close(c);
}

static const float scales[HEADS * D] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void caches_and_scales_that_do_not_fit_the_attributes_are_refused(void **state)
{
    (void)state;
    struct op_case c;
    open_case(&c, "PER_BLOCK", 8, SC_I8);
    refused(&c, SC_BAD_MODEL, "k_quant_type is 'PER_BLOCK'");
    open_case(&c, "PER_TENSOR", 3, SC_I8);
    refused(&c, SC_BAD_MODEL, "kv_cache_bit_width 3, want both quantised with 4 or 8 bits");
    open_case(&c, "NONE", 8, SC_F32);
    refused(&c, SC_BAD_MODEL, "neither with 0");
    open_case(&c, "PER_TENSOR", 8, SC_U8);
    refused(&c, SC_BAD_INPUT, "past_key is of uint8, want int8");
    open_case(&c, "PER_TENSOR", 4, SC_I8);
    refused(&c, SC_BAD_INPUT, "past_key is of int8, want uint8");
    open_case(&c, "PER_TENSOR", 8, SC_F32);
    refused(&c, SC_BAD_INPUT, "past_key is of float, want int8");
    open_case(&c, "PER_TENSOR", 8, SC_I8);
    refused(&c, SC_BAD_MODEL, "k_scale is missing");
    open_case(&c, "PER_TENSOR", 8, SC_I8);
    op_in(&c, SC_F32, scales, DIMS(D));
    op_in(&c, SC_F32, scales, DIMS(1));
    refused(&c, SC_BAD_INPUT, "k_scale is [8], want one for all of 2 heads of 8");
    open_case(&c, "PER_CHANNEL", 8, SC_I8);
    op_in(&c, SC_F32, scales, DIMS(HEADS * D));
    op_in(&c, SC_F32, scales, DIMS(1, 3, 1, D));
    refused(&c, SC_BAD_INPUT, "v_scale is [1,3,1,8], want one for each column");
    open_case(&c, "NONE", 0, SC_F32);
    op_in(&c, SC_F32, scales, DIMS(1));
    refused(&c, SC_BAD_MODEL, "k_scale of caches that are not quantised");
}

/* However a scale is broadcast to [batch, heads, positions, width]. */
static void scales_are_broadcast(void **state)
{
    (void)state;
    static const int64_t dims[][4] = {{1, HEADS, 1, D}, {1, 1, 1, D}, {1, HEADS, 1, 1}, {1, 1, 1, 1}};
    struct op_case first, c;
    for (int i = 0; i < 4; i++) {
        open_case(&c, "PER_CHANNEL", 8, SC_I8);
        op_in(&c, SC_F32, scales, 4, dims[i]);
        op_in(&c, SC_F32, scales, 1, (const int64_t[]){HEADS * D});
        assert_int_equal(op_run(&c), SC_OK);
        if (i == 0) {
            first = c;
            continue;
        }
        assert_memory_equal(op_out(&first, 0), op_out(&c, 0), HEADS * D * sizeof(float));
        op_close(&c);
    }
    op_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_and_scales_that_do_not_fit_the_attributes_are_refused),
        cmocka_unit_test(scales_are_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
