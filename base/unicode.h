/* SPDX-License-Identifier: Apache-2.0
 * UTF-8 and what Unicode says about code points (utf8proc). */
#ifndef SC_BASE_UNICODE_H
#define SC_BASE_UNICODE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* Length of the longest valid start of text: `bytes` when all of it is UTF-8. NUL is a character like others. */
size_t sc_utf8_valid(const char *text, size_t bytes);

/* The first code point of valid, non-empty text; returns its length. */
size_t sc_utf8_decode(const char *text, uint32_t *code);

/* Returns the length, 1 to 4. */
size_t sc_utf8_encode(uint32_t code, char out[4]);

/* A copy in which each maximal part of a wrong sequence is one U+FFFD (Unicode 15, 3.9, table 3-8).
 *   whole: a sequence that is cut off at the end is wrong too; otherwise it is left out, and *consumed says where it
 *     begins.
 * The copy is NUL-terminated and in the arena. */
enum sc_status sc_utf8_repair(const char *text, size_t bytes, bool whole, struct sc_arena *arena, char **repaired,
    size_t *repaired_bytes, size_t *consumed);

enum sc_unicode_form { SC_UNICODE_NFC, SC_UNICODE_NFD, SC_UNICODE_NFKC, SC_UNICODE_NFKD };

/* Valid UTF-8 in, valid UTF-8 in the arena out. */
enum sc_status sc_unicode_normalize(enum sc_unicode_form form, const char *text, size_t bytes, struct sc_arena *arena,
    char **normal, size_t *normal_bytes);

/* Each code point by itself, as its full lower-case mapping. */
enum sc_status sc_unicode_lower(
    const char *text, size_t bytes, struct sc_arena *arena, char **lower, size_t *lower_bytes);

/* Each code point by itself, as its simple upper-case mapping. */
enum sc_status sc_unicode_upper(
    const char *text, size_t bytes, struct sc_arena *arena, char **upper, size_t *upper_bytes);

/* Bytes of the first extended grapheme cluster of valid, non-empty text (UAX 29). */
size_t sc_unicode_cluster(const char *text, size_t bytes);

bool sc_unicode_is_space(uint32_t code); /* White_Space */
bool sc_unicode_is_word(uint32_t code); /* \w of UTS 18: Alphabetic, M, Nd, Pc, Join_Control */
bool sc_unicode_is_number(uint32_t code); /* N */
bool sc_unicode_is_punctuation(uint32_t code); /* P */
bool sc_unicode_is_mark(uint32_t code); /* M */

#endif
