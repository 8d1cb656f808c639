/* SPDX-License-Identifier: Apache-2.0
 * The table of merges of a BPE model, and how model and table are read (with bpe.h). */
#ifndef SC_TEXT_BPE_MERGES_H
#define SC_TEXT_BPE_MERGES_H

#include "text/bpe.h"

struct sc_merge {
    int32_t rank; /* lower merges first */
    int32_t id; /* what the pair becomes */
};

/* Whether the pair merges. Ids are of the vocabulary. */
bool sc_merge_find(const struct sc_bpe *bpe, int32_t left, int32_t right, struct sc_merge *merge);

#endif
