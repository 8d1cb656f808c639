/* SPDX-License-Identifier: Apache-2.0
 * The discrete Fourier transform of any length, in double. */
#ifndef SC_OPS_MATH_FFT_H
#define SC_OPS_MATH_FFT_H

#include <stddef.h>
#include <stdint.h>

/* What transforms of one length share. Memory is the caller's: sc_fft_table_bytes for all, sc_fft_work_bytes for each
 * transform that runs at a time; both grow with n. */
struct sc_fft {
    int64_t n; /* at least 1 */
    int64_t m; /* power of two: n itself, or what the convolution of another length needs */
    double *roots; /* exp(-2 pi i k / m) for k < m / 2 */
    double *chirp; /* exp(-pi i k k / n), n of them; not for powers of two */
    double *filter; /* transform of the inverse chirp, m of them; the same */
};

size_t sc_fft_table_bytes(int64_t n);
size_t sc_fft_work_bytes(int64_t n);
void sc_fft_init(struct sc_fft *fft, int64_t n, double *table);

/* x: n complex numbers, real and imaginary parts in turn; becomes sum over j of x[j] exp(-2 pi i j k / n). */
void sc_fft_run(const struct sc_fft *fft, double *x, double *work);

#endif
