#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small decoders with random weights that no exporter writes yet, or whose states are not keys and values, one folder each:

  hybrid27  two layers of CausalConvWithState and LinearAttention (gated delta rule) and one of Attention with a cache, opset 27;
            states have names of no exporter, so operators must tell them
  lstm      an embedding, LSTM and GRU with their states, an LSTM between Squeeze and Unsqueeze, whose states the user must name
            (file `states`: option --state)
  attention25  two layers of Attention-25 with a window of keys, softcap and grouped heads, opset 25

usage: make_hybrid.py FOLDER [NAME...]          needs onnx 1.23 and numpy
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, WIDTH, HEADS, HEAD, FORWARD, KERNEL = 48, 32, 2, 16, 48, 4


class Builder:
    def __init__(self):
        self.random = np.random.default_rng(27)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def weight(self, name, values):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def matrix(self, name, rows, columns, scale=1.0):
        return self.weight(name, (scale * self.random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32))

    def op(self, kind, ins, outs, **attributes):
        outs = [outs] if isinstance(outs, str) else outs
        self.nodes.append(helper.make_node(kind, ins, outs, name=f"{kind}_{outs[0]}", **attributes))
        return outs[0]

    def state(self, past, present, shape):
        self.inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, shape))
        self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, shape))

    def save(self, path, opset, logits):
        head = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
        tail = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])]
        graph = helper.make_graph(self.nodes, path.parent.name, head + self.inputs, tail + self.outputs, self.weights)
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])
        onnx.checker.check_model(model)
        onnx.save(model, path)


def linear_layer(b, i, x):
    """Gated delta rule, as hybrids such as Qwen3-Next have it: a short convolution, normalised keys, a gate of decay."""
    mixed = 3 * HEADS * HEAD
    h = b.op("RMSNormalization", [x, b.weight(f"n{i}", np.ones(WIDTH, np.float32))], f"h{i}", axis=-1)
    rows = b.op("MatMul", [h, b.matrix(f"in{i}", WIDTH, mixed)], f"rows{i}")
    turned = b.op("Transpose", [rows], f"turned{i}", perm=[0, 2, 1])
    taps = (b.random.standard_normal((mixed, 1, KERNEL)) / 2).astype(np.float32)
    b.state(f"window.{i}", f"window_after.{i}", ["batch", mixed, KERNEL - 1])
    b.op("CausalConvWithState", [turned, b.weight(f"taps{i}", taps), "", f"window.{i}"], [f"conv{i}", f"window_after.{i}"],
         activation="silu")
    back = b.op("Transpose", [f"conv{i}"], f"back{i}", perm=[0, 2, 1])
    b.op("Split", [back], [f"q{i}", f"k{i}", f"v{i}"], axis=-1, num_outputs=3)
    for what in "qk":
        heads = b.op("Reshape", [f"{what}{i}", "to_heads"], f"{what}h{i}")
        unit = b.op("LpNormalization", [heads], f"{what}u{i}", axis=-1, p=2)
        b.op("Reshape", [unit, "to_rows"], f"{what}n{i}")
    decay = b.op("Neg", [b.op("Softplus", [b.op("MatMul", [h, b.matrix(f"decay{i}", WIDTH, HEADS)], f"d{i}")], f"dp{i}")], f"g{i}")
    beta = b.op("Sigmoid", [b.op("MatMul", [h, b.matrix(f"beta{i}", WIDTH, HEADS)], f"bm{i}")], f"b{i}")
    b.state(f"memory.{i}", f"memory_after.{i}", ["batch", HEADS, HEAD, HEAD])
    b.op("LinearAttention", [f"qn{i}", f"kn{i}", f"v{i}", f"memory.{i}", decay, beta], [f"o{i}", f"memory_after.{i}"],
         q_num_heads=HEADS, kv_num_heads=HEADS, update_rule="gated_delta", scale=1.0)
    out = b.op("MatMul", [f"o{i}", b.matrix(f"out{i}", HEADS * HEAD, WIDTH)], f"back_in{i}")
    return b.op("Add", [x, out], f"x{i}")


def attention_layer(b, i, x, group=1, **attributes):
    """Of HEADS keys and values, and `group` queries to each."""
    h = b.op("RMSNormalization", [x, b.weight(f"n{i}", np.ones(WIDTH, np.float32))], f"h{i}", axis=-1)
    for what in "qkv":
        b.op("MatMul", [h, b.matrix(f"w{what}{i}", WIDTH, HEADS * HEAD * (group if what == "q" else 1))], f"{what}{i}")
    for what in ("keys", "values"):
        b.inputs.append(helper.make_tensor_value_info(f"{what}.{i}", TensorProto.FLOAT, ["batch", HEADS, "past", HEAD]))
        b.outputs.append(helper.make_tensor_value_info(f"{what}_after.{i}", TensorProto.FLOAT, ["batch", HEADS, "total", HEAD]))
    b.op("Attention", [f"q{i}", f"k{i}", f"v{i}", "", f"keys.{i}", f"values.{i}"], [f"o{i}", f"keys_after.{i}", f"values_after.{i}"],
         q_num_heads=HEADS * group, kv_num_heads=HEADS, is_causal=1, **attributes)
    out = b.op("MatMul", [f"o{i}", b.matrix(f"wo{i}", HEADS * HEAD * group, WIDTH)], f"back_in{i}")
    return b.op("Add", [x, out], f"x{i}")


def attention25(path):
    b = Builder()
    x = b.op("Gather", [b.matrix("table", VOCABULARY, WIDTH, 4.0), "input_ids"], "embedded")
    for i in range(2):
        x = attention_layer(b, i, x, group=2, left_window_size=24, softcap=5.0)
    b.op("MatMul", [x, b.matrix("head", WIDTH, VOCABULARY, 4.0)], "logits")
    b.save(path, 25, "logits")


def hybrid27(path):
    b = Builder()
    b.weight("to_heads", np.array([0, 0, HEADS, HEAD]))
    b.weight("to_rows", np.array([0, 0, HEADS * HEAD]))
    x = b.op("Gather", [b.matrix("table", VOCABULARY, WIDTH, 4.0), "input_ids"], "embedded")
    for i, layer in enumerate((linear_layer, attention_layer, linear_layer)):
        x = layer(b, i, x)
        h = b.op("RMSNormalization", [x, b.weight(f"m{i}", np.ones(WIDTH, np.float32))], f"mh{i}", axis=-1)
        up = b.op("Swish", [b.op("MatMul", [h, b.matrix(f"up{i}", WIDTH, FORWARD)], f"u{i}")], f"s{i}")
        x = b.op("Add", [x, b.op("MatMul", [up, b.matrix(f"down{i}", FORWARD, WIDTH)], f"dn{i}")], f"y{i}")
    b.op("MatMul", [x, b.matrix("head", WIDTH, VOCABULARY, 4.0)], "logits")
    b.save(path, 27, "logits")


def lstm(path):
    b = Builder()
    x = b.op("Gather", [b.matrix("table", VOCABULARY, WIDTH, 4.0), "input_ids"], "embedded")
    x = b.op("Transpose", [x], "steps", perm=[1, 0, 2])  # [sequence, batch, width]
    b.weight("first", np.array([0]))
    b.weight("direction", np.array([1]))

    def recurrent(kind, name, gates, states, x):
        weights = [(0.25 * b.random.standard_normal((1, gates * WIDTH, WIDTH))).astype(np.float32) for _ in range(2)]
        ins = [x, b.weight(f"w_{name}", weights[0]), b.weight(f"r_{name}", weights[1]), "", "", *[past for past, _ in states]]
        y = b.op(kind, ins, [f"y_{name}", *[present for _, present in states]], hidden_size=WIDTH)
        return b.op("Squeeze", [y, "direction"], f"x_{name}")

    for past, present in (("hidden", "hidden_new"), ("cell", "cell_new"), ("gru", "gru_new")):
        b.state(past, present, [1, "batch", WIDTH])
    x = recurrent("LSTM", "lstm", 4, [("hidden", "hidden_new"), ("cell", "cell_new")], x)
    x = recurrent("GRU", "gru", 3, [("gru", "gru_new")], x)
    for past in ("h", "c"):  # without the dim of directions, as the names of no rule
        b.state(f"{past}.last", f"{past}.next", ["batch", WIDTH])
        b.op("Unsqueeze", [f"{past}.last", "first"], f"{past}_in")
    x = recurrent("LSTM", "last", 4, [("h_in", "h_out"), ("c_in", "c_out")], x)
    for past in ("h", "c"):
        b.op("Squeeze", [f"{past}_out", "first"], f"{past}.next")
    x = b.op("Transpose", [x], "rows", perm=[1, 0, 2])
    b.op("MatMul", [x, b.matrix("head", WIDTH, VOCABULARY, 8.0)], "logits")
    b.save(path, 17, "logits")
    (path.parent / "states").write_text("h.last=h.next\nc.last=c.next\n")


def main():
    for name in sys.argv[2:] or ("hybrid27", "lstm", "attention25"):
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        globals()[name](folder / "model.onnx")


if __name__ == "__main__":
    main()
