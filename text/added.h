/* SPDX-License-Identifier: Apache-2.0
 * Added tokens: they are found in a text before anything else happens to it. */
#ifndef SC_TEXT_ADDED_H
#define SC_TEXT_ADDED_H

#include "text/normalize.h"
#include "text/pieces.h"
#include "text/vocabulary.h"

struct sc_added_token {
    const char *content; /* as searched for: normalised where `normalized` */
    size_t bytes;
    int64_t id;
    bool normalized; /* searched for in the normalised text */
    bool single_word; /* only where no word character touches it */
    bool lstrip; /* takes the white space before it */
    bool rstrip; /* and after it */
};

/* vocabulary: all added tokens, those that the model has too included. They are found as the file spells them; their
 * text is what they decode to, which is normalised where `normalized`. tokens[0, n_raw) are searched for in the raw
 * text, tokens[n_raw, n) in the normalised one; each part is sorted by content. Zeros: none. All of it lives in the
 * arena of the tokenizer. */
struct sc_added {
    struct sc_vocabulary vocabulary;
    struct sc_added_token *tokens;
    size_t n_raw;
    size_t n;
};

/* Reads "added_tokens"; `model` has the tokens of the model. Release also after a failure. */
enum sc_status sc_added_read(const struct sc_json *list, const struct sc_normalizer *normalizer, struct sc_arena *arena,
    const struct sc_vocabulary *model, struct sc_added *added);
void sc_added_release(struct sc_added *added);

/* Cuts a text into added tokens (leftmost, then longest) and normalised texts between. */
enum sc_status sc_added_cut(const struct sc_added *added, const struct sc_normalizer *normalizer, const char *text,
    size_t bytes, struct sc_pieces *pieces);

#endif
