#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx, a surrogate of f(u) = u (1 - u): one hidden layer of 16 ReLUs, whose weights make it the straight lines
between the points of f at 0, 1/16, ... 1. Needs the onnx package."""
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

N = 16
knots = np.arange(N + 1) / N
slopes = np.diff(knots * (1 - knots)) * N
weights = {
    "spread": np.ones((1, N), np.float32),
    "from": (-knots[:N]).astype(np.float32),
    "bend": np.diff(slopes, prepend=0).astype(np.float32).reshape(N, 1),
}
nodes = [
    helper.make_node("Gemm", ["u", "spread", "from"], ["beyond"]),
    helper.make_node("Relu", ["beyond"], ["hidden"]),
    helper.make_node("MatMul", ["hidden", "bend"], ["f"]),
]
graph = helper.make_graph(
    nodes, "surrogate",
    [helper.make_tensor_value_info("u", TensorProto.FLOAT, ["cells", 1])],
    [helper.make_tensor_value_info("f", TensorProto.FLOAT, ["cells", 1])],
    [numpy_helper.from_array(array, name) for name, array in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="stagecoach")
checker.check_model(model)
save(model, pathlib.Path(__file__).parent / "model.onnx")
