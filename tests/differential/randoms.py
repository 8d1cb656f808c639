# SPDX-License-Identifier: Apache-2.0
"""Runs a model that draws at random, and judges shape, type, seed and distribution of what it gives."""
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

import schema


def outputs_of(program, folder, n, name, *options, model=None):
    """The files of one run of the model, or a text that says why there are none."""
    model = model or folder / "model.onnx"
    inputs = [f"--input={value.name}={folder}/test_data_set_0/input_{j}.pb"
              for j, value in enumerate(onnx.load(str(model)).graph.input)]
    out = folder / name
    command = [str(program), "run", str(model), "-o", str(out), "--format", "pb", *inputs, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode:
        return (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
    return [(out / f"y{i}.pb").read_bytes() for i in range(n)]


def array(data):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(data)
    return numpy_helper.to_array(tensor)


def seeds(program, folder, case, first):
    """What is wrong with another number of threads and with other seeds, or None."""
    threads = outputs_of(program, folder, case.outputs, "threads", "-t", "2")
    if threads != first:
        return "two runs, the second on two threads, differ"
    other = outputs_of(program, folder, case.outputs, "other", "--seed", "7")
    if "seed" in case.attributes and other != first:
        return "the attribute seed does not hold against --seed"
    if "seed" not in case.attributes and case.varies and other == first:
        return "another --seed gives the same"
    return None


def judge(program, folder, case, types):
    """What is wrong with a case whose model and inputs are in a folder, or None."""
    first = outputs_of(program, folder, case.outputs, "first")
    if isinstance(first, str):
        return first
    outputs = [array(data) for data in first]
    for output, shape, kind in zip(outputs, case.shapes, types):
        if output.shape != tuple(shape) or output.dtype != schema.numpy_type(kind):
            return f"got {output.dtype}{list(output.shape)}, want {kind}{shape}"
    with np.errstate(all="ignore"):
        return case.statistics(*outputs) or seeds(program, folder, case, first)
