/* SPDX-License-Identifier: Apache-2.0
 * Looks operators up in the generated table, which is sorted by domain, name and since. */
#include "ops/schema.h"

#include <string.h>

#include "ops/schema/table.h"

const struct sc_schema *sc_schema_all(int *n)
{
    *n = sc_schema_table_n;
    return sc_schema_table;
}

static int compare(const struct sc_schema *row, const char *domain, const char *name, int version)
{
    int order = strcmp(row->domain, domain);
    if (order == 0) {
        order = strcmp(row->name, name);
    }
    if (order == 0) {
        order = (row->since > version) - (row->since < version);
    }
    return order;
}

const struct sc_schema *sc_schema_find(const char *domain, const char *name, int version)
{
    int low = 0, high = sc_schema_table_n; /* rows below low are <= the key, rows from high on are above it */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare(&sc_schema_table[middle], domain, name, version) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const struct sc_schema *row = &sc_schema_table[low - 1];
    return strcmp(row->domain, domain) == 0 && strcmp(row->name, name) == 0 ? row : NULL;
}

bool sc_schema_has_domain(const char *domain)
{
    for (int i = 0; i < sc_schema_table_n; i++) {
        if (strcmp(sc_schema_table[i].domain, domain) == 0) {
            return true;
        }
    }
    return false;
}
