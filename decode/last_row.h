/* SPDX-License-Identifier: Apache-2.0
 * Logits of the last token alone. */
#ifndef SC_DECODE_LAST_ROW_H
#define SC_DECODE_LAST_ROW_H

#include "model/model.h"

/* Generation reads the logits of a chunk's last token: where they are one product, and what is done to each of its
 * elements, the product is made of that token's row alone. Each row has the bits it had. Any other graph stays as it
 * is.
 *
 *   x [1, n, width] ── MatMul(W) ── Tanh ── logits      becomes      x ── Gather(-1) ── MatMul(W) ── Tanh ── logits
 */
enum sc_status sc_decode_last_row(struct sc_model *model, int logits);

int sc_decode_find_logits(const struct sc_graph *graph); /* the output 'logits'; -1: there is none */

#endif
