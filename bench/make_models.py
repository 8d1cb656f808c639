#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of published size with random weights, as exporters write them, and what ONNX Runtime answers on random
inputs: for measurements and `stagecoach verify`. Needs onnx, numpy and onnxruntime.

Usage: make_models.py [--to build/bench] [resnet50 mobilenet_v3_large bert-base llama-280m ...]"""
import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Writer:
    """A graph that grows by nodes; weights are drawn as they are named."""

    def __init__(self, seed=1):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.counts, self.constants = [], [], {}, {}

    def weight(self, name, shape, fan_in, mean=0.0):
        values = self.random.standard_normal(shape, np.float32) * np.float32(fan_in ** -0.5) + np.float32(mean)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values, kind=np.int64):
        array = np.array(values, kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = f"const_{len(self.constants)}"
            self.weights.append(numpy_helper.from_array(array, self.constants[key]))
        return self.constants[key]

    def node(self, op, *inputs, n=1, **attributes):
        self.counts[op] = number = self.counts.get(op, -1) + 1
        outputs = [f"/{op}_{number}_output_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=f"/{op}_{number}", **attributes))
        return outputs[0] if n == 1 else outputs

    def finish(self, inputs, outputs, opset, renamed=None):
        for node in self.nodes:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    names[i] = (renamed or {}).get(name, name)
        infos = [[helper.make_tensor_value_info(*info) for info in infos] for infos in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, "main_graph", *infos, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 21 else 11)


class Vision(Writer):
    def conv(self, x, name, channels, maps, kernel, stride=1, groups=1, gain=2.0):
        fan_in = channels // groups * kernel * kernel / gain
        return self.node("Conv", x, self.weight(name + ".weight", (maps, channels // groups, kernel, kernel), fan_in),
                         self.weight(name + ".bias", (maps,), 100), group=groups, dilations=[1, 1],
                         kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[stride] * 2)

    def linear(self, x, name, inputs, outputs):
        return self.node("Gemm", x, self.weight(name + ".weight", (outputs, inputs), inputs),
                         self.weight(name + ".bias", (outputs,), 100), alpha=1.0, beta=1.0, transB=1)

    def image_model(self, y, classes=1000):
        return self.finish([("x", FLOAT, ["batch", 3, 224, 224])], [("y", FLOAT, ["batch", classes])], 18, {y: "y"})


def resnet50():
    w = Vision()
    x = w.node("Relu", w.conv("x", "conv1", 3, 64, 7, stride=2))
    x = w.node("MaxPool", x, ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    channels = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = w.node("Relu", w.conv(x, name + ".conv1", channels, width, 1))
            y = w.node("Relu", w.conv(y, name + ".conv2", width, width, 3, stride))
            y = w.conv(y, name + ".conv3", width, 4 * width, 1, gain=0.1)
            if block == 0:
                x = w.conv(x, name + ".downsample.0", channels, 4 * width, 1, stride, gain=1.0)
            x, channels = w.node("Relu", w.node("Add", y, x)), 4 * width
    x = w.node("Flatten", w.node("GlobalAveragePool", x), axis=1)
    return w.image_model(w.linear(x, "fc", 2048, 1000))


MOBILE = (  # kernel, expanded, maps, squeeze-excite, HardSwish, stride
    (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1))


def mobilenet_v3_large():
    w = Vision()
    x, channels = w.node("HardSwish", w.conv("x", "features.0.0", 3, 16, 3, 2)), 16
    for i, (kernel, expanded, maps, squeeze, swish, stride) in enumerate(MOBILE, 1):
        name, act, shortcut = f"features.{i}", "HardSwish" if swish else "Relu", x
        if expanded != channels:
            x = w.node(act, w.conv(x, name + ".expand", channels, expanded, 1))
        x = w.node(act, w.conv(x, name + ".depthwise", expanded, expanded, kernel, stride, groups=expanded))
        if squeeze:
            inner = (expanded // 4 + 4) // 8 * 8
            s = w.node("Relu", w.conv(w.node("GlobalAveragePool", x), name + ".fc1", expanded, inner, 1))
            s = w.node("HardSigmoid", w.conv(s, name + ".fc2", inner, expanded, 1), alpha=1 / 6)
            x = w.node("Mul", s, x)
        x = w.conv(x, name + ".project", expanded, maps, 1, gain=1.0)
        x = w.node("Add", x, shortcut) if stride == 1 and channels == maps else x
        channels = maps
    x = w.node("HardSwish", w.conv(x, "features.16.0", 160, 960, 1))
    x = w.node("Flatten", w.node("GlobalAveragePool", x), axis=1)
    x = w.node("HardSwish", w.linear(x, "classifier.0", 960, 1280))
    return w.image_model(w.linear(x, "classifier.3", 1280, 1000))


class Bert(Writer):
    """As torch's TorchScript exporter decomposes it: shapes by Shape, Gather, Unsqueeze and Concat, Gelu by Erf."""
    WIDTH, HEADS, LAYERS, FEED, VOCABULARY, POSITIONS = 768, 12, 12, 3072, 30522, 512

    def linear(self, x, name, inputs, outputs):
        y = self.node("MatMul", x, self.weight(name + ".weight", (inputs, outputs), inputs))
        return self.node("Add", self.weight(name + ".bias", (outputs,), 2500), y)

    def norm(self, x, name):
        return self.node("LayerNormalization", x, self.weight(name + ".weight", (self.WIDTH,), 2500, 1.0),
                         self.weight(name + ".bias", (self.WIDTH,), 2500), axis=-1, epsilon=1e-12)

    def dim(self, x, axis):
        return self.node("Gather", self.node("Shape", x), self.constant(axis), axis=0)

    def reshape(self, x, like, *last):
        dims = [self.node("Unsqueeze", self.dim(like, axis), self.constant([0])) for axis in (0, 1)]
        return self.node("Reshape", x, self.node("Concat", *dims, *[self.constant([d]) for d in last], axis=0))

    def heads(self, x, name, perm):
        x = self.reshape(self.linear(x, name, self.WIDTH, self.WIDTH), x, self.HEADS, self.WIDTH // self.HEADS)
        return self.node("Transpose", x, perm=perm)

    def attention(self, x, mask, name):
        q, k, v = (self.heads(x, f"{name}.self.{part}", perm) for part, perm in
                   (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        scores = self.node("Div", self.node("MatMul", q, k), self.constant(8.0, np.float32))
        y = self.node("MatMul", self.node("Softmax", self.node("Add", scores, mask), axis=-1), v)
        y = self.reshape(self.node("Transpose", y, perm=[0, 2, 1, 3]), x, self.WIDTH)
        y = self.linear(y, name + ".output.dense", self.WIDTH, self.WIDTH)
        return self.norm(self.node("Add", y, x), name + ".output.LayerNorm")

    def feed(self, x, name):
        y = self.linear(x, name + ".intermediate.dense", self.WIDTH, self.FEED)
        phi = self.node("Erf", self.node("Div", y, self.constant(2 ** 0.5, np.float32)))
        phi = self.node("Add", phi, self.constant(1.0, np.float32))
        y = self.node("Mul", self.node("Mul", y, phi), self.constant(0.5, np.float32))
        y = self.linear(y, name + ".output.dense", self.FEED, self.WIDTH)
        return self.norm(self.node("Add", y, x), name + ".output.LayerNorm")

    def embed(self):
        positions = self.node("Unsqueeze", self.dim("input_ids", 1), self.constant([0]))
        numbers = np.arange(self.POSITIONS).reshape(1, -1)
        positions = self.node("Slice", self.constant(numbers), self.constant([0]), positions, self.constant([1]))
        words = self.weight("embeddings.word_embeddings.weight", (self.VOCABULARY, self.WIDTH), 4)
        kinds = self.weight("embeddings.token_type_embeddings.weight", (2, self.WIDTH), 4)
        places = self.weight("embeddings.position_embeddings.weight", (self.POSITIONS, self.WIDTH), 4)
        kind = self.node("Sub", "input_ids", "input_ids")
        x = self.node("Add", self.node("Gather", words, "input_ids"), self.node("Gather", kinds, kind))
        return self.norm(self.node("Add", x, self.node("Gather", places, positions)), "embeddings.LayerNorm")

    def model(self):
        mask = self.node("Cast", self.node("Unsqueeze", "attention_mask", self.constant([1, 2])), to=FLOAT)
        mask = self.node("Mul", self.node("Sub", self.constant(1.0, np.float32), mask),
                         self.constant(np.finfo(np.float32).min, np.float32))
        x = self.embed()
        for i in range(self.LAYERS):
            x = self.attention(x, mask, f"encoder.layer.{i}.attention")
            x = self.feed(x, f"encoder.layer.{i}")
        dims = ["batch", "sequence"]
        return self.finish([("input_ids", INT64, dims), ("attention_mask", INT64, dims)],
                           [("last_hidden_state", FLOAT, [*dims, self.WIDTH])], 18, {x: "last_hidden_state"})


class Llama(Writer):
    WIDTH, HEADS, KV_HEADS, LAYERS, FEED, VOCABULARY, POSITIONS = 1024, 16, 4, 16, 4096, 32000, 2048
    HEAD = WIDTH // HEADS

    def linear(self, x, name, inputs, outputs):
        return self.node("MatMul", x, self.weight(name + ".weight", (inputs, outputs), inputs))

    def norm(self, x, name):
        return self.node("RMSNormalization", x, self.weight(name + ".weight", (self.WIDTH,), 2500, 1.0), axis=-1,
                         epsilon=1e-5)

    def layer(self, x, i, inputs, outputs):
        name, kv = f"model.layers.{i}.", self.KV_HEADS * self.HEAD
        h = self.norm(x, name + "input_layernorm")
        q, k, v = (self.linear(h, f"{name}self_attn.{part}_proj", self.WIDTH, width) for part, width in
                   (("q", self.WIDTH), ("k", kv), ("v", kv)))
        q = self.node("RotaryEmbedding", q, "cos_cache", "sin_cache", "position_ids", num_heads=self.HEADS)
        k = self.node("RotaryEmbedding", k, "cos_cache", "sin_cache", "position_ids", num_heads=self.KV_HEADS)
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        inputs += [(p, FLOAT, ["batch", self.KV_HEADS, "past", self.HEAD]) for p in past]
        outputs += [(p, FLOAT, ["batch", self.KV_HEADS, "total", self.HEAD]) for p in present]
        h = self.node("Attention", q, k, v, "", *past, n=3, is_causal=1, q_num_heads=self.HEADS,
                      kv_num_heads=self.KV_HEADS)
        self.nodes[-1].output[1:] = present
        x = self.node("Add", x, self.linear(h[0], name + "self_attn.o_proj", self.WIDTH, self.WIDTH))
        h = self.norm(x, name + "post_attention_layernorm")
        gate = self.linear(h, name + "mlp.gate_proj", self.WIDTH, self.FEED)
        h = self.node("Mul", self.node("Mul", gate, self.node("Sigmoid", gate)),
                      self.linear(h, name + "mlp.up_proj", self.WIDTH, self.FEED))
        return self.node("Add", x, self.linear(h, name + "mlp.down_proj", self.FEED, self.WIDTH))

    def model(self):
        dims = ["batch", "sequence"]
        inputs, outputs = [("input_ids", INT64, dims), ("position_ids", INT64, dims)], []
        angles = np.arange(self.POSITIONS)[:, None] * 10000.0 ** (-np.arange(self.HEAD // 2) / (self.HEAD // 2))
        self.weights += [numpy_helper.from_array(f(angles).astype(np.float32), name)
                         for f, name in ((np.cos, "cos_cache"), (np.sin, "sin_cache"))]
        embedding = self.weight("model.embed_tokens.weight", (self.VOCABULARY, self.WIDTH), self.WIDTH)
        x = self.node("Gather", embedding, "input_ids")
        for i in range(self.LAYERS):
            x = self.layer(x, i, inputs, outputs)
        logits = self.node("MatMul", self.norm(x, "model.norm"), self.node("Transpose", embedding, perm=[1, 0]))
        return self.finish(inputs, [("logits", FLOAT, [*dims, self.VOCABULARY]), *outputs], 23, {logits: "logits"})


MODELS = {"resnet50": resnet50, "mobilenet_v3_large": mobilenet_v3_large, "bert-base": lambda: Bert().model(),
          "llama-280m": lambda: Llama().model()}
EXTERNAL = {"bert-base", "llama-280m"}


def feeds(session, dims):
    """Random inputs by name and type, for the given sizes of symbolic dims."""
    random, result = np.random.default_rng(2), {}
    for info in session.get_inputs():
        shape = [dims.get(d, 1) if isinstance(d, str) else d for d in info.shape]
        if "float" in info.type:
            result[info.name] = random.standard_normal(shape, np.float32)
        elif "mask" in info.name:
            result[info.name] = np.ones(shape, np.int64)
        elif "position" in info.name:
            result[info.name] = np.broadcast_to(np.arange(shape[-1]) + dims.get("past", 0), shape).astype(np.int64)
        else:
            result[info.name] = random.integers(0, 1000, shape)
    return result


def save_reference(folder, dims):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    given, to = feeds(session, dims), folder / "test_data_set_0"
    to.mkdir(exist_ok=True)
    for i, (name, values) in enumerate(given.items()):
        (to / f"input_{i}.pb").write_bytes(numpy_helper.from_array(values, name).SerializeToString())
    for i, (info, values) in enumerate(zip(session.get_outputs(), session.run(None, given))):
        (to / f"output_{i}.pb").write_bytes(numpy_helper.from_array(values, info.name).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("build/bench"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    args = parser.parse_args()
    for name in args.names or MODELS:
        folder = args.to / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx.data").unlink(missing_ok=True)
        onnx.save(MODELS[name](), folder / "model.onnx", save_as_external_data=name in EXTERNAL, location="model.onnx.data")
        save_reference(folder, {"sequence": 16, "past": 8} if "llama" in name else {"sequence": 32})
        print(folder, flush=True)


if __name__ == "__main__":
    main()
