# SPDX-License-Identifier: Apache-2.0
"""Pipelines of scikit-learn, trained on the data that it ships, as skl2onnx converts them.

A pipeline is a function that returns (model, feeds). Inputs are f32 or strings, classes by their names where they have some.
"""
import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import datasets
from sklearn.base import is_classifier
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor,
                              HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest,
                              RandomForestClassifier, VotingClassifier)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (KBinsDiscretizer, Normalizer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures,
                                   StandardScaler)
from sklearn.svm import NuSVR, OneClassSVM, SVC
from sklearn.tree import DecisionTreeClassifier

ROWS = [1, 7, 40]  # of each data set


def converted(estimator, types, maps=False):
    """With maps a classifier ends as skl2onnx has it by itself: in a sequence of maps from class to probability."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    options = {id(last): {"zipmap": False}} if is_classifier(last) and not maps else None
    return to_onnx(estimator, initial_types=types, target_opset={"": 19, "ai.onnx.ml": 3}, options=options)


def parts(*columns):
    """Consecutive rows of columns of the same length."""
    ends = np.cumsum(ROWS)
    return [[column[end - rows:end] for column in columns] for rows, end in zip(ROWS, ends)]


def numbers(load, estimator, names=False, gaps=False, maps=False):
    """An estimator on one input of numbers; some are missing when there are gaps."""
    data = load()
    order = np.random.default_rng(3).permutation(len(data.data))
    x, y = data.data[order].astype(np.float32), data.target[order]
    if gaps:
        x[np.random.default_rng(4).random(x.shape) < 0.1] = np.nan
    if names:
        y = np.array(data.target_names, dtype=object)[y]
    estimator.fit(x[60:], y[60:])
    return converted(estimator, [("x", FloatTensorType([None, x.shape[1]]))], maps), [{"x": part} for [part] in parts(x[:60])]


SUBJECTS = {
    "harbour": "ship mooring tide crane pilot anchor cargo quay lighthouse rope the the a to of",
    "kitchen": "onion oven broth knife simmer salt pepper butter plate whisk the the a to of",
    "workshop": "lathe bolt drill spanner oil gauge weld plank chisel vice the the a to of",
}


def texts():
    """Sentences of words of a subject, some with capitals and points; and their subjects."""
    random = np.random.default_rng(5)
    names = random.choice(list(SUBJECTS), 150)
    lines = []
    for name in names:
        line = " ".join(random.choice(SUBJECTS[name].split(), int(random.integers(4, 14))))
        lines.append(line.capitalize() + "." if random.random() < 0.5 else line)
    return np.array(lines, object), names.astype(object)


def text(vectorizer, classifier):
    lines, names = texts()
    pipeline = make_pipeline(vectorizer, classifier)
    pipeline.fit(lines[60:], names[60:])
    return converted(pipeline, [("line", StringTensorType([None, 1]))]), [{"line": part[:, None]} for [part] in parts(lines[:60])]


def columns():
    """A table: strings by one column, numbers with gaps by another."""
    random = np.random.default_rng(6)
    town = random.choice(["Ålesund", "Brest", "Cádiz", "Delft"], 200).astype(object)
    kind = random.choice(["ferry", "tug"], 200).astype(object)
    size = random.normal(30, 10, (200, 3)).astype(np.float32)
    late = (size[:, 0] + 10 * (town == "Brest") - 5 * (kind == "tug") > 32).astype(int)
    size[random.random(size.shape) < 0.1] = np.nan
    table = np.concatenate([town[:, None], kind[:, None], size.astype(object)], 1)
    steps = ColumnTransformer([("words", OneHotEncoder(handle_unknown="ignore"), [0, 1]),
                               ("sizes", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [2, 3, 4])])
    pipeline = make_pipeline(steps, LogisticRegression())
    pipeline.fit(table[60:], late[60:])
    types = [("words", StringTensorType([None, 2])), ("size", FloatTensorType([None, 3]))]
    words = table[:60, :2]
    words[3, 0] = "Esbjerg"  # not in the data
    return converted(pipeline, types), [{"words": a, "size": b} for a, b in parts(words, size[:60])]


def ordinal():
    """Words as numbers for trees."""
    random = np.random.default_rng(8)
    words = random.choice(["red", "green", "blue", "white"], (200, 3)).astype(object)
    pipeline = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=5, random_state=0))
    pipeline.fit(words[60:], (words[60:] == "red").sum(1))
    return converted(pipeline, [("words", StringTensorType([None, 3]))]), [{"words": part} for [part] in parts(words[:60])]


def bins(kind):
    return make_pipeline(StandardScaler(), kind(max_iter=12, max_leaf_nodes=8, random_state=0))


IRIS, WINE, DIGITS = datasets.load_iris, datasets.load_wine, datasets.load_digits
CANCER, DIABETES = datasets.load_breast_cancer, datasets.load_diabetes
SEED = dict(random_state=0)
PIPELINES = {
    "forest": lambda: numbers(DIGITS, RandomForestClassifier(8, max_depth=5, **SEED)),
    "forest_names": lambda: numbers(IRIS, RandomForestClassifier(10, max_depth=4, **SEED), names=True),
    "forest_regressor": lambda: numbers(DIABETES, ExtraTreesRegressor(10, max_depth=6, **SEED)),
    "forest_isolation": lambda: numbers(WINE, IsolationForest(n_estimators=8, max_samples=24, **SEED)),
    "boosting": lambda: numbers(CANCER, GradientBoostingClassifier(n_estimators=20, **SEED)),
    "boosting_classes": lambda: numbers(WINE, GradientBoostingClassifier(n_estimators=10, **SEED), names=True),
    "boosting_regressor": lambda: numbers(DIABETES, GradientBoostingRegressor(n_estimators=20, **SEED)),
    "boosting_bins": lambda: numbers(CANCER, bins(HistGradientBoostingClassifier), gaps=True),
    "boosting_bins_classes": lambda: numbers(WINE, bins(HistGradientBoostingClassifier), names=True, gaps=True, maps=True),
    "boosting_bins_regressor": lambda: numbers(DIABETES, bins(HistGradientBoostingRegressor)),
    "maps": lambda: numbers(WINE, make_pipeline(StandardScaler(), LogisticRegression()), maps=True),
    "maps_names": lambda: numbers(IRIS, RandomForestClassifier(6, max_depth=3, **SEED), names=True, maps=True),
    "boosting_ada": lambda: numbers(IRIS, AdaBoostClassifier(n_estimators=8, **SEED)),
    "svm": lambda: numbers(WINE, make_pipeline(StandardScaler(), SVC(probability=True, **SEED)), names=True),
    "svm_two": lambda: numbers(CANCER, make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2, probability=True, **SEED))),
    "svm_regressor": lambda: numbers(DIABETES, make_pipeline(StandardScaler(), NuSVR(nu=0.2))),
    "svm_one_class": lambda: numbers(IRIS, OneClassSVM(kernel="sigmoid", gamma=0.01)),
    "kmeans": lambda: numbers(DIGITS, make_pipeline(StandardScaler(), KMeans(10, n_init=1, **SEED))),
    "text": lambda: text(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression()),
    "text_letters": lambda: text(TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True), LogisticRegression()),
    "text_counts": lambda: text(CountVectorizer(lowercase=False, min_df=2), RandomForestClassifier(8, max_depth=4, **SEED)),
    "columns": columns,
    "ordinal": ordinal,
    "neighbours": lambda: numbers(IRIS, make_pipeline(StandardScaler(), KNeighborsClassifier(4)), names=True),
    "bayes": lambda: numbers(WINE, make_pipeline(PCA(4), GaussianNB())),
    "network": lambda: numbers(DIGITS, make_pipeline(Normalizer(), MLPClassifier((24,), max_iter=60, **SEED))),
    "gaussian_process": lambda: numbers(IRIS, GaussianProcessRegressor(alpha=0.1)),
    "bins": lambda: numbers(IRIS, make_pipeline(KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
                                                LogisticRegression())),
    "polynomial": lambda: numbers(DIABETES, make_pipeline(PolynomialFeatures(2), StandardScaler(), GradientBoostingRegressor(
        n_estimators=5, **SEED))),
    "voting": lambda: numbers(IRIS, VotingClassifier([("a", LogisticRegression(max_iter=500)), ("b", DecisionTreeClassifier(
        max_depth=3, **SEED))], voting="soft", flatten_transform=False)),
}
