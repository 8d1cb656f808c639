#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams through `run --over` against ONNX Runtime's loop, on one rank and two, each rank count with the same bits.

usage: streams.py PROGRAM

The detector of tests/data/states/vad and those of the silero-vad package, in batches of one and three, with the overlap that silero's
own wrapper has, and a length that is no whole number of windows.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]


def models():
    """Name, file, window, overlap, batches."""
    yield "vad", ROOT / "tests/data/states/vad/model.onnx", 48, 16, (1, 3)
    package = importlib.util.find_spec("silero_vad")  # which is not loaded: it wants torch
    if not package:
        print("silero-vad is not installed: its models are left out")
        return
    data = pathlib.Path(package.origin).parent / "data"
    yield "silero_vad", data / "silero_vad.onnx", 512, 64, (1,)
    yield "silero_vad_16k_op15", data / "silero_vad_16k_op15.onnx", 512, 64, (1, 3)
    yield "silero_vad_openvino_16k", data / "silero_vad_openvino_16k.onnx", 512, 64, (1,)


def loop(path, sound, window, overlap):
    """Outputs [batch, pieces] and the last state, as the wrapper of silero-vad goes on."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    shape = {i.name: i.shape for i in session.get_inputs()}
    width = shape["state"][2]
    state, before, outputs = np.zeros((2, len(sound), width), np.float32), np.zeros((len(sound), overlap), np.float32), []
    for at in range(0, sound.shape[1], window):
        new = sound[:, at:at + window]
        new = np.pad(new, ((0, 0), (0, window - new.shape[1])))
        piece = np.concatenate([before, new], axis=1)
        feeds = {"input": piece, "state": state, "sr": np.array(16000, np.int64)}
        output, state = session.run(["output", "stateN"], {name: feeds[name] for name in shape})
        outputs.append(output)
        before = piece[:, -overlap:]
    return np.concatenate(outputs, axis=1), state, "sr" in shape


def run(program, ranks, path, folder, window, overlap, rate, batch):
    out = folder / f"out{ranks}"
    command = [program, "launch", "-n", str(ranks), "--", "run", path, "-i", f"input={folder}/sound.npy", "--over", "input=1",
               "--window", str(window), "--overlap", str(overlap), "--join", "output=1", "-o", out, "-t", "1"]
    command += ["-i", f"sr={folder}/sr.npy"] if rate else []
    command += ["-d", f"state=2x{batch}x128"] if "silero_vad.onnx" in str(path) else []
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return [(out / name).read_bytes() for name in ("output.npy", "stateN.npy")], np.load(out / "output.npy"), np.load(out / "stateN.npy")


def check(program, name, path, window, overlap, batch):
    random = np.random.default_rng(7)
    samples = np.arange(window * 40 + window // 3) / 16000
    tone = np.sin(2 * np.pi * 150 * samples) * (np.sin(9 * samples) > 0)
    sound = (0.3 * tone + 0.02 * random.standard_normal((batch, samples.size))).astype(np.float32)
    wanted, state, rate = loop(path, sound, window, overlap)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.save(folder / "sound.npy", sound)
        np.save(folder / "sr.npy", np.array(16000, np.int64))
        made = [run(program, ranks, path, folder, window, overlap, rate, batch) for ranks in (1, 2)]
    off = max(np.abs(made[0][1] - wanted).max(), np.abs(made[0][2] - state).max() / max(1, np.abs(state).max()))
    same = made[0][0] == made[1][0]
    print(f"{name}, batch {batch}: {wanted.shape[1]} pieces, off by {off:.1e}, {'the same bits' if same else 'OTHER BITS'} on two ranks")
    return same and made[0][1].shape == wanted.shape and off < 1e-4


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    results = [check(sys.argv[1], name, path, window, overlap, batch)
               for name, path, window, overlap, batches in models() for batch in batches]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
