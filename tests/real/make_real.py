#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pipelines of scikit-learn, detectors, speech, loops and quantised models, with what ONNX Runtime makes of them.

usage: make_real.py [NAME ...]      all, or those whose name begins so; needs requirements.txt and the locale en_US.UTF-8

models/<name>/ gets model.onnx and test_data_set_N/; models/tolerance.tsv the bounds to judge by.
"""
import pathlib
import shutil
import sys
import warnings

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import references  # noqa: E402

warnings.filterwarnings("ignore")
import graphs  # noqa: E402
import pipelines  # noqa: E402
import quantised  # noqa: E402

MODELS = HERE / "models"
LIMIT = 200 << 10


def record(name, model, feeds):
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    references.strip(model)
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, folder / "model.onnx")
    size = (folder / "model.onnx").stat().st_size
    print(f"{name}: {size >> 10} KiB, {len(model.graph.node)} nodes", flush=True)
    if size > LIMIT:
        sys.exit(f"{name}: {size} bytes, at most {LIMIT}")
    recorder = references.Recorder(folder, folder / "model.onnx")
    for feed in feeds:
        recorder.record(feed)


def main():
    table = MODELS / "tolerance.tsv"
    rows = dict(line.split("\t", 1) for line in table.read_text().splitlines()) if table.exists() else {}
    for name, make in (pipelines.PIPELINES | graphs.GRAPHS | quantised.MODELS).items():
        if any(name.startswith(prefix) for prefix in sys.argv[1:] or [""]):
            record(name, *make())
            rows[name] = f"{references.RTOL:g}\t{references.LTOL:g}"
            table.write_text("".join(f"{key}\t{rows[key]}\n" for key in sorted(rows)))


if __name__ == "__main__":
    main()
