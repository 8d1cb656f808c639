# SPDX-License-Identifier: Apache-2.0
"""Quantisation, and products of integers."""
import numpy as np

import schema
from draw import Case, Impossible, recipe

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535), "int4": (-8, 7),
          "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3), "int32": (-2**31, 2**31 - 1)}


def lined(values, rank, axis):
    """A list along one axis of a tensor of some rank."""
    return values if values.ndim == 0 or values.size == 1 and values.ndim < 2 else values.reshape(
        [-1 if i == axis % rank else 1 for i in range(rank)])


def scale_shape(d, shape):
    """(shape of the scale, axis, block size)"""
    axis = d.axis(len(shape)) if len(shape) > 0 else 0
    how = d.pick("tensor", "axis", "block") if len(shape) else "tensor"
    if how == "tensor":
        return [], None, None
    if how == "axis" and d.since >= 13:
        return [shape[axis]], axis, None
    if how == "block" and "block_size" in d.row.attributes:
        block = d.pick(1, 2, 3)
        blocks = list(shape)
        blocks[axis] = -(-shape[axis] // block)
        return blocks, axis, block
    return [], None, None


def spread(values, shape, axis, block):
    """The scale or zero point of every element."""
    if block:
        return np.take(np.repeat(values, block, axis), range(shape[axis]), axis)
    return lined(values, len(shape), axis) if axis is not None else values


@recipe("QuantizeLinear")
def quantize(d):
    shape = d.shape(0 if d.since == 10 else 1, 3, (1, 2, 3, 5, 9))
    target = d.type(d.row.outputs[0].type)
    s_shape, axis, block = scale_shape(d, shape)
    first, second = d.row.inputs[0].type, d.row.inputs[1].type
    x = d.values(first, shape, -30, 30)
    scale = np.abs(d.values(second, s_shape, 0.25, 3)).astype(d.dtype(second) if second in d.types else np.float32)
    scale = np.where(scale.astype(np.float64) == 0, scale.dtype.type(1), scale).astype(scale.dtype)
    low, high = RANGES.get(target, (0, 0))
    zero = d.values(target, s_shape, max(low, -9), min(high, 9)) if target in RANGES else d.values(target, s_shape, 0, 0)
    if target == "uint8" and d.since < 21 and d.chance(0.3):
        zero = None

    def rule(x, s, z=None):
        """The quotient is rounded to the type of the scale."""
        q = x.astype(np.float32) / spread(scale.astype(np.float32), shape, axis, block)
        q = q.astype(scale.dtype if scale.dtype.itemsize == 2 else np.float32).astype(np.float64)
        if target not in RANGES:
            top = float(schema.finfo(target).max)
            return np.clip(q, -top, top)
        z = 0 if z is None else spread(zero, shape, axis, block).astype(np.float64)
        return np.clip(np.rint(q) + z, low, high)

    return Case(x, scale, zero, rule=rule, error=0, axis=axis, block_size=block)


@recipe("DequantizeLinear")
def dequantize(d):
    shape = d.shape(0 if d.since == 10 else 1, 3, (1, 2, 3, 5, 9))
    source = d.type(d.row.inputs[0].type)
    s_shape, axis, block = scale_shape(d, shape)
    second = d.row.inputs[1].type
    low, high = RANGES.get(source, (-4, 4))
    x = d.values(source, shape, max(low, -99), min(high, 99))
    scale = d.values(second, s_shape, 0.25, 3)
    nought = source not in RANGES  # the zero point of a float type is zero
    zero = d.values(source, s_shape, 0 if nought else max(low, -9), 0 if nought else min(high, 9))
    if source == "int32" or d.chance(0.3):
        zero = None
    written = d.row.outputs[0].type
    output = schema.element(d.type(written)) if "output_dtype" in d.row.attributes else None

    def rule(x, s, z=None):
        z = 0 if z is None else spread(zero, shape, axis, block).astype(np.float64)
        return (x.astype(np.float64) - z) * spread(scale.astype(np.float64), shape, axis, block)

    return Case(x, scale, zero, rule=rule, error=1, axis=axis, block_size=block, output_dtype=output)


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(d):
    x = d.values("T1", d.shape(1, 3, (1, 2, 3, 5, 9)), -5, 9)
    return Case(x, outputs=3)


def product_sizes(d):
    return d.int(1, 9), d.int(1, 40), d.int(1, 17)


@recipe("MatMulInteger")
def matmul_integer(d):
    m, k, n = product_sizes(d)
    batch = d.shape(0, 2, (1, 2, 3)) if d.chance(0.3) else []
    a, b = d.values("T1", batch + [m, k], -128, 255, special=True), d.values("T2", [k, n], -128, 255, special=True)
    za = d.values("T1", d.pick([], [1], [m] if not batch else [1]), 0, 9) if d.chance(0.7) else None
    zb = d.values("T2", d.pick([], [n]), 0, 9) if za is not None and d.chance(0.7) else None

    def rule(a, b, za=None, zb=None):
        za = 0 if za is None else za.astype(np.int64).reshape([-1, 1] if za.size > 1 else [])
        zb = 0 if zb is None else zb.astype(np.int64)
        return (a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)

    return Case(a, b, za, zb, rule=rule, constants=[1] if d.chance() else [])


@recipe("ConvInteger")
def conv_integer(d):
    groups = d.pick(1, 1, 2)
    channels, m, h, w = groups * d.int(1, 3), groups * d.int(1, 3), d.int(3, 6), d.int(3, 6)
    kernel = [d.int(1, 3), d.int(1, 3)]
    x, k = d.values("T1", [1, channels, h, w], special=True), d.values("T2", [m, channels // groups, *kernel], special=True)
    zx = d.values("T1", [], 0, 9) if d.chance() else None
    zk = d.values("T2", d.pick([], [m]), 0, 9) if zx is not None and d.chance() else None

    def rule(x, k, zx=None, zk=None):
        x = x.astype(np.int64) - (0 if zx is None else int(zx))
        k = k.astype(np.int64) - (0 if zk is None else zk.astype(np.int64).reshape([-1, 1, 1, 1] if zk.size > 1 or zk.ndim
                                                                                   else []))
        y = np.zeros((1, m, h - kernel[0] + 1, w - kernel[1] + 1), np.int64)
        for o in range(m):
            g = o // (m // groups)
            part = x[0, g * channels // groups:(g + 1) * channels // groups]
            for i, j in np.ndindex(*y.shape[2:]):
                y[0, o, i, j] = (part[:, i:i + kernel[0], j:j + kernel[1]] * k[o]).sum()
        return y

    return Case(x, k, zx, zk, rule=rule, group=groups if groups > 1 else None)


@recipe("QLinearMatMul")
def qlinear_matmul(d):
    """Scales and zero points of the whole, or of each row of a and each column of b."""
    m, k, n = product_sizes(d)
    ts = d.dtype(d.row.inputs[1].type)
    kinds = [d.row.inputs[i].type for i in (0, 3, 7)]
    wholes = [d.type(kind) in RANGES for kind in kinds]
    a, b = (d.values(kind, shape, special=True) for kind, shape in zip(kinds, ([m, k], [k, n])))
    rows, columns = d.pick([], [m]), d.pick([], [n])
    sa, sb = (d.rng.choice([0.25, 0.5, 0.125], shape).astype(ts) for shape in (rows, columns))
    za, zb, zy = (d.values(kind, shape, 0, 9 if whole else 0) for kind, shape, whole in
                  zip(kinds, (rows, columns, []), wholes))
    sy = np.array(d.pick(8, 16, 32), ts)

    def rule(a, sa, za, b, sb, zb, sy, zy):
        wide = lambda v: v.astype(np.float64)  # noqa: E731
        total = (wide(a) - wide(za).reshape([-1, 1] if za.ndim else [])) @ (wide(b) - wide(zb))
        y = total * wide(sa).reshape([-1, 1] if sa.ndim else []) * wide(sb) / float(sy)
        if wholes[2]:
            return np.clip(np.rint(y) + int(zy), *RANGES[d.type(kinds[2])])
        top = float(schema.finfo(d.type(kinds[2])).max)
        return np.clip(y, -top, top)

    return Case(a, sa, za, b, sb, zb, sy, zy, rule=rule, error=0 if wholes[2] else 1)


@recipe("QLinearConv")
def qlinear_conv(d):
    channels, m, h, w = d.int(1, 3), d.int(1, 4), d.int(3, 6), d.int(3, 6)
    kernel = [d.int(1, 3), d.int(1, 3)]
    kinds = ["T1", "T2", "T3"]
    x, k = d.values("T1", [1, channels, h, w], special=True), d.values("T2", [m, channels, *kernel], special=True)
    sx, sk, sy = np.float32(0.25), np.full(d.pick([], [m]), 0.5, np.float32), np.float32(16)
    zx, zk, zy = (d.values(kind, [], 0, 9) for kind in kinds)
    if sk.ndim:
        zk = np.full([m], zk)
    bias = d.values("int32", [m], -99, 99) if d.chance() else None
    low, high = RANGES[d.types["T3"]]

    def rule(x, sx, zx, k, sk, zk, sy, zy, bias=None):
        x, k = x.astype(np.int64) - int(zx), k.astype(np.int64) - int(np.ravel(zk)[0])
        y = np.zeros((1, m, h - kernel[0] + 1, w - kernel[1] + 1))
        for o in range(m):
            for i, j in np.ndindex(*y.shape[2:]):
                y[0, o, i, j] = (x[0][:, i:i + kernel[0], j:j + kernel[1]] * k[o]).sum() + (0 if bias is None else bias[o])
        return np.clip(np.rint(y * 0.125 / 16) + int(zy), low, high)

    return Case(x, np.array(sx), zx, k, sk, zk, np.array(sy), zy, bias, rule=rule)
