/* SPDX-License-Identifier: Apache-2.0
 * The special tokens around a text. */
#ifndef SC_TEXT_POSTPROCESS_H
#define SC_TEXT_POSTPROCESS_H

#include "base/json.h"
#include "text/vocabulary.h"

/* ids[0, n_before) go before the text, ids[n_before, n) after it. */
struct sc_surround {
    int64_t ids[64];
    size_t n_before;
    size_t n;
};

/* node: the "post_processor" of the file, or NULL. */
enum sc_status sc_surround_read(const struct sc_json *node, struct sc_surround *surround);

#endif
