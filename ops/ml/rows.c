/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/ml/rows.h"

static const struct sc_family_entry entries[] = {
    {"ArrayFeatureExtractor", sc_ops_ml_features},
    {"Binarizer", sc_ops_ml_features},
    {"CastMap", sc_ops_ml_maps},
    {"CategoryMapper", sc_ops_ml_encoders},
    {"DictVectorizer", sc_ops_ml_maps},
    {"FeatureVectorizer", sc_ops_ml_features},
    {"Imputer", sc_ops_ml_features},
    {"LabelEncoder", sc_ops_ml_encoders},
    {"LinearClassifier", sc_ops_ml_linear},
    {"LinearRegressor", sc_ops_ml_linear},
    {"Normalizer", sc_ops_ml_features},
    {"OneHotEncoder", sc_ops_ml_encoders},
    {"SVMClassifier", sc_ops_ml_svm},
    {"SVMRegressor", sc_ops_ml_svm},
    {"Scaler", sc_ops_ml_features},
    {"TreeEnsemble", sc_ops_ml_tree_ensemble},
    {"TreeEnsembleClassifier", sc_ops_ml_tree_classic},
    {"TreeEnsembleRegressor", sc_ops_ml_tree_classic},
    {"ZipMap", sc_ops_ml_maps},
};

const struct sc_family sc_family_ml = {"ml", SC_LENGTH(entries), entries};
