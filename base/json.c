/* SPDX-License-Identifier: Apache-2.0
 * A node is jansson's json_t under another name, so nothing is copied and borrowing follows jansson's rules. */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const json_t *inner(const struct sc_json *node)
{
    return (const json_t *)(const void *)node;
}

static json_t *inner_mut(struct sc_json *node)
{
    return (json_t *)(void *)node;
}

static struct sc_json *outer(json_t *node)
{
    return (struct sc_json *)(void *)node;
}

enum sc_status sc_json_parse(const char *text, size_t bytes, const char *what, struct sc_json **root)
{
    json_error_t error;
    json_t *const parsed = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (parsed == NULL) {
        const bool memory = json_error_code(&error) == json_error_out_of_memory;
        return sc_fail(
            memory ? SC_NO_MEMORY : SC_BAD_INPUT, "%s:%d:%d: %s", what, error.line, error.column, error.text);
    }
    *root = outer(parsed);
    return SC_OK;
}

void sc_json_free(struct sc_json *root)
{
    json_decref(inner_mut(root));
}

const struct sc_json *sc_json_get(const struct sc_json *object, const char *key)
{
    return outer(json_object_get(inner(object), key));
}

const struct sc_json *sc_json_at(const struct sc_json *array, size_t index)
{
    return outer(json_array_get(inner(array), index));
}

size_t sc_json_size(const struct sc_json *array_or_object)
{
    const json_t *const node = inner(array_or_object);
    return json_is_array(node) ? json_array_size(node) : json_object_size(node);
}

bool sc_json_is_object(const struct sc_json *node)
{
    return json_is_object(inner(node));
}

bool sc_json_is_array(const struct sc_json *node)
{
    return json_is_array(inner(node));
}

bool sc_json_is_text(const struct sc_json *node)
{
    return json_is_string(inner(node));
}

bool sc_json_is_int(const struct sc_json *node)
{
    return json_is_integer(inner(node));
}

bool sc_json_is_null(const struct sc_json *node)
{
    return node == NULL || json_is_null(inner(node));
}

const char *sc_json_text(const struct sc_json *node, size_t *bytes)
{
    const char *const text = json_string_value(inner(node));
    if (bytes != NULL) {
        *bytes = json_string_length(inner(node));
    }
    return text;
}

int64_t sc_json_int(const struct sc_json *node, int64_t otherwise)
{
    const json_t *const number = inner(node);
    if (json_is_integer(number)) {
        return json_integer_value(number);
    }
    if (!json_is_real(number)) {
        return otherwise;
    }
    const double real = json_real_value(number);
    const bool whole = real >= -0x1p63 && real < 0x1p63 && floor(real) == real;
    return whole ? (int64_t)real : otherwise;
}

double sc_json_real(const struct sc_json *node, double otherwise)
{
    return json_is_number(inner(node)) ? json_number_value(inner(node)) : otherwise;
}

bool sc_json_bool(const struct sc_json *node, bool otherwise)
{
    return json_is_boolean(inner(node)) ? json_is_true(inner(node)) : otherwise;
}

enum sc_status sc_json_each(const struct sc_json *object,
    enum sc_status (*visit)(void *arg, const char *key, size_t key_bytes, const struct sc_json *value), void *arg)
{
    /* The iterator takes a plain pointer because it can also replace values, which is not done here. */
    json_t *const node = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(node); at != NULL; at = json_object_iter_next(node, at)) {
        const char *const key = json_object_iter_key(at);
        SC_TRY(visit(arg, key, strlen(key), outer(json_object_iter_value(at))));
    }
    return SC_OK;
}

static enum sc_status no_memory(void)
{
    return sc_fail(SC_NO_MEMORY, "out of memory: a JSON node");
}

/* Takes over `value`, NULL included. */
static enum sc_status add(struct sc_json *parent, const char *key, json_t *value)
{
    json_t *const node = inner_mut(parent);
    const int failed = key == NULL ? json_array_append_new(node, value) : json_object_set_new(node, key, value);
    return failed ? no_memory() : SC_OK;
}

enum sc_status sc_json_new(bool array, struct sc_json **root)
{
    json_t *const made = array ? json_array() : json_object();
    if (made == NULL) {
        return no_memory();
    }
    *root = outer(made);
    return SC_OK;
}

enum sc_status sc_json_add(struct sc_json *parent, const char *key, bool array, struct sc_json **child)
{
    json_t *const made = array ? json_array() : json_object();
    SC_TRY(add(parent, key, made));
    *child = outer(made);
    return SC_OK;
}

enum sc_status sc_json_add_text(struct sc_json *parent, const char *key, const char *text)
{
    return sc_json_add_bytes(parent, key, text, strlen(text));
}

enum sc_status sc_json_add_bytes(struct sc_json *parent, const char *key, const char *text, size_t bytes)
{
    json_t *value = json_stringn(text, bytes);
    if (value == NULL) {
        /* Paths need not be UTF-8, JSON has to be: the bytes that may be wrong are shown as '?'. */
        char *const ascii = malloc(bytes + 1);
        for (size_t i = 0; ascii != NULL && i < bytes; i++) {
            ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
        }
        value = ascii == NULL ? NULL : json_stringn(ascii, bytes);
        free(ascii);
    }
    return add(parent, key, value);
}

enum sc_status sc_json_add_int(struct sc_json *parent, const char *key, int64_t value)
{
    return add(parent, key, json_integer(value));
}

enum sc_status sc_json_add_real(struct sc_json *parent, const char *key, double value)
{
    return add(parent, key, isfinite(value) ? json_real(value) : json_null());
}

static char *print(const struct sc_json *root, size_t flags)
{
    char *const text = json_dumps(inner(root), flags);
    if (text == NULL) {
        (void)no_memory();
        return NULL;
    }
    const size_t length = strlen(text);
    char *const line = realloc(text, length + 2);
    if (line == NULL) {
        free(text);
        (void)no_memory();
        return NULL;
    }
    memcpy(line + length, "\n", 2);
    return line;
}

char *sc_json_print(const struct sc_json *root)
{
    return print(root, JSON_INDENT(2));
}

char *sc_json_print_line(const struct sc_json *root)
{
    return print(root, JSON_REAL_PRECISION(6));
}
