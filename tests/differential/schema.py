# SPDX-License-Identifier: Apache-2.0
"""The rows of ops/schema/, and their cells: one for each type that a type parameter of a row may be."""
import pathlib
import re

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

TABLES = pathlib.Path(__file__).resolve().parents[2] / "ops/schema"


class Formal:
    """One declared input or output: x:T, x?:T (optional), x*:T (variadic), x*~:T (variadic of mixed types)."""

    def __init__(self, text):
        name, self.type = text.split(":", 1)
        self.name = name.rstrip("?*~")
        self.optional = "?" in name
        self.variadic = "*" in name


class Row:
    def __init__(self, line):
        domain, name, since, _, deprecated, *counts, inputs, outputs, attributes, types = line.split("\t")
        self.domain, self.name, self.since, self.deprecated = domain, name, int(since), deprecated == "1"
        self.inputs = [Formal(text) for text in inputs.split()]
        self.outputs = [Formal(text) for text in outputs.split()]
        self.attributes = {text.split(":", 1)[0] for text in attributes.split()}
        self.types = {}
        for text in types.split():
            variable, allowed = text.split("=", 1)
            self.types[variable] = allowed.split(",")

    def __str__(self):
        return f"{self.domain + '.' if self.domain else ''}{self.name}-{self.since}"

    def cells(self):
        """(type parameter, type) pairs; one cell without a type where a row has no parameter that is used."""
        return [(variable, each) for variable, allowed in self.types.items() for each in allowed] or [("", "")]


def all_rows():
    lines = [line for name in ("schema", "microsoft", "own") for line in (TABLES / f"{name}.tsv").read_text().splitlines()]
    return [Row(line) for line in lines if line and not line.startswith("#")]


def rows():
    """All but those of com.microsoft, which tests/data/microsoft has cases of."""
    return [row for row in all_rows() if row.domain != "com.microsoft"]


def element(name):
    """The number of an element type in the ONNX format, from its name in the schema."""
    return TensorProto.DataType.Value(name.upper())


def base(name):
    """The element type: seq(tensor(float)) and tensor(float) -> float; map(int64:float) -> float, that of its values"""
    return re.sub(r"^(seq\(|optional\(|tensor\(|map\(\w+:)+", "", name).rstrip(")")


def inner(name):
    """What an optional type may hold, in the schema's words: optional(tensor(float)) -> float"""
    held = name.removeprefix("optional(").removesuffix(")") if name.startswith("optional(") else name
    return held if held.startswith("seq(") else base(held)


def type_proto(name):
    """Without dims."""
    if name.startswith("optional("):
        return helper.make_optional_type_proto(type_proto(inner(name)))
    if name.startswith("map("):
        key, value = name.removeprefix("map(").removesuffix(")").split(":")
        return helper.make_map_type_proto(element(key), helper.make_tensor_type_proto(element(value), []))
    if name.startswith("seq("):
        return helper.make_sequence_type_proto(type_proto(name[4:-1] if "map(" in name else base(name)))
    return helper.make_tensor_type_proto(element(name), None)


def numpy_type(name):
    return np.dtype(object) if name == "string" else np.dtype(helper.tensor_dtype_to_np_dtype(element(name)))


INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
TINY_INTEGERS = {"int4", "uint4", "int2", "uint2"}
FLOATS = {"float16", "bfloat16", "float", "double"}
NARROW_FLOATS = {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1",
                 "float6e2m3", "float6e3m2"}
COMPLEX = {"complex64", "complex128"}


def finfo(name):
    """numpy's, or that of ml_dtypes, of a float type."""
    return np.finfo(numpy_type(name)) if name in {"float16", "float", "double"} else ml_dtypes.finfo(numpy_type(name))


def epsilon(name):
    """The distance from 1 to the next value of the type; 0 for what is exact."""
    name = base(name)
    if name in COMPLEX:
        return float(np.finfo(numpy_type(name)).eps)
    return float(finfo(name).eps) if name in FLOATS | NARROW_FLOATS else 0.0
