/* SPDX-License-Identifier: Apache-2.0
 * The list of families, and the search in it: a binary search over the names of each family, then the few rows of one
 * file. */
#include "ops/families.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct sc_family *const families[] = {
#define X(family) &family,
    SC_FAMILIES(X)
#undef X
};

const struct sc_family *const *sc_family_all(int *n)
{
    *n = SC_LENGTH(families);
    return families;
}

/* The first entry of that name, or the number of entries. */
static int find_entry(const struct sc_family *family, const char *name)
{
    int low = 0, high = family->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (strcmp(family->entries[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const struct sc_op *newest(const struct sc_op *rows, const char *domain, const char *name, int version)
{
    const struct sc_op *best = NULL;
    for (const struct sc_op *row = rows; row->name; row++) {
        if (row->name[0] == name[0] && row->since <= version && (!best || row->since > best->since) &&
            strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0) {
            best = row;
        }
    }
    return best;
}

const struct sc_op *sc_op_find(const char *domain, const char *name, int version)
{
    const struct sc_op *best = NULL;
    for (int f = 0; f < SC_LENGTH(families); f++) {
        const struct sc_family *family = families[f];
        for (int i = find_entry(family, name); i < family->n && strcmp(family->entries[i].name, name) == 0; i++) {
            const struct sc_op *row = newest(family->entries[i].rows, domain, name, version);
            if (row && (!best || row->since > best->since)) {
                best = row;
            }
        }
    }
    return best;
}

const struct sc_op *sc_op_at(int index)
{
    for (int f = 0; f < SC_LENGTH(families); f++) {
        for (int i = 0; i < families[f]->n; i++) {
            const struct sc_family_entry *entry = &families[f]->entries[i];
            for (const struct sc_op *row = entry->rows; row->name; row++) {
                if (strcmp(row->name, entry->name) == 0 && index-- == 0) {
                    return row;
                }
            }
        }
    }
    return NULL;
}

enum sc_status sc_node_fail(
    const struct sc_graph *graph, const struct sc_node *node, enum sc_status code, const char *format, ...)
{
    char name[160], text[SC_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return sc_fail(code, "%s: %s", sc_node_text_name(graph, node, name, sizeof name), text);
}
