/* SPDX-License-Identifier: Apache-2.0
 * SentencePiece's table of characters and what they become. */
#ifndef SC_TEXT_PRECOMPILED_H
#define SC_TEXT_PRECOMPILED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

/* A trie of characters and runs of them, as a double array, and the texts that they become. In an arena. */
struct sc_precompiled {
    const uint32_t *units;
    size_t n_units;
    const char *texts; /* each ends with a zero */
    size_t texts_bytes;
};

/* node: the normalizer of the file; its precompiled_charsmap is base64, or null for none. */
enum sc_status sc_precompiled_read(const struct sc_json *node, struct sc_arena *arena, struct sc_precompiled *table);

/* Valid UTF-8 in and out; the output is in the arena. */
enum sc_status sc_precompiled_run(const struct sc_precompiled *table, const char *text, size_t bytes,
    struct sc_arena *arena, const char **normal, size_t *normal_bytes);

#endif
