/* SPDX-License-Identifier: Apache-2.0
 * The table of operator facts, and that every row of behaviour has its facts and can be found. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/families.h"
#include "ops/schema.h"

static void the_newest_version_not_past_the_opset_is_found(void **state)
{
    (void)state;
    const struct sc_schema *add = sc_schema_find("", "Add", 12);
    assert_non_null(add);
    assert_int_equal(add->since, 7);
    assert_int_equal(sc_schema_find("", "Add", 13)->since, 13);
    assert_int_equal(sc_schema_find("", "Add", INT_MAX)->since, 14);
    assert_null(sc_schema_find("", "Abs", 0));
    assert_null(sc_schema_find("", "Trilu", 13));
    assert_null(sc_schema_find("", "Addition", 28));
    assert_null(sc_schema_find("no.such", "Add", 28));
    assert_int_equal(sc_schema_find("ai.onnx.ml", "LabelEncoder", 3)->since, 2);
}

static void all_659_versions_of_the_package_are_there(void **state)
{
    (void)state;
    int n, of_onnx = 0;
    const struct sc_schema *rows = sc_schema_all(&n);
    for (int i = 0; i < n; i++) {
        of_onnx += rows[i].domain[0] == 0 || strncmp(rows[i].domain, "ai.onnx", 7) == 0;
        if (i > 0) {
            const int domain = strcmp(rows[i - 1].domain, rows[i].domain);
            const int name = domain ? domain : strcmp(rows[i - 1].name, rows[i].name);
            assert_true(name < 0 || (name == 0 && rows[i - 1].since < rows[i].since));
        }
    }
    assert_true(of_onnx >= 659);
}

static void a_row_tells_arity_attributes_and_types(void **state)
{
    (void)state;
    const struct sc_schema *clip = sc_schema_find("", "Clip", 11);
    assert_int_equal(clip->min_in, 1);
    assert_int_equal(clip->max_in, 3);
    assert_string_equal(clip->inputs, "input:T min?:T max?:T");
    assert_string_equal(clip->types, "T=float16,float,double");
    assert_string_equal(sc_schema_find("", "Cast", 19)->attributes, "saturate:int=1 to:int!");
    assert_int_equal(sc_schema_find("", "Sum", 13)->max_in, INT_MAX);
    assert_true(sc_schema_find("", "Upsample", 10)->deprecated);
    assert_true(sc_schema_find("", "Gelu", 20)->function);
}

static void entries_of_families_are_sorted_and_lead_to_rows(void **state)
{
    (void)state;
    int n;
    const struct sc_family *const *families = sc_family_all(&n);
    for (int f = 0; f < n; f++) {
        for (int i = 0; i < families[f]->n; i++) {
            const struct sc_family_entry *entry = &families[f]->entries[i];
            if (i > 0 && strcmp(entry[-1].name, entry->name) > 0) {
                fail_msg("family %s: '%s' stands before '%s'", families[f]->name, entry[-1].name, entry->name);
            }
            bool led = false;
            for (const struct sc_op *row = entry->rows; row->name; row++) {
                led |= strcmp(row->name, entry->name) == 0;
            }
            if (!led) {
                fail_msg("family %s: '%s' leads to no row", families[f]->name, entry->name);
            }
        }
    }
}

/* A row that nobody can find is a row forgotten in its family's entries. */
static void every_row_of_a_listed_file_is_found(void **state)
{
    (void)state;
    int n;
    const struct sc_family *const *families = sc_family_all(&n);
    for (int f = 0; f < n; f++) {
        for (int i = 0; i < families[f]->n; i++) {
            for (const struct sc_op *row = families[f]->entries[i].rows; row->name; row++) {
                if (sc_op_find(row->domain, row->name, row->since) != row) {
                    fail_msg("row %s-%d of family %s is not found", row->name, row->since, families[f]->name);
                }
            }
        }
    }
}

static void every_row_is_a_version_of_the_specification(void **state)
{
    (void)state;
    const struct sc_op *row;
    for (int i = 0; (row = sc_op_at(i)) != NULL; i++) {
        const struct sc_schema *schema = sc_schema_find(row->domain, row->name, row->since);
        if (!schema && strncmp(row->domain, "ai.onnx", 7) != 0 && row->domain[0]) {
            continue; /* domains without facts */
        }
        if (schema && schema->since != row->since) {
            fail_msg("%s-%d is no version; the nearest is %d", row->name, row->since, schema->since);
        }
        assert_true((row->run != NULL) != (row->exec != NULL));
        assert_non_null(row->infer);
    }
    assert_null(sc_op_at(1000000));
}

/* Once there is a row for an operator, there is one for each of its versions from then on. */
static void no_version_between_rows_is_missing(void **state)
{
    (void)state;
    int n;
    const struct sc_schema *rows = sc_schema_all(&n);
    for (int i = 0; i < n; i++) {
        const struct sc_op *op = sc_op_find(rows[i].domain, rows[i].name, rows[i].since);
        if (op && op->since != rows[i].since) {
            fail_msg("%s-%d has no row, but version %d has", rows[i].name, rows[i].since, op->since);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_version_not_past_the_opset_is_found),
        cmocka_unit_test(all_659_versions_of_the_package_are_there),
        cmocka_unit_test(a_row_tells_arity_attributes_and_types),
        cmocka_unit_test(entries_of_families_are_sorted_and_lead_to_rows),
        cmocka_unit_test(every_row_of_a_listed_file_is_found),
        cmocka_unit_test(every_row_is_a_version_of_the_specification),
        cmocka_unit_test(no_version_between_rows_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
