# SPDX-License-Identifier: Apache-2.0
"""What the scripts that record references of ONNX Runtime share: data sets in files, and bounds for f16."""
import copy

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RTOL = 1e-3
LTOL = 1e-5  # of an output's largest magnitude


def session(model):
    """One thread; `model` is a path or bytes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Recorder:
    """Writes test_data_set_N/ of a folder, counting up."""

    def __init__(self, folder, model):
        self.folder = folder
        self.session = session(model)
        self.inputs = self.session.get_inputs()
        self.sets = 0

    def record(self, feeds):
        data = self.folder / f"test_data_set_{self.sets}"
        data.mkdir()
        self.sets += 1
        outputs = self.session.run(None, feeds)
        for i, declared in enumerate(self.inputs):
            write(data / f"input_{i}.pb", feeds[declared.name], declared.name)
        for i, (declared, value) in enumerate(zip(self.session.get_outputs(), outputs)):
            write(data / f"output_{i}.pb", value, declared.name)
        return outputs


def map_proto(value, name, kind):
    """Of {key: number of the numpy type `kind`, or text}. The package's own helper takes no strings as values."""
    proto = onnx.MapProto(name=name, key_type=TensorProto.INT64)
    for key, each in value.items():
        if isinstance(key, str):
            proto.key_type = TensorProto.STRING
            proto.string_keys.append(key.encode())
        else:
            proto.keys.append(key)
        proto.values.tensor_values.append(numpy_helper.from_array(np.asarray(each, kind)))
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    return proto


def write(path, value, name):
    """Arrays, and lists: sequences, of arrays or of maps to f32. Texts of any numpy type are strings."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        maps = [map_proto(each, "", np.float32) for each in value]
        path.write_bytes(onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP, map_values=maps).SerializeToString())
        return
    if isinstance(value, list):
        path.write_bytes(numpy_helper.from_list(value, name).SerializeToString())
        return
    value = np.asarray(value)
    path.write_bytes(numpy_helper.from_array(value.astype(object) if value.dtype.kind == "U" else value, name).SerializeToString())


def graphs_of(graph):
    """The graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from graphs_of(inner)


def strip(model):
    """Takes away what only people read."""
    for graph in graphs_of(model.graph):
        graph.doc_string = ""
        for part in [graph, *graph.node, *graph.initializer, *graph.input, *graph.output, *graph.value_info]:
            part.doc_string = ""
            del part.metadata_props[:]
    del model.metadata_props[:]


def widen_tensor(tensor):
    if tensor.data_type == TensorProto.FLOAT16:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))


def widened(model):
    """The model in f32 with the same weights: the arithmetic of an f16 model without its roundings."""
    wide = copy.deepcopy(model)
    for graph in graphs_of(wide.graph):
        for value in [*graph.input, *graph.output]:
            if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
                value.type.tensor_type.elem_type = TensorProto.FLOAT
        del graph.value_info[:]
        for tensor in graph.initializer:
            widen_tensor(tensor)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    widen_tensor(attribute.t)
                if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT16:
                    attribute.i = TensorProto.FLOAT
    return wide


def f16_values(model):
    """Names of what nodes of the main graph make in f16."""
    inferred = onnx.shape_inference.infer_shapes(model)
    return [value.name for value in [*inferred.graph.value_info, *inferred.graph.output]
            if value.type.tensor_type.elem_type == TensorProto.FLOAT16]


def with_rounded(wide, name):
    """`wide` with the value `name` rounded to f16 where it is made."""
    model = copy.deepcopy(wide)
    for at, node in enumerate(model.graph.node):
        if name in node.output:
            node.output[list(node.output).index(name)] = name + "/exact"
            model.graph.node.insert(at + 1, helper.make_node("Cast", [name + "/exact"], [name + "/f16"], to=TensorProto.FLOAT16))
            model.graph.node.insert(at + 2, helper.make_node("Cast", [name + "/f16"], [name], to=TensorProto.FLOAT))
            break
    return model


def f16_bound(model, data_sets):
    """How far two right runtimes may be apart on an f16 model, as a share of an output's largest magnitude.

    To first order, what a runtime makes is off by the sum of what each rounding alone does to the outputs. Each is measured in
    f32, on the same model with one value rounded to f16: no runtime's f16 arithmetic takes part. Roundings err to both sides
    and know nothing of each other, so their effects add up as variances do, those of two runtimes too. The bound is six
    standard deviations of the element that is least certain.
    """
    wide = widened(model)
    feeds = [{name: value.astype(np.float32) if value.dtype == np.float16 else value for name, value in feed.items()}
             for feed in data_sets]
    exact = session(wide.SerializeToString())
    exact = [exact.run(None, feed) for feed in feeds]
    variances = [[np.zeros(value.shape) for value in outputs] for outputs in exact]
    for name in f16_values(model):
        rounded = session(with_rounded(wide, name).SerializeToString())
        for sums, outputs, feed in zip(variances, exact, feeds):
            for total, value, other in zip(sums, outputs, rounded.run(None, feed)):
                total += (value.astype(np.float64) - other)**2
    return max(6 * (2 * total.max())**0.5 / np.abs(value).max()
               for sums, outputs in zip(variances, exact) for total, value in zip(sums, outputs))
