/* SPDX-License-Identifier: Apache-2.0
 * Claims about finding where two runs part: a node is taken to be wrong, and so is everything below it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "launch/bisect.h"
#include "plan_fixture.h"

/* differs: by value. Returns the value that is found; *rounds: how often values were looked at. */
static int find(const struct sc_graph *graph, int start, const bool *differs, int most, int *rounds)
{
    struct sc_arena arena = {0};
    struct sc_bisect bisect;
    assert_int_equal(sc_bisect_start(graph, start, &arena, &bisect), SC_OK);
    for (*rounds = 0;; ++*rounds) {
        int n, values[64];
        bool answers[64];
        assert_true(*rounds < 200);
        assert_int_equal(sc_bisect_probes(&bisect, most, &n, values), SC_OK);
        assert_true(n <= most);
        if (n == 0) {
            break;
        }
        for (int i = 0; i < n; i++) {
            answers[i] = differs[values[i]];
            for (int j = 0; j < i; j++) {
                assert_int_not_equal(values[i], values[j]);
            }
        }
        sc_bisect_tell(&bisect, n, values, answers);
    }
    sc_arena_release(&arena);
    return bisect.value;
}

/* Everything that comes from `wrong` differs. */
static void spread(const struct sc_graph *graph, int wrong, bool *differs)
{
    memset(differs, 0, FIXTURE_VALUES * sizeof *differs);
    differs[wrong] = true;
    for (int m = 0; m < graph->n_nodes; m++) {
        for (int i = 0; i < graph->nodes[m].n_in; i++) {
            if (differs[graph->nodes[m].in[i]]) {
                differs[graph->nodes[m].out[0]] = true;
            }
        }
    }
}

static void chain_is_searched_in_few_rounds(void **state)
{
    (void)state;
    static struct fixture_model f;
    char text[2048] = "v0 = Foo x";
    for (int i = 1; i < 60; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), ";v%d = Foo v%d w", i, i - 1);
    }
    fixture_model(&f, text);
    for (int wrong = 0; wrong < 60; wrong++) {
        char name[8];
        bool differs[FIXTURE_VALUES];
        int rounds;
        snprintf(name, sizeof name, "v%d", wrong);
        spread(&f.graph, fixture_value(&f, name), differs);
        assert_string_equal(f.values[find(&f.graph, fixture_value(&f, "v59"), differs, 16, &rounds)].name, name);
        assert_true(rounds <= 4);
    }
}

static void branches_that_are_right_are_left_alone(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo x;d = Foo c;e = Foo b d;g = Foo e c;h = Foo a a");
    static const char *const names[] = {"a", "b", "c", "d", "e", "g"};
    for (int most = 2; most <= 8; most++) {
        for (int i = 0; i < 6; i++) {
            bool differs[FIXTURE_VALUES];
            int rounds;
            spread(&f.graph, fixture_value(&f, names[i]), differs);
            const int found = find(&f.graph, fixture_value(&f, "g"), differs, most, &rounds);
            assert_string_equal(f.values[found].name, names[i]);
        }
    }
}

static void of_two_wrong_nodes_one_with_right_inputs_is_found(void **state)
{
    (void)state;
    static struct fixture_model f;
    bool first[FIXTURE_VALUES], differs[FIXTURE_VALUES];
    int rounds;
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo x;d = Foo c;e = Foo b d");
    spread(&f.graph, fixture_value(&f, "b"), first);
    spread(&f.graph, fixture_value(&f, "d"), differs);
    for (int v = 0; v < FIXTURE_VALUES; v++) {
        differs[v] = differs[v] || first[v];
    }
    assert_string_equal(f.values[find(&f.graph, fixture_value(&f, "e"), differs, 8, &rounds)].name, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_is_searched_in_few_rounds),
        cmocka_unit_test(branches_that_are_right_are_left_alone),
        cmocka_unit_test(of_two_wrong_nodes_one_with_right_inputs_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
