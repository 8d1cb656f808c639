/* SPDX-License-Identifier: Apache-2.0
 * stagecoach ops: what the schema table lists, and which of it this program runs. */
#include <stdio.h>
#include <string.h>

#include "launch/app.h"
#include "ops/op.h"
#include "ops/schema.h"

static bool same_operator(const struct sc_schema *a, const struct sc_schema *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->name, b->name) == 0;
}

static bool supported(const struct sc_schema *schema)
{
    const struct sc_op *op = sc_op_find(schema->domain, schema->name, schema->since);
    return op && op->since == schema->since;
}

static const char *domain_name(const struct sc_schema *schema)
{
    return schema->domain[0] ? schema->domain : "ai.onnx";
}

/* The kinds of element types, by how the names of types begin; the first that fits. */
static const struct {
    const char *begins, *kind;
} kinds[] = {
    {"float16", "float"},
    {"float8", "float8"},
    {"float4", "float4/6"},
    {"float6", "float4/6"},
    {"float", "float"},
    {"double", "float"},
    {"bfloat16", "bfloat16"},
    {"int2", "int2/4"},
    {"int4", "int2/4"},
    {"uint2", "int2/4"},
    {"uint4", "int2/4"},
    {"int", "int"},
    {"uint", "int"},
    {"bool", "bool"},
    {"string", "string"},
    {"complex", "complex"},
    {"seq(", "sequence"},
    {"optional(", "optional"},
    {"map(", "map"},
};

/* Whether a list of types, "T=float,double T1=int64", has one of this kind. */
static bool has_kind(const char *types, const char *kind)
{
    const int n = sizeof kinds / sizeof kinds[0];
    for (const char *at = types; at && *at; at = strpbrk(at, "=,") ? strpbrk(at, "=,") + 1 : NULL) {
        int k = 0;
        while (k < n && strncmp(at, kinds[k].begins, strlen(kinds[k].begins)) != 0) {
            k++;
        }
        if (k < n && strcmp(kinds[k].kind, kind) == 0) {
            return true;
        }
    }
    return false;
}

static void print_kinds(const char *types)
{
    static const char *const all[] = {"float", "bfloat16", "float8", "float4/6", "int", "int2/4", "bool", "string",
        "complex", "sequence", "optional", "map"};
    int printed = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (has_kind(types, all[i])) {
            printed += printf("%s%s", printed ? " " : "", all[i]);
        }
    }
    printf("%*s", printed < 40 ? 40 - printed : 1, "");
}

/* What runs a version: a kernel of ours, and for which instruction set levels its loops are there; and whether the
 * clause has a body of other operators, which would do as well. */
static void print_means(const struct sc_schema *schema)
{
    const struct sc_op *op = sc_op_find(schema->domain, schema->name, schema->since);
    const bool has_levels = op && sc_op_has_levels(schema->domain, schema->name);
    printf("%s%s", op ? "kernel" : "none", has_levels ? " (" SC_ISA_NAMES ")" : "");
    printf("%s%s", schema->function ? ", function" : "", schema->deprecated ? ", deprecated" : "");
}

/* One operator: its versions, those that do not run in parentheses, and what the newest is. */
static int print_row(const struct sc_schema *first, int n)
{
    int n_supported = 0, printed = 0;
    printf("%-24s %-28s", domain_name(first), first->name);
    for (int i = 0; i < n; i++) {
        const bool runs = supported(&first[i]);
        n_supported += runs;
        printed += printf(runs ? " %d" : " (%d)", first[i].since);
    }
    printf("%*s", printed < 30 ? 30 - printed : 1, "");
    print_kinds(first[n - 1].types);
    print_means(&first[n - 1]);
    printf("\n");
    return n_supported;
}

static void print_columns(const char *title, const char *columns)
{
    if (columns && columns[0]) {
        printf("  %-11s%s\n", title, columns);
    }
}

static void print_schema(const struct sc_schema *schema)
{
    printf(
        "%s %s-%d%s\n", domain_name(schema), schema->name, schema->since, supported(schema) ? "" : ", not supported");
    print_columns("inputs", schema->inputs);
    print_columns("outputs", schema->outputs);
    print_columns("attributes", schema->attributes);
    print_columns("types", schema->types);
    printf("  %-11s", "runs by");
    print_means(schema);
    printf("\n");
}

static enum sc_status print_operator(const char *name)
{
    int n, found = 0;
    const struct sc_schema *all = sc_schema_all(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0) {
            print_schema(&all[i]);
            found++;
        }
    }
    return found ? SC_OK : sc_fail(SC_BAD_USAGE, "there is no operator '%s'; 'stagecoach ops' lists them", name);
}

enum sc_status sc_command_ops(struct sc_app *app)
{
    int n, n_operators = 0, n_supported = 0;
    const struct sc_schema *all = sc_schema_all(&n);
    if (app->options->n_arguments > 0) {
        return print_operator(app->options->arguments[0]);
    }
    printf("%-24s %-28s %-29s%-40s%s\n", "domain", "operator", "versions", "types of the newest", "runs by");
    for (int i = 0; i < n;) {
        int end = i + 1;
        while (end < n && same_operator(&all[i], &all[end])) {
            end++;
        }
        n_supported += print_row(&all[i], end - i);
        n_operators++;
        i = end;
    }
    printf("%d operators, %d versions, %d of them supported\n", n_operators, n, n_supported);
    return SC_OK;
}
