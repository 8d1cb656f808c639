/* SPDX-License-Identifier: Apache-2.0
 * A name with dots in it stays a name: an entry is read as a run only when no node is called so. */
#include "partitioner/plan_names.h"

#include <string.h>

enum sc_status sc_plan_names_init(const struct sc_model *model, struct sc_plan_names *names)
{
    *names = (struct sc_plan_names){.n = model->n_units};
    names->name = sc_arena_array(&names->arena, (size_t)names->n, sizeof *names->name);
    enum sc_status status = names->name ? SC_OK : SC_NO_MEMORY;
    for (int i = 0; i < names->n && status == SC_OK; i++) {
        const char *name = model->unit_names[i];
        if (!name) {
            continue;
        }
        names->name[i] = name[0] ? name : sc_arena_printf(&names->arena, "#%d", i);
        status = names->name[i] ? sc_map_put(&names->index, names->name[i], strlen(names->name[i]), i) : SC_NO_MEMORY;
    }
    if (status != SC_OK) {
        sc_plan_names_release(names);
    }
    return status;
}

void sc_plan_names_release(struct sc_plan_names *names)
{
    sc_map_release(&names->index);
    sc_arena_release(&names->arena);
}

bool sc_plan_names_find(const struct sc_plan_names *names, const char *entry, size_t bytes, int *first, int *last)
{
    *first = *last = (int)sc_map_get(&names->index, entry, bytes, -1);
    if (*first >= 0) {
        return true;
    }
    for (size_t i = 1; i + 2 < bytes; i++) {
        if (entry[i] == '.' && entry[i + 1] == '.') {
            *first = (int)sc_map_get(&names->index, entry, i, -1);
            *last = (int)sc_map_get(&names->index, entry + i + 2, bytes - i - 2, -1);
            if (*first >= 0 && *last >= *first) {
                return true;
            }
        }
    }
    return false;
}
