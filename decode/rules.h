/* SPDX-License-Identifier: Apache-2.0
 * What a text so far says of its next token. */
#ifndef SC_DECODE_RULES_H
#define SC_DECODE_RULES_H

#include "decode/request.h"

/* Whether the token behind the first n_text of a request's text is under such a rule: its logits then come to rank 0,
 * which alone knows texts. */
bool sc_rules_ask(const struct sc_request *request, int64_t n_text);

/* Changes a row of logits [n_vocabulary] for it, in this order: what the text has (`seen`, by token; NULL: no penalty)
 * is penalised; all but the request's `among` are out; tokens that would repeat a run of the text and, of a text that
 * is too short, the ids that end it, are out. Source: transformers' repetition_penalty, no_repeat_ngram_size,
 * min_length, min_new_tokens. */
void sc_rules_apply(const struct sc_request *request, const int64_t *text, int64_t n_text, const bool *seen,
    int64_t n_vocabulary, float *row);

#endif
