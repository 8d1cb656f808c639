/* SPDX-License-Identifier: Apache-2.0
 * A byte-level decoder needs only the bytes of a character that is not whole yet. Other decoders look at neighbours:
 * there the ids since the last text are decoded with those of the last text before them, and what is new is given out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"
#include "text/bytelevel.h"
#include "text/tokenizer_parts.h"

enum { MAX_PENDING = 32 }; /* after so many ids without a whole character they are given out as they are */

struct sc_tokenizer_stream {
    struct sc_tokenizer *tokenizer;
    bool skip_special;
    struct sc_arena arena; /* of one call */
    char rest[4]; /* byte-level: the start of a character */
    size_t n_rest;
    int64_t ids[2 * MAX_PENDING]; /* others: n_said ids whose text is out, then the pending ones */
    size_t n_said;
    size_t n;
};

enum sc_status sc_tokenizer_stream_create(
    struct sc_tokenizer *tokenizer, bool skip_special, struct sc_tokenizer_stream **stream)
{
    struct sc_tokenizer_stream *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a stream of tokens");
    }
    made->tokenizer = tokenizer;
    made->skip_special = skip_special;
    *stream = made;
    return SC_OK;
}

void sc_tokenizer_stream_free(struct sc_tokenizer_stream *stream)
{
    if (stream != NULL) {
        sc_arena_release(&stream->arena);
        free(stream);
    }
}

/* Gives out the whole characters of the rest and `token` together; at the end (`last`) all of it. */
static enum sc_status say_bytes(struct sc_tokenizer_stream *stream, const char *token, size_t token_bytes, bool last,
    const char **text, size_t *bytes)
{
    char *const raw = sc_arena_alloc(&stream->arena, stream->n_rest + token_bytes + 1);
    if (raw == NULL) {
        return SC_NO_MEMORY;
    }
    memcpy(raw, stream->rest, stream->n_rest);
    const size_t n = stream->n_rest + sc_bytelevel_read(token, token_bytes, raw + stream->n_rest);
    char *whole;
    size_t consumed;
    SC_TRY(sc_utf8_repair(raw, n, last, &stream->arena, &whole, bytes, &consumed));
    stream->n_rest = n - consumed;
    memcpy(stream->rest, raw + consumed, stream->n_rest);
    *text = whole;
    return SC_OK;
}

static bool ends_in_mark(const char *text, size_t bytes)
{
    return bytes >= 3 && memcmp(text + bytes - 3, "\xef\xbf\xbd", 3) == 0;
}

/* The length of what both begin with, in whole characters. */
static size_t common_start(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const size_t n = a_bytes < b_bytes ? a_bytes : b_bytes;
    size_t same = 0;
    while (same < n && a[same] == b[same]) {
        same++;
    }
    while (same > 0 && same < b_bytes && ((unsigned char)b[same] & 0xc0) == 0x80) {
        same--;
    }
    return same;
}

/* Gives out what the pending ids add to the text of those before them, once it ends in a whole character. */
static enum sc_status say_difference(struct sc_tokenizer_stream *stream, bool last, const char **text, size_t *bytes)
{
    char *before;
    char *whole;
    size_t before_bytes;
    size_t whole_bytes;
    SC_TRY(sc_tokenizer_decode(
        stream->tokenizer, stream->ids, stream->n_said, false, &stream->arena, &before, &before_bytes));
    SC_TRY(sc_tokenizer_decode(stream->tokenizer, stream->ids, stream->n, false, &stream->arena, &whole, &whole_bytes));
    const size_t n_pending = stream->n - stream->n_said;
    if (!last && n_pending < MAX_PENDING && (ends_in_mark(whole, whole_bytes) || whole_bytes <= before_bytes)) {
        *text = "";
        *bytes = 0;
        return SC_OK;
    }
    const size_t same = common_start(before, before_bytes, whole, whole_bytes);
    *text = whole + same;
    *bytes = whole_bytes - same;
    memmove(stream->ids, stream->ids + stream->n_said, n_pending * sizeof stream->ids[0]);
    stream->n_said = n_pending;
    stream->n = n_pending;
    return SC_OK;
}

enum sc_status sc_tokenizer_stream_push(
    struct sc_tokenizer_stream *stream, int64_t id, const char **text, size_t *bytes)
{
    sc_arena_reset(&stream->arena);
    size_t token_bytes = 0;
    const char *const token = sc_tokenizer_token(stream->tokenizer, id, &token_bytes);
    if (token == NULL || (stream->skip_special && sc_tokenizer_is_special(stream->tokenizer, id))) {
        *text = "";
        *bytes = 0;
        return SC_OK;
    }
    if (stream->tokenizer->decoder.is_bytes) {
        return say_bytes(stream, token, token_bytes, false, text, bytes);
    }
    stream->ids[stream->n++] = id;
    return say_difference(stream, false, text, bytes);
}

enum sc_status sc_tokenizer_stream_finish(struct sc_tokenizer_stream *stream, const char **text, size_t *bytes)
{
    sc_arena_reset(&stream->arena);
    SC_TRY(stream->tokenizer->decoder.is_bytes ? say_bytes(stream, "", 0, true, text, bytes)
                                               : say_difference(stream, true, text, bytes));
    stream->n_rest = 0;
    stream->n_said = 0;
    stream->n = 0;
    return SC_OK;
}
