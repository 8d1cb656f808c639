#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A detector of voice over a stream, with the interface of silero-vad 5, and what ONNX Runtime makes of a tone.

usage: make_vad.py        writes states/vad/ (needs onnxruntime: ./dev venv)

input [batch, 64] of sound, state [2, batch, 8] (h and c of an LSTM) and sr, the rate, become output [batch, 1] and stateN. Random
weights. chunks/N.npy are six chunks of sounds/tone.wav, zeros.npy is the first state; output.npy [6, 1, 1] and stateN.npy are those of
a loop in which stateN is the next state.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

import make_sounds

HERE = pathlib.Path(__file__).resolve().parent / "states/vad"
CHUNK, HIDDEN, CHUNKS = 64, 8, 6


def model():
    random = np.random.default_rng(5)
    weight = lambda name, *dims: nh.from_array((random.integers(-16, 17, dims) / 32).astype(np.float32), name)
    ints = lambda name, *values: nh.from_array(np.array(values, np.int64), name)
    nodes = [
        h.make_node("Cast", ["sr"], ["rate"], to=T.FLOAT),
        h.make_node("Div", ["rate", "usual"], ["faster"]),
        h.make_node("Mul", ["input", "faster"], ["x"]),
        h.make_node("MatMul", ["x", "first"], ["low"]),
        h.make_node("Tanh", ["low"], ["features"]),
        h.make_node("Unsqueeze", ["features", "zero"], ["sequence"]),
        h.make_node("Split", ["state"], ["h", "c"], axis=0, num_outputs=2),
        h.make_node("LSTM", ["sequence", "w", "r", "", "", "h", "c"], ["", "hn", "cn"], hidden_size=HIDDEN),
        h.make_node("Concat", ["hn", "cn"], ["stateN"], axis=0),
        h.make_node("Squeeze", ["hn", "zero"], ["last"]),
        h.make_node("MatMul", ["last", "head"], ["score"]),
        h.make_node("Sigmoid", ["score"], ["output"]),
    ]
    value = h.make_tensor_value_info
    graph = h.make_graph(nodes, "vad", [value("input", T.FLOAT, ["batch", CHUNK]), value("state", T.FLOAT, [2, "batch", HIDDEN]),
                                        value("sr", T.INT64, [])],
                         [value("output", T.FLOAT, ["batch", 1]), value("stateN", T.FLOAT, [2, "batch", HIDDEN])],
                         [weight("first", CHUNK, HIDDEN), weight("w", 1, 4 * HIDDEN, HIDDEN), weight("r", 1, 4 * HIDDEN, HIDDEN),
                          weight("head", HIDDEN, 1), ints("zero", 0), nh.from_array(np.array(16000, np.float32), "usual")])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)


def main():
    (HERE / "chunks").mkdir(parents=True, exist_ok=True)
    proto = model()
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, HERE / "model.onnx")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    sound = (make_sounds.tone(CHUNK * CHUNKS) / 32768).astype(np.float32).reshape(CHUNKS, 1, CHUNK)
    state, outputs = np.zeros((2, 1, HIDDEN), np.float32), []
    np.save(HERE / "zeros.npy", state)
    np.save(HERE / "sr.npy", np.array(16000, np.int64))
    for at, chunk in enumerate(sound):
        np.save(HERE / f"chunks/{at}.npy", chunk)
        output, state = session.run(["output", "stateN"], {"input": chunk, "state": state, "sr": np.array(16000, np.int64)})
        outputs.append(output)
    np.save(HERE / "output.npy", np.stack(outputs))
    np.save(HERE / "stateN.npy", state)


if __name__ == "__main__":
    main()
