/* SPDX-License-Identifier: Apache-2.0
 * Every choice comes from the draw alone, so that a seed is a whole test case. */
#include "tests/hostile/mutate.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/varint.h"

uint64_t sc_draw(struct sc_draw *draw)
{
    uint64_t z = draw->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t sc_draw_below(struct sc_draw *draw, size_t n)
{
    return (size_t)(sc_draw(draw) % n);
}

int64_t sc_draw_number(struct sc_draw *draw)
{
    static const int64_t edges[] = {INT32_MAX, INT32_MIN, INT64_C(1) << 31, INT64_C(1) << 32, UINT32_MAX,
        INT64_C(1) << 62, INT64_MAX, INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 40), 255, 256, 65536};
    if (sc_draw_below(draw, 3) > 0) {
        return (int64_t)sc_draw_below(draw, 10) - 3;
    }
    return edges[sc_draw_below(draw, sizeof edges / sizeof *edges)];
}

struct bytes {
    unsigned char *data;
    size_t n, room;
};

static void put(struct bytes *to, const void *data, size_t n)
{
    if (to->n + n + 1 > to->room) {
        to->room = 2 * to->room + n + 64;
        to->data = realloc(to->data, to->room);
        if (!to->data) {
            abort();
        }
    }
    if (n > 0) {
        memcpy(to->data + to->n, data, n);
    }
    to->n += n;
    to->data[to->n] = '\0';
}

static void damage(struct sc_draw *draw, struct bytes *b)
{
    const size_t at = sc_draw_below(draw, b->n), most = b->n - at < 16 ? b->n - at : 16;
    const size_t n = 1 + sc_draw_below(draw, most);
    const unsigned char value = (unsigned char)sc_draw(draw);
    unsigned char piece[16];
    switch (sc_draw_below(draw, 8)) {
    case 0:
    case 1:
        b->data[at] ^= (unsigned char)(1u << value % 8);
        break;
    case 2:
        b->data[at] = value;
        break;
    case 3: /* an end or a beginning of a number */
        b->data[at] = value % 2 ? 0xff : 0x80;
        break;
    case 4:
        b->n = at;
        break;
    case 5: /* a piece goes */
        memmove(b->data + at, b->data + at + n, b->n - at - n);
        b->n -= n;
        break;
    case 6: { /* a piece comes again somewhere else */
        memcpy(piece, b->data + sc_draw_below(draw, b->n - n + 1), n);
        memcpy(b->data + at, piece, n);
        break;
    }
    default: { /* or is put in between */
        memcpy(piece, b->data + at, n);
        put(b, piece, n);
        memmove(b->data + at + n, b->data + at, b->n - n - at);
        memcpy(b->data + at, piece, n);
    }
    }
}

unsigned char *sc_mutate_bytes(struct sc_draw *draw, const unsigned char *data, size_t bytes, size_t *n)
{
    struct bytes b = {0};
    put(&b, data, bytes);
    for (size_t times = 1 + sc_draw_below(draw, 4); times > 0 && b.n > 0; times--) {
        damage(draw, &b);
    }
    b.data[b.n] = '\0';
    *n = b.n;
    return b.data;
}

static void put_varint(struct bytes *to, uint64_t value)
{
    unsigned char bytes[10];
    put(to, bytes, sc_varint_write(bytes, value));
}

/* One field as it lies in a message: [key][content], content with its own length where it has one. */
struct field {
    uint64_t key, value; /* value: of a varint, or the length */
    const unsigned char *start, *content;
    size_t content_bytes, whole_bytes;
};

static size_t read_field(const unsigned char *data, size_t bytes, struct field *field)
{
    const size_t key = sc_varint_read(data, bytes, &field->key);
    field->start = data;
    field->content_bytes = 0;
    if (key == 0 || field->key >> 3 == 0) {
        return 0;
    }
    size_t value = 0;
    switch (field->key & 7) {
    case SC_WIRE_VARINT:
        value = sc_varint_read(data + key, bytes - key, &field->value);
        if (value == 0) {
            return 0;
        }
        break;
    case SC_WIRE_64:
        value = 8;
        break;
    case SC_WIRE_32:
        value = 4;
        break;
    case SC_WIRE_BYTES:
        value = sc_varint_read(data + key, bytes - key, &field->value);
        if (value == 0 || field->value > bytes - key - value) {
            return 0;
        }
        field->content = data + key + value;
        field->content_bytes = (size_t)field->value;
        value += field->content_bytes;
        break;
    default:
        return 0;
    }
    field->whole_bytes = key + value;
    return key + value <= bytes ? key + value : 0;
}

/* Fields of what reads as a message; 0: it does not. */
static size_t count_fields(const unsigned char *data, size_t bytes)
{
    size_t n = 0;
    for (size_t at = 0; at < bytes; n++) {
        struct field field;
        const size_t step = read_field(data + at, bytes - at, &field);
        if (step == 0) {
            return 0;
        }
        at += step;
    }
    return n;
}

static void rewrite(struct sc_draw *draw, const unsigned char *data, size_t bytes, int depth, struct bytes *to);

static void change_field(struct sc_draw *draw, const struct field *field, int depth, struct bytes *to)
{
    const unsigned wire = (unsigned)(field->key & 7);
    const bool deeper = wire == SC_WIRE_BYTES && depth < 8 && count_fields(field->content, field->content_bytes) > 0;
    if (deeper && sc_draw_below(draw, 5) > 0) {
        struct bytes inner = {0};
        rewrite(draw, field->content, field->content_bytes, depth + 1, &inner);
        put_varint(to, field->key);
        put_varint(to, inner.n);
        put(to, inner.data, inner.n);
        free(inner.data);
        return;
    }
    switch (sc_draw_below(draw, 5)) {
    case 0: /* dropped */
        return;
    case 1: /* repeated */
        put(to, field->start, field->whole_bytes);
        put(to, field->start, field->whole_bytes);
        return;
    case 2: /* under another number */
        put_varint(to, (1 + sc_draw_below(draw, 30)) << 3 | wire);
        put(to, field->start + 1, field->whole_bytes - 1);
        return;
    default:
        break;
    }
    put_varint(to, field->key);
    if (wire == SC_WIRE_VARINT) {
        put_varint(to, (uint64_t)sc_draw_number(draw));
    } else if (wire == SC_WIRE_BYTES) {
        size_t n = 0;
        unsigned char *content = sc_mutate_bytes(draw, field->content, field->content_bytes, &n);
        put_varint(to, n);
        put(to, content, n);
        free(content);
    } else {
        const uint64_t value = (uint64_t)sc_draw_number(draw);
        put(to, &value, wire == SC_WIRE_64 ? 8 : 4);
    }
}

/* Copies a message with one or a few of its fields changed. */
static void rewrite(struct sc_draw *draw, const unsigned char *data, size_t bytes, int depth, struct bytes *to)
{
    const size_t n = count_fields(data, bytes);
    const size_t chosen = n > 0 ? sc_draw_below(draw, n) : 0;
    size_t at = 0;
    for (size_t f = 0; f < n; f++) {
        struct field field;
        at += read_field(data + at, bytes - at, &field);
        if (f == chosen || sc_draw_below(draw, 64) == 0) {
            change_field(draw, &field, depth, to);
        } else {
            put(to, field.start, field.whole_bytes);
        }
    }
}

unsigned char *sc_mutate_message(struct sc_draw *draw, const unsigned char *data, size_t bytes, size_t *n)
{
    struct bytes to = {0};
    rewrite(draw, data, bytes, 0, &to);
    put(&to, "", 0);
    *n = to.n;
    return to.data;
}

/* The k-th word of the text. */
static size_t find_word(const char *text, const char *marks, size_t k, size_t *length)
{
    size_t at = 0;
    for (;;) {
        at += strspn(text + at, marks);
        *length = strcspn(text + at, marks);
        if (k-- == 0 || *length == 0) {
            return at;
        }
        at += *length;
    }
}

static size_t count_words(const char *text, const char *marks)
{
    size_t n = 0, at = strspn(text, marks);
    while (text[at]) {
        n++;
        at += strcspn(text + at, marks);
        at += strspn(text + at, marks);
    }
    return n;
}

static char *replace(char *text, size_t at, size_t length, const char *by, size_t by_length)
{
    struct bytes to = {0};
    put(&to, text, at);
    put(&to, by, by_length);
    put(&to, text + at + length, strlen(text + at + length));
    free(text);
    return (char *)to.data;
}

static char *change_word(struct sc_draw *draw, char *text, const char *marks)
{
    const size_t n = count_words(text, marks);
    if (n == 0) {
        return text;
    }
    size_t length, other_length;
    const size_t at = find_word(text, marks, sc_draw_below(draw, n), &length);
    char number[32];
    if (sc_draw_below(draw, 3) == 0) {
        const int digits = snprintf(number, sizeof number, "%" PRId64, sc_draw_number(draw));
        return replace(text, at, length, number, (size_t)digits);
    }
    const size_t other = find_word(text, marks, sc_draw_below(draw, n), &other_length);
    char *copy = strndup(text + other, other_length);
    if (!copy) {
        abort();
    }
    text = replace(text, at, length, copy, other_length);
    free(copy);
    return text;
}

static char *change_line(struct sc_draw *draw, char *text)
{
    const size_t n = count_words(text, "\n");
    if (n == 0) {
        return text;
    }
    size_t length, other_length;
    const size_t at = find_word(text, "\n", sc_draw_below(draw, n), &length);
    if (sc_draw_below(draw, 2) == 0) {
        return replace(text, at, length, "", 0);
    }
    const size_t other = find_word(text, "\n", sc_draw_below(draw, n), &other_length);
    char *copy = strndup(text + other, other_length + 1);
    if (!copy) {
        abort();
    }
    text = replace(text, at, 0, copy, strlen(copy));
    free(copy);
    return text;
}

char *sc_mutate_text(struct sc_draw *draw, const char *text, const char *marks)
{
    char *changed = strdup(text);
    if (!changed) {
        abort();
    }
    for (size_t times = 1 + sc_draw_below(draw, 3); times > 0; times--) {
        changed = sc_draw_below(draw, 6) > 0 ? change_word(draw, changed, marks) : change_line(draw, changed);
    }
    return changed;
}
