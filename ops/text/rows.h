/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_TEXT_ROWS_H
#define SC_OPS_TEXT_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_text_strings[];
extern const struct sc_op sc_ops_text_tfidf[];
extern const struct sc_op sc_ops_text_tokenizer[];

#endif
