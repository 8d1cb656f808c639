/* SPDX-License-Identifier: Apache-2.0
 * The alphabet of byte-level BPE: every byte as one printable character. */
#ifndef SC_TEXT_BYTELEVEL_H
#define SC_TEXT_BYTELEVEL_H

#include "base/arena.h"
#include "base/error.h"

/* Printable Latin-1 characters stand for their bytes; the other 68 bytes are U+0100 and on, in order.
 * Source: bytes_to_unicode of GPT-2's encoder.py. */
uint32_t sc_bytelevel_character(unsigned char byte);

/* The byte of a character, or -1. */
int sc_bytelevel_byte(uint32_t character);

/* Each byte of text as its character. */
enum sc_status sc_bytelevel_spell(
    const char *text, size_t bytes, struct sc_arena *arena, const char **spelled, size_t *spelled_bytes);

/* The bytes of a token, written to `out` of at least `bytes` bytes; returns how many. A token with a character outside
 * the alphabet stands for its own bytes. */
size_t sc_bytelevel_read(const char *token, size_t bytes, char *out);

#endif
