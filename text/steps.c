/* SPDX-License-Identifier: Apache-2.0
 * Nested Sequences are walked with a stack of bounded depth. */
#include "text/steps.h"

#include <string.h>

enum { MAX_DEPTH = 16 };

static enum sc_status read_type(const struct sc_json *step, const char *what, const char **type)
{
    *type = sc_json_text(sc_json_get(step, "type"), NULL);
    if (*type == NULL) {
        return sc_fail(SC_BAD_MODEL, "a %s has no type", what);
    }
    return SC_OK;
}

enum sc_status sc_steps_read(const struct sc_json *root, const struct sc_step_source *source)
{
    if (sc_json_size(root) == 0) { /* absent or null */
        return SC_OK;
    }
    struct {
        const struct sc_json *members;
        size_t at;
    } stack[MAX_DEPTH];
    int depth = 0;
    for (const struct sc_json *step = root; step != NULL;) {
        const char *type;
        SC_TRY(read_type(step, source->what, &type));
        if (strcmp(type, "Sequence") != 0) {
            SC_TRY(source->read(source->arg, type, step));
        } else {
            const struct sc_json *const members = sc_json_get(step, source->members);
            if (!sc_json_is_array(members)) {
                return sc_fail(SC_BAD_MODEL, "a %s Sequence has no list '%s'", source->what, source->members);
            }
            if (depth == MAX_DEPTH) {
                return sc_fail(SC_UNSUPPORTED, "%s Sequences are nested deeper than %d", source->what, MAX_DEPTH);
            }
            stack[depth].members = members;
            stack[depth++].at = 0;
        }
        step = NULL;
        while (depth > 0 && step == NULL) {
            step = sc_json_at(stack[depth - 1].members, stack[depth - 1].at++);
            depth -= step == NULL;
        }
    }
    return SC_OK;
}

enum sc_status sc_step_text(
    const struct sc_json *step, const char *what, const char *key, const char **text, size_t *bytes)
{
    const char *const found = sc_json_text(sc_json_get(step, key), bytes);
    if (found == NULL) {
        return sc_fail(SC_BAD_MODEL, "%s has no text '%s'", what, key);
    }
    *text = found;
    return SC_OK;
}
