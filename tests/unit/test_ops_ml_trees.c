/* SPDX-License-Identifier: Apache-2.0
 * Tree ensembles: one small forest in the old attributes and in the new ones, whose leaves are read off. */
#include "op_harness.h"

#define DOMAIN "ai.onnx.ml"

static void op_strings(struct op_test *t, const char *name, int n, const char *const *texts)
{
    struct sc_string *copy = sc_arena_array(&t->arena, (size_t)n, sizeof *copy);
    for (int i = 0; i < n; i++) {
        copy[i] = (struct sc_string){texts[i], strlen(texts[i])};
    }
    op_attribute(t, name, SC_ATTRIBUTE_STRINGS, n)->u.strings = copy;
}

/* Tree 7: x0 <= 1 ? leaf a : (x1 <= 2 ? leaf b : leaf c), where NaN of x1 goes to b; tree 9: leaf d alone. The nodes of
 * tree 7 are numbered 10 to 14. */
static void open_forest(struct op_test *t, const char *op, int version, const char *mode)
{
    const char *const modes[] = {mode, "LEAF", mode, "LEAF", "LEAF", "LEAF"};
    op_open(t, DOMAIN, op, version);
    op_ints(t, "nodes_treeids", OP_DIMS(7, 7, 7, 7, 7, 9));
    op_ints(t, "nodes_nodeids", OP_DIMS(10, 11, 12, 13, 14, 0));
    op_ints(t, "nodes_featureids", OP_DIMS(0, 0, 1, 0, 0, 0));
    op_ints(t, "nodes_truenodeids", OP_DIMS(11, 0, 13, 0, 0, 0));
    op_ints(t, "nodes_falsenodeids", OP_DIMS(12, 0, 14, 0, 0, 0));
    op_ints(t, "nodes_missing_value_tracks_true", OP_DIMS(0, 0, 1, 0, 0, 0));
    op_floats(t, "nodes_values", 6, OP_VALUES(1, 0, 2, 0, 0, 0));
    op_strings(t, "nodes_modes", 6, modes);
}

enum { ROWS = 5 };
#define FEATURES OP_VALUES(1, 0, 2, 2, 2, 3, NAN, 5, 3, NAN)

/* Leaves: a 1, b 10 (and 5 for target 1), c 100, d 1000 for target 1. */
static void regressor(const char *sum, enum sc_type type, const double *wanted)
{
    struct op_test t;
    open_forest(&t, "TreeEnsembleRegressor", type == SC_F64 ? 3 : 1, "BRANCH_LEQ");
    op_int(&t, "n_targets", 2);
    op_text(&t, "aggregate_function", sum);
    op_ints(&t, "target_treeids", OP_DIMS(9, 7, 7, 7, 7));
    op_ints(&t, "target_nodeids", OP_DIMS(0, 14, 13, 13, 11));
    op_ints(&t, "target_ids", OP_DIMS(1, 0, 0, 1, 0));
    op_floats(&t, "target_weights", 5, OP_VALUES(1000, 100, 10, 5, 1));
    op_floats(&t, "base_values", 2, OP_VALUES(0.5, 0.25));
    op_in(&t, type, OP_DIMS(ROWS, 2), FEATURES);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(ROWS, 2), wanted, 0);
    op_close(&t);
}

static void leaves_are_summed(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const enum sc_type type = k ? SC_F64 : SC_F32;
        regressor("SUM", type, OP_VALUES(1.5, 1000.25, 10.5, 1005.25, 100.5, 1000.25, 100.5, 1000.25, 10.5, 1005.25));
        regressor("AVERAGE", type, OP_VALUES(1, 500.25, 5.5, 502.75, 50.5, 500.25, 50.5, 500.25, 5.5, 502.75));
        regressor("MIN", type, OP_VALUES(1.5, 1000.25, 10.5, 5.25, 100.5, 1000.25, 100.5, 1000.25, 10.5, 5.25));
        regressor("MAX", type, OP_VALUES(1.5, 1000.25, 10.5, 1000.25, 100.5, 1000.25, 100.5, 1000.25, 10.5, 1000.25));
    }
}

/* One split of x0 at 1, for -1, 0, 1, 2, NaN. */
static void comparisons_are_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        double wanted[5];
    } cases[] = {{"BRANCH_LEQ", {1, 1, 1, 0, 0}}, {"BRANCH_LT", {1, 1, 0, 0, 0}}, {"BRANCH_GTE", {0, 0, 1, 1, 0}},
        {"BRANCH_GT", {0, 0, 0, 1, 0}}, {"BRANCH_EQ", {0, 0, 1, 0, 0}}, {"BRANCH_NEQ", {1, 1, 0, 1, 1}}};
    for (int k = 0; k < 6; k++) {
        const char *const modes[] = {cases[k].mode, "LEAF", "LEAF"};
        struct op_test t;
        op_open(&t, DOMAIN, "TreeEnsembleRegressor", 1);
        op_ints(&t, "nodes_treeids", OP_DIMS(0, 0, 0));
        op_ints(&t, "nodes_nodeids", OP_DIMS(0, 1, 2));
        op_ints(&t, "nodes_featureids", OP_DIMS(0, 0, 0));
        op_ints(&t, "nodes_truenodeids", OP_DIMS(1, 0, 0));
        op_ints(&t, "nodes_falsenodeids", OP_DIMS(2, 0, 0));
        op_floats(&t, "nodes_values", 3, OP_VALUES(1, 0, 0));
        op_strings(&t, "nodes_modes", 3, modes);
        op_ints(&t, "target_treeids", OP_DIMS(0));
        op_ints(&t, "target_nodeids", OP_DIMS(1));
        op_ints(&t, "target_ids", OP_DIMS(0));
        op_floats(&t, "target_weights", 1, OP_VALUES(1));
        op_in(&t, SC_F32, OP_DIMS(5, 1), OP_VALUES(-1, 0, 1, 2, NAN));
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(5, 1), cases[k].wanted, 0);
        op_close(&t);
    }
}

/* Classes by tree 7 alone: a is class 0, b class 1, c class 2, with weights 2, 3, 4; d adds to class 1. */
static void the_top_class_has_the_highest_score(void **state)
{
    (void)state;
    struct op_test t;
    open_forest(&t, "TreeEnsembleClassifier", 3, "BRANCH_LEQ");
    op_strings(&t, "classlabels_strings", 3, (const char *const[]){"low", "middle", "high"});
    op_ints(&t, "class_treeids", OP_DIMS(7, 7, 7, 9));
    op_ints(&t, "class_nodeids", OP_DIMS(11, 13, 14, 0));
    op_ints(&t, "class_ids", OP_DIMS(0, 1, 2, 1));
    op_floats(&t, "class_weights", 4, OP_VALUES(2, 3, 4, 1));
    op_in(&t, SC_F32, OP_DIMS(ROWS, 2), FEATURES);
    op_passes(&t, 2);
    op_gives_strings(&t, 0, OP_DIMS(ROWS), (const char *const[]){"low", "middle", "high", "high", "middle"});
    op_gives(&t, 1, SC_F32, OP_DIMS(ROWS, 3), OP_VALUES(2, 1, 0, 0, 4, 0, 0, 1, 4, 0, 1, 4, 0, 4, 0), 0);
    op_close(&t);
}

/* Two classes with votes for the first alone: the score of the second. */
static void single(const char *post, double a, double b, const double *labels, const double *scores)
{
    struct op_test t;
    open_forest(&t, "TreeEnsembleClassifier", 1, "BRANCH_LEQ");
    op_text(&t, "post_transform", post);
    op_ints(&t, "classlabels_int64s", OP_DIMS(4, 6));
    op_ints(&t, "class_treeids", OP_DIMS(7, 7));
    op_ints(&t, "class_nodeids", OP_DIMS(11, 13));
    op_ints(&t, "class_ids", OP_DIMS(0, 0));
    op_floats(&t, "class_weights", 2, OP_VALUES(a, b));
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(0, 0, 2, 0));
    op_passes(&t, 2);
    op_gives(&t, 0, SC_I64, OP_DIMS(2), labels, 0);
    op_gives(&t, 1, SC_F32, OP_DIMS(2, 2), scores, 1e-6);
    op_close(&t);
}

static void one_score_decides_between_two_classes(void **state)
{
    (void)state;
    const double l = 1 / (1 + exp(-2));
    single("NONE", 0.75, 0.25, OP_VALUES(6, 4), OP_VALUES(0.25, 0.75, 0.75, 0.25));
    single("NONE", -2, 2, OP_VALUES(4, 6), OP_VALUES(2, -2, -2, 2));
    single("LOGISTIC", -2, 2, OP_VALUES(4, 6), OP_VALUES(l, 1 - l, 1 - l, l));
}

/* The same forest in version 5: nodes x0 <= 1 and x1 <= 2; leaves a, b, c, d, the last of which both branches of a
 * third node lead to. Feature 1 is a member of {2, 3} in another case. */
static void open_new(struct op_test *t, enum sc_type type, double mode, int64_t root)
{
    const double modes[] = {0, mode, 0};
    op_open(t, DOMAIN, "TreeEnsemble", 5);
    op_int(t, "n_targets", 2);
    op_ints(t, "tree_roots", OP_DIMS(root, 2));
    op_ints(t, "nodes_featureids", OP_DIMS(0, 1, 0));
    op_ints(t, "nodes_truenodeids", OP_DIMS(0, 1, 3));
    op_ints(t, "nodes_falsenodeids", OP_DIMS(1, 2, 3));
    op_ints(t, "nodes_trueleafs", OP_DIMS(1, 1, 1));
    op_ints(t, "nodes_falseleafs", OP_DIMS(0, 1, 1));
    op_ints(t, "nodes_missing_value_tracks_true", OP_DIMS(0, 1, 0));
    op_tensor_attribute(t, "nodes_modes", op_tensor(t, SC_U8, OP_DIMS(3), modes));
    op_tensor_attribute(t, "nodes_splits", op_tensor(t, type, OP_DIMS(3), OP_VALUES(1, 2, 0)));
    op_ints(t, "leaf_targetids", OP_DIMS(0, 0, 0, 1));
    op_tensor_attribute(t, "leaf_weights", op_tensor(t, type, OP_DIMS(4), OP_VALUES(1, 10, 100, 1000)));
}

static void new_attributes_say_the_same(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_F32, SC_F64};
    struct op_test t;
    for (int k = 0; k < 3; k++) {
        open_new(&t, types[k], 0, 0);
        op_in(&t, types[k], OP_DIMS(ROWS, 2), FEATURES);
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(ROWS, 2), OP_VALUES(1, 1000, 10, 1000, 100, 1000, 100, 1000, 10, 1000), 0);
        op_close(&t);
    }
    open_new(&t, SC_F32, 6, 0);
    op_tensor_attribute(&t, "membership_values", op_tensor(&t, SC_F32, OP_DIMS(3), OP_VALUES(2, 3, NAN)));
    op_in(&t, SC_F32, OP_DIMS(ROWS, 2), FEATURES);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(ROWS, 2), OP_VALUES(1, 1000, 10, 1000, 10, 1000, 100, 1000, 10, 1000), 0);
    op_close(&t);
}

static void threads_share_rows_out(void **state)
{
    (void)state;
    enum { N = 1000 };
    static double x[2 * N], wanted[2 * N];
    for (int i = 0; i < N; i++) {
        x[2 * i] = i % 3;
        x[2 * i + 1] = i % 5;
        wanted[2 * i] = i % 3 <= 1 ? 1 : i % 5 <= 2 ? 10 : 100;
        wanted[2 * i + 1] = 1000;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    open_new(&t, SC_F64, 0, 0);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(N, 2), x);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(N, 2), wanted, 0);
    op_close(&t);
    sc_team_free(team);
}

static void fails_new(double mode, int64_t root, int64_t features, const char *text)
{
    struct op_test t;
    open_new(&t, SC_F32, mode, root);
    op_in(&t, SC_F32, OP_DIMS(1, features), OP_VALUES(1, 1));
    op_fails(&t, 1, features < 2 ? SC_BAD_INPUT : SC_BAD_MODEL, text);
    op_close(&t);
}

static void what_is_no_forest_is_refused(void **state)
{
    (void)state;
    fails_new(7, 0, 2, "node 'n' (TreeEnsemble): nodes_modes has the entry 7, want 0 to 6");
    fails_new(6, 0, 2, "node 'n' (TreeEnsemble): membership_values has fewer sets than nodes_modes has BRANCH_MEMBER");
    fails_new(0, 9, 2, "node 'n' (TreeEnsemble): tree_roots has the entry 9, want one in [0, 3)");
    fails_new(0, 2, 2, "node 'n' (TreeEnsemble): node 2 is reached twice");
    fails_new(0, 0, 1, "node 'n' (TreeEnsemble): X has 1 features, but a node looks at number 1");
    struct op_test t;
    open_forest(&t, "TreeEnsembleRegressor", 1, "BRANCH_LIKE");
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (TreeEnsembleRegressor): nodes_modes has the entry 'BRANCH_LIKE'");
    op_close(&t);
    open_forest(&t, "TreeEnsembleRegressor", 1, "BRANCH_LEQ");
    op_ints(&t, "target_treeids", OP_DIMS(7));
    op_ints(&t, "target_nodeids", OP_DIMS(12));
    op_ints(&t, "target_ids", OP_DIMS(0));
    op_floats(&t, "target_weights", 1, OP_VALUES(1));
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (TreeEnsembleRegressor): a vote is of node 12 of tree 7, which is no leaf");
    op_close(&t);
    open_forest(&t, "TreeEnsembleClassifier", 1, "BRANCH_LEQ");
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 1));
    op_fails(&t, 2, SC_BAD_MODEL,
        "node 'n' (TreeEnsembleClassifier): has none of 'classlabels_int64s' and 'classlabels_strings', want one");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_summed),
        cmocka_unit_test(comparisons_are_what_they_say),
        cmocka_unit_test(the_top_class_has_the_highest_score),
        cmocka_unit_test(one_score_decides_between_two_classes),
        cmocka_unit_test(new_attributes_say_the_same),
        cmocka_unit_test(threads_share_rows_out),
        cmocka_unit_test(what_is_no_forest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
