/* SPDX-License-Identifier: Apache-2.0
 * DFT and STFT against the sums of their clauses, taken term by term, for lengths of every kind. */
#include "op_harness.h"

enum { MOST = 512 };

static double sample(int64_t i)
{
    return (double)((i * 7919 + 13) % 101) / 50.0 - 1.0;
}

/* sum over k of x[k] exp(-+ 2 pi i j k / n); x has `have` complex numbers, those past them are 0. */
static void naive(int64_t n, int64_t have, bool inverse, const double *x, int64_t j, double *y)
{
    y[0] = y[1] = 0;
    for (int64_t k = 0; k < n && k < have; k++) {
        const double angle = (inverse ? 2 : -2) * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
        y[0] += x[2 * k] * cos(angle) - x[2 * k + 1] * sin(angle);
        y[1] += x[2 * k] * sin(angle) + x[2 * k + 1] * cos(angle);
    }
    if (inverse) {
        y[0] /= (double)n;
        y[1] /= (double)n;
    }
}

struct plan {
    int64_t have, length; /* length 0: not given */
    int channels;
    bool inverse, onesided;
};

/* [2, have, 3, channels] along axis 1, by both versions. */
static void check_dft(const struct plan *p)
{
    static double x[MOST], wanted[4 * MOST], row[2 * MOST], y[2];
    const bool irfft = p->inverse && p->onesided;
    const int64_t n = p->length ? p->length : irfft ? 2 * (p->have - 1) : p->have;
    const int64_t bins = p->onesided && !p->inverse ? n / 2 + 1 : n, out_channels = irfft ? 1 : 2;
    for (int64_t i = 0; i < 6 * p->have * p->channels; i++) {
        x[i] = sample(i);
    }
    for (int64_t r = 0; r < 6; r++) {
        memset(row, 0, sizeof row);
        for (int64_t k = 0; k < p->have; k++) {
            for (int c = 0; c < p->channels; c++) {
                row[2 * k + c] = x[((r / 3 * p->have + k) * 3 + r % 3) * p->channels + c];
            }
        }
        for (int64_t k = n / 2 + 1; irfft && k < n; k++) { /* what a real signal's spectrum has there */
            row[2 * k] = row[2 * (n - k)];
            row[2 * k + 1] = -row[2 * (n - k) + 1];
        }
        for (int64_t j = 0; j < bins; j++) {
            naive(n, irfft ? n : p->have, p->inverse, row, j, y);
            for (int64_t c = 0; c < out_channels; c++) {
                wanted[((r / 3 * bins + j) * 3 + r % 3) * out_channels + c] = y[c];
            }
        }
    }
    for (int version = 17; version <= 20; version += 3) {
        struct op_test t;
        op_open(&t, "", "DFT", version);
        t.known = version == 17;
        op_int(&t, "inverse", p->inverse);
        op_int(&t, "onesided", p->onesided);
        op_in(&t, SC_F64, OP_DIMS(2, p->have, 3, p->channels), x);
        if (p->length) {
            op_in_raw(&t, SC_I64, OP_SCALAR, &p->length);
        } else if (version == 20) {
            op_in_absent(&t);
        }
        if (version == 20) {
            op_in_raw(&t, SC_I64, OP_SCALAR, (const int64_t[]){-3});
        }
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F64, OP_DIMS(2, bins, 3, out_channels), wanted, 1e-12);
        op_close(&t);
    }
}

static void every_length_agrees_with_the_sum(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 21; n++) {
        check_dft(&(struct plan){n, 0, 1, false, false});
        check_dft(&(struct plan){n, 0, 2, false, false});
        check_dft(&(struct plan){n, 0, 2, true, false});
        check_dft(&(struct plan){n, 0, 1, false, true});
        check_dft(&(struct plan){n + 1, 0, 2, true, true});
    }
    check_dft(&(struct plan){37, 0, 2, true, false});
}

static void signals_are_padded_and_cut(void **state)
{
    (void)state;
    for (int64_t length = 1; length <= 12; length++) {
        check_dft(&(struct plan){6, length, 1, false, false});
        check_dft(&(struct plan){6, length, 1, false, true});
        check_dft(&(struct plan){6, length, 2, true, false});
        if (length <= 10) { /* the sum of the test knows no spectrum that is too short */
            check_dft(&(struct plan){6, length, 2, true, true});
        }
    }
}

static void sixteen_bits_are_rounded_once(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32};
    for (int k = 0; k < 3; k++) {
        struct op_test t;
        op_open(&t, "", "DFT", 20);
        op_in(&t, types[k], OP_DIMS(1, 4, 1), OP_VALUES(1, 2, 3, 4));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(1, 4, 2), OP_VALUES(10, 0, -2, 2, -2, 0, -2, -2), 1e-7);
        op_close(&t);
    }
}

/* [2, 11, channels], or [2, 11] when there are none, in frames of 5 every 3 samples. */
static void check_stft(int said, bool onesided, bool windowed, bool length)
{
    static double x[MOST], window[5], wanted[MOST], row[2 * MOST];
    const int channels = said ? said : 1;
    const int64_t n = 5, step = 3, frames = (11 - n) / step + 1, bins = onesided ? n / 2 + 1 : n;
    for (int64_t i = 0; i < 22 * channels; i++) {
        x[i] = sample(i);
    }
    for (int64_t k = 0; k < n; k++) {
        window[k] = windowed ? 0.25 + (double)k : 1;
    }
    for (int64_t f = 0; f < 2 * frames; f++) {
        memset(row, 0, sizeof row);
        for (int64_t k = 0; k < n; k++) {
            for (int c = 0; c < channels; c++) {
                row[2 * k + c] = x[(f / frames * 11 + f % frames * step + k) * channels + c] * window[k];
            }
        }
        for (int64_t j = 0; j < bins; j++) {
            naive(n, n, false, row, j, wanted + (f * bins + j) * 2);
        }
    }
    struct op_test t;
    op_open(&t, "", "STFT", 17);
    op_int(&t, "onesided", onesided);
    op_in(&t, SC_F64, said ? 3 : 2, (const int64_t[]){2, 11, said}, x);
    op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(3));
    if (windowed) {
        op_in(&t, SC_F64, OP_DIMS(5), window);
    } else {
        op_in_absent(&t);
    }
    if (length) {
        op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(5));
    }
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, frames, bins, 2), wanted, 1e-12);
    op_close(&t);
}

static void frames_are_windowed_and_transformed(void **state)
{
    (void)state;
    for (int ways = 0; ways < 8; ways++) {
        const bool windowed = ways & 1, complex = ways & 2, length = ways & 4;
        if (windowed || length) {
            check_stft(complex ? 2 : 1, !complex, windowed, length);
            check_stft(complex ? 2 : 1, false, windowed, length);
        }
    }
}

static void real_signals_without_a_last_dim_are_taken_too(void **state)
{
    (void)state;
    check_stft(0, true, true, true);
    check_stft(0, false, false, true);
}

static void threads_share_rows_out(void **state)
{
    (void)state;
    enum { ROWS = 500, N = 48 };
    static double x[ROWS * N], wanted[ROWS * N * 2];
    for (int r = 0; r < ROWS; r++) {
        x[r * N] = r; /* an impulse is flat */
        for (int k = 0; k < N; k++) {
            wanted[2 * (r * N + k)] = r;
        }
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "DFT", 20);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(ROWS, N, 1), x);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(ROWS, N, 2), wanted, 1e-10);
    op_close(&t);
    sc_team_free(team);
}

static void dft_fails(int64_t channels, int64_t length, int64_t axis, enum sc_status code, const char *text)
{
    static double x[MOST];
    struct op_test t;
    op_open(&t, "", "DFT", 20);
    op_int(&t, "onesided", 1);
    op_in(&t, SC_F64, OP_DIMS(1, 4, channels), x);
    op_in_raw(&t, SC_I64, OP_SCALAR, &length);
    op_in_raw(&t, SC_I64, OP_SCALAR, &axis);
    op_fails(&t, 1, code, text);
    op_close(&t);
}

static void what_cannot_be_transformed_is_refused(void **state)
{
    (void)state;
    dft_fails(
        2, 4, 1, SC_BAD_INPUT, "node 'n' (DFT): the last dim of input is 2, want 1, as onesided needs a real signal");
    dft_fails(
        3, 4, 1, SC_BAD_INPUT, "node 'n' (DFT): the last dim of input is 3, want 1, as onesided needs a real signal");
    dft_fails(1, 0, 1, SC_BAD_INPUT, "node 'n' (DFT): a transform has 0 samples, want 1 or more");
    dft_fails(1, -3, 1, SC_BAD_INPUT, "node 'n' (DFT): a transform has -3 samples, want 1 or more");
    dft_fails(1, 4, -1, SC_BAD_INPUT, "node 'n' (DFT): axis 2 is that of the complex numbers");
    dft_fails(1, 4, 3, SC_BAD_MODEL, "node 'n' (DFT): axis is 3, want one in [-3, 3)");
}

static void stft_fails(int64_t step, int64_t window, int64_t length, int64_t channels, const char *text)
{
    static double x[MOST];
    struct op_test t;
    op_open(&t, "", "STFT", 17);
    op_in(&t, SC_F32, OP_DIMS(1, 8, channels), x);
    op_in_raw(&t, SC_I64, OP_SCALAR, &step);
    op_in(&t, SC_F32, OP_DIMS(window), x);
    op_in_raw(&t, SC_I64, OP_SCALAR, &length);
    op_fails(&t, 1, SC_BAD_INPUT, text);
    op_close(&t);
}

static void frames_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    stft_fails(0, 4, 4, 1, "node 'n' (STFT): frame_step is 0, want 1 or more");
    stft_fails(1, 9, 9, 1, "node 'n' (STFT): frames of 9 samples do not fit a signal of 8");
    stft_fails(1, 4, 0, 1, "node 'n' (STFT): frames of 0 samples do not fit a signal of 8");
    stft_fails(1, 4, 5, 1, "node 'n' (STFT): window has shape [4], want [5]");
    stft_fails(1, 4, 4, 2, "node 'n' (STFT): the last dim of signal is 2, want 1, as onesided needs a real signal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_agrees_with_the_sum),
        cmocka_unit_test(signals_are_padded_and_cut),
        cmocka_unit_test(sixteen_bits_are_rounded_once),
        cmocka_unit_test(frames_are_windowed_and_transformed),
        cmocka_unit_test(real_signals_without_a_last_dim_are_taken_too),
        cmocka_unit_test(threads_share_rows_out),
        cmocka_unit_test(what_cannot_be_transformed_is_refused),
        cmocka_unit_test(frames_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
