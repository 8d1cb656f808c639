/* SPDX-License-Identifier: Apache-2.0
 * Between sizes and the dims of facts: a named dim of the model is a symbol, and a sum of symbols is a dim that gets a
 * name of its own. */
#include <string.h>

#include "passes/symbolic.h"

static enum sc_status add_name(struct sc_symbolics *s, int64_t dim, const struct sc_size *size)
{
    if (s->n_names == s->cap_names) {
        const int capacity = s->cap_names ? 2 * s->cap_names : 16;
        struct sc_symbolic_name *names = sc_arena_array(s->arena, (size_t)capacity, sizeof *names);
        if (!names) {
            return SC_NO_MEMORY;
        }
        if (s->n_names) {
            memcpy(names, s->names, (size_t)s->n_names * sizeof *names);
        }
        s->names = names;
        s->cap_names = capacity;
    }
    s->names[s->n_names++] = (struct sc_symbolic_name){dim, *size};
    return SC_OK;
}

bool sc_symbolics_size(struct sc_symbolics *s, int64_t dim, struct sc_size *size)
{
    *size = (struct sc_size){.constant = dim};
    if (dim >= 0) {
        return dim < (int64_t)1 << 40;
    }
    if (dim == SC_DIM_UNKNOWN || !s->model) {
        return false;
    }
    for (int k = 0; k < s->n_names; k++) {
        if (s->names[k].dim == dim) {
            *size = s->names[k].size;
            return true;
        }
    }
    if (s->n_symbols == SC_SYMBOLS) {
        return false;
    }
    *size = (struct sc_size){0};
    size->symbol[s->n_symbols++] = 1;
    return add_name(s, dim, size) == SC_OK;
}

/* least: of the symbol, when it is new. */
static bool made_symbol(
    struct sc_symbolics *s, const struct sc_symbolic_made *made, int64_t least, struct sc_size *size)
{
    int k = 0;
    while (k < s->n_symbols &&
        !(s->made[k].kind == made->kind && sc_size_equal(&s->made[k].a, &made->a) &&
            sc_size_equal(&s->made[k].b, &made->b))) {
        k++;
    }
    if (k == SC_SYMBOLS) {
        return false;
    }
    if (k == s->n_symbols) {
        s->least[k] = least;
        s->made[k] = *made;
        s->n_symbols++;
    }
    *size = (struct sc_size){0};
    size->symbol[k] = 1;
    return true;
}

static bool at_least_one(const struct sc_symbolics *s, const struct sc_size *size)
{
    struct sc_size less = *size;
    less.constant--;
    return sc_size_not_negative(s, &less);
}

bool sc_symbolics_lesser(struct sc_symbolics *s, const struct sc_size *a, const struct sc_size *b, struct sc_size *size)
{
    const struct sc_size *most = sc_size_constant(a) ? a : b, *of = most == a ? b : a;
    const struct sc_symbolic_made made = {SC_MADE_LESSER, *of, *most};
    return sc_size_constant(most) && most->constant > 0 && sc_size_not_negative(s, of) &&
        made_symbol(s, &made, at_least_one(s, of), size);
}

bool sc_symbolics_product(
    struct sc_symbolics *s, const struct sc_size *a, const struct sc_size *b, struct sc_size *size)
{
    const bool ordered = memcmp(a, b, sizeof *a) > 0; /* one symbol whichever comes first */
    const struct sc_symbolic_made made = {SC_MADE_PRODUCT, ordered ? *a : *b, ordered ? *b : *a};
    return sc_size_not_negative(s, a) && sc_size_not_negative(s, b) &&
        made_symbol(s, &made, at_least_one(s, a) && at_least_one(s, b), size);
}

static const char *name_of(const struct sc_symbolics *s, int symbol)
{
    struct sc_size alone = {0};
    alone.symbol[symbol] = 1;
    for (int k = 0; k < s->n_names; k++) {
        if (sc_size_equal(&s->names[k].size, &alone)) {
            return s->model->symbols[-2 - s->names[k].dim];
        }
    }
    return "?";
}

/* "2*batch + sequence - 1"; NULL: memory is out. */
static const char *sum_text(const struct sc_symbolics *s, const struct sc_size *size)
{
    const char *text = "";
    for (int k = 0; k <= SC_SYMBOLS && text; k++) {
        const int64_t factor = k < SC_SYMBOLS ? size->symbol[k] : size->constant;
        const long long digits = factor < 0 ? -factor : factor;
        const char *sign = !*text ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
        if (factor == 0) {
            continue;
        }
        text = k == SC_SYMBOLS ? sc_arena_printf(s->arena, "%s%s%lld", text, sign, digits)
            : digits == 1      ? sc_arena_printf(s->arena, "%s%s%s", text, sign, name_of(s, k))
                               : sc_arena_printf(s->arena, "%s%s%lld*%s", text, sign, digits, name_of(s, k));
    }
    return text;
}

static const char *made_text(const struct sc_symbolics *s, const struct sc_symbolic_made *made)
{
    const char *a = sum_text(s, &made->a), *b = sum_text(s, &made->b);
    return !a || !b                          ? NULL
        : made->kind == SC_MADE_LESSER       ? sc_arena_printf(s->arena, "min(%s, %s)", a, b)
        : strpbrk(a, " ") || strpbrk(b, " ") ? sc_arena_printf(s->arena, "(%s)*(%s)", a, b)
                                             : sc_arena_printf(s->arena, "%s*%s", a, b);
}

/* Gives every symbol that is made of others a name, so that sums have words for it. */
static enum sc_status name_made(struct sc_symbolics *s)
{
    for (int k = 0; k < s->n_symbols; k++) {
        struct sc_size alone = {0};
        int64_t dim;
        alone.symbol[k] = 1;
        if (s->made[k].kind && strcmp(name_of(s, k), "?") == 0) {
            const char *text = made_text(s, &s->made[k]);
            SC_TRY(text ? sc_model_symbol(s->model, text, &dim) : SC_NO_MEMORY);
            SC_TRY(add_name(s, dim, &alone));
        }
    }
    return SC_OK;
}

enum sc_status sc_symbolics_dim(struct sc_symbolics *s, const struct sc_size *size, int64_t *dim)
{
    if (sc_size_constant(size)) {
        *dim = size->constant >= 0 ? size->constant : SC_DIM_UNKNOWN;
        return SC_OK;
    }
    SC_TRY(name_made(s));
    for (int k = 0; k < s->n_names; k++) {
        if (sc_size_equal(&s->names[k].size, size)) {
            *dim = s->names[k].dim;
            return SC_OK;
        }
    }
    const char *text = sum_text(s, size);
    SC_TRY(text ? sc_model_symbol(s->model, text, dim) : SC_NO_MEMORY);
    while (-2 - *dim < s->model->n_file_symbols) { /* the file calls something else so: exporters name sums too */
        text = sc_arena_printf(s->arena, "(%s)", text);
        SC_TRY(text ? sc_model_symbol(s->model, text, dim) : SC_NO_MEMORY);
    }
    return add_name(s, *dim, size);
}
