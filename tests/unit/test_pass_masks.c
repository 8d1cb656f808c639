/* SPDX-License-Identifier: Apache-2.0
 * Claims about the masks of decomposed attention in decoders: which become rules of the operator, which stay, and that
 * caches are paged and answers the same either way. */
#include "decode/rewrite.h"
#include "graph_case.h"

static const struct sc_node *the_attention(const struct sc_graph *graph)
{
    const struct sc_node *found = NULL;
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        if (!node->dead && strcmp(node->op, "Attention") == 0) {
            assert_null(found);
            found = node;
        }
    }
    assert_non_null(found);
    return found;
}

/* To what sums in another order may differ by: the values are below 100. */
static void run_and_compare(struct graph_case *c)
{
    static const struct sc_tolerance near = {.relative = 1e-5, .absolute = 2e-5};
    const struct sc_graph *graph = c->model->graph;
    assert_ok(sc_passes_run(c->model, c->kernels));
    graph_compile(c, NULL);
    for (int set = 0; set < graph_n_sets(c); set++) {
        graph_read(c, set);
        assert_ok(sc_frame_run(c->frame, c->feeds, set));
        for (int o = 0; o < graph->n_outputs; o++) {
            if (sc_compare_values(graph->values[graph->outputs[o]].name, sc_frame_output(c->frame, o), &c->wanted[o],
                    &near) != SC_OK) {
                fail_msg("%s, set %d: %s", c->name, set, sc_error_last()->text);
            }
        }
    }
}

struct rule {
    const char *name;
    bool causal, live; /* live: a mask is left */
    int64_t window;
    float cap, scale;
    float slopes[2]; /* zeros: none */
    int64_t most; /* tokens that there may be; 0: any */
    int64_t before; /* distances in front of 0 in the table by distance; 0: there is no table */
};

static const struct rule rules[] = {
    {"masks_window", true, false, 2, 0, 1, {0}, 0, 0}, {"masks_cap", true, false, -1, 2.5F, 0.5F, {0}, 0, 0},
    {"masks_scatter", true, false, -1, 0, 1, {0}, 0, 0},
    {"masks_table", true, false, -1, 0, 1, {0}, 128,
        0}, /* positions are looked up in a table: beyond it the run fails */
    {"masks_table_open", true, false, -1, 0, 1, {0}, 128, 0}, {"masks_band", true, false, 4, 0, 1, {0}, 128, 0},
    {"masks_slopes", true, false, -1, 0, 0.5F, {0.5F, 0.125F}, 0, 0},
    {"masks_length", true, false, -1, 0, 1, {0}, 0, 0}, {"masks_live", false, true, -1, 0, 1, {0}, 0, 0},
    {"masks_live_both", false, true, -1, 0, 1, {0}, 0, 0},
    {"masks_buckets", true, false, -1, 0, 1, {0}, 0, 32}, /* of all positions by all, of which the last are taken */
    {"masks_clipped", false, false, -1, 0, 1, {0}, 0, 4}, /* on both sides */
    {"masks_places", true, true, -1, 0, 1, {0}, 0, 0}, /* of the key's own position */
    {"masks_sums", true, true, -1, 0, 1, {0}, 0, 0}, /* of both positions, not of what is between them */
    {"masks_lengths", true, true, -1, 0, 1, {0}, 0, 0}, /* of the distance, and of how long the text is */
    {"masks_squares", true, true, -1, 0, 1, {0}, 0, 0}, /* of the distance, and never the same from some distance on */
};

static void a_mask_becomes_a_rule_or_stays_and_caches_are_paged(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        struct graph_case c;
        struct sc_state_pair *pairs;
        int n;
        graph_open(&c, rules[r].name);
        assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
        assert_int_equal(n, 2);
        if (pairs[0].kind != SC_STATE_PAGED || pairs[1].kind != SC_STATE_PAGED) {
            fail_msg("%s: the caches are made anew", rules[r].name);
        }
        const struct sc_node *node = the_attention(c.model->graph);
        int64_t causal, window, before;
        float cap, scale;
        assert_ok(sc_node_int(node, "is_causal", 0, &causal));
        assert_ok(sc_node_int(node, "left_window_size", -1, &window));
        assert_ok(sc_node_int(node, "before", 0, &before));
        assert_ok(sc_node_float(node, "softcap", 0, &cap));
        assert_ok(sc_node_float(node, "scale", 0, &scale));
        if ((causal != 0) != rules[r].causal || (node->in[3] >= 0) != rules[r].live || window != rules[r].window ||
            cap != rules[r].cap || scale != rules[r].scale || pairs[0].capacity != rules[r].most ||
            before != rules[r].before || (node->n_in > 7 && node->in[7] >= 0) != (before > 0)) {
            fail_msg("%s: causal %d, mask %d, window %d, cap %g, scale %g, before %d", rules[r].name, (int)causal,
                node->in[3], (int)window, (double)cap, (double)scale, (int)before);
        }
        int n_slopes;
        const float *slopes;
        assert_ok(sc_node_floats(node, "slopes", &n_slopes, &slopes));
        assert_int_equal(n_slopes > 0, rules[r].slopes[0] != 0);
        assert_true(n_slopes <= 0 || memcmp(slopes, rules[r].slopes, sizeof rules[r].slopes) == 0);
        run_and_compare(&c);
        graph_close(&c);
    }
}

static void without_the_pass_the_parts_compute_the_same(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        struct graph_case c;
        graph_open(&c, rules[r].name);
        const struct sc_pass_options without = {.without = SC_PASS_ATTENTION};
        assert_ok(sc_passes_rewrite(c.model, &without));
        run_and_compare(&c);
        graph_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_becomes_a_rule_or_stays_and_caches_are_paged),
        cmocka_unit_test(without_the_pass_the_parts_compute_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
