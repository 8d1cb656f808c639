# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, and those that ask of shapes."""
import numpy as np

import schema
from draw import Case, Impossible, recipe

SMALL = (1, 2, 3, 5)


def i64(*values):
    return np.array(values, np.int64)


def listed(d, name, values, *inputs):
    """A list of integers that was an attribute first and became an input: (inputs, attributes)."""
    if name in d.row.attributes:
        return list(inputs), {name: values}
    return [*inputs, None if values is None else np.array(values, np.int64)], {}


@recipe("Shape", "Size")
def shape_of(d):
    shape = d.shape()
    start, end = (d.int(-6, 6) if d.chance() and "start" in d.row.attributes else None for _ in range(2))
    rule = (lambda x: np.array(shape, np.int64)[start:end]) if d.row.name == "Shape" else (
        lambda x: np.array(int(np.prod(shape)), np.int64))
    if start is not None or end is not None:
        r = len(shape)
        a, b = (int(np.clip(v + r if v < 0 else v, 0, r)) for v in (start or 0, r if end is None else end))
        rule = lambda x: np.array(shape[a:max(a, b)], np.int64)  # noqa: E731
    return Case(d.values("T", shape), rule=rule, start=start, end=end)


@recipe("Transpose")
def transpose(d):
    shape = d.shape(0, 5)
    perm = [int(i) for i in d.rng.permutation(len(shape))] if d.chance(0.8) else None
    return Case(d.values("T", shape), rule=lambda x: np.transpose(x, perm), perm=perm)


@recipe("Concat")
def concat(d):
    shape = d.shape(1, 4, SMALL)
    axis = d.axis(len(shape), d.since >= 11)
    shape = d.emptied(shape, axis)
    parts = []
    for _ in range(d.int(1, 4)):
        part = list(shape)
        part[axis] = d.pick(0, 1, 2, 3, 9) if d.since >= 11 else d.pick(1, 2, 3, 9)
        parts.append(d.values("T", part))
    written = None if d.since == 1 and axis == 1 and d.chance() else axis
    return Case(*parts, rule=lambda *xs: np.concatenate(xs, axis), axis=written)


@recipe("Split")
def split(d):
    shape = d.shape(1, 4, SMALL)
    axis = d.axis(len(shape), d.since >= 11)
    shape = d.emptied(shape, axis)
    n = d.int(1, 4)
    even = d.chance()
    sizes = [d.int(1, 3)] * n if even else [d.int(0 if d.since >= 11 else 1, 4) for _ in range(n)]
    if even and d.since >= 18 and n > 1 and sizes[0] > 1 and d.chance():
        sizes[-1] = d.int(1, sizes[0])
    shape[axis] = sum(sizes)
    if sum(sizes) == 0:
        raise Impossible
    inputs, written = listed(d, "split", None if even and d.since != 1 and len(set(sizes)) == 1 else sizes,
                             d.values("T", shape))
    if d.since >= 18 and even:
        chunk = -(-shape[axis] // n)
        if [min(chunk, max(0, shape[axis] - i * chunk)) for i in range(n)] == sizes:
            inputs, written = inputs[:1], {"num_outputs": n}
        else:
            inputs[1] = np.array(sizes, np.int64)
    bounds = np.cumsum(sizes)[:-1]
    return Case(*inputs, outputs=n, rule=lambda x, *_: tuple(np.split(x, bounds, axis)), axis=axis, **written)


@recipe("Slice")
def slice_(d):
    shape = d.shape(1, 4, (1, 2, 3, 5, 7))
    axes = d.axes(len(shape), negative=d.since >= 10)
    starts = [d.int(-9, 9) for _ in axes]
    ends = [d.pick(d.int(-9, 9), 2**63 - 1) if d.since >= 10 else d.int(-9, 9) for _ in axes]
    steps = [d.pick(1, 1, 2, 3, -1, -2) for _ in axes] if d.since >= 10 and d.chance() else None
    if steps and d.chance(0.3):
        ends = [-2**63 + 1 if s < 0 else e for s, e in zip(steps, ends)]
    no_axes = d.chance(0.2)
    if no_axes:
        axes = list(range(len(starts)))

    def bounds(dim, start, end, step):
        low, high = (0, dim) if step > 0 else (0, dim - 1)
        start = int(np.clip(start + dim if start < 0 else start, low, high))
        end = end + dim if end < 0 else end
        end = int(np.clip(end, 0, dim)) if step > 0 else int(np.clip(end, -1, dim - 1))
        return list(range(start, end, step))

    def rule(x, *_):
        for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(axes)):
            x = np.take(x, np.array(bounds(x.shape[axis], start, end, step), np.int64), axis)
        return x

    x = d.values("T", shape)
    if d.since < 10:
        return Case(x, rule=rule, starts=starts, ends=ends, axes=None if no_axes else axes)
    kind = d.dtype("Tind")
    if kind == np.int32:
        ends = [int(np.clip(e, -2**31 + 1, 2**31 - 1)) for e in ends]
    return Case(x, np.array(starts, kind), np.array(ends, kind), None if no_axes and not steps else np.array(axes, kind),
                np.array(steps, kind) if steps else None, rule=rule)


@recipe("Pad")
def pad(d):
    rank = d.int(1, 4)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if d.since >= 19 else [])
    mode = d.pick(*modes)
    shape = [d.pick(3, 4, 5) for _ in range(rank)]
    axes = d.axes(rank) if d.since >= 18 and d.chance(0.4) else None
    n = len(axes) if axes is not None else rank
    low = -1 if mode == "constant" else 0
    pads = [d.int(low, 2) for _ in range(2 * n)]
    value = d.values("T", [], -3, 3)
    given = mode == "constant" and d.chance(0.7)
    nought = {"string": "", "float8e8m0": 2.0**-127}.get(d.type("T"), 0)  # the code 0 of e8m0, which Cast makes of 0

    def rule(x, *_):
        before, after = [0] * rank, [0] * rank
        for i, axis in enumerate(axes if axes is not None else range(rank)):
            before[axis], after[axis] = pads[i], pads[n + i]
        x = x[tuple(slice(max(0, -a), dim - max(0, -b)) for a, b, dim in zip(before, after, shape))]
        widths = [(max(0, a), max(0, b)) for a, b in zip(before, after)]
        if mode != "constant":
            return np.pad(x, widths, mode=mode)
        fill = value.astype(x.dtype) if given else np.array(nought, x.dtype)
        return np.pad(x, widths, constant_values=fill) if x.dtype != object else pad_objects(x, widths, fill.item())

    x = d.values("T", shape)
    if d.since < 11:
        name = "paddings" if d.since == 1 else "pads"
        value = np.asarray(value.astype(np.float32))  # an attribute
        number = float(value)
        return Case(x, rule=rule, mode=mode, value=number if given else None, **{name: pads})
    return Case(x, np.array(pads, np.int64), value if given else None,
                np.array(axes, d.dtype("Tind")) if axes is not None else None, rule=rule,
                mode=None if mode == "constant" and d.chance() else mode)


def pad_objects(x, widths, fill):
    y = np.full([a + dim + b for dim, (a, b) in zip(x.shape, widths)], fill, object)
    y[tuple(slice(a, a + dim) for dim, (a, _) in zip(x.shape, widths))] = x
    return y


@recipe("Gather")
def gather(d):
    shape = d.shape(1, 4, SMALL)
    axis = d.axis(len(shape), d.since >= 11)
    shape = d.emptied(shape, axis)
    dim = shape[axis]
    indices = d.rng.integers(-dim if d.since >= 11 else 0, dim, d.shape(0, 2)).astype(d.dtype("Tind"))
    return Case(d.values("T", shape), indices, rule=lambda x, i: np.take(x, i, axis), axis=axis)


@recipe("GatherElements")
def gather_elements(d):
    shape = d.shape(1, 3, SMALL)
    axis = d.axis(len(shape))
    taken = [d.int(1, n) for n in shape]
    taken[axis] = d.int(0, 5)
    indices = d.rng.integers(-shape[axis], shape[axis], taken).astype(d.dtype("Tind"))

    def rule(x, i):
        x = x[tuple(slice(None) if a == axis % len(shape) else slice(n) for a, n in enumerate(taken))]
        return np.take_along_axis(x, i.astype(np.int64), axis)

    return Case(d.values("T", shape), indices, rule=rule, axis=axis)


@recipe("GatherND")
def gather_nd(d):
    shape = d.shape(1, 4, SMALL)
    batch = d.int(0, len(shape) - 1) if d.since >= 12 else 0
    length = d.int(1, len(shape) - batch)
    outer = d.shape(0, 2, SMALL)
    tuples = np.stack([d.rng.integers(-n, n, shape[:batch] + outer) for n in shape[batch:batch + length]], -1)

    def rule(x, i):
        x, i = x.reshape([-1] + shape[batch:]), i.reshape([-1] + outer + [length])
        y = np.stack([x[b][tuple(np.moveaxis(i[b], -1, 0))] for b in range(len(x))])
        return y.reshape(shape[:batch] + outer + shape[batch + length:])

    return Case(d.values("T", shape), tuples.astype(np.int64), rule=rule, batch_dims=batch or None)


@recipe("ScatterElements", "Scatter")
def scatter_elements(d):
    shape = d.shape(1, 3, SMALL)
    axis = d.axis(len(shape), d.since >= 11)
    sizes = [d.int(1, n) for n in shape]
    how = d.pick(None, "none", "add", "mul", "max", "min") if d.since >= 16 else None
    if how in {"max", "min"} and d.since < 18 or how in {"add", "mul"} and d.type("T") in {"string", "bool"}:
        how = None
    if how in {"max", "min"} and (d.type("T") == "string" or d.type("T") in schema.COMPLEX):
        how = None
    order = np.argsort(d.rng.random(shape), axis)  # without doubles, so that the order of writing is free
    indices = order[tuple(slice(n) for n in sizes)].astype(d.dtype("Tind"))
    if d.since >= 11 and d.chance():
        indices = np.where(d.rng.random(indices.shape) < 0.3, indices - shape[axis], indices).astype(indices.dtype)

    def rule(x, i, u):
        y = np.array(x)
        at = list(np.indices(i.shape))
        at[axis] = i.astype(np.int64) % shape[axis]
        old = y[tuple(at)]
        y[tuple(at)] = {"add": lambda: old + u, "mul": lambda: old * u, "max": lambda: np.maximum(old, u),
                        "min": lambda: np.minimum(old, u)}.get(how, lambda: u)()
        return y

    return Case(d.values("T", shape), indices, d.values("T", sizes), rule=rule, error=1, axis=axis, reduction=how)


@recipe("ScatterND")
def scatter_nd(d):
    shape = d.shape(1, 3, SMALL)
    length = d.int(1, len(shape))
    whole = int(np.prod(shape[:length]))
    n = d.int(1, min(whole, 6))
    flat = d.rng.permutation(whole)[:n]
    tuples = np.stack(np.unravel_index(flat, shape[:length]), -1)
    how = d.pick(None, "none", "add", "mul", "max", "min") if d.since >= 16 else None
    if how in {"max", "min"} and d.since < 18 or how in {"add", "mul"} and d.type("T") in {"string", "bool"}:
        how = None
    if how in {"max", "min"} and (d.type("T") == "string" or d.type("T") in schema.COMPLEX):
        how = None

    def rule(x, i, u):
        y = np.array(x)
        for t, v in zip(i, u):
            old = y[tuple(t)]
            y[tuple(t)] = {"add": lambda: old + v, "mul": lambda: old * v, "max": lambda: np.maximum(old, v),
                           "min": lambda: np.minimum(old, v)}.get(how, lambda: v)()
        return y

    return Case(d.values("T", shape), tuples.astype(np.int64), d.values("T", [n] + shape[length:]), rule=rule, error=1,
                reduction=how)


@recipe("Reshape")
def reshape(d):
    shape = d.shape(0, 4)
    count = int(np.prod(shape))
    wanted = [] if count == 1 and d.chance(0.3) else [count]
    for factor in (2, 3, 5, 7):
        if wanted and wanted[-1] and wanted[-1] % factor == 0 and d.chance():
            wanted = wanted[:-1] + [factor, wanted[-1] // factor]
    written = list(wanted)
    if written and count and d.chance():
        written[d.int(0, len(written) - 1)] = -1
    elif wanted and shape and wanted[0] == shape[0] and d.chance():
        written[0] = 0
    zero = 1 if "allowzero" in d.row.attributes and 0 in shape and d.chance() else None
    if zero:
        wanted = written = list(shape)
    elif count == 0:
        wanted = written = list(shape)
    inputs, attributes = listed(d, "shape", written, d.values("T", shape))
    return Case(*inputs, rule=lambda x, *_: x.reshape(wanted), allowzero=zero, **attributes)


@recipe("Flatten")
def flatten(d):
    shape = d.shape(0 if d.since >= 9 else 1, 4)
    axis = d.int(-len(shape) if d.since >= 11 else 0, len(shape)) if d.chance(0.8) or not shape else None
    cut = 1 if axis is None else axis + len(shape) if axis < 0 else axis
    return Case(d.values("T", shape), rule=lambda x: x.reshape(int(np.prod(shape[:cut])), int(np.prod(shape[cut:]))),
                axis=axis)


@recipe("Squeeze")
def squeeze(d):
    shape = [1 if d.chance() else n for n in d.shape(1, 5)]
    ones = [i for i, n in enumerate(shape) if n == 1]
    axes = None if d.chance(0.3) or not ones else [i - len(shape) if d.since >= 11 and d.chance(0.3) else i for i in ones
                                                  if d.chance(0.7)]
    if "axes" in d.row.attributes and not axes:
        axes = None
    inputs, attributes = listed(d, "axes", axes, d.values("T", shape))
    over = tuple(a % len(shape) for a in axes) if axes is not None else None
    return Case(*inputs, rule=lambda x, *_: np.squeeze(x, over), **attributes)


@recipe("Unsqueeze")
def unsqueeze(d):
    shape = d.shape(0, 3)
    n = d.int(1, 2)
    axes = [int(a) for a in d.rng.permutation(len(shape) + n)[:n]]
    written = [a - len(shape) - n if d.since >= 11 and d.chance(0.3) else a for a in axes]
    inputs, attributes = listed(d, "axes", written, d.values("T", shape))
    return Case(*inputs, rule=lambda x, *_: np.expand_dims(x, tuple(sorted(axes))), **attributes)


@recipe("Expand")
def expand(d):
    a, b = d.broadcast(2)
    return Case(d.values("T", a), np.array(b, np.int64), rule=lambda x, _: x * np.ones(b, x.dtype) if x.dtype.kind in
                "iufc" else np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(b))))


@recipe("Tile")
def tile(d):
    shape = d.shape(1, 3)
    x = d.values("T", shape)
    if d.since == 1:
        axis, times = d.axis(len(shape), False), d.int(1, 3)
        return Case(x, np.array([times], d.dtype("T")), np.array([axis], d.dtype("T")),
                    rule=lambda x, *_: np.concatenate([x] * times, axis))
    repeats = [d.pick(0, 1, 2, 3) for _ in shape]
    return Case(x, np.array(repeats, np.int64), rule=lambda x, r: np.tile(x, repeats))


@recipe("ConstantOfShape")
def constant_of_shape(d):
    from onnx import numpy_helper
    shape = d.shape()
    value = d.values("T2", [1]) if d.chance(0.8) or d.types["T2"] != "float" else None
    fill = value[0] if value is not None else np.float32(0)
    return Case(np.array(shape, np.int64), rule=lambda s: np.full(shape, fill),
                value=numpy_helper.from_array(value) if value is not None else None)


@recipe("EyeLike")
def eye_like(d):
    rows, columns, k = d.int(1, 5), d.int(1, 5), d.int(-3, 3)
    kind = d.types["T2"]
    return Case(d.values("T1", [rows, columns]), rule=lambda x: np.eye(rows, columns, k),
                dtype=schema.element(kind), k=k if d.chance(0.7) or k else None)


@recipe("Range")
def range_(d):
    start, delta, n = d.int(-5, 5), d.pick(-2, -1, 1, 2, 3), d.int(0, 9)
    kind = d.dtype("T")
    if d.types["T"] not in schema.INTEGERS:
        start, delta = start + 0.25, delta * 0.5
    ends = [np.array(v, kind) for v in (start, start + n * delta - (0.125 if kind.kind not in "iu" and n else 0) *
                                        np.sign(delta), delta)]
    if kind.kind not in "iu":
        ends[1] = np.array(start + n * delta, kind)
    return Case(*ends, rule=lambda a, b, c: a + np.arange(n) * c, error=2)


@recipe("Trilu")
def trilu(d):
    shape = d.shape(0, 2, SMALL) + [d.int(1, 5), d.int(1, 5)]
    k, upper = d.int(-4, 4), d.pick(None, 0, 1)
    given = d.chance(0.8)
    at = k if given else 0

    def rule(x, *_):
        kept = np.triu(np.ones(shape[-2:], bool), at) if upper != 0 else np.tril(np.ones(shape[-2:], bool), at)
        return np.where(kept, x, np.array("" if x.dtype == object else 0, x.dtype))

    return Case(d.values("T", shape), i64(k).reshape(()) if given else None, rule=rule, upper=upper)


@recipe("TopK")
def top_k(d):
    shape = d.shape(1, 3, (1, 2, 3, 5, 9, 70))
    axis = d.axis(len(shape), d.since >= 11)
    shape = d.emptied(shape, axis)
    k = d.int(1 if d.since < 10 else 0, shape[axis])
    largest = d.pick(None, 0, 1) if d.since >= 11 else None
    x = d.values("T", shape, -3, 3)
    if d.chance():  # ties: the lower index wins
        x = np.rint(x.astype(np.float64)).astype(x.dtype)

    def rule(x, *_):
        key = x.astype(np.float64) if x.dtype.kind == "f" else x.astype(object)
        order = np.argsort(-key if largest != 0 else key, axis, kind="stable")
        order = np.take(order, range(k), axis)
        return np.take_along_axis(x, order, axis), order.astype(np.int64)

    inputs = [x] if d.since == 1 else [x, i64(k)]
    return Case(*inputs, outputs=2, rule=rule, axis=axis, largest=largest, k=k if d.since == 1 else None)


@recipe("NonZero")
def non_zero(d):
    x = d.values("T", d.shape(1, 3), -1, 1)
    return Case(x, rule=lambda x: np.array(np.nonzero(x if x.dtype != object else x != ""), np.int64))


@recipe("OneHot")
def one_hot(d):
    depth, shape = d.int(1, 6), d.shape(0, 3, SMALL)
    axis = d.int(-len(shape) - 1, len(shape)) if d.since >= 11 else d.pick(-1, d.int(0, len(shape)))
    indices = d.values("T1", shape, -depth if d.since >= 11 else 0, depth)
    indices = np.trunc(indices.astype(np.float64)).astype(indices.dtype)
    values = d.values("T3", [2])

    def rule(i, *_):
        i = np.asarray(i).astype(np.int64)
        i = np.where((i < 0) & (i >= -depth), i + depth, i)
        hot = np.moveaxis(i[..., None] == np.arange(depth), -1, axis)
        return np.where(hot, values[1], values[0])

    return Case(indices, np.array([depth] if d.chance() else depth, d.dtype("T2")), values, rule=rule, axis=axis)


@recipe("Compress")
def compress(d):
    shape = d.shape(1, 3, SMALL)
    axis = d.axis(len(shape), d.since >= 11) if d.chance(0.7) else None
    n = shape[axis] if axis is not None else int(np.prod(shape))
    kept = d.rng.random(d.int(0, n)) < 0.5
    return Case(d.values("T", shape), kept, axis=axis,
                rule=lambda x, k: np.compress(np.pad(k, (0, n - len(k))), x, axis))


@recipe("DepthToSpace", "SpaceToDepth")
def depth(d):
    block = d.int(1, 3)
    mode = d.pick(None, "DCR", "CRD") if "mode" in d.row.attributes else None
    n, c, h, w = d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    if d.row.name == "DepthToSpace":
        def rule(x):
            cut = (n, c, block, block, h, w) if mode == "CRD" else (n, block, block, c, h, w)
            order = (0, 1, 4, 2, 5, 3) if mode == "CRD" else (0, 3, 4, 1, 5, 2)
            return x.reshape(cut).transpose(order).reshape(n, c, h * block, w * block)
        shape = [n, c * block * block, h, w]
    else:
        def rule(x):
            order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
            return x.reshape(n, c, h, block, w, block).transpose(order).reshape(n, c * block * block, h, w)
        shape = [n, c, h * block, w * block]
    return Case(d.values("T", shape), rule=rule, blocksize=block, mode=mode)


@recipe("ReverseSequence")
def reverse_sequence(d):
    shape = d.shape(2, 4, SMALL)
    time = d.pick(0, 1)
    lengths = d.rng.integers(1, shape[time], shape[1 - time], endpoint=True)

    def rule(x, lengths):
        y = np.array(x)
        for b, n in enumerate(lengths):
            at = (slice(n), b) if time == 0 else (b, slice(n))
            y[at] = x[at][::-1]
        return y

    written = {} if time == 0 and d.chance() else dict(time_axis=time, batch_axis=1 - time)
    return Case(d.values("T", shape), lengths.astype(np.int64), rule=rule, **written)


@recipe("Unique")
def unique(d):
    shape = d.shape(1, 3, SMALL)
    axis = d.axis(len(shape)) if d.chance() else None
    sort = d.pick(None, 0, 1)
    x = d.values("T", shape, -1, 2)
    if x.dtype.kind == "c":
        x = np.rint(x.real) + 1j * np.rint(x.imag)
        x = x.astype(d.dtype("T"))
    elif d.type("T") in schema.FLOATS:
        x = np.rint(x.astype(np.float64)).astype(x.dtype)

    def rule(x):
        slices = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) if axis is not None else x.reshape(-1, 1)
        ordered = slices if x.dtype.kind != "c" else np.stack([slices.real, slices.imag], -1).reshape(len(slices), -1)
        keys = [tuple(row) for row in ordered.tolist()]
        found = list(dict.fromkeys(keys))
        found = sorted(found) if sort != 0 else found
        first = [keys.index(key) for key in found]
        back, counts = [found.index(key) for key in keys], [keys.count(key) for key in found]
        y = np.take(x, first, axis) if axis is not None else x.reshape(-1)[first]
        return y, *(np.array(v, np.int64) for v in (first, back, counts))

    return Case(x, outputs=4, rule=rule, axis=axis, sorted=sort)


@recipe("CenterCropPad")
def center_crop_pad(d):
    shape = d.shape(1, 4, SMALL)
    axes = d.axes(len(shape)) if d.chance() else None
    over = [a % len(shape) for a in axes] if axes is not None else list(range(len(shape)))
    wanted = [d.int(1, 6) for _ in over]

    def rule(x, _):
        for axis, size in zip(over, wanted):
            dim = x.shape[axis]
            if dim > size:
                x = np.take(x, range((dim - size) // 2, (dim - size) // 2 + size), axis)
            else:
                widths = [(0, 0)] * x.ndim
                widths[axis] = ((size - dim) // 2, size - dim - (size - dim) // 2)
                x = pad_objects(x, widths, "") if x.dtype == object else np.pad(x, widths)
        return x

    return Case(d.values("T", shape), np.array(wanted, d.dtype("Tind")), rule=rule, axes=axes)


@recipe("Constant")
def constant(d):
    from onnx import numpy_helper
    kind = next(iter(d.row.types))
    value = d.values(kind, d.shape())
    return Case(rule=lambda: value, value=numpy_helper.from_array(value))


@recipe("TensorScatter")
def tensor_scatter(d):
    batch, heads, longest, width = d.int(1, 3), d.int(1, 3), d.int(3, 9), d.int(1, 4)
    new = d.int(1, 3)
    mode = d.pick(None, "linear", "circular")
    top = longest - new if mode != "circular" else longest - 1
    at = d.rng.integers(0, top, batch, endpoint=True) if d.chance(0.8) else None

    def rule(past, update, *_):
        y = np.array(past)
        for b in range(batch):
            rows = ((0 if at is None else at[b]) + np.arange(new)) % longest
            y[b][:, rows] = update[b]
        return y

    return Case(d.values("T", [batch, heads, longest, width]), d.values("T", [batch, heads, new, width]),
                at.astype(np.int64) if at is not None else None, rule=rule, mode=mode)
