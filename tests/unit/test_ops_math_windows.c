/* SPDX-License-Identifier: Apache-2.0
 * Windows, mel filters and SwiGLU against numbers worked out by hand. */
#include "op_harness.h"

static void window(const char *op, int64_t periodic, int64_t size, const double *wanted)
{
    for (int known = 0; known < 2; known++) {
        struct op_test t;
        op_open(&t, "", op, 17);
        t.known = known;
        op_int(&t, "periodic", periodic);
        op_in_raw(&t, SC_I64, OP_SCALAR, &size);
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(size), wanted, 1e-7);
        op_close(&t);
    }
}

static void windows_go_round_once(void **state)
{
    (void)state;
    window("HannWindow", 1, 4, OP_VALUES(0, 0.5, 1, 0.5));
    window("HannWindow", 0, 5, OP_VALUES(0, 0.5, 1, 0.5, 0));
    window("HammingWindow", 1, 4, OP_VALUES(4 / 46.0, 25 / 46.0, 1, 25 / 46.0));
    window("HammingWindow", 0, 3, OP_VALUES(4 / 46.0, 1, 4 / 46.0));
    window("BlackmanWindow", 1, 4, OP_VALUES(0, 0.34, 1, 0.34));
    window("BlackmanWindow", 0, 3, OP_VALUES(0, 1, 0));
    window("HannWindow", 0, 1, OP_VALUES(1));
    window("HannWindow", 1, 0, NULL);
}

static void windows_have_the_type_that_is_asked_for(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F64, SC_I8, SC_U64};
    struct op_test t;
    for (int k = 0; k < 5; k++) {
        op_open(&t, "", "HannWindow", 17);
        op_int(&t, "output_datatype", types[k]);
        op_in(&t, SC_I32, OP_DIMS(1), OP_VALUES(4));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(4), k < 3 ? OP_VALUES(0, 0.5, 1, 0.5) : OP_VALUES(0, 0, 1, 0), 1e-12);
        op_close(&t);
    }
    op_open(&t, "", "BlackmanWindow", 17);
    op_int(&t, "output_datatype", SC_U32);
    op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(4));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U32, OP_DIMS(4), OP_VALUES(0, 0, 1, 0), 0);
    op_close(&t);
    op_open(&t, "", "HannWindow", 17);
    op_int(&t, "output_datatype", SC_STRING);
    op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(4));
    op_fails(
        &t, 1, SC_BAD_MODEL, "node 'n' (HannWindow): output_datatype is 8, want a float or integer of 8 bits or more");
    op_close(&t);
    op_open(&t, "", "HannWindow", 17);
    op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(-1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (HannWindow): size is not one number of 0 or more");
    op_close(&t);
}

static void open_mel(struct op_test *t, double bands, double length, double rate, double low, double high)
{
    op_open(t, "", "MelWeightMatrix", 17);
    op_in(t, SC_I64, OP_SCALAR, OP_VALUES(bands));
    op_in(t, SC_I64, OP_SCALAR, OP_VALUES(length));
    op_in(t, SC_I64, OP_SCALAR, OP_VALUES(rate));
    op_in(t, SC_F32, OP_SCALAR, OP_VALUES(low));
    op_in(t, SC_F32, OP_SCALAR, OP_VALUES(high));
}

/* 0 and 6300 hertz are 0 and 2595 mel; two bands have corners at 0, 1/4, 2/4, 3/4 of that, which is 700 * (10^x - 1):
 * 0, 544.8, 1513.6, 3236.4 hertz, and of 15 samples at 16000 the bins 0, 0, 1, 3. */
static void mel_bands_are_triangles(void **state)
{
    (void)state;
    struct op_test t;
    open_mel(&t, 2, 15, 16000, 0, 6300);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(8, 2), OP_VALUES(1, 0, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 1e-7);
    op_close(&t);
}

static void mel_edges_outside_the_spectrum_are_refused(void **state)
{
    (void)state;
    struct op_test t;
    open_mel(&t, 2, 15, 16000, 100, 50);
    op_fails(&t, 1, SC_BAD_INPUT,
        "node 'n' (MelWeightMatrix): edges at 100 and 50 hertz are not within a spectrum of 8 bins, or not in order");
    op_close(&t);
    open_mel(&t, 2, 15, 16000, 0, 90000);
    op_fails(&t, 1, SC_BAD_INPUT,
        "node 'n' (MelWeightMatrix): edges at 0 and 90000 hertz are not within a spectrum of 8 bins, or not in order");
    op_close(&t);
    open_mel(&t, 2, 15, 0, 0, 10);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (MelWeightMatrix): sample_rate is not one number of 1 or more");
    op_close(&t);
}

static void swiglu(enum sc_type type, float alpha, double tolerance)
{
    enum { N = 600 };
    static double a[N], b[N], wanted[N];
    struct op_test t;
    for (int i = 0; i < N; i++) {
        a[i] = (i % 33 - 16) * 0.5;
        b[i] = i % 7 - 3;
        wanted[i] = a[i] / (1 + exp((double)-alpha * a[i])) * b[i];
    }
    op_open(&t, "", "SwiGLU", 28);
    op_float(&t, "alpha", alpha);
    op_in(&t, type, OP_DIMS(2, 300), a);
    op_in(&t, type, OP_DIMS(2, 300), b);
    op_passes(&t, 1);
    op_gives(&t, 0, type, OP_DIMS(2, 300), wanted, tolerance);
    op_close(&t);
}

static void swiglu_gates_in_every_type(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const float alpha = k ? 1.7F : 1.0F;
        swiglu(SC_F64, alpha, 1e-14);
        swiglu(SC_F32, alpha, 1e-6); /* a few roundings of f32 */
        swiglu(SC_F16, alpha, 1e-3); /* one of f16 */
        swiglu(SC_BF16, alpha, 1e-2);
    }
    struct op_test t;
    op_open(&t, "", "SwiGLU", 28);
    op_in(&t, SC_F32, OP_DIMS(2, 1), OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, 2));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (SwiGLU): B has shape [2], want [2,1]");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_go_round_once),
        cmocka_unit_test(windows_have_the_type_that_is_asked_for),
        cmocka_unit_test(mel_bands_are_triangles),
        cmocka_unit_test(mel_edges_outside_the_spectrum_are_refused),
        cmocka_unit_test(swiglu_gates_in_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
