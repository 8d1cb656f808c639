#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the official node cases of the onnx package as folders model.onnx + test_data_set_0/{input,output}_J.pb.

usage: make_cases.py FOLDER

The package holds no files of them: it makes them in memory from its own generators, seeded, in about ten seconds.
FOLDER/node/<case>/ is what the package's own tool would write; FOLDER/tolerance.tsv names the cases that upstream
compares with other tolerances than rtol 1e-3, atol 1e-7. FOLDER/stamp says what was written, so a second run is free.
"""
import fnmatch
import pathlib
import shutil
import sys
import warnings

import onnx

WANTED = 1884  # of onnx 1.23.2; another count means another package
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    stamp = root / "stamp"
    wanted = f"onnx {onnx.__version__}, {WANTED} cases, layout 2\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    warnings.simplefilter("ignore")  # the generators divide by zero on purpose
    from onnx.backend.test.case.node import collect_testcases

    cases = collect_testcases(None)
    if len(cases) != WANTED:
        sys.exit(f"make_cases.py: onnx {onnx.__version__} makes {len(cases)} cases, want {WANTED}")
    shutil.rmtree(root, ignore_errors=True)
    for case in cases:
        write_case(case, root / "node" / case.name)
    rows = [(case.name, *tolerance(case)) for case in cases if tolerance(case) != DEFAULT]
    (root / "tolerance.tsv").write_text("".join(f"{name}\t{rtol}\t{atol}\n" for name, rtol, atol in sorted(rows)))
    stamp.write_text(wanted)
    print(f"{len(cases)} official node cases in {root}/node")


if __name__ == "__main__":
    main()
