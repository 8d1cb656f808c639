#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a decoder with random weights, in the form of examples/shakespeare (opset 23: RMSNormalization, RotaryEmbedding,
Attention) and with its tokenizer: for measurements, where only sizes count. Needs the onnx package.

Usage: make_decoder.py DIR [--width 1024] [--layers 8] [--feed 2816] [--heads 16] [--kv-heads 8] [--external]"""
import argparse
import pathlib
import shutil

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

VOCABULARY, POSITIONS = 2048, 1024
EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples/shakespeare"


class Decoder:
    def __init__(self, args):
        self.args = args
        self.random = np.random.default_rng(1)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.head = args.width // args.heads

    def weight(self, name, *shape):
        values = self.random.standard_normal(shape, np.float32) * np.float32(shape[0] ** -0.5)
        self.weights.append(numpy_helper.from_array(values if len(shape) > 1 else np.ones(shape, np.float32), name))
        return name

    def node(self, op, inputs, output, **attributes):
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def product(self, value, name, rows, columns):
        return self.node("MatMul", [value, self.weight(name + ".weight", rows, columns)], name)

    def norm(self, value, name, width):
        return self.node("RMSNormalization", [value, self.weight(name + ".weight", width)], name, axis=-1, epsilon=1e-6)

    def layer(self, i, x):
        a, p = self.args, f"model.layers.{i}."
        kv = a.kv_heads * self.head
        h = self.norm(x, p + "input_layernorm", a.width)
        q = self.product(h, p + "self_attn.q_proj", a.width, a.width)
        k = self.product(h, p + "self_attn.k_proj", a.width, kv)
        v = self.product(h, p + "self_attn.v_proj", a.width, kv)
        q = self.node("RotaryEmbedding", [q, "cos_cache", "sin_cache", "position_ids"], p + "q_rot", num_heads=a.heads)
        k = self.node("RotaryEmbedding", [k, "cos_cache", "sin_cache", "position_ids"], p + "k_rot", num_heads=a.kv_heads)
        past = [f"past_key_values.{i}.{x}" for x in ("key", "value")]
        present = [f"present.{i}.{x}" for x in ("key", "value")]
        for name in past:
            self.inputs.append(self.info(name, TensorProto.FLOAT, ["batch", a.kv_heads, "past", self.head]))
        for name in present:
            self.outputs.append(self.info(name, TensorProto.FLOAT, ["batch", a.kv_heads, "total", self.head]))
        h = self.node("Attention", [q, k, v, "", *past], [p + "attn", *present], is_causal=1, q_num_heads=a.heads,
                      kv_num_heads=a.kv_heads)
        x = self.node("Add", [x, self.product(h, p + "self_attn.o_proj", a.width, a.width)], p + "after_attn")
        h = self.norm(x, p + "post_attention_layernorm", a.width)
        gate = self.product(h, p + "mlp.gate_proj", a.width, a.feed)
        silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], p + "gate_sig")], p + "silu")
        h = self.node("Mul", [silu, self.product(h, p + "mlp.up_proj", a.width, a.feed)], p + "gated")
        return self.node("Add", [x, self.product(h, p + "mlp.down_proj", a.feed, a.width)], p + "out")

    @staticmethod
    def info(name, kind, dims):
        return helper.make_tensor_value_info(name, kind, dims)

    def model(self):
        a = self.args
        self.inputs = [self.info(name, TensorProto.INT64, ["batch", "sequence"]) for name in ("input_ids", "position_ids")]
        self.outputs = [self.info("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])]
        angles = np.arange(POSITIONS)[:, None] * 10000.0 ** (-np.arange(self.head // 2) / (self.head // 2))
        self.weights += [numpy_helper.from_array(f(angles).astype(np.float32), name)
                         for f, name in ((np.cos, "cos_cache"), (np.sin, "sin_cache"))]
        x = self.node("Gather", [self.weight("model.embed_tokens.weight", VOCABULARY, a.width), "input_ids"], "embeds")
        for i in range(a.layers):
            x = self.layer(i, x)
        self.node("MatMul", [self.norm(x, "model.norm", a.width), self.weight("lm_head.weight", a.width, VOCABULARY)], "logits")
        graph = helper.make_graph(self.nodes, "random", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, default in (("width", 1024), ("layers", 8), ("feed", 2816), ("heads", 16), ("kv-heads", 8)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--external", action="store_true", help="weights in a file of their own")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    save(Decoder(args).model(), args.folder / "model.onnx", save_as_external_data=args.external, location="model.onnx.data")
    shutil.copy(EXAMPLE / "tokenizer.json", args.folder)


if __name__ == "__main__":
    main()
