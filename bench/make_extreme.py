#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of extreme shapes for bench/loading. usage: make_extreme.py FOLDER

inline.onnx    417 MiB of weights inside the file, twelve products
chain.onnx     200,000 nodes in a row
wide.onnx      a Concat of 20,000 values, each made by a node of its own
inputs.onnx    a Sum of 20,000 graph inputs
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FOLDER = pathlib.Path(sys.argv[1])


def vector(name, n=4):
    return h.make_tensor_value_info(name, T.FLOAT, [n])


def save(name, nodes, ins, outs, weights=()):
    model = h.make_model(h.make_graph(nodes, name, ins, outs, list(weights)), opset_imports=[h.make_opsetid("", 21)],
                         ir_version=10)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def inline():
    width, rng = 3018, np.random.default_rng(1)  # 12 x 3018 x 3018 floats are 417 MiB
    weights = [nh.from_array(rng.standard_normal((width, width), np.float32) / 55, f"w{i}") for i in range(12)]
    nodes = [h.make_node("MatMul", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}"]) for i in range(12)]
    rows = [h.make_tensor_value_info(name, T.FLOAT, ["n", width]) for name in ("x", "v12")]
    save("inline", nodes, rows[:1], rows[1:], weights)


def chain(n=200_000):
    nodes = [h.make_node("Neg" if i % 2 else "Abs", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(n)]
    save("chain", nodes, [vector("x")], [vector(f"v{n}")])


def wide(n=20_000):
    nodes = [h.make_node("Neg" if i % 2 else "Abs", ["x"], [f"v{i}"]) for i in range(n)]
    nodes += [h.make_node("Concat", [f"v{i}" for i in range(n)], ["y"], axis=0)]
    save("wide", nodes, [vector("x")], [vector("y", 4 * n)])


def inputs(n=20_000):
    names = [f"x{i}" for i in range(n)]
    save("inputs", [h.make_node("Sum", names, ["s"]), h.make_node("Neg", ["s"], ["y"])], [vector(x) for x in names],
         [vector("y")])


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (inline, chain, wide, inputs):
        make()
