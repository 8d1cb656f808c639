# SPDX-License-Identifier: Apache-2.0
"""Sequences."""
import numpy as np

from draw import Case, Impossible, recipe
from schema import element


def item(d, variable="S"):
    """The element type of a sequence type."""
    return d.type(variable).removeprefix("seq(tensor(").removesuffix("))")


def same_type(d):
    """T, the type of tensors, and S, that of sequences of them, are bound to each other by the clause alone."""
    if d.cell == "T":
        d.types["S"] = f"seq(tensor({d.types['T']}))"
    else:
        d.types["T"] = item(d)


def sequence(d, kind, low=0):
    return [d.values(kind, d.shape(0, 2, (1, 2, 3))) for _ in range(d.int(low, 4))]


def position(d, n, kind, past=False):
    """A place in a sequence of n, from the front or from the back; past: the end counts too."""
    return np.array(d.int(-n, n if past else n - 1), d.dtype(kind))


@recipe("SequenceConstruct")
def construct(d):
    same_type(d)
    return Case(*sequence(d, item(d), 1), rule=lambda *xs: list(xs))


@recipe("SequenceEmpty")
def empty(d):
    return Case(rule=lambda: [], dtype=element(item(d)) if item(d) != "float" or d.chance() else None)


@recipe("SequenceAt")
def at(d):
    same_type(d)
    xs = sequence(d, item(d), 1)
    return Case(xs, position(d, len(xs), "I"), rule=lambda xs, i: xs[int(i)])


@recipe("SequenceInsert")
def insert(d):
    same_type(d)
    xs, new = sequence(d, item(d), 1), d.values(item(d), d.shape(0, 2, (1, 2, 3)))
    where = position(d, len(xs), "I", past=True) if d.chance(0.7) else None

    def rule(xs, new, where=None):
        n = len(xs) if where is None else int(where)
        n = n + len(xs) if n < 0 else n
        return [*xs[:n], new, *xs[n:]]

    return Case(xs, new, where, rule=rule)


@recipe("SequenceErase")
def erase(d):
    xs = sequence(d, item(d), 1)
    where = position(d, len(xs), "I") if d.chance(0.7) else None

    def rule(xs, where=None):
        n = len(xs) - 1 if where is None else int(where) % len(xs)
        return xs[:n] + xs[n + 1:]

    return Case(xs, where, rule=rule)


@recipe("SequenceLength")
def length(d):
    return Case(sequence(d, item(d), 1), rule=lambda xs: np.array(len(xs), np.int64))


@recipe("ConcatFromSequence")
def concat(d):
    same_type(d)
    shape = d.shape(1, 3, (1, 2, 3))
    new = d.chance(0.4)
    axis = d.int(-len(shape) - 1, len(shape)) if new else d.axis(len(shape))
    xs = []
    for _ in range(d.int(1, 4)):
        part = list(shape)
        if not new:
            part[axis] = d.int(1, 3)
        xs.append(d.values(item(d), part))
    return Case(xs, rule=lambda xs: (np.stack if new else np.concatenate)(xs, axis), axis=axis, new_axis=1 if new else None)


@recipe("SplitToSequence")
def split(d):
    same_type(d)
    shape = d.shape(1, 3, (1, 2, 3, 4))
    axis = d.axis(len(shape)) if d.chance(0.7) else None
    over = axis or 0
    n = shape[over]
    how = d.pick("none", "scalar", "list")
    keep = d.pick(None, 0, 1) if how == "none" else None
    chunk = d.int(1, n)
    cuts = sorted(d.int(0, n) for _ in range(d.int(0, 2)))
    sizes = list(np.diff([0, *cuts, n]))
    if how == "list" and 0 in sizes:
        raise Impossible
    given = {"none": None, "scalar": np.array(chunk, d.dtype("I")), "list": np.array(sizes, d.dtype("I"))}[how]

    def rule(x, *_):
        if how == "none":
            return [np.take(x, [i] if keep != 0 else i, over) for i in range(n)]
        bounds = range(chunk, n, chunk) if how == "scalar" else np.cumsum(sizes)[:-1]
        return np.split(x, list(bounds), over)

    return Case(d.values("T", shape), given, rule=rule, axis=axis, keepdims=keep)
