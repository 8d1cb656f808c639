/* SPDX-License-Identifier: Apache-2.0
 * A cluster of characters of less than six bytes is looked up as a whole, else each of its characters is; of several
 * entries that begin a text the shortest counts. Units of the trie are those of the Darts-clone library: a label,
 * whether a value follows, and the distance to the children. Source: spm_precompiled, as Hugging Face's tokenizers 0.23
 * use it. */
#include "text/precompiled.h"

#include <stdbool.h>
#include <string.h>

#include "base/unicode.h"
#include "text/pieces.h"

enum { WHOLE_BYTES = 6 };

static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A'
        : c >= 'a' && c <= 'z'  ? c - 'a' + 26
        : c >= '0' && c <= '9'  ? c - '0' + 52
        : c == '+'              ? 62
        : c == '/'              ? 63
                                : -1;
}

/* Three bytes of each four digits; '=' only at the end. */
static enum sc_status decode_base64(
    const char *text, size_t length, struct sc_arena *arena, unsigned char **data, size_t *bytes)
{
    *bytes = 0;
    *data = sc_arena_alloc(arena, length / 4 * 3 + 4);
    if (*data == NULL) {
        return SC_NO_MEMORY;
    }
    uint32_t held = 0;
    size_t n_digits = 0, n_pads = 0;
    for (size_t i = 0; i < length; i++) {
        const int digit = base64_digit(text[i]);
        n_pads += text[i] == '=';
        if ((digit < 0 && text[i] != '=') || (digit >= 0 && n_pads > 0)) {
            return sc_fail(SC_BAD_MODEL, "normalizer Precompiled: character %zu of its table is not base64", i);
        }
        held = held << 6 | (uint32_t)(digit < 0 ? 0 : digit);
        if (++n_digits % 4 == 0) {
            for (int shift = 16; shift >= 0; shift -= 8) {
                (*data)[(*bytes)++] = (unsigned char)(held >> shift);
            }
        }
    }
    if (length % 4 != 0 || n_pads > 2) {
        return sc_fail(SC_BAD_MODEL, "normalizer Precompiled: its table of %zu characters is cut short", length);
    }
    *bytes -= n_pads;
    return SC_OK;
}

static uint32_t little_endian(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Bytes of the trie, the trie, the texts. */
static enum sc_status take_apart(
    const unsigned char *data, size_t bytes, struct sc_arena *arena, struct sc_precompiled *table)
{
    const size_t trie = bytes < 4 ? 0 : little_endian(data);
    if (bytes < 4 || trie % 4 != 0 || trie > bytes - 4) {
        return sc_fail(SC_BAD_MODEL, "normalizer Precompiled: its table of %zu bytes has a trie of %zu", bytes, trie);
    }
    uint32_t *const units = sc_arena_array(arena, trie / 4 + 1, sizeof *units);
    if (units == NULL) {
        return SC_NO_MEMORY;
    }
    for (size_t u = 0; u < trie / 4; u++) {
        units[u] = little_endian(data + 4 + 4 * u);
    }
    *table = (struct sc_precompiled){
        .units = units, .n_units = trie / 4, .texts = (const char *)data + 4 + trie, .texts_bytes = bytes - 4 - trie};
    return SC_OK;
}

enum sc_status sc_precompiled_read(const struct sc_json *node, struct sc_arena *arena, struct sc_precompiled *table)
{
    size_t length, bytes;
    unsigned char *data;
    const char *const text = sc_json_text(sc_json_get(node, "precompiled_charsmap"), &length);
    if (text == NULL || length == 0) {
        return SC_OK;
    }
    SC_TRY(decode_base64(text, length, arena, &data, &bytes));
    return take_apart(data, bytes, arena, table);
}

/* Where the children of a node lie, as a number to be combined with the node's place. */
static size_t distance(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

/* The place of the text that the shortest entry becomes; false: none begins the key. */
static bool find(const struct sc_precompiled *table, const char *key, size_t bytes, size_t *place)
{
    size_t at = table->n_units > 0 ? distance(table->units[0]) : 0;
    for (size_t i = 0; i < bytes && key[i] != '\0'; i++) {
        at ^= (unsigned char)key[i];
        if (at >= table->n_units || (table->units[at] & 0x800000ff) != (unsigned char)key[i]) {
            return false;
        }
        const bool has_value = table->units[at] >> 8 & 1;
        at ^= distance(table->units[at]);
        if (has_value) {
            *place = at < table->n_units ? table->units[at] & 0x7fffffff : SIZE_MAX;
            return true;
        }
    }
    return false;
}

struct output {
    struct sc_arena *arena;
    char *text;
    size_t bytes, capacity;
};

static enum sc_status append(struct output *out, const char *text, size_t bytes)
{
    if (bytes == 0) {
        return SC_OK;
    }
    if (bytes > out->capacity - out->bytes) {
        const size_t capacity = 2 * out->capacity + bytes + 64;
        if (capacity > SC_MAX_TEXT) {
            return sc_fail(SC_LIMIT, "a text grows past %d bytes when it is normalized", SC_MAX_TEXT);
        }
        char *const larger = sc_arena_alloc(out->arena, capacity);
        if (larger == NULL) {
            return SC_NO_MEMORY;
        }
        memcpy(larger, out->bytes > 0 ? out->text : "", out->bytes);
        out->text = larger;
        out->capacity = capacity;
    }
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += bytes;
    return SC_OK;
}

/* What the key becomes goes to the output. *found: an entry begins it. */
static enum sc_status transform(
    const struct sc_precompiled *table, const char *key, size_t bytes, struct output *out, bool *found)
{
    size_t place;
    *found = find(table, key, bytes, &place);
    if (!*found) {
        return SC_OK;
    }
    const size_t left = place < table->texts_bytes ? table->texts_bytes - place : 0;
    const char *const text = left > 0 ? table->texts + place : "";
    const char *const end = memchr(text, '\0', left);
    const size_t length = end != NULL ? (size_t)(end - text) : left;
    if (left == 0 || sc_utf8_valid(text, length) != length) {
        return sc_fail(SC_BAD_MODEL, "normalizer Precompiled: an entry of its table becomes no text");
    }
    return append(out, text, length);
}

static enum sc_status run_cluster(
    const struct sc_precompiled *table, const char *cluster, size_t bytes, struct output *out)
{
    bool found = false;
    uint32_t code;
    if (bytes < WHOLE_BYTES) {
        SC_TRY(transform(table, cluster, bytes, out, &found));
    }
    for (size_t at = 0; at < bytes && !found;) {
        const size_t length = sc_utf8_decode(cluster + at, &code);
        bool known;
        SC_TRY(transform(table, cluster + at, length, out, &known));
        SC_TRY(known ? SC_OK : append(out, cluster + at, length));
        at += length;
    }
    return SC_OK;
}

enum sc_status sc_precompiled_run(const struct sc_precompiled *table, const char *text, size_t bytes,
    struct sc_arena *arena, const char **normal, size_t *normal_bytes)
{
    struct output out = {.arena = arena};
    for (size_t at = 0; at < bytes;) {
        const size_t length = sc_unicode_cluster(text + at, bytes - at);
        SC_TRY(run_cluster(table, text + at, length, &out));
        at += length;
    }
    *normal = out.bytes > 0 ? out.text : "";
    *normal_bytes = out.bytes;
    return SC_OK;
}
