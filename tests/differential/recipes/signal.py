# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, windows, the mel scale."""
import numpy as np

import schema
from draw import Case, Impossible, recipe


def transform(x, n, axis, inverse, onesided):
    """The DFT of real or complex numbers, whose parts are the last axis."""
    z = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
    if onesided and inverse:
        return np.fft.irfft(z, n, axis)[..., None]
    how = np.fft.rfft if onesided else np.fft.ifft if inverse else np.fft.fft
    y = how(z, n, axis)
    return np.stack([y.real, y.imag], -1)


@recipe("DFT")
def dft(d):
    shape = [d.pick(1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 64, 97) if d.chance() else d.int(1, 4) for _ in range(d.int(1, 3))]
    shape = shape if d.since >= 20 else [d.int(1, 3)] + shape[:2]
    inverse, onesided = d.pick(None, 0, 1), d.pick(None, 0, 1)
    back = inverse == 1 and onesided == 1
    parts = d.pick(1, 2) if not onesided else 2 if back else 1
    axis = d.int(0, len(shape) - 1)
    written = axis - len(shape) - 1 if d.chance(0.4) else axis
    default = 1 if d.since < 20 else len(shape) - 1
    if d.chance(0.2):
        axis, written = default, None
    whole = shape[axis] if not back else 2 * (shape[axis] - 1)
    length = d.pick(1, 2, 3, 5, 8, 13, 40) if d.chance(0.4) else None
    if (length or whole) < 1:
        raise Impossible
    n = length or whole
    kind = d.dtype("T2")
    x = d.values("T1", [*shape, parts])
    if back:  # the clause takes the spectrum of a real signal
        kept = n // 2 + 1
        at = [slice(None)] * len(shape)
        for bin_ in [0] + ([n // 2] if n % 2 == 0 and shape[axis] > n // 2 else []):
            at[axis] = bin_
            x[(*at, 1)] = 0
        if shape[axis] < kept and n % 2 == 0:
            raise Impossible
    given = np.array(length, kind) if length else None
    rule = lambda x, *_: transform(x, n, axis, inverse, onesided)  # noqa: E731
    how = dict(inverse=inverse, onesided=onesided)
    if d.since < 20:
        return Case(x, given, rule=rule, error=4, axis=written, **how)
    return Case(x, given, np.array(written, np.int64) if written is not None else None, rule=rule, error=4, **how)


@recipe("STFT")
def stft(d):
    batch, parts, step = d.int(1, 3), d.pick(1, 2), d.int(1, 5)
    frame = d.pick(1, 2, 3, 4, 7, 8, 16, 17)
    onesided = d.pick(None, 1, 0) if parts == 1 else 0
    signal = frame + d.int(0, 20)
    says = d.pick("window", "length", "both", "neither")
    frame = signal if says == "neither" else frame
    x = d.values("T1", [batch, signal, parts])
    window = d.values("T1", [frame], 0, 1) if says in {"window", "both"} else None
    kind = d.dtype("T2")

    def rule(x, step_, window=None, *_):
        starts = range(0, signal - frame + 1, step)
        frames = np.stack([x[:, s:s + frame] for s in starts], 1)
        frames = frames if window is None else frames * window[:, None]
        return transform(frames, frame, 2, False, onesided != 0)

    return Case(x, np.array(step, kind), window, np.array(frame, kind) if says in {"length", "both"} else None, rule=rule,
                error=4, onesided=onesided)


WINDOWS = {"HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0), "BlackmanWindow": (0.42, 0.5, 0.08)}


@recipe(*WINDOWS)
def window(d):
    size, periodic, kind = d.pick(0, 1, 2, 3, 4, 5, 8, 9, 33, 400), d.pick(None, 0, 1), d.types["T2"]
    a, b, c = WINDOWS[d.row.name]
    if size == 1 and periodic == 0:  # divides by zero
        raise Impossible

    def rule(size_):
        turn = 2 * np.pi * np.arange(size) / (size if periodic != 0 else size - 1)
        y = c * np.cos(2 * turn) + a - b * np.cos(turn)  # in this order 0 and 1 are exact
        return y if kind in schema.FLOATS else np.trunc(np.round(y, 9))

    written = None if kind == "float" and d.chance() else schema.element(kind)
    return Case(np.array(size, d.dtype("T1")), rule=rule, error=4, periodic=periodic, output_datatype=written)


@recipe("MelWeightMatrix")
def mel(d):
    bands, length, rate = d.int(1, 12), d.pick(16, 33, 64, 256, 400, 512), d.pick(8000, 16000, 22050, 44100)
    if length < 8 * bands:
        raise Impossible
    low, high = d.pick(0.0, 20.0, 64.0, 120.0), d.pick(2048.0, 3968.0, 3840.0)
    kind = d.types["T3"]
    hertz = lambda mel: 700 * (10 ** (mel / 2595) - 1)  # noqa: E731
    edges = 2595 * np.log10(1 + np.array([low, high]) / 700)
    points = (length + 1) * hertz(edges[0] + np.arange(bands + 2) * (edges[1] - edges[0]) / (bands + 2)) / rate
    if np.any(np.abs(points - np.rint(points)) < 1e-3) and low:
        raise Impossible  # a bin that rounding decides
    bins = np.floor(points).astype(int)
    if low == 0.0 and np.any(np.abs(points - np.rint(points))[1:] < 1e-3):
        raise Impossible

    def rule(*_):
        y = np.zeros((length // 2 + 1, bands))
        for i, (left, middle, right) in enumerate(zip(bins, bins[1:], bins[2:])):
            y[left:middle + 1, i] = np.arange(middle - left + 1) / (middle - left) if middle > left else 1
            y[middle:right, i] = (right - np.arange(middle, right)) / (right - middle) if right > middle else y[middle:right, i]
        return y

    counts = [np.array(v, d.dtype("T1")) for v in (bands, length, rate)]
    written = None if kind == "float" and d.chance() else schema.element(kind)
    return Case(*counts, *(np.array(v, d.dtype("T2")) for v in (low, high)), rule=rule, error=4, output_datatype=written)
