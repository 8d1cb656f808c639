/* SPDX-License-Identifier: Apache-2.0
 * Products of rows and weights quantised in blocks, which stay codes in memory: panels of sixteen columns as the
 * kernels want them (struct sc_code_dot), made once where the weights are constant. */
#ifndef SC_OPS_QUANT_NBITS_H
#define SC_OPS_QUANT_NBITS_H

#include "ops/quant/blocks.h"

enum {
    SC_CODED_BLOCK = 1024, /* the longest block whose sums of products are exact as floats are made of them */
    SC_NBITS_PANEL = 16,
    SC_NBITS_COLUMNS = 64 /* at most, of a row that is put */
};

struct sc_nbits {
    const struct sc_kernels *kernels;
    int64_t M;
    const float *a; /* [M][blocks.width] */
    struct sc_blocks blocks; /* its rows are the columns of the product */
    bool grouped; /* blocks.groups is there when it runs */
    const uint8_t *packed; /* by sc_nbits_pack, and blocks has no content; NULL: blocks has it */
    void (*put)(void *arg, int64_t m, int64_t first, int64_t n, float *row); /* takes columns [first, first + n) */
    void *arg;
    void *scratch;
};

/* Panels with their codes, scales (as f32) and zero points, whatever k they belong to. Pack puts there what `blocks`
 * has of data, scales and zeros, and leaves alone what is NULL; all of it is zero before. */
size_t sc_nbits_packed_bytes(const struct sc_blocks *blocks);
void sc_nbits_pack(const struct sc_blocks *blocks, struct sc_team *team, uint8_t *packed);

/* Each row of A is rounded to 8 bits in the blocks of the weights, with a scale for each; a block's sum of products is
 * then a whole number, and a result one chain over blocks in order, whatever M. Zero points, if any, are U8. */
size_t sc_nbits_coded_scratch(const struct sc_nbits *nbits, int n_workers);
void sc_nbits_coded_run(const struct sc_nbits *nbits, struct sc_team *team);

/* Weights are widened to floats on the way; a result is one chain over k, as in every other product. */
size_t sc_nbits_wide_scratch(const struct sc_nbits *nbits, int n_workers);
void sc_nbits_wide_run(const struct sc_nbits *nbits, struct sc_team *team);

/* Panels from `first` on, n of them: packed, or packed here in a room of sc_nbits_room_bytes. */
size_t sc_nbits_room_bytes(const struct sc_nbits *nbits, int64_t n);
struct sc_code_panels sc_nbits_open(const struct sc_nbits *nbits, int64_t first, int64_t n, char *room);

#endif
