/* SPDX-License-Identifier: Apache-2.0
 * JSON documents (jansson). */
#ifndef SC_BASE_JSON_H
#define SC_BASE_JSON_H

#include <stdbool.h>

#include "base/error.h"

/* A document is a tree of nodes. sc_json_parse and sc_json_new give the root, which the caller frees; nodes inside are
 * borrowed. Reading functions take NULL for "not there" and pass it on, so that a path of look-ups needs one check at
 * its end. */
struct sc_json;

/* `what` names the source in messages. Nesting is bounded. Fails with SC_BAD_INPUT: "WHAT:LINE:COLUMN: why". */
enum sc_status sc_json_parse(const char *text, size_t bytes, const char *what, struct sc_json **root);
void sc_json_free(struct sc_json *root);

const struct sc_json *sc_json_get(const struct sc_json *object, const char *key);
const struct sc_json *sc_json_at(const struct sc_json *array, size_t index);
size_t sc_json_size(const struct sc_json *array_or_object); /* 0 for everything else */
bool sc_json_is_object(const struct sc_json *node);
bool sc_json_is_array(const struct sc_json *node);
bool sc_json_is_text(const struct sc_json *node);
bool sc_json_is_int(const struct sc_json *node);
bool sc_json_is_null(const struct sc_json *node); /* absent, too */

/* NULL or `otherwise` when the node is absent or of another kind. Numbers: integers and reals both. */
const char *sc_json_text(const struct sc_json *node, size_t *bytes);
int64_t sc_json_int(const struct sc_json *node, int64_t otherwise);
double sc_json_real(const struct sc_json *node, double otherwise);
bool sc_json_bool(const struct sc_json *node, bool otherwise);

/* Calls visit for each member in file order; stops at the first failure and returns it. */
enum sc_status sc_json_each(const struct sc_json *object,
    enum sc_status (*visit)(void *arg, const char *key, size_t key_bytes, const struct sc_json *value), void *arg);

/* Writing. Every adder takes a key for objects and NULL for arrays, and returns SC_NO_MEMORY when memory is out. */
enum sc_status sc_json_new(bool array, struct sc_json **root);
enum sc_status sc_json_add(struct sc_json *parent, const char *key, bool array, struct sc_json **child); /* borrowed */
enum sc_status sc_json_add_text(struct sc_json *parent, const char *key, const char *text);
enum sc_status sc_json_add_bytes(
    struct sc_json *parent, const char *key, const char *text, size_t bytes); /* NULs too */
enum sc_status sc_json_add_int(struct sc_json *parent, const char *key, int64_t value);
/* Not a number and infinities, which JSON lacks, are written as null. */
enum sc_status sc_json_add_real(struct sc_json *parent, const char *key, double value);

/* Indented text, ends with a newline; free() it. NULL when memory is out. */
char *sc_json_print(const struct sc_json *root);

/* The same in one line. */
char *sc_json_print_line(const struct sc_json *root);

#endif
