#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes mixtures of experts of the decoder in genai/llama, as the model builder of onnxruntime-genai writes them for Mixtral-like
models: in place of each layer's MLP a router, a Reshape to rows, and MoE or QMoE with fused SwiGLU.

usage: make_genai_moe.py FOLDER       FOLDER/{moe,qmoe}; needs onnx and numpy
"""
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import microsoft_moe

HERE = pathlib.Path(__file__).parent
HIDDEN, INTER, EXPERTS, K, BLOCK = 32, 48, 4, 2, 16
# name: bits of an expert's weight, 0 for floats
FORMS = {"moe": 0, "qmoe": 4}


def experts(random, path, bits):
    """Initializers of one layer, and the inputs of its node that they are."""
    block = BLOCK if bits else 0
    make = lambda N, K: microsoft_moe.experts(random, N, K, EXPERTS, bits, block, zeros=False, bias=True, kind=np.float32)
    weights, inputs = [], []
    for name, (codes, scales, bias, _) in (("gate_up_proj", make(2 * INTER, HIDDEN)), ("down_proj", make(HIDDEN, INTER))):
        for part, array in (("qweight" if bits else "weight", codes), ("scales", scales), ("bias", bias)):
            if array is not None:
                weights.append(numpy_helper.from_array(4 * array if part in ("scales", "weight") else array, f"{path}.{name}.{part}"))
                inputs.append(weights[-1].name)
    return weights, inputs


def mixture(random, layer, x, y, bits):
    """Nodes and initializers that take the place of a layer's MLP."""
    base, weights_base = f"/model/layers.{layer}/moe", f"model.layers.{layer}.moe"
    router = numpy_helper.from_array(random.standard_normal((HIDDEN, EXPERTS)).astype(np.float32), f"{weights_base}.router.MatMul.weight")
    rows = numpy_helper.from_array(np.array([-1, EXPERTS], np.int64), f"/model/constants/INT64/[-1, {EXPERTS}]/{layer}")
    weights, inputs = experts(random, f"{weights_base}.experts", bits)
    told = {"expert_weight_bits": bits, "block_size": BLOCK} if bits else {}
    kind = "QMoE" if bits else "MoE"
    nodes = [
        helper.make_node("MatMul", [x, router.name], [f"{base}/router/MatMul/output_0"], f"{base}/router/MatMul"),
        helper.make_node("Reshape", [f"{base}/router/MatMul/output_0", rows.name], [f"{base}/router/Reshape/output_0"], f"{base}/router/Reshape"),
        helper.make_node(kind, [x, f"{base}/router/Reshape/output_0", *inputs], [y], f"{base}/{kind}", domain="com.microsoft",
                         activation_type="swiglu", swiglu_fusion=1, k=K, normalize_routing_weights=1, use_sparse_mixer=0,
                         activation_alpha=1.0, activation_beta=0.0, **told),
    ]
    return nodes, [router, rows, *weights]


def build(folder, bits):
    model = onnx.load(HERE / "genai" / "llama" / "model.onnx")
    random = np.random.default_rng(31)
    nodes, weights, made = [], [], set()
    for node in model.graph.node:
        if "/mlp/" not in node.name:
            nodes.append(node)
            continue
        layer = int(node.name.split(".")[1].split("/")[0])
        if layer not in made:
            made.add(layer)
            new, its = mixture(random, layer, node.input[0], f"/model/layers.{layer}/mlp/down_proj/MatMul/output_0", bits)
            nodes += new
            weights += its
    kept = [w for w in model.graph.initializer if ".mlp." not in w.name]
    del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(kept + weights)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="model.onnx.data", size_threshold=1024)
    for name in ("genai_config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(HERE / "genai" / "llama" / name, folder / name)


def main():
    out = pathlib.Path(sys.argv[1])
    for name, bits in FORMS.items():
        shutil.rmtree(out / name, ignore_errors=True)
        build(out / name, bits)


if __name__ == "__main__":
    main()
