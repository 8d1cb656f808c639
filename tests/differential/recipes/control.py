# SPDX-License-Identifier: Apache-2.0
"""Sequences, and the bodies of If, Loop and Scan."""
import numpy as np
from onnx import helper, numpy_helper

from draw import EMPTY, Case, Impossible, recipe
from schema import base, element, rows, type_proto


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


# What SequenceConstruct and SequenceInsert take: no operator makes other sequences.
IN_SEQUENCES = {"uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float", "double",
                "string", "bool", "complex64", "complex128"}


def value_type(name, kind, shape=None):
    """A declared output or input of a body; a peer wants shapes of those that are not a Loop's own values."""
    if shape is not None:
        return helper.make_tensor_value_info(name, element(kind), shape)
    return helper.make_value_info(name, type_proto(kind))


def weight(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def copy(d, kind, source, target):
    """A node that gives a value of any type again: Loop takes sequences and optionals that Identity does not."""
    identity = max((row for row in rows() if row.name == "Identity" and row.since <= d.since), key=lambda row: row.since)
    if kind in identity.types[identity.inputs[0].type]:
        return helper.make_node("Identity", [source], [target])
    go, value = value_type("once_go", "bool", []), value_type("once_v", kind)
    body = helper.make_graph([helper.make_node("Identity", ["once_go"], ["once_goes"])], "once",
                             [value_type("once_i", "int64", []), go, value], [value_type("once_goes", "bool", []), value])
    return helper.make_node("Loop", ["once", "", source], [target], body=body)


@recipe("If")
def if_(d):
    """Branches that give what the graph around them has, or constants of their own."""
    kind, outer, branches, values = d.types["V"], {}, [], []
    for which in ("then", "else"):
        value = EMPTY if kind.startswith("optional(") and d.chance(0.3) else d.value(kind)
        name, weights = f"{which}_x", [weight("once", np.array(1, np.int64))]
        if "(" not in kind and d.chance():
            weights.append(weight(name, value))
        else:
            outer[name] = (kind, value)
        branches.append(helper.make_graph([copy(d, kind, name, f"{which}_y")], which, [],
                                          [value_type(f"{which}_y", kind)], weights))
        values.append(None if value is EMPTY else value)
    rule = lambda cond: values[0] if cond.reshape(()) else values[1]  # noqa: E731
    return Case(np.array(d.chance()).reshape(d.pick([], [1])), rule=rule, outer=outer, then_branch=branches[0],
                else_branch=branches[1])


@recipe("Loop")
def loop(d):
    """A value that goes round: a tensor is collected each time, a sequence grows where an operator can make it do so."""
    kind = d.types["V"]
    grows = kind.startswith("seq(") and base(kind) in IN_SEQUENCES
    collects = "(" not in kind
    trips, end = d.int(0, 4), d.int(0, 5) if d.chance(0.4) else None
    start = d.value(kind)
    if collects and not trips or end is not None and d.since < 9:
        raise Impossible  # an empty scan output has no dims that are said; Less of version 7 has no integers
    item = d.values(base(kind), [2])
    nodes = [helper.make_node("Less", ["i", "end"], ["goes"]) if end is not None else
             helper.make_node("Identity", ["go"], ["goes"])]
    weights = [weight("end", np.array(end or 0, np.int64)), weight("once", np.array(1, np.int64))]
    outs = [value_type("goes", "bool", []), value_type("w", kind)]
    if grows:
        nodes.append(helper.make_node("SequenceInsert", ["v", "item"], ["w"]))
        weights.append(weight("item", item))
    else:
        nodes.append(copy(d, kind, "v", "w"))
    if collects:
        nodes.append(helper.make_node("Identity", ["v"], ["s"]))
        outs.append(value_type("s", kind))
    body = helper.make_graph(nodes, "body", [value_type("i", "int64", []), value_type("go", "bool", []), value_type("v", kind)],
                             outs, weights)
    rounds = trips if end is None else min(trips, end + 1)  # the round that finds the end is made

    def rule(m, cond, v):
        if grows:
            return [*v, *[item] * rounds]
        return (v, np.stack([v] * rounds)) if collects else v

    return Case(np.array(trips, np.int64), np.array(True), start, outputs=2 if collects else 1, rule=rule, body=body)


@recipe("SequenceMap")
def sequence_map(d):
    """Each item, and beside it an item of another sequence or the one tensor that all see."""
    whole, other = d.types["S"], d.types["V"]
    items = d.value(whole)
    beside = [d.values(base(other), d.shape(0, 2, (1, 2, 3))) for _ in items]
    added = beside if other.startswith("seq(") else beside[0]
    names = ["x", "v"] if d.cell == "V" or d.chance(0.7) else ["x"]
    kinds = [base(whole), base(other)][:len(names)]
    if len(names) == 2 and base(other) not in IN_SEQUENCES:
        raise Impossible
    body = helper.make_graph([helper.make_node("Identity", [name], [f"{name}_y"]) for name in names], "body",
                             [value_type(name, kind) for name, kind in zip(names, kinds)],
                             [value_type(f"{name}_y", kind) for name, kind in zip(names, kinds)])

    def rule(items, added=None):
        copies = added if isinstance(added, list) else [added] * len(items)
        return (items, copies) if len(names) == 2 else items

    return Case(items, *[added][:len(names) - 1], outputs=len(names), rule=rule, body=body,
                output_types=[f"seq(tensor({kind}))" for kind in kinds])


@recipe("Scan")
def scan(d):
    """Each output is the input before it: the state carries one over."""
    kind = d.types["V"]
    shape, steps = d.shape(0, 2, (1, 2, 3)), d.int(1, 4)
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["kept"]), helper.make_node("Identity", ["state"], ["y"])], "body",
        [value_type(name, kind, shape) for name in ("state", "x")], [value_type(name, kind, shape) for name in ("kept", "y")])
    if d.since == 8:
        batch = d.int(1, 3)
        state, x = d.values(kind, [batch, *shape]), d.values(kind, [batch, steps, *shape])
        rule = lambda lengths, s, x: (x[:, -1], np.concatenate([s[:, None], x[:, :-1]], 1))  # noqa: E731
        return Case(None, state, x, outputs=2, rule=rule, body=body, num_scan_inputs=1)
    back = d.chance(0.3)
    at = d.int(0, len(shape))
    state, x = d.values(kind, shape), d.values(kind, [*shape[:at], steps, *shape[at:]])

    def rule(s, x):
        x = np.flip(x, at) if back else x
        y = np.concatenate([np.expand_dims(s, at), np.take(x, range(steps - 1), at)], at)
        return np.take(x, steps - 1, at), y

    return Case(state, x, outputs=2, rule=rule, body=body, num_scan_inputs=1, scan_input_axes=[at],
                scan_output_axes=[at], scan_input_directions=[1] if back else None)
