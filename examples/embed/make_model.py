#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx: y = Gather(relu(x A + b) C, pick, axis 1), with small whole numbers as weights. Needs the onnx package."""
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

A = np.array([[1, 0, -1, 2], [0, 1, 1, -1], [2, 1, 0, 1]], np.float32)
B = np.array([0, -1, 1, 0], np.float32)
C = np.array([[1, 0], [0, 1], [1, 1], [2, -1]], np.float32)

nodes = [
    helper.make_node("MatMul", ["x", "A"], ["xA"]),
    helper.make_node("Add", ["xA", "b"], ["xAb"]),
    helper.make_node("Relu", ["xAb"], ["h"]),
    helper.make_node("MatMul", ["h", "C"], ["hC"]),
    helper.make_node("Gather", ["hC", "pick"], ["y"], axis=1),
]
graph = helper.make_graph(
    nodes, "embed",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3]),
     helper.make_tensor_value_info("pick", TensorProto.INT64, ["n"])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "n"])],
    [numpy_helper.from_array(A, "A"), numpy_helper.from_array(B, "b"), numpy_helper.from_array(C, "C")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="stagecoach")
checker.check_model(model)
save(model, pathlib.Path(__file__).parent / "model.onnx")
