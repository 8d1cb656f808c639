# SPDX-License-Identifier: Apache-2.0
"""Classical models and their features."""
import numpy as np
from onnx import numpy_helper

from draw import Case, Impossible, recipe


def floats(d, n, low=-1.0, high=1.0):
    return [float(np.float32(v)) for v in d.rng.uniform(low, high, n)]


def features(d, variable="T", rows=None):
    return d.values(variable, [d.pick(1, 3, 65) if rows is None else rows, d.int(1, 5)], -4, 4)


def transformed(scores, post):
    if post == "LOGISTIC":
        return 1 / (1 + np.exp(-scores))
    if post == "SOFTMAX":
        e = np.exp(scores - scores.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    return scores


def labels(d, n, ints="classlabels_ints", strings="classlabels_strings"):
    """The attribute and its values, of the type that T2 is to have."""
    if d.types["T2"] == "string":
        values = [f"class {i}" for i in range(n)]
        return {strings: values}, np.array(values, object)
    values = [int(v) for v in d.rng.permutation(9)[:n] - 3]
    return {ints: values}, np.array(values, np.int64)


@recipe("LinearRegressor", domain="ai.onnx.ml")
def linear_regressor(d):
    x, targets = features(d), d.int(1, 3)
    coefficients, intercepts = floats(d, targets * x.shape[1]), floats(d, targets)
    weights = np.array(coefficients).reshape(targets, -1).T
    return Case(x, rule=lambda x: x @ weights + np.array(intercepts), error=8, coefficients=coefficients,
                intercepts=intercepts, targets=targets)


@recipe("LinearClassifier", domain="ai.onnx.ml")
def linear_classifier(d):
    x, n, post = features(d, "T1"), d.int(3, 5), d.pick(None, "NONE", "LOGISTIC", "SOFTMAX")
    coefficients, intercepts = floats(d, n * x.shape[1]), floats(d, n)
    names, values = labels(d, n)

    def rule(x):
        scores = x @ np.array(coefficients).reshape(n, -1).T + np.array(intercepts)
        return values[scores.argmax(1)], transformed(scores, post)

    return Case(x, outputs=2, rule=rule, error=8, coefficients=coefficients, intercepts=intercepts,
                post_transform=post, **names)


def kernel_of(d):
    kind, params = d.pick("LINEAR", "POLY", "RBF", "SIGMOID"), floats(d, 2, 0.1, 0.5) + [float(d.int(1, 3))]
    gamma, offset, degree = params

    def kernel(x, vectors):
        dot = x @ vectors.T
        distance = ((x[:, None, :] - vectors[None]) ** 2).sum(2)
        return {"LINEAR": dot, "POLY": (gamma * dot + offset) ** degree, "RBF": np.exp(-gamma * distance),
                "SIGMOID": np.tanh(gamma * dot + offset)}[kind]

    return dict(kernel_type=kind, kernel_params=params), kernel


@recipe("SVMRegressor", domain="ai.onnx.ml")
def svm_regressor(d):
    x, n = features(d), d.int(1, 6)
    more, kernel = kernel_of(d)
    vectors, coefficients, rho = floats(d, n * x.shape[1]), floats(d, n), floats(d, 1)
    rule = lambda x: (kernel(x, np.array(vectors).reshape(n, -1)) @ np.array(coefficients) + rho[0])[:, None]  # noqa: E731
    return Case(x, rule=rule, error=64, support_vectors=vectors, coefficients=coefficients, rho=rho, n_supports=n, **more)


@recipe("SVMClassifier", domain="ai.onnx.ml")
def svm_classifier(d):
    x, n = features(d, "T1"), 3
    more, _ = kernel_of(d)
    counts = [d.int(1, 3) for _ in range(n)]
    total, pairs = sum(counts), n * (n - 1) // 2
    names, _ = labels(d, n)
    return Case(x, outputs=2, support_vectors=floats(d, total * x.shape[1]), coefficients=floats(d, (n - 1) * total),
                rho=floats(d, pairs), vectors_per_class=counts, **more, **names)


MODES = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
         "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}


def grow(d, n_features, n_targets, least=-1):
    """Nodes (feature, split, yes, no), or a leaf (target, weight), of one tree; node 0 is the root."""
    nodes = []
    grown = [(None, None, 0)]
    while grown:
        parent, side, depth = grown.pop(0)
        if parent is not None:
            nodes[parent][side] = len(nodes)
        if depth == 3 or (depth and d.chance(0.2)):
            nodes.append([int(d.int(0, n_targets - 1)), float(np.float32(d.rng.uniform(least, 1)))])
        else:
            nodes.append([d.int(0, n_features - 1), float(d.int(-3, 3)), None, None])
            grown += [(len(nodes) - 1, 2, depth + 1), (len(nodes) - 1, 3, depth + 1)]
    return nodes


def walk(trees, mode, row):
    for nodes in trees:
        node = nodes[0]
        while len(node) == 4:
            node = nodes[node[2 if MODES[mode](row[node[0]], node[1]) else 3]]
        yield node


def forest(d, n_features, n_targets, prefix, least=-1):
    mode = d.pick(*MODES)
    trees = [grow(d, n_features, n_targets, least) for _ in range(d.int(1, 4))]
    flat = [(t, i, node) for t, nodes in enumerate(trees) for i, node in enumerate(nodes)]
    branch = lambda node, at, other=0: node[at] if len(node) == 4 else other  # noqa: E731
    leaves = [(t, i, node) for t, i, node in flat if len(node) == 2]
    return trees, mode, {
        "nodes_treeids": [t for t, _, _ in flat], "nodes_nodeids": [i for _, i, _ in flat],
        "nodes_featureids": [branch(node, 0) for _, _, node in flat],
        "nodes_values": [float(branch(node, 1)) for _, _, node in flat],
        "nodes_modes": [mode if len(node) == 4 else "LEAF" for _, _, node in flat],
        "nodes_truenodeids": [branch(node, 2) for _, _, node in flat],
        "nodes_falsenodeids": [branch(node, 3) for _, _, node in flat],
        f"{prefix}_treeids": [t for t, _, _ in leaves], f"{prefix}_nodeids": [i for _, i, _ in leaves],
        f"{prefix}_ids": [node[0] for _, _, node in leaves], f"{prefix}_weights": [node[1] for _, _, node in leaves]}


@recipe("TreeEnsembleRegressor", domain="ai.onnx.ml")
def tree_regressor(d):
    x, n, how = features(d), d.int(1, 3), d.pick(None, "SUM", "AVERAGE", "MIN", "MAX")
    trees, mode, attributes = forest(d, x.shape[1], n, "target")

    def rule(x):
        y = np.zeros([len(x), n])
        for row, out in zip(x, y):
            votes = [[w for t, w in walk(trees, mode, row) if t == target] for target in range(n)]
            out[:] = [{"MIN": min, "MAX": max}.get(how, sum)(v) if v else 0 for v in votes]
        return y / len(trees) if how == "AVERAGE" else y

    return Case(x, rule=rule, error=8, aggregate_function=how, n_targets=n, **attributes)


@recipe("TreeEnsembleClassifier", domain="ai.onnx.ml")
def tree_classifier(d):
    x, n, post = features(d, "T1"), d.int(3, 4), d.pick(None, "NONE", "LOGISTIC", "SOFTMAX")
    trees, mode, attributes = forest(d, x.shape[1], n, "class", 0)  # a class without a vote has 0, not the top score
    names, values = labels(d, n, "classlabels_int64s")

    def rule(x):
        scores = np.zeros([len(x), n])
        for row, out in zip(x, scores):
            for target, weight in walk(trees, mode, row):
                out[target] += weight
        return values[scores.argmax(1)], transformed(scores, post)

    return Case(x, outputs=2, rule=rule, error=8, post_transform=post, **attributes, **names)


@recipe("TreeEnsemble", domain="ai.onnx.ml")
def tree_ensemble(d):
    x, n, how = features(d), d.int(1, 3), d.pick(None, 0, 1, 2, 3)
    mode = d.pick(*MODES)
    trees = [grow(d, x.shape[1], n) for _ in range(d.int(1, 4))]
    places, roots, nodes, leaves = {}, [], [], []
    for t, tree in enumerate(trees):
        roots.append(len(nodes))
        for i, node in enumerate(tree):
            kind = nodes if len(node) == 4 else leaves
            places[t, i] = len(kind)
            kind.append((t, node))
    leaf = lambda at: [int(len(trees[t][node[at]]) == 2) for t, node in nodes]  # noqa: E731
    to = lambda at: [places[t, node[at]] for t, node in nodes]  # noqa: E731
    tensor = lambda values, dtype: numpy_helper.from_array(np.array(values).astype(dtype))  # noqa: E731
    weights = np.array([node[1] for _, node in leaves]).astype(d.dtype("T"))
    exact = {id(node): float(w) for (_, node), w in zip(leaves, weights)}

    def rule(x):
        y = np.zeros([len(x), n])
        for row, out in zip(x, y):
            votes = [[exact[id(v)] for v in walk(trees, mode, row) if v[0] == target] for target in range(n)]
            out[:] = [{2: min, 3: max}.get(how, sum)(v) if v else 0 for v in votes]
        return y / len(trees) if how == 0 else y

    return Case(x, rule=rule, error=8, aggregate_function=how, n_targets=n, tree_roots=roots,
                nodes_featureids=[node[0] for _, node in nodes], nodes_splits=tensor([node[1] for _, node in nodes], x.dtype),
                nodes_modes=tensor([list(MODES).index(mode)] * len(nodes), np.uint8), nodes_truenodeids=to(2),
                nodes_falsenodeids=to(3), nodes_trueleafs=leaf(2), nodes_falseleafs=leaf(3),
                leaf_targetids=[node[0] for _, node in leaves], leaf_weights=tensor(weights, x.dtype))


@recipe("Scaler", domain="ai.onnx.ml")
def scaler(d):
    x = features(d)
    n = d.pick(1, x.shape[1])
    offset, scale = floats(d, n), floats(d, n)
    return Case(x, rule=lambda x: (x - np.array(offset)) * np.array(scale), offset=offset, scale=scale)


@recipe("Normalizer", domain="ai.onnx.ml")
def normalizer(d):
    x = np.abs(features(d).astype(np.float64) % 100) + 1  # of negative numbers clause and peers say different things
    norm = d.pick(None, "MAX", "L1", "L2")
    by = {"L1": lambda x: x.sum(1), "L2": lambda x: np.sqrt((x * x).sum(1))}.get(norm, lambda x: x.max(1))
    return Case(x.astype(d.dtype("T")), rule=lambda x: x / by(x.astype(np.float64))[:, None], error=4, norm=norm)


@recipe("Binarizer", domain="ai.onnx.ml")
def binarizer(d):
    x, threshold = d.values("T", d.shape(1, 3)), d.pick(None, 0.5, -1.0)
    return Case(x, rule=lambda x: (x > (threshold or 0)).astype(x.dtype), threshold=threshold)


@recipe("Imputer", domain="ai.onnx.ml")
def imputer(d):
    x = features(d)
    n = d.pick(1, x.shape[1])
    if x.dtype.kind == "f":
        values, what = floats(d, n), d.pick(float("nan"), 1.0)
        x[d.rng.random(x.shape) < 0.3] = what
        gone = lambda x: np.isnan(x) if np.isnan(what) else x == what  # noqa: E731
        return Case(x, rule=lambda x: np.where(gone(x), np.array(values), x), imputed_value_floats=values,
                    replaced_value_float=what)
    values, what = [d.int(-9, 9) for _ in range(n)], d.int(-2, 2)
    return Case(x, rule=lambda x: np.where(x == what, np.array(values), x), imputed_value_int64s=values,
                replaced_value_int64=what)


@recipe("FeatureVectorizer", domain="ai.onnx.ml")
def vectorizer(d):
    rows = d.pick(1, 3)
    parts = [features(d, "T1", rows) for _ in range(d.int(1, 3))]
    sizes = [part.shape[1] for part in parts]
    return Case(*parts, rule=lambda *parts: np.concatenate(parts, 1), inputdimensions=sizes)


@recipe("ArrayFeatureExtractor", domain="ai.onnx.ml")
def extractor(d):
    x = d.values("T", d.shape(2, 3, (1, 2, 3)))
    places = d.rng.integers(0, x.shape[-1], d.int(1, 4))
    return Case(x, places, rule=lambda x, y: x[..., y])


@recipe("OneHotEncoder", domain="ai.onnx.ml")
def one_hot(d):
    shape = [d.pick(1, 3), d.pick(1, 4)]
    if d.types["T"] == "string":
        x, cats, name = np.array([d.pick("a", "b", "c") for _ in range(shape[0] * shape[1])], object), ["c", "a"], "cats_strings"
    else:
        x, cats, name = d.rng.integers(0, 4, shape).astype(d.dtype("T")), [3, 0, 1], "cats_int64s"
    x = x.reshape(shape)
    return Case(x, rule=lambda x: np.stack([x == c for c in cats], -1), **{name: cats})


@recipe("CategoryMapper", domain="ai.onnx.ml")
def mapper(d):
    ints, strings = [3, -1, 7], ["a", "", "b"]
    if d.types["T1"] == d.types["T2"]:
        raise Impossible
    back, shape = d.types["T1"] == "int64", d.shape(1, 2, (1, 2, 3))
    keys, values = (ints, strings) if back else (strings, ints)
    x = np.array([d.pick(*keys, 5 if back else "other") for _ in range(int(np.prod(shape)))], np.int64 if back else object)
    rule = lambda x: np.array([dict(zip(keys, values)).get(v, "none" if back else -9) for v in x.reshape(-1)],  # noqa: E731
                              object if back else np.int64).reshape(shape)
    return Case(x.reshape(shape), rule=rule, cats_int64s=ints, cats_strings=strings, default_int64=-9, default_string="none")


def keys_of(d, variable):
    kind = d.types[variable]
    return {"string": ["a", "b", "", "c"], "float": [0.5, -1.0, 2.0, 0.0], "double": [0.1, -1.0, 1e300, 0.0],
            "int64": [5, -1, 0, 1 << 60]}.get(kind, [5, -1, 0, 300])


@recipe("LabelEncoder", domain="ai.onnx.ml")
def label_encoder(d):
    if d.since == 1:
        classes = ["a", "b", "c"]
        if d.types["T1"] == d.types["T2"]:
            raise Impossible
        back = d.types["T1"] == "int64"
        x = np.array([d.int(0, 4) if back else d.pick("b", "c", "z") for _ in range(5)], np.int64 if back else object)
        table = dict(enumerate(classes)) if back else {c: i for i, c in enumerate(classes)}
        rule = lambda x: np.array([table.get(v, "_Unused" if back else -1) for v in x], object if back else np.int64)  # noqa: E731
        return Case(x, rule=rule, classes_strings=classes)
    keys, values = keys_of(d, "T1"), keys_of(d, "T2")
    default = {"string": "none", "float": 9.5, "double": 9.5}.get(d.types["T2"], -9)
    other = {"string": "z", "float": 7.0, "double": 7.0}.get(d.types["T1"], 77)
    x = np.array([d.pick(*keys, other) for _ in range(6)], d.dtype("T1")).reshape(2, 3)
    rule = lambda x: np.array([dict(zip(keys, values)).get(v, default) for v in x.reshape(-1)],  # noqa: E731
                              d.dtype("T2")).reshape(x.shape)
    return Case(x, rule=rule, **listed(d, "T1", "keys", keys), **listed(d, "T2", "values", values),
                **listed(d, "T2", "default", [default]))


def listed(d, variable, name, values):
    """The attribute that has values of a type: a list or, for types that no list has, a tensor."""
    kind = d.types[variable]
    if kind not in {"string", "float", "int64"}:
        return {f"{name}_tensor": numpy_helper.from_array(np.array(values, d.dtype(variable)))}
    if name == "default":
        return {f"default_{kind}": values[0]}
    return {f"{name}_{kind}s": values}
