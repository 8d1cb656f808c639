#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx: a small decoder with random weights in the opset 24 form of a cache (TensorScatter, Attention with
nonpad_kv_seqlen). Llama shape: 2 layers, width 32, 4 heads, 2 KV heads, vocabulary 64, capacity 288.

usage: make_decoder.py [FOLDER]          needs onnx and numpy
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

LAYERS, WIDTH, HEADS, KV, FORWARD, VOCABULARY, CAPACITY = 2, 32, 4, 2, 64, 64, 288
HEAD = WIDTH // HEADS


def build():
    rng = np.random.default_rng(24)
    nodes, weights = [], []

    def weight(name, values):
        weights.append(nh.from_array(np.ascontiguousarray(values), name))
        return name

    def matrix(name, rows, columns):
        return weight(name, (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32))

    def op(kind, ins, out, **attributes):
        nodes.append(h.make_node(kind, ins, [out], name=f"{kind}:{out}", **attributes))
        return out

    def norm(x, name):
        scale = weight(name + ".weight", (1 + 0.1 * rng.standard_normal(WIDTH)).astype(np.float32))
        return op("RMSNormalization", [x, scale], name, axis=-1, epsilon=1e-6)

    def heads(x, split, name):
        return op("Transpose", [op("Reshape", [x, split], name + "_4d")], name + "_bnsh", perm=[0, 2, 1, 3])

    angles = np.outer(np.arange(CAPACITY), 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD))
    tables = [weight("cos_cache", np.cos(angles).astype(np.float32)), weight("sin_cache", np.sin(angles).astype(np.float32))]
    for name, shape in (("split_q", [0, 0, HEADS, HEAD]), ("split_kv", [0, 0, KV, HEAD]), ("join", [0, 0, WIDTH])):
        weight(name, np.array(shape, np.int64))
    ins = [h.make_tensor_value_info(n, T.INT64, ["batch", "sequence"]) for n in ("input_ids", "position_ids")]
    ins += [h.make_tensor_value_info(n, T.INT64, ["batch"]) for n in ("write_indices", "nonpad_kv_seqlen")]
    outs = [h.make_tensor_value_info("logits", T.FLOAT, ["batch", "sequence", VOCABULARY])]
    embed = weight("embed", rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32))
    x = op("Gather", [embed, "input_ids"], "embeds")
    for i in range(LAYERS):
        p = f"layers.{i}."
        n = norm(x, p + "input_norm")
        q = op("MatMul", [n, matrix(p + "q.weight", WIDTH, WIDTH)], p + "q")
        k = op("MatMul", [n, matrix(p + "k.weight", WIDTH, KV * HEAD)], p + "k")
        v = op("MatMul", [n, matrix(p + "v.weight", WIDTH, KV * HEAD)], p + "v")
        q = op("RotaryEmbedding", [q, *tables, "position_ids"], p + "q_rot", num_heads=HEADS)
        k = op("RotaryEmbedding", [k, *tables, "position_ids"], p + "k_rot", num_heads=KV)
        caches = []
        for kind, new in (("key", k), ("value", v)):
            cache = f"{kind}_cache.{i}"
            ins.append(h.make_tensor_value_info(cache, T.FLOAT, ["batch", KV, CAPACITY, HEAD]))
            outs.append(h.make_tensor_value_info("updated_" + cache, T.FLOAT, ["batch", KV, CAPACITY, HEAD]))
            caches.append(op("TensorScatter", [cache, heads(new, "split_kv", p + kind), "write_indices"],
                             "updated_" + cache, axis=-2))
        a = op("Attention", [heads(q, "split_q", p + "q"), *caches, "", "", "", "nonpad_kv_seqlen"], p + "attn4", is_causal=1)
        a = op("Reshape", [op("Transpose", [a], p + "attn_bsnh", perm=[0, 2, 1, 3]), "join"], p + "attn")
        x = op("Add", [x, op("MatMul", [a, matrix(p + "o.weight", WIDTH, WIDTH)], p + "o")], p + "after_attn")
        n = norm(x, p + "post_norm")
        g = op("MatMul", [n, matrix(p + "gate.weight", WIDTH, FORWARD)], p + "gate")
        g = op("Mul", [g, op("Sigmoid", [g], p + "gate_sig")], p + "silu")
        g = op("Mul", [g, op("MatMul", [n, matrix(p + "up.weight", WIDTH, FORWARD)], p + "up")], p + "gated")
        x = op("Add", [x, op("MatMul", [g, matrix(p + "down.weight", FORWARD, WIDTH)], p + "down")], p + "out")
    op("MatMul", [norm(x, "final_norm"), matrix("head.weight", WIDTH, VOCABULARY)], "logits")
    graph = h.make_graph(nodes, "decoder", ins, outs, weights)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=11, producer_name="make_decoder")
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tensorscatter24"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(build(), folder / "model.onnx")
