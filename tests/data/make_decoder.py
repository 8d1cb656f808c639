#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small decoder with random weights in the opset 24 form of a cache (TensorScatter, Attention with
nonpad_kv_seqlen), and what ONNX Runtime makes of it, one thread:

  model.onnx      llama shape: 2 layers, width 32, 4 heads, 2 KV heads, vocabulary 64, capacity 256
  reference.json  per prompt: ids, greedy tokens, per step the five largest (id, logit)
  logits.npy      whole rows of the first prompt, f32 [steps, vocabulary]

usage: make_decoder.py [FOLDER]          needs onnx, numpy and onnxruntime 1.32 or later
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

LAYERS, WIDTH, HEADS, KV, FORWARD, VOCABULARY, CAPACITY = 2, 32, 4, 2, 64, 64, 256
HEAD = WIDTH // HEADS
STEPS, ROWS = 100, 48
PROMPTS = [[1, 2, 3, 4, 5], [63], [7, 7, 7, 0, 9, 11, 40, 2, 58, 33, 21, 20, 19]]


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


def decode(session, ids):
    state = {i.name: np.zeros([1] + i.shape[1:], np.float32) for i in session.get_inputs() if "_cache." in i.name}
    names, now, pos, rows = [o.name for o in session.get_outputs()], list(ids), 0, []
    for _ in range(STEPS):
        n = len(now)
        feeds = dict(state, input_ids=np.array([now], np.int64), position_ids=np.arange(pos, pos + n)[None],
                     write_indices=np.array([pos]), nonpad_kv_seqlen=np.array([pos + n]))
        out = dict(zip(names, session.run(None, feeds)))
        state = {k: out["updated_" + k] for k in state}
        rows.append(out["logits"][0, -1])
        pos, now = pos + n, [int(rows[-1].argmax())]
    return rows


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tensorscatter24"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(build(), folder / "model.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    found = []
    for k, ids in enumerate(PROMPTS):
        rows = decode(session, ids)
        best = [np.argsort(-r, kind="stable")[:5] for r in rows]
        found.append({"ids": ids, "greedy": [int(b[0]) for b in best],
                      "top5": [[[int(j), round(float(r[j]), 5)] for j in b] for r, b in zip(rows, best)]})
        print("smallest margin", min(float(r[b[0]] - r[b[1]]) for r, b in zip(rows, best)), len(set(found[-1]["greedy"])))
        if k == 0:
            np.save(folder / "logits.npy", np.stack(rows[:ROWS]))
    (folder / "reference.json").write_text(json.dumps(found, separators=(",", ":")))
