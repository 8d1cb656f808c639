/* SPDX-License-Identifier: Apache-2.0
 * Text to token ids and back, as a tokenizer.json says. */
#ifndef SC_TEXT_TOKENIZER_H
#define SC_TEXT_TOKENIZER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* A loaded tokenizer. It holds scratch of its regular expressions and merges: one thread at a time.
 *
 *   text ─ added tokens ─ normalizers ─ pre-tokenizers ─ BPE ─ special tokens around ─► ids ─ decoders ─► text
 *
 * Source: the tokenizer.json of Hugging Face's tokenizers 0.23. */
struct sc_tokenizer;

/* Fails with SC_BAD_MODEL on a broken file, with SC_UNSUPPORTED on kinds that this program does not know, both naming
 * path and place. */
enum sc_status sc_tokenizer_load(const char *path, struct sc_tokenizer **tokenizer);

/* The same from text in memory; `what` stands for the path in messages. */
enum sc_status sc_tokenizer_parse(const char *text, size_t bytes, const char *what, struct sc_tokenizer **tokenizer);
void sc_tokenizer_free(struct sc_tokenizer *tokenizer);

/* Ids in the arena, beside scratch. add_special: with the tokens that the file puts around a text.
 * Fails with SC_BAD_INPUT when the text is not UTF-8, with SC_LIMIT when a regular expression takes too long on it. */
enum sc_status sc_tokenizer_encode(struct sc_tokenizer *tokenizer, const char *text, size_t bytes, bool add_special,
    struct sc_arena *arena, size_t *n, int64_t **ids);

/* NUL-terminated UTF-8 in the arena. Ids without a token say nothing; skip_special: nor do special tokens. */
enum sc_status sc_tokenizer_decode(struct sc_tokenizer *tokenizer, const int64_t *ids, size_t n, bool skip_special,
    struct sc_arena *arena, char **text, size_t *bytes);

/* One more than the largest id. */
int64_t sc_tokenizer_vocabulary_size(const struct sc_tokenizer *tokenizer);

/* The id of a token as the file spells it, or -1. */
int64_t sc_tokenizer_find(const struct sc_tokenizer *tokenizer, const char *token, size_t bytes);

/* The text of a token before decoders, or NULL. Borrowed. */
const char *sc_tokenizer_token(const struct sc_tokenizer *tokenizer, int64_t id, size_t *bytes);

bool sc_tokenizer_is_special(const struct sc_tokenizer *tokenizer, int64_t id);

/* Decoding as ids come: what is given out is whole characters, and all of it together is what sc_tokenizer_decode
 * says (with byte-fallback tokens: while they make valid UTF-8).
 *
 *   create ──► push (each gives the text that is certain now) ──► finish (the rest) ──► free, or push a new text
 *
 * Borrows the tokenizer. Texts are valid until the next call. */
struct sc_tokenizer_stream;

enum sc_status sc_tokenizer_stream_create(
    struct sc_tokenizer *tokenizer, bool skip_special, struct sc_tokenizer_stream **stream);
enum sc_status sc_tokenizer_stream_push(
    struct sc_tokenizer_stream *stream, int64_t id, const char **text, size_t *bytes);
enum sc_status sc_tokenizer_stream_finish(struct sc_tokenizer_stream *stream, const char **text, size_t *bytes);
void sc_tokenizer_stream_free(struct sc_tokenizer_stream *stream);

#endif
