#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the official cases of the onnx package as folders model.onnx + test_data_set_0/{input,output}_J.pb.

usage: make_cases.py FOLDER

FOLDER/<suite>/<case>/, for five suites. The node cases are in no file: the package makes them in memory from its own
generators, seeded, in about ten seconds. Those of simple, pytorch-converted and pytorch-operator lie in the package and
are linked. Light is nine CNNs whose weights are a constant each and whose input counts from 0 to 1; the package ships
models and outputs. FOLDER/tolerance.tsv names the cases that upstream compares with other tolerances than rtol 1e-3,
atol 1e-7. FOLDER/stamp says what was written, so a second run is free.
"""
import fnmatch
import json
import pathlib
import shutil
import sys
import warnings

import onnx

# Of onnx 1.23.2; another count means another package.
WANTED = {"node": 1884, "simple": 23, "pytorch-converted": 82, "pytorch-operator": 35, "light": 9}
DEFAULT = (1e-3, 1e-7)  # rtol, atol
LOOSER = [  # pattern, rtol, atol: the exceptions of the package's own runs
    ("test_dft*", 1e-3, 1e-6),
    ("test_celu_bfloat16_expanded*", 2**-6, 1e-2),
]
BFLOAT16_RTOL = 2**-6  # two units in the last place, as in onnx/backend/test/runner


def encode(value, declared):
    """The bytes of one input or output, in the encoding that its declared type asks for."""
    import numpy
    from onnx import numpy_helper

    kind = declared.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, declared.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, declared.name).SerializeToString()
    if kind != "tensor_type":
        raise ValueError(f"value '{declared.name}' is a {kind}")
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    return numpy_helper.from_array(numpy.asarray(value), declared.name).SerializeToString()


def write_case(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{i}"
        data.mkdir()
        for j, value in enumerate(inputs):
            (data / f"input_{j}.pb").write_bytes(encode(value, case.model.graph.input[j]))
        for j, value in enumerate(outputs):
            (data / f"output_{j}.pb").write_bytes(encode(value, case.model.graph.output[j]))


def tolerance(case):
    for pattern, rtol, atol in LOOSER:
        if fnmatch.fnmatch(case.name, pattern):
            return rtol, atol
    types = [output.type.tensor_type.elem_type for output in case.model.graph.output]
    return (BFLOAT16_RTOL if onnx.TensorProto.BFLOAT16 in types else DEFAULT[0]), DEFAULT[1]


def make_node(root):
    from onnx.backend.test.case.node import collect_testcases

    warnings.simplefilter("ignore")  # the generators divide by zero on purpose
    cases = collect_testcases(None)
    for case in cases:
        write_case(case, root / case.name)
    return [(case.name, *tolerance(case)) for case in cases if tolerance(case) != DEFAULT]


def link_cases(root, data):
    """Cases that lie in the package; a data.json beside a model has its tolerances."""
    rows = []
    root.mkdir(parents=True)
    for case in sorted(path.parent for path in data.glob("*/model.onnx")):
        (root / case.name).symlink_to(case)
        given = json.loads((case / "data.json").read_text()) if (case / "data.json").exists() else {}
        found = float(given.get("rtol", DEFAULT[0])), float(given.get("atol", DEFAULT[1]))
        if found != DEFAULT:
            rows.append((case.name, *found))
    return rows


def make_light(root, data):
    """The input is that of the package's runner: 0, 1/n, 2/n ... in the shape that the model declares."""
    import numpy
    from onnx import numpy_helper

    rows = []
    for about in sorted(data.glob("real/*/data.json")):
        given = json.loads(about.read_text())
        model = data / "light" / pathlib.Path(given["url"]).name
        case = root / about.parent.name
        values = case / "test_data_set_0"
        values.mkdir(parents=True)
        (case / "model.onnx").symlink_to(model)
        (values / "output_0.pb").symlink_to(model.with_name(f"{model.stem}_output_0.pb"))
        graph = onnx.load(model).graph
        constants = {weight.name for weight in graph.initializer}
        (declared,) = [value for value in graph.input if value.name not in constants]
        shape = [dim.dim_value for dim in declared.type.tensor_type.shape.dim]
        count = numpy.prod(shape)
        value = (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)
        (values / "input_0.pb").write_bytes(numpy_helper.from_array(value, declared.name).SerializeToString())
        if (given["rtol"], given["atol"]) != DEFAULT:
            rows.append((case.name, given["rtol"], given["atol"]))
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).absolute()
    stamp = root / "stamp"
    wanted = f"onnx {onnx.__version__}, {sum(WANTED.values())} cases, layout 3\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(root, ignore_errors=True)
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    rows = []
    for suite, count in WANTED.items():
        if suite == "node":
            rows += make_node(root / suite)
        elif suite == "light":
            rows += make_light(root / suite, data)
        else:
            rows += link_cases(root / suite, data / suite)
        made = sum(1 for _ in (root / suite).iterdir())
        if made != count:
            sys.exit(f"make_cases.py: onnx {onnx.__version__} has {made} cases of {suite}, want {count}")
    (root / "tolerance.tsv").write_text("".join(f"{name}\t{rtol}\t{atol}\n" for name, rtol, atol in sorted(rows)))
    stamp.write_text(wanted)
    print(f"{sum(WANTED.values())} official cases in {root}")


if __name__ == "__main__":
    main()
