# SPDX-License-Identifier: Apache-2.0
"""Casts between element types: what the clause's tables say of each pair."""
import numpy as np

import schema
from draw import Case, Impossible, recipe

FP8 = {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"}
WHOLE = schema.INTEGERS | schema.TINY_INTEGERS


def ends(kind):
    """The range of an integer type."""
    bits = int(kind.lstrip("uint"))
    return (0, 2**bits - 1) if kind.startswith("u") else (-2**(bits - 1), 2**(bits - 1) - 1)


def most(kind):
    return float(schema.finfo(kind).max)


def numbers(d, target):
    """Texts of numbers that the target has, or rounds to."""
    if target in schema.INTEGERS:
        low, high = ends(target)
        return [str(v) for v in (low, high, 0, 1, 7, high - 1, high // 3)]
    if target in schema.FLOATS:
        return ["1", "-3", "0.5", "1e3", "-2.5E-3", "NaN", "inf", "-INF", "+inf", "7", "100.5"]
    if target == "float8e8m0" or target.startswith("u"):
        return ["1", "2", "1.0"] if target == "float8e8m0" else ["0", "1", "2"]
    return ["1", "-1", "0"]


def castable(d, source, target):
    """Values of the source whose cast the clause says."""
    shape = d.shape(0, 3)
    if source == "string":
        if target in {"string", "bool"}:
            raise Impossible
        return np.array([d.pick(*numbers(d, target)) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    low, high = (0.01, 6) if "float8e8m0" in {source, target} else (-6, 6)  # which has neither 0 nor a sign
    whole = target in WHOLE and source not in WHOLE | {"bool"}
    if whole:  # a number that is out of range has no cast
        low, high = max(ends(target)[0], -100 if low < 0 else low), min(ends(target)[1], 100)
    far = source in WHOLE and target != "float8e8m0" or target in schema.FLOATS | FP8 | {"bool", "string"}
    x = d.values(source, shape, low, high, special=far and d.chance(0.3))
    if target == "float8e8m0":
        x = np.where(x.astype(np.float64) <= 0, x.dtype.type(1), x).astype(x.dtype)
    return x


def text(v, kind):
    """The fewest digits that read back as the same element."""
    if not np.isfinite(v):
        return "NaN" if np.isnan(v) else "INF" if v > 0 else "-INF"  # the clause's words for them
    digits = next(s for s in (f"{v:.{n}g}" for n in range(1, 18)) if schema.numpy_type(kind).type(float(s)) == v)
    return repr(float(digits))


def to_text(x, source):
    if source == "bool" or x.dtype.kind in "iu":
        each = lambda v: str(int(v))  # noqa: E731
    else:
        each = lambda v: str(int(v)) if source in WHOLE else text(v, source)  # noqa: E731
    return np.array([each(v) for v in x.reshape(-1)], object).reshape(x.shape)


def to_integer(x, kind):
    """Cut to whole numbers, whose high bits are dropped."""
    low, high = ends(kind)
    values = [int(v) for v in x.reshape(-1)]
    return np.array([(v - low) % (high - low + 1) + low for v in values], schema.numpy_type(kind)).reshape(x.shape)


def to_power(x, mode):
    """To e8m0: powers of two."""
    fraction, exponent = np.frexp(x)  # x = fraction * 2**exponent, 0.5 <= fraction < 1
    above = {"down": np.zeros(x.shape, bool), "nearest": fraction >= 0.75}.get(mode, fraction > 0.5)
    return np.ldexp(1.0, exponent - 1 + above)


def cast_rule(source, target, saturate, mode):
    def rule(x, *_):
        if source == "string":
            x = np.array([int(v) if target in schema.INTEGERS else float(v) for v in x.reshape(-1)], object).reshape(x.shape)
            x = x if target in WHOLE else x.astype(np.float64)
        if target == "string":
            return to_text(x, source)
        if target == "bool":
            return x != 0
        if target in WHOLE:
            return to_integer(x, target)
        x = x.astype(np.float64) if target not in schema.FLOATS else x
        if target == "float8e8m0":
            return to_power(x, mode)
        return np.clip(x, -most(target), most(target)) if target in FP8 and saturate != 0 else x

    return rule


@recipe("Cast", "CastLike")
def cast(d):
    source, target = d.types["T1"], d.types["T2"]
    said = "saturate" in d.row.attributes and (target in FP8 or d.chance(0.2))  # others may have it, and a peer refuses that
    saturate = d.pick(None, 0, 1) if said else None
    mode = d.pick(None, "up", "down", "nearest") if "round_mode" in d.row.attributes else None
    x, rule = castable(d, source, target), cast_rule(source, target, saturate, mode)
    how = dict(saturate=saturate, round_mode=mode)
    if d.row.name == "CastLike":
        like = d.values(target, [1], 1, 2)
        return Case(x, like, rule=rule, error=0, **how)
    return Case(x, rule=rule, error=0, to=target.upper() if d.since == 1 else schema.element(target), **how)


def width(kind):
    if kind in schema.TINY_INTEGERS:
        return int(kind.lstrip("uint"))
    return {"float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6}.get(kind, 8 * schema.numpy_type(kind).itemsize)


def bits_of(x, kind):
    """Of narrow types, each in a byte."""
    return (x.astype(np.int64) if kind in schema.TINY_INTEGERS else x.view(np.uint8)).astype(np.uint8) & (2**width(kind) - 1)


def from_bits(bits, kind):
    if kind in schema.TINY_INTEGERS:
        return to_integer(bits, kind)
    return bits.view(schema.numpy_type(kind))


@recipe("BitCast")
def bit_cast(d):
    source, target = d.types["T1"], d.types["T2"]
    if d.cell == "T1":
        target = d.types["T2"] = d.pick(*(kind for kind in d.row.types["T2"] if width(kind) == width(source)))
    else:
        source = d.types["T1"] = d.pick(*(kind for kind in d.row.types["T1"] if width(kind) == width(target)))
    x = d.values(source, d.shape())
    if target == "bool":  # a bool has two of the patterns
        x = from_bits(d.rng.integers(0, 2, x.shape).astype(np.uint8), source)
    narrow = width(source) < 8

    def rule(_):
        return from_bits(bits_of(x, source), target) if narrow else x.view(schema.numpy_type(target))

    return Case(x, rule=rule, to=schema.element(target))
