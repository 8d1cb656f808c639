/* SPDX-License-Identifier: Apache-2.0
 * Fields of configuration files. */
#ifndef SC_BASE_JSON_FIELD_H
#define SC_BASE_JSON_FIELD_H

#include "base/arena.h"
#include "base/json.h"

/* The members of one object of a file. A field that is absent or null leaves what it is read into as it was; one of
 * another kind, or less than `least`, fails with SC_BAD_MODEL: "'FILE': field 'GROUP.NAME' is ..., want ...". */
struct sc_fields {
    const char *path;
    const char *group; /* NULL: the file's outermost object */
    const struct sc_json *object; /* NULL: absent, so that all fields are */
};

/* The object `group` of the outermost one; NULL: that itself. */
enum sc_status sc_fields_open(
    const char *path, const struct sc_json *root, const char *group, struct sc_fields *fields);

enum sc_status sc_field_int(const struct sc_fields *fields, const char *name, int64_t least, int64_t *to);
enum sc_status sc_field_real(const struct sc_fields *fields, const char *name, double *to);
enum sc_status sc_field_bool(const struct sc_fields *fields, const char *name, bool *to);

/* Parses folder/name, of at most 16 MiB, which need not be there: *root is NULL then. *path names it, in the arena, as
 * does what is read; the caller frees *root. */
enum sc_status sc_fields_parse(
    const char *folder, const char *name, struct sc_arena *arena, const char **path, struct sc_json **root);

/* "a text", "a list", ... */
const char *sc_json_kind(const struct sc_json *node);

#endif
