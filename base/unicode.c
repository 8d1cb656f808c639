/* SPDX-License-Identifier: Apache-2.0
 * One step function knows what a right UTF-8 sequence is; everything else about text goes through it or utf8proc. */
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

enum step { STEP_VALID, STEP_WRONG, STEP_CUT };

/* Looks at one sequence: *length is that of the character, or of the maximal part that could have begun one. */
static enum step look(const unsigned char *text, size_t bytes, size_t *length)
{
    const unsigned char lead = text[0];
    *length = 1;
    if (lead < 0x80) {
        return STEP_VALID;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return STEP_WRONG;
    }
    const size_t n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    /* The second byte excludes long forms, surrogates and what is past U+10FFFF. */
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < n; i++) {
        if (i >= bytes) {
            return STEP_CUT;
        }
        if (text[i] < (i == 1 ? low : 0x80) || text[i] > (i == 1 ? high : 0xbf)) {
            return STEP_WRONG;
        }
        *length = i + 1;
    }
    return STEP_VALID;
}

size_t sc_utf8_valid(const char *text, size_t bytes)
{
    size_t at = 0;
    size_t length;
    while (at < bytes && look((const unsigned char *)text + at, bytes - at, &length) == STEP_VALID) {
        at += length;
    }
    return at;
}

size_t sc_utf8_decode(const char *text, uint32_t *code)
{
    const unsigned char *const b = (const unsigned char *)text;
    if (b[0] < 0x80) {
        *code = b[0];
        return 1;
    }
    if (b[0] < 0xe0) {
        *code = (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
        return 2;
    }
    if (b[0] < 0xf0) {
        *code = (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
        return 3;
    }
    *code = (b[0] & 0x07u) << 18 | (b[1] & 0x3fu) << 12 | (b[2] & 0x3fu) << 6 | (b[3] & 0x3fu);
    return 4;
}

size_t sc_utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

enum sc_status sc_utf8_repair(const char *text, size_t bytes, bool whole, struct sc_arena *arena, char **repaired,
    size_t *repaired_bytes, size_t *consumed)
{
    /* U+FFFD has three bytes and may stand for one. */
    char *const out = bytes > SIZE_MAX / 4 ? NULL : sc_arena_alloc(arena, 3 * bytes + 1);
    if (out == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a text of %zu bytes", bytes);
    }
    size_t at = 0;
    size_t n = 0;
    while (at < bytes) {
        size_t length;
        const enum step step = look((const unsigned char *)text + at, bytes - at, &length);
        if (step == STEP_CUT && !whole) {
            break;
        }
        if (step == STEP_VALID) {
            memcpy(out + n, text + at, length);
            n += length;
        } else {
            memcpy(out + n, "\xef\xbf\xbd", 3);
            n += 3;
        }
        at += length;
    }
    out[n] = '\0';
    *repaired = out;
    *repaired_bytes = n;
    *consumed = at;
    return SC_OK;
}

enum sc_status sc_unicode_normalize(enum sc_unicode_form form, const char *text, size_t bytes, struct sc_arena *arena,
    char **normal, size_t *normal_bytes)
{
    static const utf8proc_option_t options[] = {
        [SC_UNICODE_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [SC_UNICODE_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [SC_UNICODE_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [SC_UNICODE_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    utf8proc_uint8_t *mapped = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &mapped, options[form]);
    if (n < 0) {
        return sc_fail(
            n == UTF8PROC_ERROR_NOMEM ? SC_NO_MEMORY : SC_BAD_INPUT, "cannot normalise a text: %s", utf8proc_errmsg(n));
    }
    char *const copy = sc_arena_text(arena, (const char *)mapped, (size_t)n);
    free(mapped);
    if (copy == NULL) {
        return SC_NO_MEMORY;
    }
    *normal = copy;
    *normal_bytes = (size_t)n;
    return SC_OK;
}

/* Code points are mapped one by one, but for the one whose lower case is two. */
static enum sc_status change_case(
    const char *text, size_t bytes, struct sc_arena *arena, bool upper, char **changed, size_t *changed_bytes)
{
    /* No code point grows by more than one byte: two become three at most, as U+0130 and U+023A do in lower case, and
     * U+023F in upper case; U+00DF becomes U+1E9E. */
    char *const out = bytes > SIZE_MAX / 4 ? NULL : sc_arena_alloc(arena, 2 * bytes + 4);
    if (out == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a text of %zu bytes", bytes);
    }
    size_t n = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        at += sc_utf8_decode(text + at, &code);
        if (code == 0x130 && !upper) {
            memcpy(out + n, "i\xcc\x87", 3);
            n += 3;
        } else {
            const utf8proc_int32_t from = (utf8proc_int32_t)code;
            n += sc_utf8_encode((uint32_t)(upper ? utf8proc_toupper(from) : utf8proc_tolower(from)), out + n);
        }
    }
    out[n] = '\0';
    *changed = out;
    *changed_bytes = n;
    return SC_OK;
}

enum sc_status sc_unicode_lower(
    const char *text, size_t bytes, struct sc_arena *arena, char **lower, size_t *lower_bytes)
{
    return change_case(text, bytes, arena, false, lower, lower_bytes);
}

enum sc_status sc_unicode_upper(
    const char *text, size_t bytes, struct sc_arena *arena, char **upper, size_t *upper_bytes)
{
    return change_case(text, bytes, arena, true, upper, upper_bytes);
}

static utf8proc_category_t category(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code);
}

bool sc_unicode_is_space(uint32_t code)
{
    if ((code >= 0x09 && code <= 0x0d) || code == 0x85) {
        return true;
    }
    const utf8proc_category_t c = category(code);
    return c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

bool sc_unicode_is_mark(uint32_t code)
{
    const utf8proc_category_t c = category(code);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool sc_unicode_is_word(uint32_t code)
{
    switch (category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        break;
    }
    /* Join_Control, and the symbols that are Other_Alphabetic: circled and squared letters. */
    return code == 0x200c || code == 0x200d || (code >= 0x24b6 && code <= 0x24e9) ||
        (code >= 0x1f130 && code <= 0x1f149) || (code >= 0x1f150 && code <= 0x1f169) ||
        (code >= 0x1f170 && code <= 0x1f189);
}

bool sc_unicode_is_number(uint32_t code)
{
    const utf8proc_category_t c = category(code);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool sc_unicode_is_punctuation(uint32_t code)
{
    const utf8proc_category_t c = category(code);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

size_t sc_unicode_cluster(const char *text, size_t bytes)
{
    uint32_t before, next;
    utf8proc_int32_t state = 0;
    size_t length = sc_utf8_decode(text, &before);
    while (length < bytes) {
        const size_t more = sc_utf8_decode(text + length, &next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)next, &state)) {
            break;
        }
        before = next;
        length += more;
    }
    return length;
}
