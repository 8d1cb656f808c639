#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small GPT-2 with random weights in the forms that onnxruntime's transformer tools give it:
for onnxruntime-genai, Attention of com.microsoft with the joined caches past_N → present_N; and with DecoderMaskedMultiHeadAttention
on buffers that past and present share, a token a step.

usage: make_joined.py FOLDER       FOLDER/{gpt2,masked}; needs onnx and numpy
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
WORDS, HIDDEN, HEADS, LAYERS, POSITIONS = 80, 32, 4, 2, 288


class Graph:
    def __init__(self):
        self.random, self.nodes, self.weights = np.random.default_rng(44), [], []

    def weight(self, name, *shape, scale=None, around=0.0):
        scale = scale or shape[0] ** -0.5
        array = (around + scale * self.random.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op, inputs, outputs, domain="com.microsoft", **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def norm(self, name):
        return [self.weight(name + ".weight", HIDDEN, scale=0.1, around=1.0), self.weight(name + ".bias", HIDDEN, scale=0.1)]

    def skip(self, x, skip, norm, bias, y):
        return self.add("SkipLayerNormalization", [x, skip, *norm, bias], [y, "", "", y + "_sum"], epsilon=1e-5), y + "_sum"


def joined(g, n, x, weight, bias):
    return g.add("Attention", [x, weight, bias, "attention_mask", f"past_{n}"], [f"attention_{n}", f"present_{n}"], num_heads=HEADS,
                 unidirectional=1, mask_filter_value=float(np.finfo(np.float32).min))


def masked(g, n, x, weight, bias):
    rows = [f"{part}_{n}" for part in ("q", "k", "v")]
    g.add("Split", [g.add("MatMul", [x, weight], f"qkv_{n}", "")], rows, "", axis=-1, num_outputs=3)
    caches = [f"{kind}_self_{n}" for kind in ("past_key", "past_value", "present_key", "present_value")]
    told = ["past_sequence_length", "beam_width", "cache_indirection", bias]
    return g.add("DecoderMaskedMultiHeadAttention", [*rows, "attention_mask", "", *caches[:2], *told], [f"attention_{n}", *caches[2:]],
                 num_heads=HEADS, past_present_share_buffer=1, mask_filter_value=float(np.finfo(np.float32).min))


def layer(g, n, x, stream, next_norm, attention):
    """From a normalised x and the stream it was made of, to those of the next layer."""
    base = f"transformer.h.{n}"
    weights = [g.weight(f"{base}.attn.c_attn.weight", HIDDEN, 3 * HIDDEN, scale=0.3), g.weight(f"{base}.attn.c_attn.bias", 3 * HIDDEN, scale=0.1)]
    y = attention(g, n, x, *weights)
    y = g.add("MatMul", [y, g.weight(f"{base}.attn.c_proj.weight", HIDDEN, HIDDEN)], f"projected_{n}", "")
    y, stream = g.skip(y, stream, g.norm(f"{base}.ln_2"), g.weight(f"{base}.attn.c_proj.bias", HIDDEN, scale=0.1), f"ln_2_{n}")
    y = g.add("MatMul", [y, g.weight(f"{base}.mlp.c_fc.weight", HIDDEN, 4 * HIDDEN)], f"wide_{n}", "")
    y = g.add("FastGelu", [y, g.weight(f"{base}.mlp.c_fc.bias", 4 * HIDDEN, scale=0.1)], f"gelu_{n}")
    y = g.add("MatMul", [y, g.weight(f"{base}.mlp.c_proj.weight", 4 * HIDDEN, HIDDEN)], f"narrow_{n}", "")
    return g.skip(y, stream, g.norm(next_norm), g.weight(f"{base}.mlp.c_proj.bias", HIDDEN, scale=0.1), f"ln_1_{n + 1}")


def build(attention):
    g = Graph()
    tables = [g.weight("transformer.wte.weight", WORDS, HIDDEN, scale=1.0), g.weight("transformer.wpe.weight", POSITIONS, HIDDEN, scale=0.3)]
    x = g.add("EmbedLayerNormalization", ["input_ids", "", *tables, "", *g.norm("transformer.h.0.ln_1"), "", "position_ids"],
              ["embedded", "", "embedded_sum"], epsilon=1e-5)
    stream = "embedded_sum"
    for n in range(LAYERS):
        x, stream = layer(g, n, x, stream, f"transformer.h.{n + 1}.ln_1" if n + 1 < LAYERS else "transformer.ln_f", attention)
    g.add("MatMul", [x, g.weight("lm_head.weight", HIDDEN, WORDS)], "logits", "")
    ids = lambda name, length: helper.make_tensor_value_info(name, TensorProto.INT32, ["batch_size", length])
    cache = lambda name, length: helper.make_tensor_value_info(
        name, TensorProto.FLOAT, [2, "batch_size", HEADS, length, HIDDEN // HEADS])
    inputs = [ids("input_ids", "seq_len"), ids("position_ids", "seq_len"), ids("attention_mask", "total_seq_len")]
    if attention is masked:
        inputs += [helper.make_tensor_value_info(name, TensorProto.INT32, dims) for name, dims in (
            ("past_sequence_length", [1]), ("beam_width", [1]), ("cache_indirection", ["batch_size", 1, "max_seq_len"]))]
        cache = lambda name, _: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", HEADS, "max_seq_len", HIDDEN // HEADS])
    names = lambda past: [f"{past}_{kind}_self_{n}" for n in range(LAYERS) for kind in ("key", "value")] if attention is masked else [
        f"{past}_{n}" for n in range(LAYERS)]
    inputs += [cache(name, "past_seq_len") for name in names("past")]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch_size", "seq_len", WORDS])]
    outputs += [cache(name, "total_seq_len") for name in names("present")]
    graph = helper.make_graph(g.nodes, "gpt2", inputs, outputs, g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18 if attention is masked else 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8,
                             producer_name="onnxruntime.transformers")


def config():
    named = {"inputs": {"past_names": "past_%d"}, "outputs": {"present_names": "present_%d"}}
    decoder = {"filename": "model.onnx", "num_key_value_heads": HEADS, "head_size": HIDDEN // HEADS, "num_hidden_layers": LAYERS, **named}
    return {"model": {"type": "gpt2", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "vocab_size": WORDS,
                      "context_length": POSITIONS, "decoder": decoder}}


def write(folder, attention):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    onnx.save(build(attention), folder / "model.onnx")
    (folder / "genai_config.json").write_text(json.dumps(config(), indent=4) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(HERE / "genai" / "llama" / name, folder / name)


def main():
    for name, attention in (("gpt2", joined), ("masked", masked)):
        write(pathlib.Path(sys.argv[1]) / name, attention)


if __name__ == "__main__":
    main()
