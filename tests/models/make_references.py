#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out the trained models of the test packages with inputs and what ONNX Runtime makes of them.

usage: make_references.py FOLDER

FOLDER/<model>/ gets model.onnx (a link into the package) and test_data_set_N/: seeded inputs of several shapes, dynamic
dims and batches included. silero_vad_stream/ has a hundred chunks of one recording, each with the state that the chunk before
it left; we are fed with our own, and judged at every chunk by the bound of a single one. FOLDER/tolerance.tsv has the bounds of each model, for tests/models/run. FOLDER/stamp says what was written, so a
second run is free.
"""
import pathlib
import shutil
import sys

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import references  # noqa: E402


def picture(*shape, light=1.0, dark=-1.0):
    """Lines of made-up letters, two or three strokes each, dark on light: noise would leave OCR in its flat regions."""

    def make(random):
        n, channels, height, width = shape
        x = np.full((n, height, width), light)
        for page in x:
            size = int(random.integers(12, min(28, height - 4)))
            for top in range(3, height - size, 2 * size):
                for left in range(3, width - size, size):
                    letter = page[top:top + size, left:left + size // 2 + 2]
                    letter[:, :2] = dark
                    for bar in random.choice(3, 2, replace=False):
                        letter[bar * (size - 2) // 2:bar * (size - 2) // 2 + 2] = dark
        x = x[:, None] + 0.05 * random.standard_normal((n, channels, height, width))
        return x.astype(np.float32)

    return make


def speech(rows, samples):
    """Harmonics under an envelope, and noise."""

    def make(random):
        t = np.arange(samples) / 16000.0
        pitch = 90.0 + 120.0 * random.random((rows, 1))
        wave = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 9))
        return (0.1 * wave * random.random((rows, 1)) + 0.01 * random.standard_normal((rows, samples))).astype(np.float32)

    return make


def floats(*shape):
    return lambda random: random.standard_normal(shape).astype(np.float32)


def text_bytes(rows):
    return lambda random: random.integers(0, 257, (rows, 2048)).astype(np.int32)


def constant(value):
    return lambda random: np.array(value)


def vad(rows, samples, rate=None):
    feeds = {"input": speech(rows, samples), "state": floats(2, rows, 128)}
    return feeds | ({"sr": constant(rate)} if rate else {})


def sequence(n):
    return {"input": speech(n, 576), "h": floats(1, 1, 128), "c": floats(1, 1, 128)}


RATES = [vad(1, 576, 16000), vad(3, 576, 16000), vad(1, 288, 8000), vad(2, 288, 8000)]
MODELS = {  # name: file in site-packages, the inputs of each data set
    "ppocr_det": ("rapidocr/models/PP-OCRv6_det_small.onnx",
                  [{"x": picture(*shape)} for shape in [(1, 3, 96, 160), (2, 3, 64, 64), (1, 3, 224, 128)]]),
    "ppocr_rec": ("rapidocr/models/PP-OCRv6_rec_small.onnx",
                  [{"x": picture(n, 3, 48, width)} for n, width in [(1, 160), (3, 64), (1, 320)]]),
    "ppocr_cls": ("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
                  [{"x": picture(*shape)} for shape in [(1, 3, 48, 192), (4, 3, 48, 192), (2, 3, 64, 100)]]),
    "silero_vad": ("silero_vad/data/silero_vad.onnx", RATES),
    "silero_vad_16k_op15": ("silero_vad/data/silero_vad_16k_op15.onnx", RATES[:2]),
    "silero_vad_op18_ifless": ("silero_vad/data/silero_vad_op18_ifless.onnx", RATES),
    "silero_vad_half": ("silero_vad/data/silero_vad_half.onnx", [vad(1, 576), vad(3, 576)]),
    "silero_vad_openvino_16k": ("silero_vad/data/silero_vad_openvino_16k.onnx", [vad(1, 576)]),
    "silero_vad_16k_sequence": ("silero_vad/data/silero_vad_16k_sequence.onnx",
                                [sequence(1), sequence(7), sequence(100)]),
    "magika": ("magika/models/standard_v3_3/model.onnx", [{"bytes": text_bytes(1)}, {"bytes": text_bytes(5)}]),
    "ddddocr_common": ("ddddocr/common.onnx",
                       [{"input1": picture(1, 1, 64, width, dark=0.0)} for width in (96, 160, 240)]),
    "ddddocr_common_det": ("ddddocr/common_det.onnx", [{"images": picture(1, 3, 416, 416, light=255.0, dark=0.0)}]),
}
STREAM = "silero_vad_16k_op15"  # for chunks of one recording
CHUNKS = 100


def record_stream(recorder, random):
    """As silero's own wrapper feeds it: 512 new samples after the 64 before them."""
    wave = speech(1, 64 + 512 * CHUNKS)(random)
    wave *= (np.sin(np.arange(wave.shape[1]) / 8000.0) > 0).astype(np.float32)  # speech comes and goes
    state = np.zeros((2, 1, 128), np.float32)
    for i in range(CHUNKS):
        chunk = wave[:, 512 * i:512 * i + 576]
        state = recorder.record({"input": chunk, "state": state, "sr": np.array(16000)})[1]


def record_models(root, packages):
    """Returns rows of tolerance.tsv."""
    rows = []
    for name, (path, data_sets) in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True)
        (folder / "model.onnx").symlink_to(packages / path)
        recorder = references.Recorder(folder, packages / path)
        random = np.random.default_rng(20261129)
        for feeds in data_sets:
            recorder.record({key: make(random) for key, make in feeds.items()})
        rows.append(f"{name}\t{references.RTOL:g}\t{references.LTOL:g}\n")
    folder = root / "silero_vad_stream"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(packages / MODELS[STREAM][0])
    record_stream(references.Recorder(folder, packages / MODELS[STREAM][0]), np.random.default_rng(20261130))
    rows.append(f"silero_vad_stream\t{references.RTOL:g}\t{references.LTOL:g}\tstate=stateN\n")
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).absolute()
    stamp = root / "stamp"
    sources = [HERE / "requirements.txt", HERE / "make_references.py", HERE.parent / "references.py"]
    wanted = "".join([f"onnxruntime {onnxruntime.__version__}\n", *(source.read_text() for source in sources)])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(root, ignore_errors=True)
    rows = record_models(root, pathlib.Path(np.__file__).parents[1])
    (root / "tolerance.tsv").write_text("".join(rows))
    stamp.write_text(wanted)
    print(f"{len(rows)} trained models in {root}")


if __name__ == "__main__":
    main()
