# SPDX-License-Identifier: Apache-2.0
"""Inputs for the models of make_models.py in ONNX Runtime on one thread."""
import numpy as np
import onnxruntime


def session(folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


def feeds(runtime, sequence=1, past=0, seed=0):
    """Random pictures, ids and caches of one request; every position is seen."""
    random, result = np.random.default_rng(seed), {}
    sizes = {"sequence": sequence, "sequence_length": sequence, "past_sequence_length": past,
             "past_sequence_length + sequence_length": past + sequence}
    for info in runtime.get_inputs():
        shape = [sizes.get(d, 1) if isinstance(d, str) else d for d in info.shape]
        if "float" in info.type:
            result[info.name] = random.standard_normal(shape, np.float32)
        elif "mask" in info.name:
            result[info.name] = np.ones(shape, np.int64)
        elif "position" in info.name:
            result[info.name] = np.arange(past, past + sequence)[None]
        else:
            result[info.name] = random.integers(0, 1000, shape)
    return result
