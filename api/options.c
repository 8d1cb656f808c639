/* SPDX-License-Identifier: Apache-2.0
 * Options by name, in the form of a session's, and the small public facts. */
#include <stdlib.h>
#include <string.h>

#include "api/options.h"

const char *sc_version(void)
{
    return SC_VERSION;
}

const struct sc_error *sc_last_error(void)
{
    return sc_error_last();
}

size_t sc_element_bytes(int32_t type)
{
    return sc_type_valid(type) ? sc_type_bytes((enum sc_type)type) : 0;
}

enum sc_status sc_run_options_create(struct sc_run_options **options)
{
    if (!options) {
        return sc_fail(SC_BAD_USAGE, "no place is given for the options");
    }
    struct sc_run_options *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for options");
    }
    sc_session_options_init(&made->session);
    *options = made;
    return SC_OK;
}

enum sc_status sc_run_options_set(struct sc_run_options *options, const char *name, const char *value)
{
    if (!options || !name || !value) {
        return sc_fail(SC_BAD_USAGE, "an option needs options, a name and a value");
    }
    const char *text = sc_arena_text(&options->arena, value, strlen(value)); /* it may be kept */
    return text ? sc_session_options_set(&options->session, name, text) : SC_NO_MEMORY;
}

void sc_run_options_free(struct sc_run_options *options)
{
    if (options) {
        sc_arena_release(&options->arena);
        free(options);
    }
}
