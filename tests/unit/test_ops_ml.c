/* SPDX-License-Identifier: Apache-2.0
 * Linear models, support vectors, encoders and features of ai.onnx.ml, by hand. */
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

static void linear_models_weigh_features(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_I64, SC_I32};
    for (int k = 0; k < 4; k++) {
        struct op_test t;
        op_open(&t, DOMAIN, "LinearRegressor", 1);
        op_int(&t, "targets", 2);
        op_floats(&t, "coefficients", 4, OP_VALUES(1, 2, 3, 4));
        op_floats(&t, "intercepts", 2, OP_VALUES(0.5, -0.5));
        op_in(&t, types[k], OP_DIMS(2, 2), OP_VALUES(1, 1, 2, -1));
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(3.5, 6.5, 0.5, 1.5), 0);
        op_close(&t);
    }
}

static void classifier(const char *post, const double *scores)
{
    struct op_test t;
    op_open(&t, DOMAIN, "LinearClassifier", 1);
    op_text(&t, "post_transform", post);
    op_ints(&t, "classlabels_ints", OP_DIMS(5, 7));
    op_floats(&t, "coefficients", 1, OP_VALUES(1));
    op_floats(&t, "intercepts", 1, OP_VALUES(-1));
    op_in(&t, SC_F32, OP_DIMS(2, 1), OP_VALUES(0, 3));
    op_passes(&t, 2);
    op_gives(&t, 0, SC_I64, OP_DIMS(2), OP_VALUES(5, 7), 0);
    op_gives(&t, 1, SC_F32, OP_DIMS(2, 2), scores, 1e-6);
    op_close(&t);
}

static void scores_are_transformed(void **state)
{
    (void)state;
    const double l1 = 1 / (1 + exp(-1)), l2 = 1 / (1 + exp(-2)), s1 = 1 / (1 + exp(-2)), s2 = 1 / (1 + exp(-4));
    classifier("NONE", OP_VALUES(1, -1, -2, 2));
    classifier("LOGISTIC", OP_VALUES(l1, 1 - l1, 1 - l2, l2));
    classifier("SOFTMAX", OP_VALUES(s1, 1 - s1, 1 - s2, s2));
    classifier("SOFTMAX_ZERO", OP_VALUES(s1, 1 - s1, 1 - s2, s2));
}

/* Support vectors 1 and 3 of one feature, x = 2: products 2 and 6, distance 1 to both. */
static void regressor(const char *kernel, int64_t one_class, double wanted)
{
    struct op_test t;
    op_open(&t, DOMAIN, "SVMRegressor", 1);
    op_text(&t, "kernel_type", kernel);
    op_floats(&t, "kernel_params", 3, OP_VALUES(0.5, 1, 2));
    op_floats(&t, "support_vectors", 2, OP_VALUES(1, 3));
    op_floats(&t, "coefficients", 2, OP_VALUES(1, -0.5));
    op_floats(&t, "rho", 1, OP_VALUES(0.25));
    op_int(&t, "n_supports", 2);
    op_int(&t, "one_class", one_class);
    op_in(&t, SC_F32, OP_DIMS(1, 1), OP_VALUES(2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 1), &wanted, 1e-6);
    op_close(&t);
}

static void kernels_are_what_they_say(void **state)
{
    (void)state;
    regressor("LINEAR", 0, 2 - 3 + 0.25);
    regressor("LINEAR", 1, -1);
    regressor("POLY", 0, 4 - 8 + 0.25);
    regressor("RBF", 0, exp(-0.5) * 0.5 + 0.25);
    regressor("RBF", 1, 1);
    regressor("SIGMOID", 0, tanh(2) - tanh(4) / 2 + 0.25);
}

/* Classes at -1, 0 and 1, one vector each; a pair's score is k_i - k_j. At 0.9 the last class wins both its pairs. */
static void open_svm(struct op_test *t)
{
    op_open(t, DOMAIN, "SVMClassifier", 1);
    op_text(t, "kernel_type", "RBF");
    op_floats(t, "kernel_params", 3, OP_VALUES(1, 0, 0));
    op_floats(t, "support_vectors", 3, OP_VALUES(-1, 0, 1));
    op_floats(t, "coefficients", 6, OP_VALUES(1, -1, -1, 1, 1, -1));
    op_floats(t, "rho", 3, OP_VALUES(0, 0, 0));
    op_ints(t, "vectors_per_class", OP_DIMS(1, 1, 1));
    op_strings(t, "classlabels_strings", 3, (const char *const[]){"left", "middle", "right"});
}

static void pairs_of_classes_vote(void **state)
{
    (void)state;
    const double k[3] = {exp(-3.61), exp(-0.81), exp(-0.01)};
    struct op_test t;
    open_svm(&t);
    op_in(&t, SC_F32, OP_DIMS(1, 1), OP_VALUES(0.9));
    op_passes(&t, 2);
    op_gives_strings(&t, 0, OP_DIMS(1), (const char *const[]){"right"});
    op_gives(&t, 1, SC_F32, OP_DIMS(1, 3), OP_VALUES(k[0] - k[1], k[0] - k[2], k[1] - k[2]), 1e-6);
    op_close(&t);
}

/* Pairs that all say one half are a third each; those of two classes are the logistic itself. */
static void pairs_become_probabilities(void **state)
{
    (void)state;
    struct op_test t;
    open_svm(&t);
    op_floats(&t, "prob_a", 3, OP_VALUES(0, 0, 0));
    op_floats(&t, "prob_b", 3, OP_VALUES(0, 0, 0));
    op_in(&t, SC_F32, OP_DIMS(1, 1), OP_VALUES(0.9));
    op_passes(&t, 2);
    op_gives(&t, 1, SC_F32, OP_DIMS(1, 3), OP_VALUES(1 / 3.0, 1 / 3.0, 1 / 3.0), 1e-6);
    op_close(&t);
    op_open(&t, DOMAIN, "SVMClassifier", 1);
    op_floats(&t, "support_vectors", 2, OP_VALUES(1, -1));
    op_floats(&t, "coefficients", 2, OP_VALUES(1, -1));
    op_floats(&t, "rho", 1, OP_VALUES(0));
    op_ints(&t, "vectors_per_class", OP_DIMS(1, 1));
    op_ints(&t, "classlabels_ints", OP_DIMS(3, 8));
    op_floats(&t, "prob_a", 1, OP_VALUES(-1));
    op_floats(&t, "prob_b", 1, OP_VALUES(0.5));
    op_in(&t, SC_F64, OP_DIMS(1, 1), OP_VALUES(1));
    op_passes(&t, 2);
    op_gives(&t, 0, SC_I64, OP_DIMS(1), OP_VALUES(3), 0);
    op_gives(&t, 1, SC_F32, OP_DIMS(1, 2), OP_VALUES(1 / (1 + exp(-1.5)), 1 / (1 + exp(1.5))), 2e-3); /* its stop */
    op_close(&t);
}

static void encoders_look_keys_up(void **state)
{
    (void)state;
    static const char *const words[] = {"b", "", "a", "?"};
    struct op_test t;
    op_open(&t, DOMAIN, "LabelEncoder", 2);
    op_strings(&t, "keys_strings", 3, (const char *const[]){"a", "b", ""});
    op_ints(&t, "values_int64s", OP_DIMS(1, 2, 3));
    op_int(&t, "default_int64", 9);
    op_in_strings(&t, OP_DIMS(2, 2), words);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(2, 2), OP_VALUES(2, 3, 1, 9), 0);
    op_close(&t);
    op_open(&t, DOMAIN, "LabelEncoder", 4); /* NaN is a key, 0 equals -0, and the last of equal keys counts */
    op_tensor_attribute(&t, "keys_tensor", op_tensor(&t, SC_F64, OP_DIMS(4), OP_VALUES(NAN, -0.0, 5, 5)));
    op_tensor_attribute(&t, "values_tensor", op_tensor(&t, SC_I16, OP_DIMS(4), OP_VALUES(1, 2, 3, 4)));
    op_in(&t, SC_F64, OP_DIMS(4), OP_VALUES(0, NAN, 5, 6));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I16, OP_DIMS(4), OP_VALUES(2, 1, 4, -1), 0);
    op_close(&t);
    for (int k = 0; k < 2; k++) {
        op_open(&t, DOMAIN, k ? "CategoryMapper" : "LabelEncoder", 1);
        op_strings(&t, k ? "cats_strings" : "classes_strings", 2, (const char *const[]){"a", "b"});
        if (k) {
            op_ints(&t, "cats_int64s", OP_DIMS(0, 1));
        }
        op_in_strings(&t, OP_DIMS(4), words);
        op_passes(&t, 1);
        op_gives(&t, 0, SC_I64, OP_DIMS(4), OP_VALUES(1, -1, 0, -1), 0);
        op_close(&t);
    }
    op_open(&t, DOMAIN, "CategoryMapper", 1);
    op_strings(&t, "cats_strings", 2, (const char *const[]){"a", "b"});
    op_ints(&t, "cats_int64s", OP_DIMS(10, -20));
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(-20, 10, 11));
    op_passes(&t, 1);
    op_gives_strings(&t, 0, OP_DIMS(3), (const char *const[]){"b", "a", "_Unused"});
    op_close(&t);
}

static void categories_are_one_hot(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_I64, SC_I32, SC_F32, SC_F64};
    struct op_test t;
    for (int k = 0; k < 4; k++) {
        op_open(&t, DOMAIN, "OneHotEncoder", 1);
        op_ints(&t, "cats_int64s", OP_DIMS(7, 1));
        op_in(&t, types[k], OP_DIMS(1, 3), OP_VALUES(1, 7, 3));
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(1, 3, 2), OP_VALUES(0, 1, 1, 0, 0, 0), 0);
        op_close(&t);
    }
    op_open(&t, DOMAIN, "OneHotEncoder", 1);
    op_strings(&t, "cats_strings", 1, (const char *const[]){"a"});
    op_int(&t, "zeros", 0);
    op_in_strings(&t, OP_DIMS(2), (const char *const[]){"a", "b"});
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (OneHotEncoder): element 1 of X is in no category");
    op_close(&t);
}

static void normalizer(const char *norm, const double *wanted)
{
    struct op_test t;
    op_open(&t, DOMAIN, "Normalizer", 1);
    op_text(&t, "norm", norm);
    op_in(&t, SC_F64, OP_DIMS(2, 2), OP_VALUES(3, 4, 0, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), wanted, 1e-6);
    op_close(&t);
}

static void features_are_scaled_and_compared(void **state)
{
    (void)state;
    struct op_test t;
    normalizer("MAX", OP_VALUES(0.75, 1, 0, 0));
    normalizer("L1", OP_VALUES(3 / 7.0, 4 / 7.0, 0, 0));
    normalizer("L2", OP_VALUES(0.6, 0.8, 0, 0));
    op_open(&t, DOMAIN, "Scaler", 1);
    op_floats(&t, "offset", 2, OP_VALUES(1, 2));
    op_floats(&t, "scale", 2, OP_VALUES(10, 100));
    op_in(&t, SC_I32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(0, 0, 20, 200), 0);
    op_close(&t);
    op_open(&t, DOMAIN, "Binarizer", 1);
    op_float(&t, "threshold", 2);
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(1, 2, 3));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(3), OP_VALUES(0, 0, 1), 0);
    op_close(&t);
}

static void features_are_filled_in_and_put_together(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, DOMAIN, "Imputer", 1);
    op_floats(&t, "imputed_value_floats", 2, OP_VALUES(7, 8));
    op_float(&t, "replaced_value_float", NAN);
    op_in(&t, SC_F64, OP_DIMS(2, 2), OP_VALUES(NAN, 1, 2, NAN));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, 2), OP_VALUES(7, 1, 2, 8), 0);
    op_close(&t);
    op_open(&t, DOMAIN, "Imputer", 1);
    op_ints(&t, "imputed_value_int64s", OP_DIMS(7));
    op_int(&t, "replaced_value_int64", -1);
    op_in(&t, SC_I32, OP_DIMS(3), OP_VALUES(-1, 0, -1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(3), OP_VALUES(7, 0, 7), 0);
    op_close(&t);
    op_open(&t, DOMAIN, "FeatureVectorizer", 1);
    op_ints(&t, "inputdimensions", OP_DIMS(1, 3));
    op_in(&t, SC_I32, OP_DIMS(1, 2), OP_VALUES(1, 2));
    op_in(&t, SC_I32, OP_DIMS(2), OP_VALUES(3, 4));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 4), OP_VALUES(1, 3, 4, 0), 0);
    op_close(&t);
    op_open(&t, DOMAIN, "ArrayFeatureExtractor", 1);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(5, 6, 7));
    op_in(&t, SC_I64, OP_DIMS(1, 2), OP_VALUES(2, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2), OP_VALUES(7, 5), 0);
    op_close(&t);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, DOMAIN, "ArrayFeatureExtractor", 1);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(5, 6, 7));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(3));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (ArrayFeatureExtractor): Y has the index 3, want one in [0, 3)");
    op_close(&t);
    op_open(&t, DOMAIN, "Scaler", 1);
    op_floats(&t, "offset", 2, OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(1, 3), OP_VALUES(5, 6, 7));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Scaler): 'offset' has 2 entries for 3 features");
    op_close(&t);
    op_open(&t, DOMAIN, "LinearRegressor", 1);
    op_floats(&t, "coefficients", 2, OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(1, 3), OP_VALUES(5, 6, 7));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (LinearRegressor): X has shape [1,3], want [?,2]");
    op_close(&t);
    op_open(&t, DOMAIN, "LabelEncoder", 2);
    op_ints(&t, "keys_int64s", OP_DIMS(1, 2));
    op_ints(&t, "values_int64s", OP_DIMS(1));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(5));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (LabelEncoder): has 2 keys and 1 values");
    op_close(&t);
    op_open(&t, DOMAIN, "LabelEncoder", 2);
    op_ints(&t, "keys_int64s", OP_DIMS(1));
    op_ints(&t, "values_int64s", OP_DIMS(1));
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(5));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (LabelEncoder): X has type float, but keys have type int64");
    op_close(&t);
    op_open(&t, DOMAIN, "SVMRegressor", 1);
    op_floats(&t, "coefficients", 2, OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(5, 6));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (SVMRegressor): has 2 coefficients and 0 rho for 0 support vectors");
    op_close(&t);
}

/* More rows, scores and features than go side by side; whole numbers, so that every order gives the same sums. */
static void linear_models_of_every_size_are_exact(void **state)
{
    (void)state;
    enum { N = 40, FEATURES = 300, SCORES = 11 };
    static double x[N * FEATURES], w[SCORES * FEATURES], b[SCORES], wanted[N * SCORES], top[N];
    static const int64_t labels[SCORES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_I32, SC_I64};
    for (int i = 0; i < N * FEATURES; i++) {
        x[i] = i * 31 % 17 - 8;
        w[i % (SCORES * FEATURES)] = i * 13 % 23 - 11;
        b[i % SCORES] = i % 5;
    }
    for (int scores = 3; scores <= SCORES; scores += 4) {
        for (int i = 0; i < N * scores; i++) {
            const int row = i / scores, s = i % scores;
            wanted[i] = b[s];
            for (int f = 0; f < FEATURES; f++) {
                wanted[i] += x[row * FEATURES + f] * w[s * FEATURES + f];
            }
            top[row] = s == 0 || wanted[i] > wanted[row * scores + (int)top[row]] ? s : top[row];
        }
        for (int k = 0; k < 8; k++) {
            const bool classifies = k >= 4;
            struct op_test t;
            op_open(&t, DOMAIN, classifies ? "LinearClassifier" : "LinearRegressor", 1);
            op_floats(&t, "coefficients", scores * FEATURES, w);
            op_floats(&t, "intercepts", scores, b);
            if (classifies) {
                op_ints(&t, "classlabels_ints", scores, labels);
            } else {
                op_int(&t, "targets", scores);
            }
            op_in(&t, types[k % 4], OP_DIMS(N, FEATURES), x);
            op_passes(&t, 1 + classifies);
            op_gives(&t, classifies, SC_F32, OP_DIMS(N, scores), wanted, 0);
            if (classifies) {
                op_gives(&t, 0, SC_I64, OP_DIMS(N), top, 0);
            }
            op_close(&t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_models_of_every_size_are_exact),
        cmocka_unit_test(linear_models_weigh_features),
        cmocka_unit_test(scores_are_transformed),
        cmocka_unit_test(kernels_are_what_they_say),
        cmocka_unit_test(pairs_of_classes_vote),
        cmocka_unit_test(pairs_become_probabilities),
        cmocka_unit_test(encoders_look_keys_up),
        cmocka_unit_test(categories_are_one_hot),
        cmocka_unit_test(features_are_scaled_and_compared),
        cmocka_unit_test(features_are_filled_in_and_put_together),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
