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

/* One operator: its versions, those that run without a mark, the others in parentheses. */
static int print_row(const struct sc_schema *first, int n)
{
    int n_supported = 0;
    printf("%-24s %-28s", domain_name(first), first->name);
    for (int i = 0; i < n; i++) {
        const bool runs = supported(&first[i]);
        n_supported += runs;
        printf(runs ? " %d" : " (%d)", first[i].since);
    }
    printf("%s\n", first[n - 1].deprecated ? "  deprecated" : first[n - 1].function ? "  function" : "");
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
    printf("%s %s-%d%s%s%s\n", domain_name(schema), schema->name, schema->since, schema->function ? ", function" : "",
        schema->deprecated ? ", deprecated" : "", supported(schema) ? "" : ", not supported");
    print_columns("inputs", schema->inputs);
    print_columns("outputs", schema->outputs);
    print_columns("attributes", schema->attributes);
    print_columns("types", schema->types);
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
    printf("%-24s %-28s versions (in parentheses: not supported)\n", "domain", "operator");
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
