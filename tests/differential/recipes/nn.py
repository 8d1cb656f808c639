# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pooling, normalisation, recurrence, attention."""
import itertools

import numpy as np
from onnx import helper, numpy_helper

import schema
from draw import Case, Impossible, recipe


def windows(d, rank, dims, transposed=False):
    """kernel, strides, dilations, and pads or auto_pad; what was written, and what holds."""
    kernel = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(1, 3) for _ in range(rank)] if d.chance(0.6) else None
    dilations = [d.int(1, 2) for _ in range(rank)] if d.chance(0.4) and "dilations" in d.row.attributes else None
    pads, auto = None, None
    if d.chance(0.4):
        pads = [d.int(0, k - 1) for k in kernel + kernel]
    elif d.chance(0.3) and not dilations:
        auto = d.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    held = dict(kernel=kernel, strides=strides or [1] * rank, dilations=dilations or [1] * rank)
    spans = [(k - 1) * e + 1 for k, e in zip(kernel, held["dilations"])]
    if auto in {"SAME_UPPER", "SAME_LOWER"} and not transposed:
        totals = [max(0, (-(-n // s) - 1) * s + span - n) for n, s, span in zip(dims, held["strides"], spans)]
        low = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in totals]
        held["pads"] = low + [t - a for t, a in zip(totals, low)]
    else:
        held["pads"] = pads or [0] * (2 * rank)
    ends = [n + held["pads"][i] + held["pads"][rank + i] for i, n in enumerate(dims)]
    if not transposed and any(end < span for end, span in zip(ends, spans)):
        raise Impossible
    held["out"] = [(end - span) // s + 1 for end, span, s in zip(ends, spans, held["strides"])]
    return dict(kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto), held


def taps(held, out_at, dims):
    """(kernel place, input place) of the taps of one output place that lie inside the input."""
    for k_at in itertools.product(*map(range, held["kernel"])):
        at = tuple(o * s + k * e - p for o, s, k, e, p in
                   zip(out_at, held["strides"], k_at, held["dilations"], held["pads"]))
        if all(0 <= a < n for a, n in zip(at, dims)):
            yield k_at, at


def convolve(x, w, held, groups):
    n, channels, dims = x.shape[0], x.shape[1], x.shape[2:]
    m = w.shape[0]
    y = np.zeros((n, m, *held["out"]), x.dtype)
    for out_at in itertools.product(*map(range, held["out"])):
        for k_at, at in taps(held, out_at, dims):
            for g in range(groups):
                ins = slice(g * channels // groups, (g + 1) * channels // groups)
                outs = slice(g * m // groups, (g + 1) * m // groups)
                y[(slice(None), outs, *out_at)] += x[(slice(None), ins, *at)] @ w[(outs, slice(None), *k_at)].T
    return y


@recipe("Conv")
def conv(d):
    rank = d.int(1, 3)
    groups = d.pick(1, 1, 2, 3)
    channels, m = groups * d.int(1, 3), groups * d.int(1, 5)
    dims = [d.int(1, 7) for _ in range(rank)]
    written, held = windows(d, rank, dims)
    x = d.values("T", [d.int(1, 2), channels, *dims])
    w = d.values("T", [m, channels // groups, *held["kernel"]])
    b = d.values("T", [m]) if d.chance() else None

    def rule(x, w, b=None):
        y = convolve(x, w, held, groups)
        return y if b is None else y + b.reshape(1, -1, *[1] * rank)

    if d.chance(0.3):
        written["kernel_shape"] = None
    return Case(x, w, b, rule=rule, error=16, constants=[1, 2] if b is not None else [1],
                group=groups if groups > 1 or d.chance() else None, **written)


@recipe("ConvTranspose")
def conv_transpose(d):
    rank = d.int(1, 2)
    groups = d.pick(1, 1, 2)
    channels, m = groups * d.int(1, 3), groups * d.int(1, 3)
    dims = [d.int(1, 5) for _ in range(rank)]
    written, held = windows(d, rank, dims, transposed=True)
    written["auto_pad"] = None
    spans = [(k - 1) * e + 1 for k, e in zip(held["kernel"], held["dilations"])]
    pads = written["pads"] or [0] * (2 * rank)
    extra = [d.int(0, s - 1) for s in held["strides"]] if d.chance(0.3) else [0] * rank
    out = [(n - 1) * s + extra[i] + span - pads[i] - pads[rank + i]
           for i, (n, s, span) in enumerate(zip(dims, held["strides"], spans))]
    if min(out) < 1:
        raise Impossible
    x = d.values("T", [d.int(1, 2), channels, *dims])
    w = d.values("T", [channels, m // groups, *held["kernel"]])
    b = d.values("T", [m]) if d.chance() else None

    def rule(x, w, b=None):
        y = np.zeros((x.shape[0], m, *out))
        for in_at in itertools.product(*map(range, dims)):
            for k_at in itertools.product(*map(range, held["kernel"])):
                at = tuple(i * s + k * e - pads[a] for a, (i, s, k, e) in
                           enumerate(zip(in_at, held["strides"], k_at, held["dilations"])))
                if all(0 <= a < n for a, n in zip(at, out)):
                    for g in range(groups):
                        ins = slice(g * channels // groups, (g + 1) * channels // groups)
                        outs = slice(g * m // groups, (g + 1) * m // groups)
                        y[(slice(None), outs, *at)] += x[(slice(None), ins, *in_at)] @ w[(ins, slice(None), *k_at)]
        return y if b is None else y + b.reshape(1, -1, *[1] * rank)

    return Case(x, w, b, rule=rule, error=16, group=groups if groups > 1 else None,
                output_padding=extra if any(extra) else None, **written)


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(d):
    name = d.row.name
    rank = 2 if name == "LpPool" and d.since == 1 else d.int(1, 3)
    dims = [d.int(2, 7) for _ in range(rank)]
    written, held = windows(d, rank, dims)
    if name == "AveragePool" and d.since < 7 or name == "LpPool" and d.since == 1:
        written["auto_pad"] = None
        if held["pads"] != (written["pads"] or [0] * 2 * rank):
            raise Impossible
    if "ceil_mode" in d.row.attributes and d.chance(0.3) and not written["auto_pad"]:
        written["ceil_mode"] = 1
        out = []
        for i, n in enumerate(dims):
            s, span = held["strides"][i], (held["kernel"][i] - 1) * held["dilations"][i] + 1
            total = n + held["pads"][i] + held["pads"][rank + i]
            o = -(-(total - span) // s) + 1
            out.append(o - 1 if (o - 1) * s >= n + held["pads"][i] else o)
        held["out"] = out
    include = d.pick(None, 0, 1) if "count_include_pad" in d.row.attributes else None
    p = d.pick(None, 1, 2, 3) if name == "LpPool" else None
    x = d.values("T", [d.int(1, 2), d.int(1, 3), *dims], -4, 4)

    def cells(out_at):
        """Places of the window inside input and pads: what count_include_pad counts."""
        n = 1
        for i, o in enumerate(out_at):
            starts = [o * held["strides"][i] + k * held["dilations"][i] for k in range(held["kernel"][i])]
            n *= sum(at < dims[i] + held["pads"][i] + held["pads"][rank + i] for at in starts)
        return n

    def rule(x):
        y = np.zeros((*x.shape[:2], *held["out"]), np.float64)
        for out_at in itertools.product(*map(range, held["out"])):
            v = np.stack([x[(slice(None), slice(None), *at)] for _, at in taps(held, out_at, dims)], -1)
            if name == "MaxPool":
                r = v.max(-1)
            elif name == "AveragePool":
                r = v.sum(-1) / (cells(out_at) if include else v.shape[-1])
            else:
                q = 2.0 if p is None else p
                r = (np.abs(v) ** q).sum(-1) ** (1 / q)
            y[(slice(None), slice(None), *out_at)] = r
        return y

    if any(not list(taps(held, at, dims)) for at in itertools.product(*map(range, held["out"]))):
        raise Impossible  # a window of pads alone has no value that the clause gives
    if name == "LpPool" and d.since == 1:
        p = None if p is None else float(p)
    return Case(x, rule=rule, error=0 if name == "MaxPool" else 8, count_include_pad=include, p=p, **written)


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    x = d.values("T", [d.int(1, 2), d.int(1, 3)] + [d.int(1, 6) for _ in range(d.int(1, 3))])
    over = tuple(range(2, x.ndim))
    p = d.pick(None, 1, 2, 3) if d.row.name == "GlobalLpPool" else None
    q = 2.0 if p is None else float(p)
    rule = {"GlobalAveragePool": lambda x: x.mean(over, keepdims=True), "GlobalMaxPool": lambda x: x.max(over, keepdims=True),
            "GlobalLpPool": lambda x: (np.abs(x) ** q).sum(over, keepdims=True) ** (1 / q)}[d.row.name]
    return Case(x, rule=rule, error=8, p=q if p is not None and d.since == 1 else p)


@recipe("BatchNormalization")
def batch_norm(d):
    channels = d.int(1, 5)
    shape = [d.int(1, 3), channels] + [d.int(1, 4) for _ in range(d.int(0, 3))]
    if d.since < 9 and len(shape) == 2:
        shape.append(3)
    x = d.values("T", shape)
    kinds = [d.row.inputs[i].type for i in range(1, 5)]
    scale, b, mean = (d.values(kind, [channels], -2, 2) for kind in kinds[:3])
    var = d.values(kinds[3], [channels], 0.2, 3)
    epsilon = d.pick(None, 1e-2, 1e-5)
    eps = float(np.float32(epsilon if epsilon is not None else 1e-5))
    lined = [1, -1] + [1] * (len(shape) - 2)

    def rule(x, scale, b, mean, var):
        scale, b, mean, var = (v.reshape(lined) for v in (scale, b, mean, var))
        return (x - mean) / np.sqrt(var + eps) * scale + b

    return Case(x, scale, b, mean, var, rule=rule, error=16, epsilon=epsilon, is_test=1 if d.since < 7 else None,
                consumed_inputs=[0, 0, 0, 1, 1] if d.since == 1 else None)


@recipe("InstanceNormalization")
def instance_norm(d):
    shape = [d.int(1, 2), d.int(1, 4)] + [d.int(2, 5) for _ in range(d.int(1, 3))]
    lined = [1, -1] + [1] * (len(shape) - 2)
    over = tuple(range(2, len(shape)))
    epsilon = d.pick(None, 1e-2)
    eps = float(np.float32(epsilon or 1e-5))

    def rule(x, s, b):
        return (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + eps) * s.reshape(lined) + b.reshape(lined)

    return Case(d.values("T", shape), d.values("T", [shape[1]]), d.values("T", [shape[1]]), rule=rule, error=64,
                epsilon=epsilon, consumed_inputs=[0, 0, 0] if d.since == 1 and d.chance(0.3) else None)


@recipe("LayerNormalization", "RMSNormalization")
def layer_norm(d):
    shape = d.shape(1, 4, (1, 2, 3, 5, 9))
    written = d.axis(len(shape)) if d.chance(0.8) else None
    axis = (-1 if written is None else written) % len(shape)
    epsilon = d.pick(None, 1e-2)
    eps = float(np.float32(epsilon or 1e-5))
    over = tuple(range(axis, len(shape)))
    if int(np.prod(shape[axis:])) < 2:
        raise Impossible  # the spread of one value is all rounding
    rms = d.row.name == "RMSNormalization"
    x = d.values("T", shape)
    scale = d.values(d.row.inputs[1].type, shape[axis:])
    bias = d.values("T", shape[axis:]) if not rms and d.chance() else None

    def rule(x, s, b=None):
        if rms:
            return x / np.sqrt((x * x).mean(over, keepdims=True) + eps) * s
        y = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + eps) * s
        return y if b is None else y + b

    in_float = x.dtype == np.float64  # stash_type: the first stage is made in f32
    return Case(x, scale, bias, rule=rule, error=64 * 2**29 if in_float else 64, axis=written, epsilon=epsilon)


@recipe("SimplifiedLayerNormalization")
def simplified_norm(d):
    """RMSNormalization under the name that exported models have it under; over the axes from `axis` on."""
    shape = d.shape(1, 4, (2, 3, 5, 9))
    epsilon = d.pick(None, 1e-2)
    eps = float(np.float32(epsilon or 1e-5))
    x, scale = d.values("T", shape), d.values("V", shape[-1:])
    rule = lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * s  # noqa: E731
    return Case(x, scale, rule=rule, error=64 * 2**29 if x.dtype == np.float64 else 64, epsilon=epsilon)


@recipe("GroupNormalization")
def group_norm(d):
    groups = d.int(1, 3)
    channels = groups * d.int(1, 3)
    shape = [d.int(1, 2), channels] + [d.int(2, 4) for _ in range(d.int(1, 2))]
    n = groups if d.since < 21 else channels
    epsilon = d.pick(None, 1e-2)
    eps = float(np.float32(epsilon or 1e-5))

    def rule(x, s, b):
        cut = x.reshape(shape[0], groups, -1)
        y = (cut - cut.mean(-1, keepdims=True)) / np.sqrt(cut.var(-1, keepdims=True) + eps)
        if d.since < 21:
            return (y * s[:, None] + b[:, None]).reshape(shape)
        lined = [1, -1] + [1] * (len(shape) - 2)
        return y.reshape(shape) * s.reshape(lined) + b.reshape(lined)

    return Case(d.values("T", shape), d.values("T", [n]), d.values("T", [n]), rule=rule, error=64, num_groups=groups,
                epsilon=epsilon)


@recipe("LpNormalization")
def lp_norm(d):
    shape = d.shape(1, 3, (1, 2, 3, 5))
    axis, p = d.axis(len(shape)), d.pick(None, 1, 2)

    def rule(x):
        size = np.abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))
        return np.where(size == 0, 0, x / np.where(size == 0, 1, size))

    return Case(d.values("T", shape), rule=rule, error=16, axis=axis, p=p)


@recipe("LRN")
def lrn(d):
    shape = [d.int(1, 2), d.int(1, 7)] + [d.int(1, 4) for _ in range(2)]
    size = d.int(1, 5)
    alpha, beta, bias = d.pick(None, 0.01), d.pick(None, 0.5), d.pick(None, 2.0)
    a, b, k = (float(np.float32(v)) for v in (alpha or 1e-4, beta or 0.75, bias or 1.0))

    def rule(x):
        squares = np.zeros_like(x)
        for c in range(shape[1]):
            low, high = max(0, c - (size - 1) // 2), min(shape[1] - 1, c + -(-(size - 1) // 2))
            squares[:, c] = (x[:, low:high + 1] ** 2).sum(1)
        return x / (k + a / size * squares) ** b

    return Case(d.values("T", shape), rule=rule, error=32, size=size, alpha=alpha, beta=beta, bias=bias)


@recipe("MeanVarianceNormalization")
def mvn(d):
    x = d.values("T", [2, 3, 4, 3])
    axes = d.axes(4) if d.chance() else None
    over = tuple(a % 4 for a in axes) if axes else (0, 2, 3)
    rule = lambda x: (x - x.mean(over, keepdims=True)) / (np.sqrt((x * x).mean(over, keepdims=True) - x.mean(  # noqa: E731
        over, keepdims=True) ** 2) + 1e-9)
    if int(np.prod([x.shape[a] for a in over])) < 3:
        raise Impossible
    return Case(x, rule=rule, error=64, axes=axes)


def recurrence(d, gates, activations):
    """Sizes, weights and options that RNN, GRU and LSTM share."""
    steps, batch, width, hidden = d.int(1, 4), d.int(1, 3), d.int(1, 4), d.int(1, 5)
    direction = d.pick(None, "forward", "reverse", "bidirectional")
    n = 2 if direction == "bidirectional" else 1
    x = d.values("T", [steps, batch, width], -1, 1)
    w, r = d.values("T", [n, gates * hidden, width], -1, 1), d.values("T", [n, gates * hidden, hidden], -1, 1)
    b = d.values("T", [n, 2 * gates * hidden], -1, 1) if d.chance() else None
    lengths = d.rng.integers(1, steps, batch, endpoint=True).astype(np.int32) if d.chance(0.3) else None
    h = d.values("T", [n, batch, hidden], -1, 1) if d.chance() else None
    return [x, w, r, b, lengths, h], dict(hidden_size=hidden, direction=direction), (n, batch, hidden)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def passes(n, direction, lengths, steps, batch):
    """For each direction and row of the batch, the steps in their order."""
    for k in range(n):
        back = direction == "reverse" or k == 1
        for b in range(batch):
            order = range(steps if lengths is None else int(lengths[b]))
            yield k, b, reversed(order) if back else order


@recipe("RNN", "GRU", "LSTM")
def recurrent(d):
    name = d.row.name
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    inputs, written, (n, batch, hidden) = recurrence(d, gates, None)
    steps = inputs[0].shape[0]
    after = d.pick(None, 0, 1) if name == "GRU" and d.since >= 3 else None
    peephole = None
    if name == "LSTM":
        inputs.append(d.values("T", [n, batch, hidden], -1, 1) if d.chance() else None)
        peephole = d.values("T", [n, 3 * hidden], -1, 1) if d.chance(0.4) else None
        inputs.append(peephole)

    def rule(x, w, r, b=None, lengths=None, h0=None, c0=None, p=None):
        y, last = np.zeros((steps, n, batch, hidden)), np.zeros((n, batch, hidden))
        cells = np.zeros((n, batch, hidden))
        for k, row, order in passes(n, written["direction"], lengths, steps, batch):
            h = np.zeros(hidden) if h0 is None else h0[k, row]
            c = np.zeros(hidden) if c0 is None else c0[k, row]
            wb, rb = (np.zeros(2 * gates * hidden) if b is None else b[k]).reshape(2, gates, hidden)
            W, R = w[k].reshape(gates, hidden, -1), r[k].reshape(gates, hidden, hidden)
            for t in order:
                xs = [W[g] @ x[t, row] + wb[g] for g in range(gates)]
                hs = [R[g] @ h + rb[g] for g in range(gates)]
                if name == "RNN":
                    h = np.tanh(xs[0] + hs[0])
                elif name == "GRU":
                    z, reset = sigmoid(xs[0] + hs[0]), sigmoid(xs[1] + hs[1])
                    new = xs[2] + reset * hs[2] if after else xs[2] + R[2] @ (reset * h) + rb[2]
                    h = (1 - z) * np.tanh(new) + z * h
                else:
                    P = np.zeros((3, hidden)) if p is None else p[k].reshape(3, hidden)
                    i, f = sigmoid(xs[0] + hs[0] + P[0] * c), sigmoid(xs[2] + hs[2] + P[2] * c)
                    c = f * c + i * np.tanh(xs[3] + hs[3])
                    h = sigmoid(xs[1] + hs[1] + P[1] * c) * np.tanh(c)
                y[t, k, row] = h
            last[k, row], cells[k, row] = h, c
        return (y, last, cells) if name == "LSTM" else (y, last)

    if d.since == 1:
        written["output_sequence"] = 1
    return Case(*inputs, outputs=3 if name == "LSTM" else 2, rule=rule, error=64, linear_before_reset=after, **written)


@recipe("RotaryEmbedding")
def rotary(d):
    batch, heads, steps, half = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.int(1, 4)
    interleaved = d.pick(None, 0, 1)
    partial = d.chance(0.3)
    width = 2 * half + (2 * d.int(1, 2) if partial else 0)
    flat = d.chance(0.4)
    x = d.values("T", [batch, steps, heads * width] if flat else [batch, heads, steps, width])
    positions = d.rng.integers(0, 9, (batch, steps)) if d.chance(0.7) else None
    cache = [9, half] if positions is not None else [batch, steps, half]
    cos, sin = d.values("T", cache, -1, 1), d.values("T", cache, -1, 1)

    def rule(x, cos, sin, positions=None):
        y = x.reshape(batch, steps, heads, width).transpose(0, 2, 1, 3) if flat else x
        c, s = (v if positions is None else v[positions] for v in (cos, sin))
        c, s = c[:, None], s[:, None]
        turn = y[..., :2 * half]
        a, b = (turn[..., 0::2], turn[..., 1::2]) if interleaved else (turn[..., :half], turn[..., half:])
        p, q = c * a - s * b, s * a + c * b
        turned = np.stack([p, q], -1).reshape(turn.shape) if interleaved else np.concatenate([p, q], -1)
        y = np.concatenate([turned, y[..., 2 * half:]], -1)
        return y.transpose(0, 2, 1, 3).reshape(x.shape) if flat else y

    return Case(x, cos, sin, positions.astype(np.int64) if positions is not None else None, rule=rule, error=4,
                interleaved=interleaved, num_heads=heads if flat else None,
                rotary_embedding_dim=2 * half if partial else None)


@recipe("Attention", domain="sc")
def sloped_attention(d):
    """Ours: Attention-25 whose scores get slopes."""
    d.types["T1"] = d.types["T"]
    return attention(d, 25)


@recipe("Attention")
def attention(d, since=None):
    since = since or d.since
    batch, kv_heads, q_len, kv_len = d.int(1, 2), d.int(1, 2), d.int(1, 4), d.pick(1, 2, 3, 5, 70)
    heads, width, v_width = kv_heads * d.int(1, 2), d.int(1, 5), d.int(1, 5)
    if d.cell != "U":
        d.types["U"] = d.pick("bool", "float", d.types["T1"])
    flat = d.chance(0.4)
    past = d.int(0, 3) if d.chance(0.4) else None
    total = kv_len + (past or 0)

    def packed(kind, heads, n, width):
        return d.values(kind, [batch, n, heads * width] if flat else [batch, heads, n, width], -2, 2)

    q, k, v = packed("T1", heads, q_len, width), packed("T1", kv_heads, kv_len, width), packed("T2", kv_heads, kv_len, v_width)
    mask = None
    if d.chance(0.4):
        columns = d.int(1, total) if d.chance(0.3) else total  # what is missing is hidden
        rows = d.pick([q_len], [1], [batch, 1, q_len], [heads, q_len], [batch, heads, q_len])
        mask = d.values("U", [*rows, columns], -4, 4)
    causal, scale, softcap = d.pick(None, 0, 1), d.pick(None, 0.3), d.pick(None, 2.0)
    left, right = (d.pick(None, -1, 0, 1, 3) if since >= 25 else None for _ in range(2))
    slopes = [float(np.float32(v)) for v in d.rng.uniform(0.1, 1, heads)] if d.row.domain else None
    pk = d.values("T1", [batch, kv_heads, past, width], -2, 2) if past is not None else None
    pv = d.values("T2", [batch, kv_heads, past, v_width], -2, 2) if past is not None else None
    valid = d.rng.integers(0, total, batch, endpoint=True) if past is None and since >= 24 and d.chance(0.3) else None
    if valid is not None and mask is not None and max(valid) > mask.shape[-1]:
        raise Impossible  # the mask has to be as long as what is valid
    outputs = d.pick(1, 3, 3 if d.row.domain else 4) if past is not None else 1
    mode = d.pick(None, 0, 1, 2, 3) if outputs == 4 else None

    def unpack(x, heads):
        return x.reshape(batch, x.shape[1], heads, -1).transpose(0, 2, 1, 3) if flat else x

    def bias(mask):
        """Of [batch, heads, queries, keys]: what is added to the scores."""
        total_bias = np.zeros((batch, heads, q_len, total))
        if mask is not None:
            added = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)
            short = [(0, 0)] * (mask.ndim - 1) + [(0, total - mask.shape[-1])]
            total_bias = total_bias + np.pad(added, short, constant_values=-np.inf)
        offset = np.full(batch, past or 0) if valid is None else valid - q_len
        at = (np.arange(q_len) + offset[:, None])[:, None, :, None]
        keys = np.arange(total)
        if slopes:
            total_bias = total_bias + np.array(slopes)[:, None, None] * (keys - at)
        seen = np.full((batch, 1, q_len, total), True)
        if causal:
            seen = seen & (keys <= at)
        if left is not None and left >= 0:
            seen = seen & (keys >= at - left)
        if right is not None and right >= 0:
            seen = seen & (keys <= at + right)
        if valid is not None:
            seen = seen & (keys < valid[:, None])[:, None, None, :]
        return np.where(seen, total_bias, -np.inf)

    def rule(q, k, v, mask=None, pk=None, pv=None, *_):
        qs, ks, vs = unpack(q, heads), unpack(k, kv_heads), unpack(v, kv_heads)
        if pk is not None:
            ks, vs = np.concatenate([pk, ks], 2), np.concatenate([pv, vs], 2)
        all_k, all_v = (np.repeat(t, heads // kv_heads, 1) for t in (ks, vs))
        stages = [qs @ all_k.transpose(0, 1, 3, 2) * (1 / np.sqrt(width) if scale is None else np.float32(scale))]
        stages.append(softcap * np.tanh(stages[0] / softcap) if softcap else stages[0])
        stages.append(stages[1] + bias(mask))
        top = stages[2].max(-1, keepdims=True)
        e = np.exp(stages[2] - np.where(np.isfinite(top), top, 0))
        stages.append(e / np.maximum(e.sum(-1, keepdims=True), 1e-300))
        y = stages[3] @ all_v
        y = y.transpose(0, 2, 1, 3).reshape(batch, q_len, -1) if flat else y
        return (y, ks, vs, stages[mode or 0])[:outputs]

    return Case(q, k, v, mask, pk, pv, valid, outputs=outputs, rule=rule, error=64, is_causal=causal, scale=scale,
                softcap=softcap, qk_matmul_output_mode=mode, left_window_size=left, right_window_size=right,
                q_num_heads=heads if flat else None, kv_num_heads=kv_heads if flat else None, slopes=slopes)


def modifier(kind, name, step, otherwise):
    """A graph of one node on the scores or weights, and the same in numpy; or neither."""
    if step is None:
        return None, otherwise
    op, value, function = step
    element = schema.element(kind)
    node = helper.make_node(op, ["s"] if value is None else ["s", "v"], ["t"])
    constants = [] if value is None else [numpy_helper.from_array(np.array(value, schema.numpy_type(kind)), "v")]
    return helper.make_graph([node], name, [helper.make_tensor_value_info("s", element, None)],
                             [helper.make_tensor_value_info("t", element, None)], constants), function


@recipe("FlexAttention", domain="ai.onnx.preview")
def flex_attention(d):
    batch, kv_heads, q_len, kv_len, group = d.int(1, 2), d.int(1, 2), d.int(1, 4), d.pick(1, 2, 5, 70), d.int(1, 2)
    width, v_width = d.int(1, 5), d.int(1, 5)
    q = d.values("T1", [batch, kv_heads * group, q_len, width], -2, 2)
    k, v = (d.values("T1", [batch, kv_heads, kv_len, n], -2, 2) for n in (width, v_width))
    kind = "double" if d.types["T1"] == "double" else "float"
    scale = d.pick(None, 0.25)
    scores, of_scores = modifier(kind, "scores", d.pick(
        None, ("Tanh", None, np.tanh), ("Mul", 0.5, lambda s: s * 0.5), ("Add", -1.0, lambda s: s - 1)), lambda s: s)
    weights, of_weights = modifier(kind, "weights", d.pick(
        None, ("Mul", 2.0, lambda p: p * 2), ("Sqrt", None, np.sqrt)), lambda p: p)

    def rule(q, k, v):
        k, v = (np.repeat(t, group, 1) for t in (k, v))
        s = of_scores(q @ k.transpose(0, 1, 3, 2) * (1 / np.sqrt(width) if scale is None else scale))
        e = np.exp(s - s.max(-1, keepdims=True))
        return of_weights(e / e.sum(-1, keepdims=True)) @ v

    half = d.types["T1"] in {"float16", "bfloat16"}
    return Case(q, k, v, rule=rule, error=64, scale=scale, score_mod=scores, prob_mod=weights,
                softmax_precision=1 if half else None)
