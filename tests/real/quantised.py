# SPDX-License-Identifier: Apache-2.0
"""Models of tests/exports as the quantiser of onnxruntime makes them, in operators of the standard domain alone.

A model is a function that returns (model, feeds). What it is calibrated with is what it is fed with.
"""
import pathlib
import tempfile

import onnx
from onnx import numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType

EXPORTS = pathlib.Path(__file__).resolve().parents[1] / "exports/models"


def feeds_of(name):
    model = onnx.load(EXPORTS / name / "model.onnx")
    names = [value.name for value in model.graph.input]
    feeds = []
    for folder in sorted((EXPORTS / name).glob("test_data_set_*")):
        protos = [onnx.TensorProto.FromString((folder / f"input_{i}.pb").read_bytes()) for i in range(len(names))]
        feeds.append({name: numpy_helper.to_array(proto) for name, proto in zip(names, protos)})
    return feeds


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def quantised(name, quantise, **options):
    feeds = feeds_of(name)
    with tempfile.TemporaryDirectory() as passing:
        path = f"{passing}/model.onnx"
        quantise(EXPORTS / name / "model.onnx", path, feeds, **options)
        return onnx.load(path), feeds


def static(source, path, feeds, **options):
    quantization.quantize_static(source, path, Reader(feeds), **options)


def dynamic(source, path, feeds, **options):
    quantization.quantize_dynamic(source, path, **options)


LAYERS = ["Conv", "MatMul", "Gemm"]  # as others the quantiser would take those of com.microsoft: QLinearAdd
OPERATORS = dict(quant_format=QuantFormat.QOperator, op_types_to_quantize=["Conv", "MatMul"])
SIGNED = dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
MODELS = {
    "static_resnet": lambda: quantised("resnet_script11", static, **OPERATORS, per_channel=True, weight_type=QuantType.QInt8),
    "static_bert": lambda: quantised("bert_script12", static, **OPERATORS, **SIGNED),
    "qdq_mobilenet": lambda: quantised("mobilenet_v3_script12", static, quant_format=QuantFormat.QDQ, **SIGNED),
    "qdq_bert": lambda: quantised("bert_dynamo19", static, quant_format=QuantFormat.QDQ, op_types_to_quantize=LAYERS,
                                  per_channel=True, weight_type=QuantType.QInt8),
    "dynamic_resnet": lambda: quantised("resnet_dynamo18", dynamic, weight_type=QuantType.QUInt8,
                                        op_types_to_quantize=LAYERS),
    "dynamic_bert": lambda: quantised("bert_script12", dynamic, per_channel=True, weight_type=QuantType.QInt8),
}
