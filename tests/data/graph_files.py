# SPDX-License-Identifier: Apache-2.0
"""What the modules of make_graphs.py share: short words for nodes, values and weights, and models with their data in files."""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "graphs"
source = np.random.default_rng(1)


def seed(number):
    """Starts the numbers anew, so that those of one kind of models do not change with what comes before."""
    global source
    source = np.random.default_rng(number)


def rng():
    return source


def node(text, **attributes):
    """node("y z = Split x") """
    outs, rest = text.split(" = ")
    kind, *ins = rest.split()
    return h.make_node(kind, ["" if i == "-" else i for i in ins], outs.split(), **attributes)


def f32(name, *dims):
    return h.make_tensor_value_info(name, T.FLOAT, dims)


def i64(name, *dims):
    return h.make_tensor_value_info(name, T.INT64, dims)


def boolean(name):
    return h.make_tensor_value_info(name, T.BOOL, [])


def ints(*dims):
    return source.integers(-9, 10, dims).astype(np.float32)


def constant(name, values, dtype=np.int64):
    return nh.from_array(np.array(values, dtype), name)


def save(name, nodes, ins, outs, weights=(), data=(), opset=21, ir=10, want=None, functions=(), domains=()):
    """data: lists of inputs (None: left out); want: a function of them to a list of outputs (arrays, or lists of
    arrays)."""
    graph = h.make_graph(nodes, name, ins, outs, list(weights))
    domains = sorted({*domains, *(function.domain for function in functions)})
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains],
                         ir_version=ir, producer_name="make_graphs", functions=list(functions))
    folder = FOLDER / name
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for k, arrays in enumerate(data):
        cases = folder / f"test_data_set_{k}"
        cases.mkdir()
        for kind, values in (("input", arrays), ("output", want(*arrays))):
            for i, value in enumerate(values):
                if value is None:
                    continue
                proto = nh.from_list(value) if isinstance(value, list) else nh.from_array(np.asarray(value))
                (cases / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())
