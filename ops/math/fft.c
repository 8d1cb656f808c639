/* SPDX-License-Identifier: Apache-2.0
 * Powers of two by halves; other lengths as a convolution of such a length, after Bluestein, "A linear filtering
 * approach to the computation of discrete Fourier transform" (1970): 2jk = j² + k² - (k - j)². */
#include "ops/math/fft.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static int64_t convolution_length(int64_t n)
{
    int64_t m = 1;
    while (m < 2 * n) {
        m *= 2;
    }
    return m;
}

size_t sc_fft_table_bytes(int64_t n)
{
    const size_t m = (size_t)convolution_length(n);
    return (m + 2 * (size_t)n + 2 * m) * sizeof(double);
}

size_t sc_fft_work_bytes(int64_t n)
{
    return 2 * (size_t)convolution_length(n) * sizeof(double);
}

/* k's bits in reverse order change places. */
static void shuffle(double *x, int64_t m)
{
    for (int64_t k = 1, r = 0; k < m; k++) {
        int64_t bit = m / 2;
        for (; r & bit; bit /= 2) {
            r ^= bit;
        }
        r ^= bit;
        if (k < r) {
            const double re = x[2 * k], im = x[2 * k + 1];
            x[2 * k] = x[2 * r];
            x[2 * k + 1] = x[2 * r + 1];
            x[2 * r] = re;
            x[2 * r + 1] = im;
        }
    }
}

static void by_halves(const double *roots, double *x, int64_t m)
{
    shuffle(x, m);
    for (int64_t half = 1; half < m; half *= 2) {
        const int64_t stride = m / (2 * half);
        for (int64_t start = 0; start < m; start += 2 * half) {
            double *a = x + 2 * start, *b = a + 2 * half;
            for (int64_t k = 0; k < half; k++, a += 2, b += 2) {
                const double wr = roots[2 * k * stride], wi = roots[2 * k * stride + 1];
                const double re = b[0] * wr - b[1] * wi, im = b[0] * wi + b[1] * wr;
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

void sc_fft_init(struct sc_fft *fft, int64_t n, double *table)
{
    const bool power = (n & (n - 1)) == 0;
    *fft = (struct sc_fft){.n = n, .m = power ? n : convolution_length(n), .roots = table};
    const int64_t m = fft->m;
    for (int64_t k = 0; k < m / 2; k++) {
        const double angle = -2.0 * pi * (double)k / (double)m;
        fft->roots[2 * k] = cos(angle);
        fft->roots[2 * k + 1] = sin(angle);
    }
    if (power) {
        return;
    }
    fft->chirp = fft->roots + m;
    fft->filter = fft->chirp + 2 * n;
    for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) { /* k * k modulo 2 n */
        const double angle = -pi * (double)square / (double)n;
        fft->chirp[2 * k] = cos(angle);
        fft->chirp[2 * k + 1] = sin(angle);
    }
    memset(fft->filter, 0, 2 * (size_t)m * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        for (int side = 0; side < (k ? 2 : 1); side++) {
            double *to = fft->filter + 2 * (side ? m - k : k);
            to[0] = fft->chirp[2 * k];
            to[1] = -fft->chirp[2 * k + 1];
        }
    }
    by_halves(fft->roots, fft->filter, m);
}

static void multiply(const double *a, const double *b, double *product, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const double re = a[2 * k] * b[2 * k] - a[2 * k + 1] * b[2 * k + 1];
        product[2 * k + 1] = a[2 * k] * b[2 * k + 1] + a[2 * k + 1] * b[2 * k];
        product[2 * k] = re;
    }
}

void sc_fft_run(const struct sc_fft *fft, double *x, double *work)
{
    const int64_t m = fft->m;
    if (!fft->chirp) {
        by_halves(fft->roots, x, m);
        return;
    }
    memset(work + 2 * fft->n, 0, 2 * (size_t)(m - fft->n) * sizeof(double));
    multiply(x, fft->chirp, work, fft->n);
    by_halves(fft->roots, work, m);
    multiply(work, fft->filter, work, m);
    for (int64_t k = 0; k < m; k++) { /* back by the same transform: conjugate, divided by m */
        work[2 * k + 1] = -work[2 * k + 1];
    }
    by_halves(fft->roots, work, m);
    for (int64_t k = 0; k < fft->n; k++) {
        work[2 * k] /= (double)m;
        work[2 * k + 1] /= -(double)m;
    }
    multiply(work, fft->chirp, x, fft->n);
}
