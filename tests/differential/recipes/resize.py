# SPDX-License-Identifier: Apache-2.0
"""Resize and Upsample."""
import numpy as np

from draw import Case, Impossible, recipe


@recipe("Upsample")
def upsample(d):
    shape = d.shape(1, 4, (1, 2, 3)) if d.since > 1 else [1, 2, 3, 2]
    scales = [float(d.pick(1, 2, 3)) for _ in shape]
    if d.since == 1:
        scales[:2] = [1.0, 1.0]
        return Case(d.values("T", shape), height_scale=scales[2], width_scale=scales[3], mode="nearest",
                    rule=lambda x: x.repeat(int(scales[2]), 2).repeat(int(scales[3]), 3))

    def rule(x, *_):
        for axis, scale in enumerate(scales):
            x = x.repeat(int(scale), axis)
        return x

    x = d.values("T", shape)
    if d.since < 9:
        return Case(x, rule=rule, scales=scales, mode=d.pick(None, "nearest"))
    return Case(x, np.array(scales, np.float32), rule=rule, mode=d.pick(None, "nearest"))


def place(x, n, out, length, scale, how):
    """Where output x lies on an axis of n elements; length: of the output before it is rounded."""
    if how == "align_corners":
        return x * (n - 1) / (length - 1) if length != 1 else 0 * x
    if how == "asymmetric":
        return x / scale
    if how == "half_pixel_symmetric":
        return n / 2 * (1 - out / length) + (x + 0.5) / scale - 0.5
    if how == "pytorch_half_pixel" and out == 1:
        return 0 * x
    return (x + 0.5) / scale - 0.5


def bend(distance, a):
    """The cubic kernel, of distances up to two elements."""
    d = np.abs(distance)
    return np.where(d <= 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4))


def matrix(n, out, length, scale, mode, how, nearest, cubic):
    """The weights of the input's elements in each of the output; cubic: cubic_coeff_a and exclude_outside."""
    at = place(np.arange(out, dtype=np.float64), n, out, length, scale, how)
    y = np.zeros((out, n))
    if mode == "nearest":
        at = at.astype(np.float32).astype(np.float64)  # a scale such as 1/3 is none: peers round the quotient
        simple = np.ceil if scale < 1 else np.floor
        at = {"round_prefer_ceil": lambda: np.floor(at + 0.5), "floor": lambda: np.floor(at), "ceil": lambda: np.ceil(at),
              "simple": lambda: simple(at)}.get(nearest, lambda: np.ceil(at - 0.5))()
        y[np.arange(out), np.clip(at, 0, n - 1).astype(int)] = 1
        return y
    low = np.floor(at)
    if mode == "cubic":
        for side in (low - 1, low, low + 1, low + 2):
            inside = (side >= 0) & (side < n) | (cubic[1] != 1)
            np.add.at(y, (np.arange(out), np.clip(side, 0, n - 1).astype(int)), np.where(inside, bend(at - side, cubic[0]), 0))
        return y / y.sum(1, keepdims=True)
    for side, weight in ((low, 1 - (at - low)), (low + 1, at - low)):
        np.add.at(y, (np.arange(out), np.clip(side, 0, n - 1).astype(int)), weight)
    return y


def fit(dims, sizes, policy):
    """(sizes, sizes before they are rounded, scales) by keep_aspect_ratio_policy."""
    scales = [size / dim for size, dim in zip(sizes, dims)]
    if policy in {"not_larger", "not_smaller"}:
        scales = [(min if policy == "not_larger" else max)(scales)] * len(dims)
        sizes = [scale * dim for scale, dim in zip(scales, dims)]
    return [int(np.floor(size + 0.5)) for size in sizes], sizes, scales


def by_matrices(axes, outs, lengths, scales, mode, how, nearest, cubic):
    def rule(x, *_):
        whole = x.dtype.kind in "iu"
        for axis, out, length, scale in zip(axes, outs, lengths, scales):
            weights = matrix(x.shape[axis], out, length, float(np.float32(scale)), mode, how, nearest, cubic)
            if mode == "nearest":
                x = np.take(x, weights.argmax(1), axis)
            else:
                x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
        return np.round(x, 9) if whole else x  # weights of one may add up to a rounding less

    return rule


@recipe("Resize")
def resize(d):
    shape = [1, d.int(1, 2), d.int(2, 6), d.int(2, 6)] if d.since < 18 else d.shape(1, 4, (1, 2, 3, 5))
    rank = len(shape)
    mode = d.pick("nearest", "linear", "cubic") if d.since >= 11 else d.pick("nearest", "linear")
    kind = d.row.inputs[0].type
    if d.type(kind) in {"string", "bool"}:
        mode = "nearest"
    if mode == "cubic" and min(shape[2:], default=0) < 4:
        mode = "linear"
    axes = d.axes(rank) if d.since >= 18 and d.chance() else None
    over = [a % rank for a in axes] if axes is not None else list(range(rank))
    moved = [axis for axis in over if axis >= rank - 2]
    how = dict(mode=mode, axes=axes)
    if d.since >= 11:
        choices = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
        how["coordinate_transformation_mode"] = d.pick(None, *choices, *["half_pixel_symmetric"] * (d.since >= 19))
        how["nearest_mode"] = d.pick(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None
    if mode == "cubic":
        how |= dict(cubic_coeff_a=d.pick(None, -0.5), exclude_outside=d.pick(None, 0, 1))
    if mode != "nearest" and d.since >= 18:
        how["antialias"] = d.pick(None, 0, 1)
    x = d.values(kind, shape, *((-9, 9) if d.cell == "T2" else ()))
    if x.dtype.kind == "c" and d.cell == "T2":  # a judge loses imaginary parts: reasons.tsv
        raise Impossible
    if mode != "nearest" and x.dtype.kind in "iu":  # how a fraction becomes an integer is not said
        x = np.full_like(x, d.values(kind, [], -9, 9))
    by_size = d.since >= 11 and d.chance()
    if by_size:
        sizes = [d.int(1, 9) if axis in moved else shape[axis] for axis in over]
        policy = d.pick(None, "stretch", "not_larger", "not_smaller") if d.since >= 18 else None
        how["keep_aspect_ratio_policy"] = policy
        outs, lengths, scales = fit([shape[axis] for axis in over], sizes, policy)
    else:
        scales = [d.pick(0.5, 0.6, 0.75, 1.0, 1.5, 2.0, 2.5) if axis in moved else 1.0 for axis in over]
        lengths = [shape[axis] * float(np.float32(scale)) for axis, scale in zip(over, scales)]
        outs = [int(length) for length in lengths]
    if min(outs) < 1:
        raise Impossible
    where, nearest = how.get("coordinate_transformation_mode"), how.get("nearest_mode")
    if d.since == 10:
        where, nearest = "asymmetric", "simple"  # what all peers do; the clause has no word of it
    a = how.get("cubic_coeff_a")
    cubic = -0.75 if a is None else a, how.get("exclude_outside")
    rule = None if how.get("antialias") else by_matrices(over, outs, lengths, scales, mode, where, nearest, cubic)
    if d.since == 10:
        return Case(x, np.array(scales, np.float32), rule=rule, error=4, mode=mode)
    roi = np.array([], d.dtype("T2")) if d.since < 13 or d.cell == "T2" else None
    empty = np.array([], np.float32) if d.since < 13 else None
    given = [empty, np.array(sizes, np.int64)] if by_size else [np.array(scales, np.float32)]
    return Case(x, roi, *given, rule=rule, error=4, **how)
