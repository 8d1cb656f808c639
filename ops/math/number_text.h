/* SPDX-License-Identifier: Apache-2.0
 * Numbers as texts, the way Cast has them. */
#ifndef SC_OPS_MATH_NUMBER_TEXT_H
#define SC_OPS_MATH_NUMBER_TEXT_H

#include "tensor/tensor.h"

#define SC_NUMBER_TEXT_BYTES 32 /* of any number */

/* One element of a convertible type, rounded once. False when the text is no number; then nothing is written. */
bool sc_text_to_number(const struct sc_string *text, enum sc_type to, void *out, unsigned flags);

/* Shortest digits that read back as the same element; integers whole. Returns how many bytes, without the final 0. */
int sc_number_to_text(enum sc_type type, const void *element, char *text);

#endif
