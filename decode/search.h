/* SPDX-License-Identifier: Apache-2.0
 * How the file beside a model says that text is drawn. */
#ifndef SC_DECODE_SEARCH_H
#define SC_DECODE_SEARCH_H

#include "base/arena.h"
#include "decode/sample.h"

/* Plain data, so that rank 0 can send it. */
struct sc_search {
    bool found; /* there is such a file, and it speaks of search: all else counts then */
    int64_t context; /* the fewer of model.context_length and search.max_length; 0: neither is there */
    struct sc_sample_options sample; /* temperature 0 unless do_sample */
};

/* Reads folder/genai_config.json; SC_OK with found false when there is none. Fails with SC_UNSUPPORTED for what would
 * give another text than the file asks for, such as more than one beam, naming it; SC_BAD_MODEL for numbers out of range
 * and for what is no JSON. */
enum sc_status sc_search_read(const char *folder, struct sc_arena *arena, struct sc_search *search);

#endif
