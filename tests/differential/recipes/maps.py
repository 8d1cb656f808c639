# SPDX-License-Identifier: Apache-2.0
"""Operators between tensors and maps."""
import numpy as np

import schema
from draw import Case, recipe

DOMAIN = "ai.onnx.ml"
WORDS = ["b", "", "a", "straße", "Z", "aa"]


def parts(kind):
    """map(int64:float) -> int64, float"""
    return kind.removeprefix("seq(").removeprefix("map(").rstrip(")").split(":")


def keys_of(d, kind, n):
    chosen = d.rng.permutation(6)[:n]
    return [WORDS[i] for i in chosen] if kind == "string" else [int(i) * 7 - 3 for i in chosen]


@recipe("ZipMap", domain=DOMAIN)
def zip_map(d):
    key, _ = parts(d.types["T"])
    labels = keys_of(d, key, d.int(1, 6))
    x = d.values("float", [d.pick(0, 1, 3, 65), len(labels)] if d.chance(0.8) else [len(labels)])
    name = "classlabels_strings" if key == "string" else "classlabels_int64s"

    def rule(x):  # the keys of a map have no order: here they are sorted
        return [dict(sorted(zip(labels, row), key=lambda entry: str(entry[0]).encode() if key == "string" else entry[0]))
                for row in x.reshape(-1, len(labels))]

    return Case(x, rule=rule, error=0, **{name: labels})


def value_of(d, kind):
    if kind == "string":
        return d.pick("1", "-2", "12", "0")
    return schema.numpy_type(kind).type(d.int(-4, 4) if kind == "int64" else d.rng.uniform(-4, 4))


@recipe("DictVectorizer", domain=DOMAIN)
def dict_vectorizer(d):
    key, kind = parts(d.types["T1"]) if d.cell == "T1" else (d.pick("string", "int64"), d.types["T2"])
    if d.cell == "T2":
        pairs = [each for each in d.row.types["T1"] if parts(each)[1] == kind]
        d.types["T1"] = d.pick(*pairs)
        key, _ = parts(d.types["T1"])
    d.types["T2"] = kind
    vocabulary = keys_of(d, key, d.int(1, 6))
    x = {each: value_of(d, kind) for each in vocabulary if d.chance(0.6)} or {vocabulary[0]: value_of(d, kind)}
    nothing = "" if kind == "string" else 0
    rule = lambda x: np.array([x.get(each, nothing) for each in vocabulary], schema.numpy_type(kind))  # noqa: E731
    name = "string_vocabulary" if key == "string" else "int64_vocabulary"
    return Case(x, rule=rule, error=0, **{name: vocabulary})


@recipe("CastMap", domain=DOMAIN)
def cast_map(d):
    _, kind = parts(d.types["T1"])
    to, sparse = d.types["T2"], d.chance(0.4)
    keys = [int(key) for key in d.rng.permutation(9)[:d.int(1, 6)]]
    x = {key: value_of(d, kind) for key in keys}
    if kind == "float" and to == "string":
        x = {key: np.float32(d.pick(0.5, -2.0, 100.25)) for key in keys}
    most = 9 + d.int(0, 3)

    def one(value):
        if to == "string":
            return str(value)
        return float(value) if to == "float" else int(float(value))

    def rule(x):
        if sparse:
            row = [one(x[key]) if key in x else "" if to == "string" else 0 for key in range(most)]
        else:
            row = [one(x[key]) for key in sorted(x)]
        return np.array([row], schema.numpy_type(to))

    return Case(x, rule=rule, cast_to={"float": "TO_FLOAT", "int64": "TO_INT64", "string": "TO_STRING"}[to],
                map_form="SPARSE" if sparse else d.pick(None, "DENSE"), max_map=most if sparse else None)
