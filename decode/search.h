/* SPDX-License-Identifier: Apache-2.0
 * How the files beside a model say that text is drawn. */
#ifndef SC_DECODE_SEARCH_H
#define SC_DECODE_SEARCH_H

#include "base/arena.h"
#include "decode/request.h"

/* Plain data, so that rank 0 can send it. */
struct sc_search {
    bool found; /* a file speaks of search: all else counts then */
    int64_t
        context; /* genai_config.json: the fewer of model.context_length and search.max_length; 0: neither is there */
    int64_t max_length, max_new; /* else: tokens of a text, with what it begins with or without; 0: not said */
    int64_t forced_eos; /* the last token of a text of that length; -1: any */
    struct sc_sample_options sample; /* temperature 0 unless do_sample */
};

/* Reads search in folder/genai_config.json; without that generation_config.json or, as there is none, config.json.
 * SC_OK with found false when none speaks of it. one_beam: their num_beams counts as 1. *ignored: one line on what they
 * ask for that is not done, in the arena; NULL: nothing. Fails with SC_UNSUPPORTED for more than one beam, SC_BAD_MODEL
 * for what is no number or out of range and for what is no JSON, naming file and field. */
enum sc_status sc_search_read(
    const char *folder, bool one_beam, struct sc_arena *arena, struct sc_search *search, const char **ignored);

/* Once a request's prompt and what ends it are known: its n_predict, where that is negative, as the files say or else
 * `otherwise`; and what it is to end with. */
void sc_search_limit(const struct sc_search *search, int64_t otherwise, struct sc_request *request);

#endif
