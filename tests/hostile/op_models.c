/* SPDX-License-Identifier: Apache-2.0
 * Types follow the schema, so that what is tried gets past the checker; shapes, values and attributes do not. */
#include "tests/hostile/op_models.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"
#include "ops/schema.h"

enum { MOST_VARIABLES = 12, MOST_INPUTS = 9 };

struct variable {
    char name[32], type[64];
};

struct maker {
    struct sc_draw *draw;
    const struct sc_schema *schema;
    struct variable variables[MOST_VARIABLES];
    int n_variables;
    int rank;
    int64_t dims[5];
    char *text;
    size_t bytes, at;
    char inputs[512];
};

static void add(struct maker *maker, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct maker *maker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(maker->text + maker->at, maker->bytes - maker->at, format, arguments);
    va_end(arguments);
    maker->at += n > 0 ? (size_t)n : 0;
    maker->at = maker->at < maker->bytes ? maker->at : maker->bytes - 1;
}

static bool one_in(struct maker *maker, size_t n)
{
    return sc_draw_below(maker->draw, n) == 0;
}

/* A type of "T=a,b,c", the same for every input of the variable; the name itself where it is no variable. */
static const char *type_of(struct maker *maker, const char *name, size_t length)
{
    static char plain[64];
    for (int v = 0; v < maker->n_variables; v++) {
        if (strlen(maker->variables[v].name) == length && memcmp(maker->variables[v].name, name, length) == 0) {
            return maker->variables[v].type;
        }
    }
    for (const char *at = maker->schema->types; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, length) != 0 || at[length] != '=' || maker->n_variables == MOST_VARIABLES) {
            continue;
        }
        const char *list = at + length + 1, *end = at + strcspn(at, " ");
        size_t n = 1;
        for (const char *c = list; c < end; c++) {
            n += *c == ',';
        }
        for (size_t k = sc_draw_below(maker->draw, n); k > 0; k--) {
            list = strchr(list, ',') + 1;
        }
        struct variable *variable = &maker->variables[maker->n_variables++];
        snprintf(variable->name, sizeof variable->name, "%.*s", (int)length, name);
        snprintf(variable->type, sizeof variable->type, "%.*s", (int)strcspn(list, ", "), list);
        return variable->type;
    }
    snprintf(plain, sizeof plain, "%.*s", (int)length, name);
    return plain;
}

static void add_dims(struct maker *maker, bool index)
{
    const size_t kind = sc_draw_below(maker->draw, index ? 3 : 8);
    if (kind == 0) { /* a list, such as axes or sizes */
        add(maker, " %zu", sc_draw_below(maker->draw, 5));
    } else if (kind == 1) {
        for (size_t rank = sc_draw_below(maker->draw, 6); rank > 0; rank--) {
            add(maker, " %zu", sc_draw_below(maker->draw, 6));
        }
    } else {
        const int from = kind == 2 && maker->rank > 0 ? (int)sc_draw_below(maker->draw, (size_t)maker->rank) : 0;
        for (int d = from; d < maker->rank; d++) {
            add(maker, " %" PRId64, one_in(maker, 12) ? 1 : maker->dims[d]);
        }
    }
}

/* "seq(tensor(float))" → "seq:float"; "tensor(x)" and "x" → "x". */
static void add_type(struct maker *maker, const char *type)
{
    const char *inner = strstr(type, "tensor(");
    add(maker, "%s", strncmp(type, "seq", 3) == 0 ? "seq:" : strncmp(type, "opt", 3) == 0 ? "opt:" : "");
    inner = inner ? inner + 7 : type;
    add(maker, "%.*s", (int)strcspn(inner, ")"), inner);
}

static void add_input(struct maker *maker, int i, const char *type)
{
    const bool index = strcmp(type, "int64") == 0 || strcmp(type, "int32") == 0;
    const bool constant = index && !one_in(maker, 3);
    add(maker, "%s i%d ", constant ? "weight" : "in", i);
    add_type(maker, type);
    add_dims(maker, index);
    if (constant) {
        add(maker, " =");
        for (int k = 0; k < 4; k++) {
            add(maker, " %" PRId64, sc_draw_number(maker->draw));
        }
    }
    add(maker, "\n");
}

static void add_inputs(struct maker *maker)
{
    const struct sc_schema *schema = maker->schema;
    const char *last = "";
    size_t last_bytes = 0;
    int n = schema->min_in;
    const int most = schema->max_in < MOST_INPUTS ? schema->max_in : MOST_INPUTS;
    n += most > n ? (int)sc_draw_below(maker->draw, (size_t)(most - n) + 1) : 0;
    const char *at = schema->inputs;
    for (int i = 0; i < n; i++) {
        if (*at) { /* a variadic one is the last, and serves for all that follow */
            const char *colon = strchr(at, ':');
            last = colon + 1;
            last_bytes = strcspn(last, " ");
            at = last + last_bytes + (last[last_bytes] == ' ');
        }
        const bool absent = i >= schema->min_in && one_in(maker, 4);
        const size_t used = strlen(maker->inputs);
        if (!absent) {
            add_input(maker, i, type_of(maker, last, last_bytes));
            snprintf(maker->inputs + used, sizeof maker->inputs - used, "%si%d", i ? "," : "", i);
        } else {
            snprintf(maker->inputs + used, sizeof maker->inputs - used, "%s", i ? "," : "");
        }
    }
    if (!maker->inputs[0]) {
        strcpy(maker->inputs, "-");
    }
}

static void add_attribute(struct maker *maker, const char *name, size_t length, const char *type, const char *otherwise)
{
    static const char *const words[] = {"constant", "reflect", "edge", "wrap", "linear", "cubic", "nearest", "bilinear",
        "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "add", "mul", "min", "max", "none", "relu", "tanh", "sum",
        "mean", "forward", "reverse", "bidirectional", "asymmetric", "align_corners", "DCR", "CRD", "bij,bjk->bik",
        "ij->"};
    static const char *const reals[] = {"0", "1", "-1", "0.5", "1e30", "-1e30", "nan", "inf", "1e-30"};
    if (strncmp(type, "ints", 4) == 0) {
        add(maker, " %.*s=I:", (int)length, name);
        for (size_t n = sc_draw_below(maker->draw, 6); n > 0; n--) {
            add(maker, "%" PRId64 ",", sc_draw_number(maker->draw));
        }
    } else if (strncmp(type, "int", 3) == 0) {
        add(maker, " %.*s=i:%" PRId64, (int)length, name, sc_draw_number(maker->draw));
    } else if (strncmp(type, "floats", 6) == 0) {
        add(maker, " %.*s=F:1,0.5,nan", (int)length, name);
    } else if (strncmp(type, "float", 5) == 0) {
        add(maker, " %.*s=f:%s", (int)length, name, reals[sc_draw_below(maker->draw, sizeof reals / sizeof *reals)]);
    } else if (strncmp(type, "string", 6) == 0 && type[6] != 's') {
        const char *word = words[sc_draw_below(maker->draw, sizeof words / sizeof *words)];
        if (otherwise && one_in(maker, 2)) {
            add(maker, " %.*s=s:%.*s", (int)length, name, (int)strcspn(otherwise, " "), otherwise);
        } else {
            add(maker, " %.*s=s:%s", (int)length, name, word);
        }
    }
}

static void add_attributes(struct maker *maker)
{
    for (const char *at = maker->schema->attributes; *at;) {
        const size_t whole = strcspn(at, " "), length = strcspn(at, ":");
        const char *type = at + length + 1, *equals = memchr(at, '=', whole);
        const bool required = memchr(at, '!', whole) != NULL;
        if (length < whole && (required ? !one_in(maker, 10) : one_in(maker, 3))) {
            add_attribute(maker, at, length, type, equals ? equals + 1 : NULL);
        }
        at += whole + (at[whole] == ' ');
    }
}

static const struct sc_schema *draw_schema(struct sc_draw *draw)
{
    int n;
    const struct sc_schema *all = sc_schema_all(&n);
    for (;;) {
        const struct sc_schema *schema = &all[sc_draw_below(draw, (size_t)n)];
        const bool bodies = strstr(schema->attributes, ":graph") != NULL;
        if (!schema->deprecated && !bodies && schema->domain[0] == '\0' &&
            sc_op_find(schema->domain, schema->name, schema->since)) {
            return schema;
        }
    }
}

void sc_draw_op_model(struct sc_draw *draw, char *text, size_t bytes)
{
    struct maker maker = {.draw = draw, .schema = draw_schema(draw), .text = text, .bytes = bytes};
    maker.rank = (int)sc_draw_below(draw, 5);
    for (int d = 0; d < maker.rank; d++) {
        maker.dims[d] = one_in(&maker, 10) ? 0 : 1 + (int64_t)sc_draw_below(draw, 5);
    }
    add(&maker, "ir 10\nopset ai.onnx %d\n", maker.schema->since);
    add_inputs(&maker);
    const int most = maker.schema->max_out < 4 ? maker.schema->max_out : 4;
    const int n_out = maker.schema->min_out +
        (most > maker.schema->min_out ? (int)sc_draw_below(draw, (size_t)(most - maker.schema->min_out) + 1) : 0);
    add(&maker, "node %s %s -> ", maker.schema->name, maker.inputs);
    for (int o = 0; o < n_out; o++) {
        add(&maker, "%so%d", o ? "," : "", o);
    }
    add_attributes(&maker);
    add(&maker, "\n");
    for (int o = 0; o < n_out; o++) {
        add(&maker, "out o%d\n", o);
    }
}
