/* SPDX-License-Identifier: Apache-2.0
 * Facts as people read them. */
#include <stdarg.h>
#include <stdio.h>

#include "model/model.h"

/* Appends to a text that is cut where the buffer ends. */
static void append(char *buffer, size_t bytes, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void append(char *buffer, size_t bytes, size_t *used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = *used < bytes ? vsnprintf(buffer + *used, bytes - *used, format, arguments) : 0;
    va_end(arguments);
    *used += n > 0 ? (size_t)n : 0;
}

char *sc_fact_text(const struct sc_model *model, const struct sc_fact *fact, char *buffer, size_t bytes)
{
    static const char *const kinds[] = {"unknown", "", "sequence of ", "optional ", "map of ", "state "};
    size_t used = 0;
    if (fact->kind == SC_KIND_MAP || fact->item_kind == SC_KIND_MAP) {
        append(buffer, bytes, &used, "%smap of %s to %s", fact->kind == SC_KIND_MAP ? "" : kinds[fact->kind],
            sc_type_name(fact->key_type), sc_type_name(fact->type));
        return buffer;
    }
    append(buffer, bytes, &used, "%s%s", kinds[fact->kind],
        fact->type != SC_TYPE_NONE       ? sc_type_name(fact->type)
            : fact->kind == SC_KIND_NONE ? ""
                                         : "?");
    if (fact->kind != SC_KIND_TENSOR && fact->kind != SC_KIND_STATE) {
        return buffer;
    }
    append(buffer, bytes, &used, fact->rank < 0 ? " (any rank)" : "[");
    for (int d = 0; d < fact->rank; d++) {
        const int64_t dim = fact->dims[d];
        append(buffer, bytes, &used, "%s", d ? ", " : "");
        if (dim >= 0) {
            append(buffer, bytes, &used, "%lld", (long long)dim);
        } else if (dim == SC_DIM_UNKNOWN || !model || -2 - dim >= model->n_symbols) {
            append(buffer, bytes, &used, "?");
        } else {
            append(buffer, bytes, &used, "%s", model->symbols[-2 - dim]);
        }
    }
    append(buffer, bytes, &used, fact->rank < 0 ? "" : "]");
    return buffer;
}
