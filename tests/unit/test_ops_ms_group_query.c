/* SPDX-License-Identifier: Apache-2.0
 * Claims about GroupQueryAttention; what it gives is held against ONNX Runtime in tests/data/microsoft. */
#include "op_case.h"

enum { HEADS = 2, D = 4, ROOM = 3 };

/* The first token of a text, with caches that have room for more. */
static void open_case(struct op_case *c)
{
    static float row[3 * HEADS * D], past[HEADS * ROOM * D];
    static int32_t last = 0, total = 1;
    for (int i = 0; i < 3 * HEADS * D; i++) {
        row[i] = (float)(i + 1);
    }
    op_open(c, "com.microsoft", "GroupQueryAttention", 1, 3);
    op_int(c, "num_heads", HEADS);
    op_int(c, "kv_num_heads", HEADS);
    op_in(c, SC_F32, row, DIMS(1, 1, 3 * HEADS * D));
    op_in_absent(c);
    op_in_absent(c);
    op_in(c, SC_F32, past, DIMS(1, HEADS, ROOM, D));
    op_in(c, SC_F32, past, DIMS(1, HEADS, ROOM, D));
    op_in(c, SC_I32, &last, DIMS(1));
    op_in(c, SC_I32, &total, DIMS(1));
}

/* present: output 1 or 2, whose row is part `part` of the token's. */
static void check_present(struct op_case *c, int present, int part)
{
    const float *got = op_out(c, present);
    for (int i = 0; i < HEADS * ROOM * D; i++) {
        const int head = i / D / ROOM, row = i / D % ROOM;
        const float want = row == 0 ? (float)((part * HEADS + head) * D + i % D + 1) : 0.0F;
        assert_true(got[i] == want);
    }
}

static void a_present_is_zero_past_its_rows_whether_or_not_the_other_is_asked_for(void **state)
{
    (void)state;
    for (int asked = 1; asked < 4; asked++) {
        struct op_case c;
        open_case(&c);
        c.unwanted[1] = !(asked & 1);
        c.unwanted[2] = !(asked & 2);
        assert_int_equal(op_run(&c), SC_OK);
        for (int present = 1; present < 3; present++) {
            if (!c.unwanted[present]) {
                check_present(&c, present, present);
            }
        }
        op_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_present_is_zero_past_its_rows_whether_or_not_the_other_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
