/* SPDX-License-Identifier: Apache-2.0
 * Products of rows rounded to 8 bits and weights quantised in blocks. */
#ifndef SC_OPS_QUANT_NBITS_H
#define SC_OPS_QUANT_NBITS_H

#include "ops/quant/blocks.h"

enum { SC_CODED_BLOCK = 1024 }; /* the longest block whose sums of products are exact as floats are made of them */

/* Each row of A is rounded to 8 bits in the blocks of the weights, with a scale for each; a block's sum of products is
 * then a whole number, and a result one chain over blocks in order, whatever M. */
struct sc_nbits {
    const struct sc_kernels *kernels;
    int64_t M;
    const float *a; /* [M][blocks.width] */
    struct sc_blocks blocks; /* zeros, if any, are U8 */
    void (*put)(void *arg, int64_t m, int64_t first, int64_t n, float *row); /* takes columns [first, first + n) */
    void *arg;
    void *scratch; /* sc_nbits_scratch_bytes */
};

size_t sc_nbits_scratch_bytes(const struct sc_nbits *nbits, int n_workers);
void sc_nbits_run(const struct sc_nbits *nbits, struct sc_team *team);

#endif
