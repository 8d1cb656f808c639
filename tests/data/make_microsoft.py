#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one com.microsoft operator each with what ONNX Runtime makes of them, for `stagecoach verify`:
FOLDER/<float|half>/<case>/{model.onnx,test_data_set_0}.

usage: make_microsoft.py FOLDER [WORD]       cases whose name has WORD; needs onnx, numpy and onnxruntime 1.32
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"
CASES = {}  # name: function of a generator to (op, inputs, attributes, number of outputs, constants)


def case(name, **fixed):
    def add(make):
        CASES[name] = lambda random: make(random, **fixed)
        return make
    return add


def f32(random, *shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(np.float32)


# Weights quantised in blocks

def nbits(random, bits, M, K, N, block, accuracy=0, zeros=None, groups=False, bias=False, kind=np.float32):
    blocks = -(-K // block)
    b = random.integers(0, 256, (N, blocks, block * bits // 8), np.uint8)
    scales = random.uniform(0.01, 0.1, N * blocks).astype(kind)
    inputs = [f32(random, *M, K).astype(kind), b, scales, None, None, None]
    if zeros == "packed":
        inputs[3] = random.integers(0, 256, N * (-(-blocks * bits // 8)), np.uint8)
    elif zeros == "float":
        inputs[3] = random.uniform(0, 2 ** bits, N * blocks).astype(kind)
    if groups:
        inputs[4] = random.permutation(np.arange(K) // block).astype(np.int32)
    if bias:
        inputs[5] = f32(random, N).astype(kind)
    attributes = dict(K=K, N=N, bits=bits, block_size=block)
    if accuracy:
        attributes["accuracy_level"] = accuracy
    return "MatMulNBits", inputs, attributes, 1, range(1, 6)


for bits in (2, 4, 8):
    for zeros in (None, "packed", "float")[: 2 if bits == 8 else 3]:  # ONNX Runtime has no float ones of 8 bits
        case(f"nbits_{bits}_{zeros or 'middle'}", bits=bits, M=(3,), K=40, N=19, block=16, zeros=zeros)(nbits)
    case(f"nbits_{bits}_one_row", bits=bits, M=(1, 1), K=96, N=33, block=32, bias=True)(nbits)
    for zeros in (None, "packed"):
        case(f"nbits_{bits}_level_4_{zeros or 'middle'}", bits=bits, M=(2, 3), K=80, N=35, block=32, zeros=zeros, accuracy=4)(nbits)
    case(f"nbits_{bits}_level_4_one_block", bits=bits, M=(1,), K=32, N=16, block=32, zeros="packed", accuracy=4)(nbits)
# ONNX Runtime leaves zero points out of account where there is g_idx
case("nbits_4_groups", bits=4, M=(3,), K=64, N=18, block=16, groups=True)(nbits)
case("half_nbits_4", bits=4, M=(3,), K=48, N=19, block=16, zeros="packed", bias=True, kind=np.float16)(nbits)
case("half_nbits_4_level_4", bits=4, M=(3,), K=64, N=19, block=32, accuracy=4, kind=np.float16)(nbits)
case("half_nbits_8", bits=8, M=(2,), K=48, N=19, block=16, kind=np.float16)(nbits)


def write(folder, name, model, arrays, wanted):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    for kind, values in (("input", arrays), ("output", wanted)):
        for i, (label, array) in enumerate(values):
            onnx.save_tensor(numpy_helper.from_array(array, label), data / f"{kind}_{i}.pb")


def build(name, make, out):
    random = np.random.default_rng(sum(map(ord, name)))
    op, inputs, attributes, n_outputs, constants, *rest = make(random)
    domain = rest[0] if rest else DOMAIN
    labels = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while not labels[-1]:
        labels.pop()
    outputs = [f"y{i}" for i in range(n_outputs)] if isinstance(n_outputs, int) else n_outputs
    node = helper.make_node(op, labels, outputs, domain=domain, **attributes)
    value = lambda label, array: helper.make_tensor_value_info(label, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    fed = [(labels[i], x) for i, x in enumerate(inputs) if x is not None and i not in constants]
    weights = [numpy_helper.from_array(x, labels[i]) for i, x in enumerate(inputs) if x is not None and i in constants]
    outs = [onnx.ValueInfoProto(name=o) for o in outputs if o]
    graph = helper.make_graph([node], name, [value(*x) for x in fed], outs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = session.run(None, dict(fed))
    del graph.output[:]
    model.graph.ClearField("output")
    model.graph.output.extend(value(o.name, w) for o, w in zip(outs, wanted))
    write(out / ("half" if name.startswith("half") else "float") / name, name, model, fed, list(zip([o.name for o in outs], wanted)))


def main():
    out, word = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    for name, make in CASES.items():
        if word in name:
            build(name, make, out)


if __name__ == "__main__":
    main()
