/* SPDX-License-Identifier: Apache-2.0
 * Claims about pictures of plans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/plan_picture.h"
#include "plan_fixture.h"

/* Two stages; an input that both read, two values between them. Free the text. */
static char *draw(void (*picture_of)(const struct sc_picture *), const char *rename)
{
    static struct fixture_model f;
    memset(&f, 0, sizeof f);
    fixture_model(&f, "a = Foo x;b = Foo a w1;c = Foo b a;d = Foo c x");
    int ranks[] = {0, 4}, stage_of[] = {0, 0, 1, 1};
    char path[] = "m<o>\"del.onnx", *text = NULL;
    struct sc_plan_stage stages[] = {
        {1, &ranks[0], 0.002, 0, 40, 1024, 80, 0, 2}, {1, &ranks[1], 0.001, 0, 0, 0, 120, 1 << 20, 2}};
    const struct sc_plan plan = {
        .n_stages = 2, .stages = stages, .n_nodes = 4, .stage_of = stage_of, .bound_seconds = 0.0016};
    struct sc_fact facts[FIXTURE_VALUES];
    struct sc_arena arena = {0};
    struct sc_picture picture;
    size_t bytes = 0;
    f.model.graph = &f.graph;
    f.model.path = path;
    for (int v = 0; v < f.graph.n_values; v++) {
        facts[v] = f.values[v].fact;
        f.values[v].name = strcmp(f.values[v].name, "d") == 0 && rename ? rename : f.values[v].name;
    }
    assert_int_equal(sc_picture_init(&plan, &f.model, facts, NULL, &arena, &picture), SC_OK);
    picture.out = open_memstream(&text, &bytes);
    assert_non_null(picture.out);
    picture_of(&picture);
    assert_int_equal(fclose(picture.out), 0);
    sc_arena_release(&arena);
    return text;
}

static void dot_has_every_stage_and_edge(void **state)
{
    (void)state;
    char *text = draw(sc_picture_dot, NULL);
    assert_non_null(strstr(text, "label=\"m<o>\\\"del.onnx\";"));
    assert_non_null(strstr(text, "s0 [label=\"stage 0, rank 0\\n2 nodes, 2 ms\\nweights 40 B\\nstate -\"];"));
    assert_non_null(strstr(text, "s1 [label=\"stage 1, rank 4\\n2 nodes, 1 ms\\nweights -\\nstate 1.0 MiB\"];"));
    assert_non_null(strstr(text,
        "    input -> s0 [label=\"x\\n40 B\"];\n    input -> s1 [label=\"x\\n40 B\"];\n"
        "    s0 -> s1 [label=\"a, and 1 more\\n80 B\"];\n    s1 -> output [label=\"d\\n40 B\"];\n}\n"));
    free(text);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

static void page_has_every_stage_and_edge_and_needs_nothing_else(void **state)
{
    (void)state;
    char *text = draw(sc_picture_html, NULL);
    assert_int_equal(count(text, ">stage 0 on rank 0<"), 1);
    assert_int_equal(count(text, ">stage 1 on rank 4<"), 1);
    assert_int_equal(count(text, "marker-end"), 4);
    assert_int_equal(count(text, " C "), 1); /* the input skips stage 0 */
    assert_non_null(strstr(text, "gap 25.0 %"));
    assert_non_null(strstr(text, "<td>0</td><td>1</td><td>2</td><td>80 B</td><td class=\"left\">a, b</td>"));
    assert_int_equal(count(text, "http") + count(text, "<script") + count(text, "src="), 0);
    free(text);
}

static void names_are_text_whatever_is_in_them(void **state)
{
    (void)state;
    char *page = draw(sc_picture_html, "<b>&\"\n"), *dot = draw(sc_picture_dot, "a\"]\\");
    assert_non_null(strstr(page, "<h1>m&lt;o&gt;&quot;del.onnx</h1>"));
    assert_int_equal(count(page, "&lt;b&gt;&amp;&quot; "), 2);
    assert_int_equal(count(page, "<b>"), 0);
    assert_non_null(strstr(dot, "[label=\"a\\\"]\\\\\\n40 B\"]"));
    free(page);
    free(dot);
    dot = draw(sc_picture_dot, "/encoder/layer.11/attention/output/LayerNorm/LayerNormalization_output_0");
    assert_non_null(strstr(dot, "\"...ayerNorm/LayerNormalization_output_0\\n40 B\"")); /* the end tells names apart */
    free(dot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_has_every_stage_and_edge),
        cmocka_unit_test(page_has_every_stage_and_edge_and_needs_nothing_else),
        cmocka_unit_test(names_are_text_whatever_is_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
