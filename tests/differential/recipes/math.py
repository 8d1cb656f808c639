# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators, comparisons, reductions."""
import math

import numpy as np

from draw import Case, Impossible, recipe

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def soft_plus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


# name: rule over f64 or integers, the range of values
UNARY = {
    "Abs": (np.abs, -9, 9), "Acos": (np.arccos, -1, 1), "Acosh": (np.arccosh, 1, 9), "Asin": (np.arcsin, -1, 1),
    "Asinh": (np.arcsinh, -9, 9), "Atan": (np.arctan, -9, 9), "Atanh": (np.arctanh, -0.99, 0.99),
    "Ceil": (np.ceil, -9, 9), "Cos": (np.cos, -9, 9), "Cosh": (np.cosh, -5, 5), "Erf": (erf, -4, 4),
    "Exp": (np.exp, -9, 9), "Floor": (np.floor, -9, 9), "IsNaN": (np.isnan, -9, 9), "Log": (np.log, 0.01, 9),
    "Neg": (lambda x: -x, -9, 9), "Not": (np.logical_not, 0, 1), "Reciprocal": (lambda x: 1 / x, 0.1, 9),
    "Relu": (lambda x: np.maximum(x, 0), -9, 9), "Round": (np.rint, -9, 9), "Sigmoid": (sigmoid, -9, 9),
    "Sign": (np.sign, -9, 9), "Sin": (np.sin, -9, 9), "Sinh": (np.sinh, -5, 5), "Softplus": (soft_plus, -9, 9),
    "Softsign": (lambda x: x / (1 + np.abs(x)), -9, 9), "Sqrt": (np.sqrt, 0, 9), "Tan": (np.tan, -1.5, 1.5),
    "Tanh": (np.tanh, -4, 4), "BitwiseNot": (np.invert, -99, 99), "Mish": (lambda x: x * np.tanh(soft_plus(x)), -9, 9),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), -9, 9),
}
EXACT = {"Abs", "Ceil", "Floor", "IsNaN", "Neg", "Not", "Relu", "Round", "Sign", "BitwiseNot"}


def ulps(d, variable, otherwise):
    """What an elementwise result may be off: 16-bit types hold the best value or its neighbour."""
    return 1 if d.type(variable) in {"float16", "bfloat16"} else otherwise


@recipe(*UNARY)
def unary(d):
    rule, low, high = UNARY[d.row.name]
    variable = d.row.inputs[0].type
    special = d.row.name in EXACT and d.chance()
    x = d.values(variable, d.shape(), low, high, special)
    if d.row.name == "Softplus" or special and d.row.name in {"Sign", "Relu"}:
        x = np.where(np.isnan(x), x.dtype.type(0), x) if x.dtype.kind == "f" else x
    wrapping = rule if x.dtype.kind not in "iu" else lambda x: rule(x).astype(x.dtype)
    return Case(x, rule=wrapping, error=0 if d.row.name in EXACT else ulps(d, variable, 4))


def attributes(d, **ranges):
    """Each drawn from its range, or left to its default; returns what was written and what holds."""
    written, holds = {}, {}
    for name, (low, high, default) in ranges.items():
        value = float(np.float32(d.rng.uniform(low, high))) if d.chance(0.7) else None
        written[name] = value
        holds[name] = float(np.float32(default)) if value is None else value  # an attribute is a float of 32 bits, whatever T
    return written, holds


PARAMETRIC = {  # name: attributes with range and default, rule
    "Celu": (dict(alpha=(0.2, 3, 1.0)), lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))),
    "Elu": (dict(alpha=(0.2, 3, 1.0)), lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x)),
    "HardSigmoid": (dict(alpha=(0.1, 1, 0.2), beta=(0, 1, 0.5)),
                    lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1)),
    "LeakyRelu": (dict(alpha=(-1, 1, 0.01)), lambda x, alpha: np.where(x < 0, alpha * x, x)),
    "Selu": (dict(alpha=(1, 2, 1.67326319217681884765625), gamma=(1, 2, 1.05070102214813232421875)),
             lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x))),
    "ThresholdedRelu": (dict(alpha=(-2, 2, 1.0)), lambda x, alpha: np.where(x > alpha, x, 0)),
    "Swish": (dict(alpha=(0.2, 2, 1.0)), lambda x, alpha: x * sigmoid(alpha * x)),
    "Shrink": (dict(bias=(0, 1, 0.0), lambd=(0.1, 2, 0.5)),
               lambda x, bias, lambd: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))),
}
OLD_DEFAULTS = {("Selu", 1): dict(alpha=1.6732, gamma=1.0507)}


@recipe(*PARAMETRIC)
def parametric(d):
    ranges, rule = PARAMETRIC[d.row.name]
    old = OLD_DEFAULTS.get((d.row.name, d.since), {})
    written, holds = attributes(d, **{k: (low, high, old.get(k, default)) for k, (low, high, default) in ranges.items()})
    x = d.values(d.row.inputs[0].type, d.shape(), -6, 6)
    if x.dtype.kind in "iu":  # Shrink of integers: the bias is cut to one
        peer_rule = None
    else:
        peer_rule = lambda x: rule(x, **holds)  # noqa: E731
    return Case(x, rule=peer_rule, error=ulps(d, d.row.inputs[0].type, 6), **written)


@recipe("Gelu")
def gelu(d):
    how = d.pick(None, "none", "tanh")
    if how == "tanh":
        rule = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))  # noqa: E731
    else:
        rule = lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))  # noqa: E731
    x = d.values("T", d.shape(), -5, 5)
    x.reshape(-1)[:1] = 5  # 1 + erf(x) cancels: the error is in places of the largest argument
    return Case(x, rule=rule, error=16, approximate=how)


@recipe("SwiGLU")
def swiglu(d):
    written, holds = attributes(d, alpha=(0.2, 2, 1.0))
    shape = d.shape()
    rule = lambda a, b: a * sigmoid(holds["alpha"] * a) * b  # noqa: E731
    return Case(d.values("T", shape, -6, 6), d.values("T", shape, -6, 6), rule=rule, error=ulps(d, "T", 6), **written)


@recipe("IsInf")
def is_inf(d):
    negative, positive = d.pick(None, 0, 1), d.pick(None, 0, 1)
    rule = lambda x: (np.isposinf(x) & (positive != 0)) | (np.isneginf(x) & (negative != 0))  # noqa: E731
    return Case(d.values("T1", d.shape(), special=True), rule=rule, detect_negative=negative, detect_positive=positive)


def wrap(function):
    """Integers wrap around in their own type, as C's do with -fwrapv."""

    def apply(*values, **how):
        result = function(*values, **how)
        return result.astype(values[0].dtype) if values[0].dtype.kind in "iu" else result

    return apply


def divide(a, b):
    if a.dtype.kind not in "iu":
        return a / b
    b = np.where(b == 0, 1, b)
    quotient = a // b
    exact = quotient * b == a
    return (quotient + (~exact & ((a < 0) != (b < 0)))).astype(a.dtype)


BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": divide}
COMPARE = {"Equal": np.equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less,
           "LessOrEqual": np.less_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
BITS = {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}


def one_way(d):
    """Shapes of opsets before 7: B is A's shape, or with broadcast=1 a run of its dims that starts at `axis`."""
    a = d.shape(1, 4, (1, 2, 3, 5))
    if d.chance(0.4):
        return a, a, dict(broadcast=d.pick(None, 0)), a
    n = d.int(0, len(a))
    start = len(a) - n if d.chance() else d.int(0, len(a) - n)
    b = a[start:start + n]
    at_end = start == len(a) - n and d.chance()
    aligned = [1] * start + b + [1] * (len(a) - start - n)
    return a, b, dict(broadcast=1, axis=None if at_end else start), aligned


def two_inputs(d, a_var, b_var, old, **values):
    if old:
        a_shape, b_shape, written, aligned = one_way(d)
    else:
        a_shape, b_shape = d.broadcast(2)
        written, aligned = {}, b_shape
    return d.values(a_var, a_shape, **values), d.values(b_var, b_shape, **values), written, aligned


@recipe(*BINARY, *COMPARE, *BITS)
def binary(d):
    name = d.row.name
    rule = wrap(BINARY[name]) if name in BINARY else COMPARE.get(name, BITS.get(name))
    variable = d.row.inputs[0].type
    compares = name in COMPARE
    a, b, written, aligned = two_inputs(d, variable, variable, "broadcast" in d.row.attributes,
                                        special=compares or d.chance(0.3))
    if name == "Div" and b.dtype.kind in "iu":
        b = np.where(b == 0, b.dtype.type(1), b).astype(b.dtype)
        if b.dtype.kind == "i":  # the one quotient that has no value
            b = np.where(b == -1, b.dtype.type(2), b).astype(b.dtype)
    return Case(a, b, rule=lambda a, b: rule(a, b.reshape(aligned)), error=0 if compares else 1, **written)


@recipe("Pow")
def power(d):
    exponent = d.row.inputs[1].type
    a, b, written, aligned = two_inputs(d, "T", exponent, "broadcast" in d.row.attributes, low=0.5, high=4)
    if a.dtype.kind in "iu" and b.dtype.kind not in "iu":
        b = np.rint(b.astype(np.float64)).astype(b.dtype)
    exact = a.dtype.kind in "iu"

    def rule(a, b):
        result = np.power(a.astype(np.float64), b.reshape(aligned).astype(np.float64))
        return np.rint(result).astype(a.dtype) if exact else result

    return Case(a, b, rule=rule, error=ulps(d, "T", 4), **written)


@recipe("Mod")
def mod(d):
    floats = d.type("T") in {"float16", "float", "double", "bfloat16"}
    fmod = 1 if floats else d.pick(None, 0, 1)
    a_shape, b_shape = d.broadcast(2)
    a, b = d.values("T", a_shape, -99, 99), d.values("T", b_shape, 1, 9)
    if not floats and b.dtype.kind == "i" and d.chance():
        b = -b
    rule = np.fmod if fmod else np.mod
    return Case(a, b, rule=rule, error=0, fmod=fmod)


@recipe("BitShift")
def bit_shift(d):
    direction = d.pick("LEFT", "RIGHT")
    a_shape, b_shape = d.broadcast(2)
    a = d.values("T", a_shape, special=True)
    bits = 8 * a.dtype.itemsize
    b = d.values("T", b_shape, 0, bits - 1)

    def rule(a, b):
        return np.left_shift(a, b) if direction == "LEFT" else np.right_shift(a, b)

    return Case(a, b, rule=rule, direction=direction)


@recipe("Max", "Min", "Sum", "Mean")
def variadic(d):
    n = d.int(1, 4)
    same = d.since < 8
    shapes = [d.shape()] * n if same else d.broadcast(n)
    xs = [d.values("T", shape, special=d.row.name in {"Max", "Min"} and d.chance(0.3)) for shape in shapes]

    def rule(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = {"Max": np.maximum, "Min": np.minimum}.get(d.row.name, np.add)(total, x)
        return total / n if d.row.name == "Mean" else total

    return Case(*xs, rule=rule, error={"Sum": 3, "Mean": 3}.get(d.row.name, 0))


@recipe("Clip")
def clip(d):
    x = d.values("T", d.shape(), -9, 9, special=d.chance(0.3))
    low, high = (d.values("T", [], -6, 0), d.values("T", [], 1, 6))
    has_low, has_high = d.chance(0.7), d.chance(0.7)
    crossed = d.since >= 13 and d.chance(0.1)
    if crossed:
        low, high = high, low

    def rule(x, *_):
        x = np.maximum(x, low.astype(x.dtype)) if has_low else x
        return np.minimum(x, high.astype(x.dtype)) if has_high else x

    if d.since >= 11:
        return Case(x, low if has_low else None, high if has_high else None, rule=rule, error=0)
    low, high = np.float32(low), np.float32(high)
    return Case(x, rule=rule, error=1, min=float(low) if has_low else None, max=float(high) if has_high else None)


@recipe("PRelu")
def prelu(d):
    shape = d.shape(1, 4, (1, 2, 3, 5))
    if d.since >= 7:  # one way: the slope broadcasts to x
        slope = [1 if d.chance(0.3) else dim for dim in shape[d.int(0, len(shape)):]]
        aligned = slope
    else:
        channels = shape[1] if len(shape) > 1 else shape[0]
        slope = d.pick([1], [channels])
        aligned = slope + [1] * max(0, len(shape) - 2) if len(shape) > 1 else slope
    x, s = d.values("T", shape), d.values("T", slope, -1, 2)
    rule = wrap(lambda x, s: np.where(x < 0, s.reshape(aligned) * x, x))
    return Case(x, s, rule=rule, error=1)


REDUCTIONS = {
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k), "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)), "ReduceMax": np.max, "ReduceMean": np.mean,
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)), "ReduceMin": np.min, "ReduceProd": np.prod,
    "ReduceSum": np.sum, "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
}


@recipe(*REDUCTIONS)
def reduce(d):
    name = d.row.name
    shape = d.shape(1 if "noop_with_empty_axes" not in d.row.attributes else 0, 4, (1, 2, 3, 5, 7))
    whole = d.type("T") not in {"float16", "float", "double", "bfloat16"}
    positive = name == "ReduceLogSum" or whole and name in {"ReduceL2", "ReduceMean", "ReduceLogSumExp"}
    x = d.values("T", shape, 1 if positive else -3, 3)
    as_input = "axes" not in d.row.attributes
    axes = d.axes(len(shape), negative=d.since >= 11) if d.chance(0.8) and shape else None
    keep, noop = d.pick(None, 0, 1), d.pick(None, 0, 1) if as_input else None
    if as_input and axes is None and noop and d.chance():
        axes = []
    def rule(x, *_):
        if not axes and noop:
            kept = {"ReduceL1": np.abs, "ReduceSumSquare": np.square, "ReduceLogSum": np.log,
                    "ReduceL2": np.abs}.get(name)
            return wrap(kept)(x) if kept else x
        over = tuple(a % len(shape) for a in axes) if axes else None
        return np.asarray(wrap(REDUCTIONS[name])(x, axis=over, keepdims=keep != 0))

    def whole_rule(x, *_, exact=rule):  # roots, means and logarithms of integers: as a cast from the real value
        return np.trunc(exact(x.astype(np.float64))).astype(x.dtype)

    if whole and name in {"ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}:
        rule = whole_rule
    inputs = [x] + ([np.array(axes, np.int64) if axes is not None else None] if as_input else [])
    return Case(*inputs, rule=rule, error=16, keepdims=keep, noop_with_empty_axes=noop, axes=None if as_input else axes)


@recipe("ArgMax", "ArgMin")
def arg(d):
    shape = d.shape(1, 4, (1, 2, 3, 5, 7))
    written_axis = d.axis(len(shape), d.since >= 11) if d.chance(0.8) else None
    axis = (written_axis or 0) % len(shape)
    shape = d.emptied(shape, axis)
    keep = d.pick(None, 0, 1)
    last = d.pick(None, 0, 1) if "select_last_index" in d.row.attributes else None
    x = d.values("T", shape, -2, 2) if d.chance() else np.rint(d.values("T", shape, -2, 2).astype(np.float64)).astype(d.dtype("T"))

    def rule(x):
        find = np.argmax if d.row.name == "ArgMax" else np.argmin
        at = shape[axis] - 1 - find(np.flip(x, axis), axis=axis) if last else find(x, axis=axis)
        return np.expand_dims(at, axis) if keep != 0 else at

    return Case(x, rule=lambda x: np.asarray(rule(x), np.int64), axis=written_axis, keepdims=keep, select_last_index=last)


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    shape = d.shape(1, 4, (1, 2, 3, 5, 7, 65))
    written = d.axis(len(shape), d.since >= 11) if d.chance(0.8) else None
    axis = written if written is not None else (-1 if d.since >= 13 else 1)
    if axis >= len(shape):
        raise Impossible
    shape = d.emptied(shape, *((axis,) if d.since >= 13 else range(len(shape))))
    x = d.values("T", shape, -6, 6)

    def rows(x):
        if d.row.name == "Hardmax":
            return (np.arange(x.shape[-1]) == np.argmax(x, -1)[..., None]).astype(np.float64)
        shifted = x - x.max(-1, keepdims=True)
        log = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        return log if d.row.name == "LogSoftmax" else np.exp(log)

    def rule(x):
        if d.since < 13:  # the input is a matrix, cut at axis
            return rows(x.reshape(int(np.prod(shape[:axis % len(shape)])), -1)).reshape(shape)
        return np.moveaxis(rows(np.moveaxis(x, axis, -1)), -1, axis)

    return Case(x, rule=rule, error=8, axis=written)


@recipe("CumSum", "CumProd")
def cumulate(d):
    shape = d.shape(1, 3, (1, 2, 3, 5))
    axis, exclusive, reverse = d.axis(len(shape)), d.pick(None, 0, 1), d.pick(None, 0, 1)
    shape = d.emptied(shape, axis)
    x = d.values(d.row.inputs[0].type, shape, -2, 2)
    kind = d.dtype(d.row.inputs[1].type)

    def rule(x, *_):
        one = d.row.name == "CumProd"
        x = np.flip(x, axis) if reverse else x
        y = (np.cumprod if one else np.cumsum)(x, axis=axis, dtype=x.dtype)
        if exclusive:
            first = np.full_like(np.take(y, [0], axis), 1 if one else 0)
            y = np.concatenate([first, np.take(y, range(shape[axis] - 1), axis)], axis)
        return np.flip(y, axis) if reverse else y

    return Case(x, np.array(axis, kind), rule=rule, error=4, exclusive=exclusive, reverse=reverse)


@recipe("Det")
def det(d):
    n = d.int(1, 5)
    x = d.values("T", d.shape(0, 2, (1, 2, 3)) + [n, n])
    return Case(x, rule=lambda x: np.asarray(np.linalg.det(x)), error=64)


@recipe("MatMul")
def matmul(d):
    m, k, n = d.emptied([d.pick(1, 2, 3, 7, 17, 33) for _ in range(3)])
    batch_a, batch_b = d.broadcast(2, 2)
    if 0 in batch_a + batch_b or max(batch_a + batch_b + [0]) > 9:
        raise Impossible
    a, b = d.values("T", batch_a + [m, k]), d.values("T", batch_b + [k, n])
    if d.chance(0.2) and not batch_a:
        a = a[0]
    if d.chance(0.2) and not batch_b:
        b = b[..., 0]
    return Case(a, b, rule=wrap(np.matmul), error=32, constants=[1] if d.chance() else [])


@recipe("Gemm")
def gemm(d):
    m, k, n = (d.pick(1, 2, 3, 7, 17, 33) for _ in range(3))
    ta, tb = d.pick(None, 0, 1), d.pick(None, 0, 1)
    floats = d.type("T") in {"float16", "float", "double", "bfloat16"}
    alpha, beta = (d.pick(None, 0.5, -2.0), d.pick(None, 0.25, 3.0)) if floats else (None, None)
    a = d.values("T", [k, m] if ta else [m, k])
    b = d.values("T", [n, k] if tb else [k, n])
    c_shape = d.pick([m, n], [n], [1, n], [m, 1], [1], []) if d.since >= 7 else d.pick([m, n], [n], [1])
    written = {} if d.since >= 7 else dict(broadcast=1 if c_shape != [m, n] else d.pick(None, 0, 1))
    c = d.values("T", c_shape) if d.since < 11 or d.chance(0.8) else None

    def rule(a, b, c=None):
        product = (a.T if ta else a) @ (b.T if tb else b)
        y = product if alpha is None else alpha * product
        if c is not None:
            y = y + (c if beta is None else beta * c)
        return y.astype(a.dtype)

    return Case(a, b, c, rule=rule, error=32, alpha=alpha, beta=beta, transA=ta, transB=tb,
                constants=[1] if d.chance() else [], **written)


@recipe("Where")
def where(d):
    shapes = d.broadcast(3)
    return Case(d.values("B", shapes[0]), d.values("T", shapes[1], special=True), d.values("T", shapes[2]), rule=np.where)


EQUATIONS = ["ii", "ii->i", "ij->ji", "ij->j", "i->", "ijk->kij", "iij->j", "ba", "bA", "...ij->...ji", "...ii->...i", "...i->...",
             "i...->...i", "ij,jk->ik", "ij,jk", "bij,bjk->bik", "bhij,bhjk->bhik", "i,j->ij", "i,j->ji", "i,i", "i,i->i",
             "ij,ij->", "...ij,...jk->...ik", "...i,...i->...", "i...,i...", "...,...->...", " i j , j k -> i k ", "ii,ij->j",
             "ij,jk,kl->il", "i,i,i->i", "bn,anm,bm->ba", "ij,kj,l->ilk", "Ab,bC->AC", "zb,bA", "ij,->ij", ",", "->"]


@recipe("Einsum")
def einsum(d):
    equation = d.pick(*EQUATIONS)
    terms = equation.replace(" ", "").split("->")[0].split(",")
    dims = {letter: d.pick(1, 2, 3, 4, 5) for letter in sorted(set("".join(terms)))}
    if dims and d.chance(0.06):
        dims[d.pick(*dims)] = 0
    outer = d.shape(0, 2, (2, 3))

    def shape(term):
        before, dots, after = term.partition("...")
        middle = [1 if d.chance(0.3) else n for n in outer] if dots else []  # these broadcast
        return [dims[letter] for letter in before] + middle + [dims[letter] for letter in after]

    xs = [d.values("T", shape(term)) for term in terms]
    return Case(*xs, rule=lambda *xs: np.asarray(np.einsum(equation, *xs)), error=32, equation=equation)
