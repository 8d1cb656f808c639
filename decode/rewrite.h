/* SPDX-License-Identifier: Apache-2.0
 * A decoder's graph, rewritten for how it is fed. */
#ifndef SC_DECODE_REWRITE_H
#define SC_DECODE_REWRITE_H

#include "model/model.h"
#include "runtime/state.h"

/* sc_passes_rewrite with what generation promises of inputs (one row, masks of ones, positions in order, caches that
 * start empty), then sc_pairs_find: caches that the file joins by Concat may have become paged ones. A model without
 * states is rewritten as it is. given: as in sc_pass_options. pairs are in the model's arena. Fails as both do. */
enum sc_status sc_decode_rewrite(struct sc_model *model, const bool *given, int *n, struct sc_state_pair **pairs);

/* Whether rows of several slots may be in one microbatch, one new token each: all states are paged, or constant
 * and read as caches, and each row of the logits is proven to be made of its own row alone. After sc_decode_rewrite. */
enum sc_status sc_decode_rows_apart(
    struct sc_model *model, int n_pairs, const struct sc_state_pair *pairs, int logits, bool *apart);

#endif
