/* SPDX-License-Identifier: Apache-2.0
 * A field that is not understood is refused: read as if it were absent, it would change the result in silence. */
#include "base/json_field.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_BYTES ((size_t)16 << 20)

const char *sc_json_kind(const struct sc_json *node)
{
    return sc_json_is_text(node)         ? "a text"
        : sc_json_is_array(node)         ? "a list"
        : sc_json_is_object(node)        ? "an object"
        : sc_json_is_null(node)          ? "null"
        : isnan(sc_json_real(node, NAN)) ? "true or false"
                                         : "a number";
}

static enum sc_status refuse(
    const struct sc_fields *fields, const char *name, const struct sc_json *value, const char *want)
{
    return sc_fail(SC_BAD_MODEL, "'%s': field '%s%s%s' is %s, want %s", fields->path,
        fields->group ? fields->group : "", fields->group ? "." : "", name, sc_json_kind(value), want);
}

enum sc_status sc_fields_parse(
    const char *folder, const char *name, struct sc_arena *arena, const char **path, struct sc_json **root)
{
    char *text;
    size_t bytes;
    *root = NULL;
    *path = sc_path_join(arena, folder, name);
    if (!*path || access(*path, F_OK) != 0) {
        return *path ? SC_OK : SC_NO_MEMORY;
    }
    SC_TRY(sc_file_read_text(*path, MAX_BYTES, arena, &text, &bytes));
    return sc_json_parse(text, bytes, *path, root);
}

enum sc_status sc_fields_open(const char *path, const struct sc_json *root, const char *group, struct sc_fields *fields)
{
    const struct sc_json *object = group ? sc_json_get(root, group) : root;
    *fields = (struct sc_fields){.path = path, .group = group, .object = sc_json_is_null(object) ? NULL : object};
    if (root && !sc_json_is_object(root)) {
        return sc_fail(SC_BAD_MODEL, "'%s' is %s, want an object", path, sc_json_kind(root));
    }
    if (fields->object && !sc_json_is_object(object)) {
        return sc_fail(SC_BAD_MODEL, "'%s': field '%s' is %s, want an object", path, group, sc_json_kind(object));
    }
    return SC_OK;
}

enum sc_status sc_field_int(const struct sc_fields *fields, const char *name, int64_t least, int64_t *to)
{
    const struct sc_json *value = sc_json_get(fields->object, name);
    const int64_t number = sc_json_int(value, 0);
    if (sc_json_is_null(value)) {
        return SC_OK;
    }
    if (sc_json_int(value, 1) != number) { /* no whole number, whatever stands for it */
        return refuse(fields, name, value, "a whole number");
    }
    if (number < least) {
        return sc_fail(SC_BAD_MODEL, "'%s': field '%s%s%s' is %" PRId64 ", want %" PRId64 " or more", fields->path,
            fields->group ? fields->group : "", fields->group ? "." : "", name, number, least);
    }
    *to = number;
    return SC_OK;
}

enum sc_status sc_field_real(const struct sc_fields *fields, const char *name, double *to)
{
    const struct sc_json *value = sc_json_get(fields->object, name);
    const double number = sc_json_real(value, NAN);
    if (sc_json_is_null(value)) {
        return SC_OK;
    }
    if (isnan(number)) {
        return refuse(fields, name, value, "a number");
    }
    *to = number;
    return SC_OK;
}

enum sc_status sc_field_bool(const struct sc_fields *fields, const char *name, bool *to)
{
    const struct sc_json *value = sc_json_get(fields->object, name);
    if (sc_json_is_null(value)) {
        return SC_OK;
    }
    if (sc_json_bool(value, false) != sc_json_bool(value, true)) {
        return refuse(fields, name, value, "true or false");
    }
    *to = sc_json_bool(value, false);
    return SC_OK;
}
