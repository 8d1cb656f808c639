/* SPDX-License-Identifier: Apache-2.0
 * Bytes 33-126, 161-172 and 174-255 are themselves; the gaps before, between and after are counted from U+0100. */
#include "text/bytelevel.h"

#include <string.h>

#include "base/unicode.h"
#include "text/pieces.h"

uint32_t sc_bytelevel_character(unsigned char byte)
{
    if (byte <= 32) {
        return 256u + byte;
    }
    if (byte >= 127 && byte <= 160) {
        return 256u + 33u + (byte - 127u);
    }
    return byte == 173 ? 256u + 67u : byte;
}

int sc_bytelevel_byte(uint32_t character)
{
    if (character >= 256) {
        const uint32_t n = character - 256;
        return n <= 32 ? (int)n : n <= 66 ? (int)(n - 33 + 127) : n == 67 ? 173 : -1;
    }
    return sc_bytelevel_character((unsigned char)character) == character ? (int)character : -1;
}

enum sc_status sc_bytelevel_spell(
    const char *text, size_t bytes, struct sc_arena *arena, const char **spelled, size_t *spelled_bytes)
{
    if (bytes > SC_MAX_TEXT) {
        return sc_fail(SC_LIMIT, "a text of %zu bytes, at most %d are supported", bytes, SC_MAX_TEXT);
    }
    char *const out = sc_arena_alloc(arena, 2 * bytes + 4);
    if (out == NULL) {
        return SC_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        n += sc_utf8_encode(sc_bytelevel_character((unsigned char)text[i]), out + n);
    }
    *spelled = out;
    *spelled_bytes = n;
    return SC_OK;
}

size_t sc_bytelevel_read(const char *token, size_t bytes, char *out)
{
    size_t n = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t character;
        at += sc_utf8_decode(token + at, &character);
        const int byte = sc_bytelevel_byte(character);
        if (byte < 0) {
            memcpy(out, token, bytes);
            return bytes;
        }
        out[n++] = (char)byte;
    }
    return n;
}
