#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tiny models of tests/data/graphs, with inputs and outputs as test_data_set_N/{input,output}_I.pb.

Expected outputs are numpy's: every model comes with a function that says in a few lines what it computes. Numbers are
small integers (as floats), so that answers are exact.  usage: make_graphs.py [FOLDER]
"""
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "graphs"
rng = np.random.default_rng(1)


def node(text, **attributes):
    """node("y z = Split x") """
    outs, rest = text.split(" = ")
    kind, *ins = rest.split()
    return h.make_node(kind, ["" if i == "-" else i for i in ins], outs.split(), **attributes)


def f32(name, *dims):
    return h.make_tensor_value_info(name, T.FLOAT, dims)


def i64(name, *dims):
    return h.make_tensor_value_info(name, T.INT64, dims)


def boolean(name):
    return h.make_tensor_value_info(name, T.BOOL, [])


def ints(*dims):
    return rng.integers(-9, 10, dims).astype(np.float32)


def constant(name, values, dtype=np.int64):
    return nh.from_array(np.array(values, dtype), name)


def save(name, nodes, ins, outs, weights=(), data=(), opset=21, ir=10, want=None, functions=(), domains=()):
    """data: lists of inputs (None: left out); want: a function of them to a list of outputs (arrays, or lists of
    arrays)."""
    graph = h.make_graph(nodes, name, ins, outs, list(weights))
    domains = sorted({*domains, *(function.domain for function in functions)})
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains],
                         ir_version=ir, producer_name="make_graphs", functions=list(functions))
    folder = FOLDER / name
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for k, arrays in enumerate(data):
        cases = folder / f"test_data_set_{k}"
        cases.mkdir()
        for kind, values in (("input", arrays), ("output", want(*arrays))):
            for i, value in enumerate(values):
                if value is None:
                    continue
                proto = nh.from_list(value) if isinstance(value, list) else nh.from_array(np.asarray(value))
                (cases / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())


def late():
    """Dims that depend on data: NonZero -> Gather -> Add, beside steps that are planned and that read what is late."""
    nodes = [
        node("twice = Add x x"),
        node("nz = NonZero x"),
        node("at = Reshape nz minus_one"),
        node("picked = Gather twice at"),
        node("moved = Add picked one"),
        node("n = Shape moved"),
        node("n_float = Cast n", to=T.FLOAT),
        node("scaled = Mul twice n_float"),
        node("back = Neg twice"),
        node("total = Add scaled back"),
    ]

    def want(x):
        moved = 2 * x[x != 0] + 1
        return moved, 2 * x * np.float32(moved.size) - 2 * x

    data = [[np.array(x, np.float32)] for x in ([0, 1, 2, 0, 3], [5, 5, 5, 5, 5], [0, 0, 0, 0, 0], [4], [0, 1, 2, 0, 3])]
    save("late", nodes, [f32("x", "n")], [f32("moved", "k"), f32("total", "n")],
         [constant("minus_one", [-1]), constant("one", [1], np.float32)], data, want=want)


def computed_shape():
    """Reshape by a shape made of Shape, Gather and Concat (planned), and by one that a caller gives (late)."""
    nodes = [
        node("s = Shape x"),
        node("rows = Gather s zero"),
        node("flat = Concat rows minus_one", axis=0),
        node("matrix = Reshape x flat"),
        node("doubled = Add matrix matrix"),
        node("given = Reshape doubled shape"),
        node("less = Sub given one"),
        node("again = Reshape less minus_one"),
    ]

    def want(x, shape):
        return 2 * x.reshape(x.shape[0], -1), (2 * x).reshape(shape) - 1, (2 * x - 1).reshape(-1)

    data = [[ints(2, 3, 4), np.array([4, 6])], [ints(2, 3, 4), np.array([2, 3, 2, 2])], [ints(1, 2, 3), np.array([6])],
            [ints(2, 3, 4), np.array([4, -1])]]
    save("computed_shape", nodes, [f32("x", "a", "b", "c"), i64("shape", "r")],
         [f32("doubled", "a", None), h.make_tensor_value_info("less", T.FLOAT, None), f32("again", None)],
         [constant("zero", [0]), constant("minus_one", [-1]), constant("one", 1, np.float32)], data, want=want)


def question_marks():
    """Dims named "?", as one exporter calls each that it does not know: they need not be equal."""
    save("question_marks", [node("twice = Add x x"), node("y = Neg twice")], [f32("x", "?", 2, "?")],
         [f32("y", "?", 2, "?")], data=[[ints(1, 2, 3)], [ints(4, 2, 1)]], want=lambda x: [-2 * x])


def running_sum():
    """A state that goes round outside: what is recorded follows from one data set to the next, through more than nine of
    them; the states recorded as inputs are zeros."""
    total = np.zeros(2, np.float32)

    def want(state, x):
        nonlocal total
        total = total + x
        return [total * total, total]

    save("running_sum", [node("after = Add before x"), node("y = Mul after after")], [f32("before", 2), f32("x", 2)],
         [f32("y", 2), f32("after", 2)], data=[[np.zeros(2, np.float32), np.float32([i, 1])] for i in range(11)],
         want=want)


def defaults():
    """Inputs with defaults: what is made of them alone must not be folded when a caller gives them."""
    w, k, shape = ints(4, 6), np.float32([2]), np.array([-1, 3])
    nodes = [
        node("product = MatMul x w"),
        node("kk = Mul k k"),
        node("scaled = Mul product kk"),
        node("rows = Reshape scaled shape"),
        node("y = Neg rows"),
    ]

    def want(x, w_, k_, shape_):
        w_, k_, shape_ = (own if given is None else given for given, own in ((w_, w), (k_, k), (shape_, shape)))
        return [-(x @ w_ * (k_ * k_)).reshape(shape_)]

    x = ints(2, 4)
    data = [[x, None, None, None], [x, ints(4, 6), None, np.array([2, 6])], [x, None, np.float32([3]), None],
            [ints(3, 4), ints(4, 6), np.float32([5]), np.array([9, 2])]]
    save("defaults", nodes, [f32("x", "n", 4), f32("w", 4, 6), f32("k", 1), i64("shape", "r")],
         [f32("y", None, None)], [constant("w", w, np.float32), constant("k", k, np.float32), constant("shape", shape)],
         data, want=want)


def views():
    """Views of views, of inputs and of weights; each read by operators that want them dense and by ones that do not."""
    nodes = [
        node("t = Transpose x", perm=[1, 0]),
        node("s = Slice t starts ends axes steps"),
        node("dense = Neg s"),
        node("back = Transpose s", perm=[1, 0]),
        node("wide = Expand row wide_shape"),
        node("sum = Add dense wide"),
        node("own = Mul x x"),
        node("own_t = Transpose own", perm=[1, 0]),
        node("own_flat = Reshape own_t minus_one"),
        node("own_again = Abs own"),
        node("joined = Concat own_flat own_flat", axis=0),
    ]

    def want(x):
        s = x.T[::-2]
        wide = np.broadcast_to(np.float32([1, 2, 3]), s.shape)
        flat = (x * x).T.reshape(-1)
        return -s + wide, s.T, x.T, np.concatenate([flat, flat]), np.abs(x * x), flat

    save("views", nodes, [f32("x", 3, "n")],
         [f32("sum", "k", 3), f32("back", 3, "k"), f32("t", "n", 3), f32("joined", None), f32("own_again", 3, "n"),
          f32("own_flat", None)],
         [constant("starts", [-1]), constant("ends", [-1000]), constant("axes", [0]), constant("steps", [-2]),
          constant("row", [1, 2, 3], np.float32), constant("wide_shape", [1, 3]), constant("minus_one", [-1])],
         [[ints(3, 4)], [ints(3, 7)], [ints(3, 1)], [ints(3, 4)]], want=want)


def in_place():
    """Operators that may work in place, where the value is read again, shown by a view, or an output itself."""
    nodes = [
        node("a = Neg x"),
        node("b = Relu a"),
        node("c = Add a b"),
        node("d = Abs c"),
        node("square = Mul d d"),
        node("e = Sub square c"),
        node("flat = Reshape e minus_one"),
        node("f = Neg e"),
        node("g = Add flat one"),
        node("h = Relu f"),
        node("small = ReduceMax h", keepdims=1),
        node("i = Add small h"),
        node("j = Sub i small"),
        node("k = Max j h x"),
    ]

    def want(x):
        a = -x
        b = np.maximum(a, 0)
        c = a + b
        e = np.abs(c) * np.abs(c) - c
        hh = np.maximum(-e, 0)
        return b, e.reshape(-1) + 1, np.maximum(np.maximum(hh + hh.max() - hh.max(), hh), x)

    save("in_place", nodes, [f32("x", "m", "n")], [f32("b", "m", "n"), f32("g", None), f32("k", "m", "n")],
         [constant("minus_one", [-1]), constant("one", 1, np.float32)],
         [[ints(3, 4)], [ints(5, 8)], [ints(1, 1)], [ints(2, 2)]], want=want)


def nested_if():
    """If inside If; the inner branches see values of both graphs around them."""
    inner_then = h.make_graph([node("inner_sum = Add twice here")], "inner_then", [], [f32("inner_sum", "n")])
    inner_else = h.make_graph([node("inner_difference = Sub twice w")], "inner_else", [], [f32("inner_difference", "n")])
    then = h.make_graph([node("here = Mul twice twice"),
                         node("inner = If second", then_branch=inner_then, else_branch=inner_else),
                         node("result = Sub inner here")], "then", [], [f32("result", "n")])
    otherwise = h.make_graph([node("short = Slice twice zero two")], "else", [], [f32("short", "m")])
    nodes = [node("twice = Add x x"), node("y = If first", then_branch=then, else_branch=otherwise),
             node("z = Neg y"), node("u = Neg twice")]

    def want(x, first, second):
        t = 2 * x
        y = ((t + t * t if second else t - np.float32([1, 2, 3])) - t * t) if first else t[:2]
        return -y, -t

    data = [[ints(3), np.array(a), np.array(b)] for a in (True, False) for b in (True, False)]
    save("nested_if", nodes, [f32("x", "n"), boolean("first"), boolean("second")], [f32("z", "k"), f32("u", "n")],
         [constant("w", [1, 2, 3], np.float32), constant("zero", [0]), constant("two", [2])], data, want=want)


def sequences():
    """Sequences through If and Loop; their items outlive the values that they were made of."""
    sequence = h.make_tensor_sequence_value_info
    then = h.make_graph([node("longer = SequenceInsert s b")], "then", [], [sequence("longer", T.FLOAT, None)])
    otherwise = h.make_graph([node("same = Identity s")], "else", [], [sequence("same", T.FLOAT, None)])
    body = h.make_graph([node("grown = SequenceInsert so_far item"), node("more = Identity cond"),
                         node("item = Add b one")][::-1], "body",
                        [i64("i"), boolean("cond"), sequence("so_far", T.FLOAT, None)],
                        [boolean("more"), sequence("grown", T.FLOAT, None)])
    nodes = [
        node("a = Neg x"),
        node("b = Add a one"),
        node("s = SequenceConstruct a b"),
        node("c = Mul b b"),
        node("d = Mul c c"),
        node("t = If flag", then_branch=then, else_branch=otherwise),
        node("u = Loop trips - t", body=body),
        node("joined = ConcatFromSequence u", axis=0),
        node("first = SequenceAt u zero"),
        node("n = SequenceLength u"),
        node("sum = Add first d"),
    ]

    def want(x, flag, trips):
        a, b = -x, -x + 1
        u = [a, b] + ([b] if flag else []) + [b + 1] * int(trips)
        return np.concatenate(u), a + b ** 4, np.array(len(u)), u

    data = [[ints(4), np.array(flag), np.array(trips)] for flag in (True, False) for trips in (0, 3)]
    save("sequences", nodes, [f32("x", "n"), boolean("flag"), i64("trips")],
         [f32("joined", None), f32("sum", "n"), i64("n"), sequence("u", T.FLOAT, None)],
         [constant("one", 1, np.float32), constant("zero", 0)], data, want=want)


def ref(made, **attributes):
    """The node with attributes that take the value of an attribute of the function around it: name=(ref, type)."""
    for name, (other, kind) in attributes.items():
        made.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=other, type=kind))
    return made


def function(name, ins, outs, nodes, attributes=(), defaults=(), overload="", opset=21):
    imports = [h.make_opsetid("", opset), h.make_opsetid("local", 1)]
    return h.make_function("local", name, ins, outs, nodes, imports, list(attributes), list(defaults),
                           overload=overload)


def call(text, overload="", **attributes):
    made = node(text, domain="local", **attributes)
    made.overload = overload
    return made


def functions():
    """Calls of local functions: overloads, attributes with and without defaults, calls within functions and within
    bodies, an input that is left out, one that is handed through, and a value called as one of the graph's."""
    FLOAT, INT = onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT
    affine = function("Affine", ["x", "b"], ["y"],
                      [ref(node("a = Constant"), value_float=("by", FLOAT)),
                       ref(node("s = Constant"), value_float=("plus", FLOAT)),
                       node("t = Mul x a"), node("u = Add t s"), node("y = Max u b")],
                      ["by"], [h.make_attribute("plus", 1.0)])
    affine_two = function("Affine", ["x"], ["y"], [node("y = Neg x")], overload="negative")
    cast = function("Rows", ["x"], ["n", "m"],
                    [ref(node("n = Shape x"), start=("from", INT), end=("to", INT)), node("m = Size x")],
                    ["from", "to"])
    then = h.make_graph([call("r = Affine x b", by=3.0)], "then", [], [f32("r", None)])
    otherwise = h.make_graph([ref(node("k = Constant"), value_float=("by", FLOAT)), node("e = Sub x k")],
                             "else", [], [f32("e", None)])
    chosen = function("Choose", ["x", "b", "flag"], ["y", "same"],
                      [node("v = If flag", then_branch=then, else_branch=otherwise),
                       call("y = Affine v", overload="negative"), node("same = Identity x")], ["by"])
    through = function("Through", ["x", "unused"], ["a", "b", "c"], [node("b = Abs x")])
    through.output[0], through.output[2] = "x", "b"
    body = h.make_graph([call("z = Affine w w", by=2.0)], "body", [], [f32("z", None)])
    less = h.make_graph([node("z2 = Identity w")], "less", [], [f32("z2", None)])
    nodes = [
        call("t = Affine x c", by=2.0, plus=-1.0),
        call("p - q = Through t"),
        call("w same = Choose q c flag", by=5.0),
        call("n m = Rows w", **{"from": 0}),
        node("v = If flag", then_branch=body, else_branch=less),
        node("out = Add v p"),
    ]

    def want(x, flag):
        c = np.float32([1, 2, 3])
        t = np.maximum(2 * x - 1, c)
        w = -(np.maximum(3 * np.abs(t) + 1, c) if flag else np.abs(t) - 5)
        v = np.maximum(2 * w + 1, w) if flag else w
        return v + t, np.abs(t), np.int64(w.shape), np.int64(w.size)

    data = [[ints(2, 3), np.array(flag)] for flag in (True, False)]
    save("functions", nodes, [f32("x", "n", 3), boolean("flag")],
         [f32("out", "n", 3), f32("same", "n", 3), i64("n", 2), i64("m")], [constant("c", [1, 2, 3], np.float32)],
         data, want=want, functions=[affine, affine_two, cast, chosen, through])


def repeat(name, cache):
    """repeat_kv as exporters write it: each of two heads twice in a row."""
    return [node(f"{name}.shape = Shape {cache}"),
            node(f"{name}.front = Slice {name}.shape zero two"), node(f"{name}.back = Slice {name}.shape two four"),
            node(f"{name}.wide = Concat {name}.front two {name}.back", axis=0),
            node(f"{name}.batch = Slice {name}.shape zero one"),
            node(f"{name}.flat = Concat {name}.batch four {name}.back", axis=0),
            node(f"{name}.five = Unsqueeze {cache} two"), node(f"{name}.many = Expand {name}.five {name}.wide"),
            node(f"{name} = Reshape {name}.many {name}.flat")]


def decomposed(name, compare="LessOrEqual keys queries", where=False, padding=True, halves=False, extra=()):
    """Attention of a decoder in its parts: 4 query heads on 2 cached heads of width 2, a factor on both sides, a mask
    of positions and of attention_mask, and a guard against rows that see nothing."""
    cache = ["batch", 2, "past", 2]
    nodes = [node("x = Gather table input_ids")]
    for part, heads, to in (("q", "q_heads", "q"), ("k", "kv_heads", "new_k"), ("v", "kv_heads", "new_v")):
        nodes += [node(f"{part}.rows = MatMul x w{part}"), node(f"{part}.split = Reshape {part}.rows {heads}"),
                  node(f"{to} = Transpose {part}.split", perm=[0, 2, 1, 3])]
    nodes += [node("present.0.key = Concat past_key_values.0.key new_k", axis=2),
              node("present.0.value = Concat past_key_values.0.value new_v", axis=-2)]
    nodes += repeat("k", "present.0.key") + repeat("v", "present.0.value")
    nodes += [
        node("sizes = Shape attention_mask"), node("total = Gather sizes scalar_one"),
        node("ids_sizes = Shape input_ids"), node("n = Gather ids_sizes scalar_one"), node("past = Sub total n"),
        node("key_line = Range scalar_zero total scalar_one"), node("query_line = Range past total scalar_one"),
        node("keys = Unsqueeze key_line three_front"), node("queries = Unsqueeze query_line around"),
        node(f"order = {compare}"),
        node("given = Cast attention_mask", to=T.BOOL), node("given4 = Unsqueeze given middle"),
        node("visible = And order given4" if padding else "visible = Identity order"),
        node("k.t = Transpose k", perm=[0, 1, 3, 2]), node("q.scaled = Mul q factor"),
        node("k.scaled = Mul k.t factor"), node("scores = MatMul q.scaled k.scaled"),
    ]
    if where:
        nodes += [node("masked = Where visible scores lowest")]
    elif halves:  # zeros for the past before a triangle, and what attention_mask hides put over both
        nodes += [
            node("line = Range scalar_zero n scalar_one"), node("line1 = Add line scalar_one"),
            node("across = Unsqueeze line zero"), node("down = Unsqueeze line1 one"), node("low = Less across down"),
            node("n1 = Unsqueeze n zero"), node("past1 = Unsqueeze past zero"), node("nn = Concat n1 n1", axis=0),
            node("np = Concat n1 past1", axis=0), node("full = Expand least nn"), node("tri = Where low nothing full"),
            node("zeros = ConstantOfShape np"), node("causal = Concat zeros tri", axis=-1),
            node("causal4 = Unsqueeze causal both"), node("given.f = Cast attention_mask", to=T.FLOAT),
            node("inverse = Sub one.f given.f"), node("inverse4 = Unsqueeze inverse middle"),
            node("hides = Cast inverse4", to=T.BOOL), node("bias = Where hides least causal4"),
            node("masked = Add scores bias")]
    else:
        nodes += [node("bias = Where visible nothing lowest"), node("masked = Add scores bias")]
    nodes += [node("p = Softmax masked", axis=-1), node("nan = IsNaN p"), node("weights = Where nan nothing p"),
              node("y = MatMul weights v"), node("y.t = Transpose y", perm=[0, 2, 1, 3]),
              node("z = Reshape y.t whole"), node("logits = MatMul z head"), *extra]
    table, head, wq, wk, wv = ints(8, 8) / 4, ints(8, 8), ints(8, 8) / 8, ints(8, 4) / 8, ints(8, 4) / 8
    weights = [nh.from_array(a.astype(np.float32), n) for n, a in
               (("table", table), ("head", head), ("wq", wq), ("wk", wk), ("wv", wv), ("factor", np.float32(0.75)),
                ("nothing", np.float32(0)), ("lowest", np.float32(-np.inf)), ("one.f", np.float32(1)),
                ("least", np.finfo(np.float32).min))]
    weights += [constant(n, v) for n, v in
                (("q_heads", [0, 0, 4, 2]), ("kv_heads", [0, 0, 2, 2]), ("whole", [0, 0, 8]), ("zero", [0]),
                 ("one", [1]), ("two", [2]), ("four", [4]), ("scalar_zero", 0), ("scalar_one", 1),
                 ("three_front", [0, 1, 2]), ("around", [0, 1, 3]), ("middle", [1, 2]), ("both", [0, 1]))]

    def want(ids, given, past_k, past_v):
        def heads(w, n):
            return (table[ids] @ w).reshape(*ids.shape, n, 2).transpose(0, 2, 1, 3)

        k, v = np.concatenate([past_k, heads(wk, 2)], 2), np.concatenate([past_v, heads(wv, 2)], 2)
        s = heads(wq, 4) @ np.repeat(k, 2, 1).transpose(0, 1, 3, 2) * 0.5625
        keys, queries = np.arange(k.shape[2])[None], np.arange(past_k.shape[2], k.shape[2])[:, None]
        visible = keys <= queries if compare.startswith("LessOr") else keys < queries
        s = np.where(visible & ((given[:, None, None] != 0) | (not padding)), s, -np.inf)
        with np.errstate(invalid="ignore"):
            p = np.exp(s - s.max(-1, keepdims=True))
            p = np.nan_to_num(p / p.sum(-1, keepdims=True))
        y = (p @ np.repeat(v, 2, 1)).transpose(0, 2, 1, 3).reshape(*ids.shape, 8) @ head
        return [a.astype(np.float32) for a in (y, k, v)]

    def case(past, n, hidden=0):
        given = np.ones((1, past + n), np.int64)
        given[0, :hidden] = 0
        return [rng.integers(0, 8, (1, n)), given, ints(1, 2, past, 2) / 4, ints(1, 2, past, 2) / 4]

    data = [case(3, 2), case(0, 4), case(70, 1)] + ([case(5, 3, hidden=2)] if padding else [])
    outs = [f32("logits", "batch", "sequence", 8), f32("present.0.key", "batch", 2, "total", 2),
            f32("present.0.value", "batch", 2, "total", 2)]
    save(name, nodes,
         [i64("input_ids", "batch", "sequence"), i64("attention_mask", "batch", "total"),
          f32("past_key_values.0.key", *cache), f32("past_key_values.0.value", *cache)],
         outs, weights, data, opset=18, ir=8, want=want)


def encoder():
    """Attention without a cache: K is turned by one Transpose, the scores are divided, a mask of another input is
    added."""
    nodes = [node("q = Transpose a", perm=[0, 2, 1, 3]), node("k = Transpose b", perm=[0, 2, 3, 1]),
             node("v = Transpose c", perm=[0, 2, 1, 3]), node("s = MatMul q k"), node("scaled = Div s root"),
             node("masked = Add scaled mask"), node("p = Softmax masked"), node("y = MatMul p v")]

    def want(a, b, c, mask):
        s = a.transpose(0, 2, 1, 3) @ b.transpose(0, 2, 3, 1) / 2 + mask
        p = np.exp(s - s.max(-1, keepdims=True))
        return [(p / p.sum(-1, keepdims=True) @ c.transpose(0, 2, 1, 3)).astype(np.float32)]

    def case(batch, n):
        return [ints(batch, n, 3, 4) / 8 for _ in range(3)] + [ints(batch, 1, 1, n)]

    save("attention_encoder", nodes,
         [f32(i, "batch", "n", 3, 4) for i in "abc"] + [f32("mask", "batch", 1, 1, "n")],
         [f32("y", "batch", 3, "n", 4)], [constant("root", 2, np.float32)], [case(1, 5), case(2, 3)], opset=17,
         want=want)


def guarded(name, tested):
    """Attention as the clause's function body writes it: both factors of the scale, and rows that a mask hides whole
    made 0. tested: the mask whose rows are looked at."""
    nodes = [node("qs = Mul q root"), node("kt = Transpose k", perm=[0, 1, 3, 2]), node("ks = Mul kt root"),
             node("s = MatMul qs ks"), node("masked = Add s mask"), node("p = Softmax masked"),
             node(f"most = ReduceMax {tested} last"), node("least = CastLike infinity mask"),
             node("nothing = Equal most least"), node("zero = CastLike zero_f p"), node("safe = Where nothing zero p"),
             node("y = MatMul safe v")]

    def want(q, k, v, mask, other):
        s = q @ k.transpose(0, 1, 3, 2) / 2 + mask
        with np.errstate(invalid="ignore"):
            p = np.exp(s - s.max(-1, keepdims=True))
            p = p / p.sum(-1, keepdims=True)
        hidden = (mask if tested == "mask" else other).max(-1, keepdims=True) == -np.inf
        return [(np.where(hidden, 0, p) @ v).astype(np.float32)]

    mask, other = np.zeros((3, 5), np.float32), np.zeros((3, 5), np.float32)
    mask[0, 2:], other[0] = -np.inf, -np.inf
    if tested == "mask":
        mask[2] = -np.inf
    save(name, nodes, [f32(i, 2, 3, n, 4) for i, n in zip("qkv", (3, 5, 5))] + [f32("mask", 3, 5), f32("other", 3, 5)],
         [f32("y", 2, 3, 3, 4)],
         [constant("root", 0.5**0.5, np.float32), constant("last", [-1]), constant("infinity", [-np.inf], np.float32),
          constant("zero_f", [0], np.float32)],
         [[ints(2, 3, n, 4) / 8 for n in (3, 5, 5)] + [mask, other]], opset=18, want=want)


def guards():
    guarded("attention_guarded", "mask")
    guarded("attention_guarded_elsewhere", "other")


def attentions():
    decomposed("attention_cached")
    decomposed("attention_where", where=True, padding=False)
    decomposed("attention_later", compare="Less keys queries")
    decomposed("attention_watched", extra=[node("other = ReduceSum past_key_values.0.key")])
    encoder()
    decomposed("attention_halves", halves=True)


def branches():
    """A merged decoder in small: a mode input chooses between two graphs that share weights of the graph around them;
    an If on a constant with an If on another one within it, whose branch has a weight and a body of its own."""
    deep = h.make_graph([node("up = Add x shift"), node("t = If flag", then_branch=h.make_graph(
        [node("a = Mul up w")], "a", [], [f32("a", None)]), else_branch=h.make_graph(
            [node("b = Sub up w")], "b", [], [f32("b", None)]))], "deep", [], [f32("t", None)],
        [constant("shift", [10, 20, 30], np.float32)])
    flat = h.make_graph([node("n = Neg x")], "flat", [], [f32("n", None)])
    inner = h.make_graph([node("s = Mul x w"), node("in2 = If no", then_branch=flat, else_branch=deep)], "inner", [],
                         [f32("in2", None), f32("s", None), f32("s", None)])
    outer = h.make_graph([node("k1 = Neg x"), node("k2 = Abs x"), node("k3 = Relu x")], "outer", [],
                         [f32("k1", None), f32("k2", None), f32("k3", None)])
    cached = h.make_graph([node("s = Add y w")], "cached", [], [f32("s", None)])
    fresh = h.make_graph([node("s2 = Sub y w")], "fresh", [], [f32("s2", None)])
    nodes = [node("yes = Not no"), node("p q r = If yes", then_branch=inner, else_branch=outer),
             node("y = Add p q"), node("z = If use_cache_branch", then_branch=cached, else_branch=fresh),
             node("s = Add r r")]

    def want(x, flag, cache):
        w = np.float32([1, 2, 3])
        up = x + np.float32([10, 20, 30])
        y = (up * w if flag else up - w) + x * w
        return [y + w if cache else y - w, 2 * x * w]

    save("branches", nodes, [f32("x", 3), boolean("flag"), boolean("use_cache_branch")], [f32("z", 3), f32("s", 3)],
         [constant("w", [1, 2, 3], np.float32), constant("no", False, np.bool_)],
         [[ints(3), np.array(flag), np.array(cache)] for cache in (True, False) for flag in (True, False)], want=want)


def bad_functions():
    """What calls can get wrong."""
    passed_on = function("F", ["x", "b"], ["y"], [node("t = Neg x"), node("y = Identity b")])
    passed_on.output[0] = "b"
    typed = function("F", ["x"], ["y"], [ref(node("y = Gather x x"), axis=("by", onnx.AttributeProto.INT))], ["by"])
    branch = [h.make_graph([node(f"{o} = Identity b")], o, [], [f32(o, None)]) for o in ("r", "e")]
    lost = function("F", ["x", "b"], ["y"],
                    [ref(node("k = Constant"), value_int=("by", onnx.AttributeProto.INT)),
                     node("f = Cast k", to=T.BOOL), node("y = If f", then_branch=branch[0], else_branch=branch[1])],
                    ["by"])
    for name, made, text, by in (("absent_output", passed_on, "y = F x", {}), ("attribute_type", typed, "y = F x",
                                 {"by": 1.5}), ("absent_in_body", lost, "y = F x", {"by": 1}),
                                 ("too_many_inputs", typed, "y = F x x", {"by": 0})):
        save("functions_" + name, [call(text, **by)], [f32("x", "n")], [f32("y", None)], functions=[made])
    doubling = [function(f"F{k}", ["x"], ["y"], [call(f"t = F{k + 1} x"), call(f"y = F{k + 1} t")]) for k in range(30)]
    doubling.append(function("F30", ["x"], ["y"], [node("y = Neg x")]))
    save("functions_doubling", [call("y = F0 x")], [f32("x", "n")], [f32("y", "n")], functions=doubling)


def removable():
    """What passes remove: two dead nodes, three identities (one makes an output), shape arithmetic that folds."""
    nodes = [
        node("x2 = Identity x"),
        node("x3 = Identity x2"),
        node("dead = Exp x3"),
        node("deader = Log dead"),
        node("two = Constant", value=constant("", [2.0], np.float32)),
        node("four = Mul two two"),
        node("shape = Concat minus_one one", axis=0),
        node("scaled = Mul x3 four"),
        node("column = Reshape scaled shape"),
        node("copy = Identity column"),
        node("y = Neg copy"),
    ]
    save("removable", nodes, [f32("x", "n")], [f32("y", "n", 1), f32("copy", "n", 1)],
         [constant("minus_one", [-1]), constant("one", [1])], [[ints(3)], [ints(6)]],
         want=lambda x: (-4 * x[:, None], 4 * x[:, None]))


def large_constant():
    """A Constant past what inference evaluates folds too, an expression over it does not."""
    table = (np.arange(20000) % 17).astype(np.float32)
    nodes = [node("n = ConstantOfShape length", value=constant("", [3.0], np.float32)), node("m = Neg n"),
             node("y = Gather m at")]
    save("large_constant", nodes, [i64("at", "k")], [f32("y", "k")], [constant("length", [table.size])],
         [[np.array([0, 19999])]], want=lambda at: (np.full(at.shape, -3, np.float32),))


def outputs():
    """Graph outputs that no node makes, and one that is listed twice."""
    x = np.float32([1, -2, 3])
    save("output_is_input", [node("y = Neg x")], [f32("x", "n")], [f32("y", "n"), f32("x", "n")], data=[[x]],
         want=lambda x: [-x, x])
    save("output_is_weight", [node("z = Neg x"), node("y = Abs z")], [f32("x", "n")],
         [f32("y", "n"), f32("w", 2), f32("y", "n"), f32("z", "n")], [constant("w", [1, 2], np.float32)], data=[[x]],
         want=lambda x: [abs(x), np.float32([1, 2]), abs(x), -x])


def failing():
    """Three Gathers in a row, each with indices of its own: any of them can fail alone."""
    nodes = [node("a = Gather x first"), node("a2 = Add a a"), node("b = Gather a2 second"), node("b2 = Add b b"),
             node("c = Gather b2 third"), node("y = Add c c")]
    good = np.array([3, 0, 1, 2])
    save("failing", nodes, [f32("x", 4)] + [i64(n, 4) for n in ("first", "second", "third")], [f32("y", 4)],
         data=[[ints(4), good, good, good[::-1].copy()]],
         want=lambda x, first, second, third: (8 * x[first][second][third],))


def skipping():
    """Values that skip stages, two inputs used far apart, an output made early."""
    nodes = [node("a = Add x x"), node("b = Neg a"), node("c = Mul b a"), node("d = Sub c z"), node("e = Abs d"),
             node("y = Add e a")]

    def want(x, z):
        return 2 * x, np.abs(-4 * x * x - z) + 2 * x

    save("skipping", nodes, [f32("x", "n"), f32("z", "n")], [f32("a", "n"), f32("y", "n")],
         data=[[ints(5), ints(5)], [ints(2), ints(2)]], want=want)


def attention(name, past="past_key_values.0.", present="present.0.", kind=T.FLOAT, out_kind=None, extra=(), rows=8):
    """One Attention-23 layer over embeddings of width 4, without training: state pairs are found by the operator."""
    out_kind = out_kind or kind
    nodes = [
        node("x = Gather table input_ids"),
        node(f"y {present}key {present}value = Attention x x x - {past}key {past}value", is_causal=1, q_num_heads=2,
             kv_num_heads=2),
        node("logits = MatMul y head"),
    ] + list(extra)
    cache = lambda n, length, t: h.make_tensor_value_info(n, t, ["batch", 2, length, 2])
    ins = [i64("input_ids", "batch", "sequence"), cache(past + "key", "past", kind), cache(past + "value", "past", kind)]
    outs = [f32("logits", "batch", "sequence", 8), cache(present + "key", "total", out_kind),
            cache(present + "value", "total", out_kind)]
    save(name, nodes, ins, outs, [nh.from_array(ints(rows, 4), "table"), nh.from_array(ints(4, 8), "head")], opset=23,
         ir=11)


def failing_states():
    """Three Attention layers with caches, before each a Gather with indices of its own that can fail alone, and a value that
    skips the middle one."""
    nodes = [node("x = Gather table input_ids")]
    ins, outs = [i64("input_ids", "batch", "sequence")], [f32("logits", "batch", "sequence", 8)]
    hidden = "x"
    for i, order in enumerate(("first", "second", "third")):
        past, present = f"past_key_values.{i}.", f"present.{i}."
        nodes += [
            node(f"g{i} = Gather {hidden} {order}", axis=2),
            node(f"y{i} {present}key {present}value = Attention g{i} g{i} g{i} - {past}key {past}value", is_causal=1,
                 q_num_heads=2, kv_num_heads=2)
        ]
        ins += [i64(order, 4)] + [f32(past + n, "batch", 2, "past", 2) for n in ("key", "value")]
        outs += [f32(present + n, "batch", 2, "total", 2) for n in ("key", "value")]
        hidden = f"y{i}"
    nodes += [node("sum = Add y2 y0"), node("logits = MatMul sum head")]
    save("failing_states", nodes, ins, outs, [nh.from_array(ints(8, 4), "table"), nh.from_array(ints(4, 8), "head")],
         opset=23, ir=11)


def scatter():
    """TensorScatter-24 with a cache of 8 positions, read by Attention alone."""
    nodes = [
        node("x = Gather table input_ids"),
        node("four = Reshape x split"),
        node("heads = Transpose four", perm=[0, 2, 1, 3]),
        node("updated_key_cache.0 = TensorScatter key_cache.0 heads write_indices"),
        node("updated_value_cache.0 = TensorScatter value_cache.0 heads write_indices"),
        node("y4 = Attention heads updated_key_cache.0 updated_value_cache.0 - - - nonpad_kv_seqlen", is_causal=1),
        node("y3 = Transpose y4", perm=[0, 2, 1, 3]),
        node("y = Reshape y3 join"),
        node("logits = MatMul y head"),
    ]
    caches = ["key_cache.0", "value_cache.0"]
    save("pairs_scatter", nodes,
         [i64("input_ids", "batch", "sequence"), i64("write_indices", "batch"), i64("nonpad_kv_seqlen", "batch")]
         + [f32(c, "batch", 2, 8, 2) for c in caches],
         [f32("logits", "batch", "sequence", 8)] + [f32("updated_" + c, "batch", 2, 8, 2) for c in caches],
         [nh.from_array(ints(8, 4), "table"), nh.from_array(ints(4, 8), "head"), constant("split", [0, 0, 2, 2]),
          constant("join", [0, 0, 4])], opset=24, ir=11)


def named(name, ins, outs, kind=T.FLOAT, out_kind=T.FLOAT, rank=4):
    """States by name alone: each grows by the embeddings of the new tokens (Concat along positions)."""
    axis = rank - 2
    dims = {4: ["batch", 2, "past", 2], 5: [2, "batch", 2, "past", 2]}[rank]
    nodes = [node("x = Gather table input_ids"), node("four = Reshape x split"),
             node("heads = Transpose four", perm=[0, 2, 1, 3])]
    if rank == 5:
        nodes += [node("one = Unsqueeze heads zero"), node("step = Concat one one", axis=0)]
    else:
        nodes += [node("step = Identity heads")]
    made = []
    for a, b in zip(ins, outs):
        at = f"{b}.f" if out_kind != T.FLOAT else b
        nodes += [node(f"{at} = Concat {a} step", axis=axis)]
        nodes += [node(f"{b} = Cast {at}", to=out_kind)] if out_kind != T.FLOAT else []
        made += [at]
    nodes += [node(f"sum = ReduceSum {made[0]} axes", keepdims=0), node("logits = Add sum zeros")]
    axes = {4: [1, 2, 3], 5: [0, 2, 3, 4]}[rank]
    save(name, nodes,
         [i64("input_ids", "batch", "sequence")] + [h.make_tensor_value_info(i, kind, dims) for i in ins],
         [f32("logits", "batch", 1, 8)]
         + [h.make_tensor_value_info(o, out_kind, [d if d != "past" else "total" for d in dims]) for o in outs],
         [nh.from_array(ints(8, 4), "table"), constant("split", [0, 0, 2, 2]), constant("axes", axes),
          constant("zero", [0]), constant("zeros", np.zeros((1, 1, 8)), np.float32)], opset=23, ir=11)


def captured_state():
    """A state that one node reads directly, and another from inside of a branch."""
    branch = h.make_graph([node("deep = ReduceSum past_0", keepdims=0)], "branch", [], [f32("deep")])
    other = h.make_graph([node("none = Identity nothing")], "other", [], [f32("none")])
    nodes = [
        node("x = Gather table input_ids"), node("present_0 = Concat past_0 x", axis=1),
        h.make_node("If", ["long"], ["sum"], then_branch=branch, else_branch=other),
        node("logits = Add x sum"),
    ]
    save("pairs_captured", nodes, [i64("input_ids", "batch", "sequence"), f32("past_0", "batch", "past", 4), boolean("long")],
         [f32("logits", "batch", "sequence", 4), f32("present_0", "batch", "total", 4)],
         [nh.from_array(ints(8, 4), "table"), constant("nothing", 0, np.float32)], opset=23, ir=11)


def pairs():
    attention("pairs_attention")
    attention("pairs_read_twice", extra=[node("other = ReduceSum past_key_values.0.key")])
    attention("pairs_few_rows", rows=6)  # tokens 6 and 7 have logits, but no embedding
    scatter()
    named("pairs_named", ["past_key_values.0.key", "past_key_values.0.value"], ["present.0.key", "present.0.value"])
    named("pairs_joined", ["past_0", "past_1"], ["present_0", "present_1"], rank=5)
    named("pairs_no_output", ["past_0"], ["other_0"], rank=5)
    named("pairs_mismatched", ["past_key_values.0.key"], ["present.0.key"], out_kind=T.FLOAT16)


def conv2(x, w, stride=1):
    """Conv of one image without padding, for the small ones here."""
    kh, kw = w.shape[2:]
    rows, columns = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    return np.array([[[[(image[:, i * stride:i * stride + kh, j * stride:j * stride + kw] * m).sum()
                        for j in range(columns)] for i in range(rows)] for m in w] for image in x], np.float32)


def conv_transpose2(x, w):
    """ConvTranspose with a stride of the kernel's size."""
    n, _, rows, columns = x.shape
    y = np.einsum("nchw,cmij->nmhiwj", x, w)
    return y.reshape(n, w.shape[1], rows * w.shape[2], columns * w.shape[3]).astype(np.float32)


def norm(x, scale, bias, mean, variance, epsilon=1e-5):
    shape = [1, -1] + [1] * (x.ndim - 2)
    s, b, m, v = (np.asarray(a, np.float64).reshape(shape) for a in (scale, bias, mean, variance))
    return ((x - m) / np.sqrt(v + epsilon) * s + b).astype(np.float32)


def conv_norm():
    """Products and what scales and shifts their channels: taken in, or not, as the names of the outputs say."""
    w3, wt, wg, wl = ints(3, 2, 3, 3), ints(2, 3, 2, 2), ints(3, 8), ints(132, 128, 1, 1)
    bias, more = ints(3), ints(3, 1, 1)
    stats = ints(3), ints(3), ints(3), np.float32([4, 1, 0.25])
    large = ints(132), ints(132), ints(132), rng.integers(1, 9, 132).astype(np.float32)
    factor, plane = np.float32([2, -1, 0.5]).reshape(1, 3, 1, 1), ints(2, 2)
    nodes = [
        node("c1 = Conv x w3"), node("n1 = BatchNormalization c1 scale shift mean variance"),
        node("m1 = Mul factor n1"), node("a1 = Add m1 more"), node("norm_mul_add = Relu a1"),
        node("c2 = Conv x w3 bias"), node("bias_add = Add c2 more"),
        node("c3 = Conv x w3"), node("add = Add more c3"),
        node("c4 = ConvTranspose x wt bias", strides=[2, 2]),
        node("transposed = BatchNormalization c4 scale shift mean variance"),
        node("g = Gemm rows wg bias", transB=1, alpha=0.5), node("d5 = Div g two"),
        node("gemm = BatchNormalization d5 scale shift mean variance"),
        node("c6 = Conv wide wl"), node("large = BatchNormalization c6 l0 l1 l2 l3"),
        node("shown = Conv x w3"), node("after_shown = BatchNormalization shown scale shift mean variance"),
        node("c7 = Conv x w3"), node("n7 = BatchNormalization c7 scale shift mean variance"),
        node("read_twice = Sub c7 n7"),
        node("c8 = Conv x w3"), node("by_place = Mul c8 plane"),
        node("c9 = Conv x w3"), node("to_minus = Sub two c9"),
        node("c10 = Conv x w3"), node("widened = Add c10 fifth"),
    ]

    def want(x, rows, wide):
        m, c = more[None], conv2(x, w3)
        n = norm(c, *stats)
        biased = c + bias.reshape(1, 3, 1, 1)
        transposed = norm(conv_transpose2(x, wt) + bias.reshape(1, 3, 1, 1), *stats)
        gemm = norm((np.float32(0.5) * (rows @ wg.T) + bias) / np.float32(2), *stats)
        return [np.maximum(n * factor + m, 0), biased + m, c + m, transposed, gemm, norm(conv2(wide, wl), *large), c,
                n, c - n, c * plane, 2 - c, c[None] + np.float32(1)]

    save("conv_norm", nodes, [f32("x", "batch", 2, 4, 4), f32("rows", "n", 8), f32("wide", 1, 128, 2, 1)],
         [f32(name, None, None, None, None) for name in ("norm_mul_add", "bias_add", "add", "transposed")]
         + [f32("gemm", "n", 3)]
         + [f32(name, None, None, None, None)
            for name in ("large", "shown", "after_shown", "read_twice", "by_place", "to_minus")]
         + [f32("widened", 1, None, None, None, None)],
         [nh.from_array(a, name) for name, a in (("w3", w3), ("wt", wt), ("wg", wg), ("wl", wl), ("bias", bias),
          ("more", more), ("factor", factor), ("plane", plane), ("scale", stats[0]), ("shift", stats[1]),
          ("mean", stats[2]), ("variance", stats[3]), ("two", np.float32(2)),
          ("fifth", np.ones((1, 1, 1, 1, 1), np.float32)))]
         + [nh.from_array(a, f"l{k}") for k, a in enumerate(large)],
         [[ints(n, 2, 4, 4), ints(n + 1, 8), ints(1, 128, 2, 1)] for n in (1, 3)], want=want)


def conv_norm_old():
    """Opset 8: no training_mode, but a test of outputs, and statistics of each place."""
    w, stats = ints(3, 2, 3, 3), [ints(3), ints(3), ints(3), np.float32([4, 1, 0.25])]
    places = [np.repeat(s, 4) for s in stats]  # the same for each place, so that one answer serves for both
    nodes = [node("c1 = Conv x w"), node("y1 = BatchNormalization c1 s b m v", momentum=0.5),
             node("c2 = Conv x w"), node("y2 = BatchNormalization c2 ps pb pm pv", spatial=0)]
    save("conv_norm_old", nodes, [f32("x", 1, 2, 4, 4)], [f32("y1", 1, 3, 2, 2), f32("y2", 1, 3, 2, 2)],
         [nh.from_array(w, "w")] + [nh.from_array(a, name) for name, a in zip("sbmv", stats)]
         + [nh.from_array(a.reshape(3, 2, 2), "p" + name) for name, a in zip("sbmv", places)],
         [[ints(1, 2, 4, 4)]], opset=8, ir=4, want=lambda x: [norm(conv2(x, w), *stats)] * 2)


def dims_of(name, x, *axes):
    """Nodes that take dims of a value as torch does, each a list of one: name0, name1, ..."""
    nodes = []
    for k, axis in enumerate(axes):
        nodes += [node(f"{name}s{k} = Shape {x}"), node(f"{name}g{k} = Gather {name}s{k} at{axis}"),
                  node(f"{name}{k} = Unsqueeze {name}g{k} first")]
    return nodes


def shapes():
    """Shape arithmetic as torch writes it. Sizes of 0 are among the data."""
    table = ints(1, 6)
    nodes = [
        *dims_of("a", "x", 0, 1), node("heads = Concat a0 a1 n2 n4", axis=0), node("four = Reshape x heads"),
        node("turned = Transpose four", perm=[0, 2, 1, 3]),
        *dims_of("b", "x", 0, 1), node("joined = Concat b0 b1 n8", axis=0), node("back = Transpose turned", perm=[0, 2, 1, 3]),
        node("split = Reshape back joined"),
        # positions: a table cut to the length, broadcast to [batch, seq, 1]
        *dims_of("c", "x", 1), node("cut = Slice table first c0 n1"), *dims_of("d", "x", 0, 1),
        node("all = Concat d0 d1", axis=0), node("rank = Shape all"), node("ones = ConstantOfShape rank", value=constant("", [1])),
        node("minus = Mul ones n_1"), node("same = Equal all minus"), node("chosen = Where same ones all"),
        node("wide = Expand cut chosen"), node("column = Unsqueeze wide n2"), node("placed = Add split column"),
        # nothing happens
        node("cast = Cast placed", to=T.FLOAT), *dims_of("e", "x", 0, 1), node("as_it_is = Concat e0 e1 n8", axis=0),
        node("again = Reshape cast as_it_is"), node("most = Shape again", start=1, end=2),
        node("whole = Slice again first most n1"), node("y = Neg whole"),
        # rows of all batches, and back; reversed, which is no slice of the whole
        *dims_of("f", "x", 0, 1), node("flat = Reshape x rows"), node("doubled = Add flat flat"),
        node("apart = Concat f0 f1 n8", axis=0), node("z = Reshape doubled apart", allowzero=1),
        node("r = Slice constant last far first n_1"), node("reversed = Neg r"),
        # where seq is 0, the target's second dim would be the input's: not the same for every size
        *dims_of("g", "turned", 2), node("mixed = Concat n_1 g0 n4", axis=0), node("by_length = Reshape turned mixed"),
        node("w = Neg by_length"),
    ]

    def want(x):
        b, s, _ = x.shape
        length = s if s else 2
        return [-(x + table[:, :s, None]), x + x, -np.arange(3, dtype=np.float32)[::-1],
                -x.reshape(b, s, 2, 4).transpose(0, 2, 1, 3).reshape(b * 2 if s else 0, length, 4)]

    save("shapes", nodes, [f32("x", "batch", "seq", 8)],
         [f32("y", None, None, None), f32("z", None, None, None), f32("reversed", 3), f32("w", None, None, None)],
         [nh.from_array(table, "table"), constant("constant", [0, 1, 2], np.float32), constant("first", [0]),
          constant("at0", 0), constant("at1", 1), constant("at2", 2), constant("n1", [1]), constant("n2", [2]),
          constant("n4", [4]), constant("n8", [8]), constant("n_1", [-1]), constant("rows", [-1, 8]),
          constant("last", [2]), constant("far", [-9])],
         [[ints(b, s, 8)] for b, s in ((2, 3), (1, 1), (3, 6), (2, 0))], want=want)


def broadcast_in_place():
    """A step that may work in place where its first input has one row, and not elsewhere."""
    nodes = [node("a = Neg x"), node("most = ReduceMax a first", keepdims=1), node("b = Neg most"),
             node("c = Add b a"), node("y = Abs c")]
    save("broadcast_in_place", nodes, [f32("x", "m", "n")], [f32("y", "m", "n")], [constant("first", [0])],
         [[ints(*dims)] for dims in ((1, 4), (3, 4), (1, 9), (9, 1), (12, 12), (1, 144))],
         want=lambda x: [np.abs(-x - (-x).max(0, keepdims=True))])


def recipes():
    """Nodes that read large weights alone: of each a product that shows what came of it. Small steps, so that files
    compress."""
    def steps(dtype, *dims):
        return (np.arange(np.prod(dims)) * 7 % 13 - 6).reshape(dims).astype(dtype)

    half, quant, single = steps(np.float16, 260, 132), steps(np.int8, 132, 520), steps(np.float32, 132, 130)
    scale, zero = (1 + np.arange(520) % 3).astype(np.float32), (np.arange(520) % 5 - 2).astype(np.int8)
    body = h.make_graph([node("b = MatMul x turned")], "body", [], [f32("b", None)])
    other = h.make_graph([node("n = MatMul x halves")], "other", [], [f32("n", None)])
    nodes = [
        node("single = Constant", value=nh.from_array(single, "")),
        node("wide = Cast half", to=T.FLOAT), node("turned = Transpose wide", perm=[1, 0]), node("y0 = MatMul x turned"),
        node("full = DequantizeLinear quant scale zero", axis=1), node("y1 = MatMul x full"),
        node("halves = Mul single two"), node("y2 = MatMul x halves"),
        node("joined = Concat single halves single", axis=1), node("part = Slice joined n120 n380 n1"),
        node("y3 = MatMul x part"), node("flat = Reshape single n_1"), node("other = Reshape flat shape"),
        node("y4 = Gemm x other", transB=1), node("l r = Split joined", axis=1, num_outputs=2),
        node("y5 = MatMul x l"), node("y6 = MatMul x r"),
        node("shown = Transpose single", perm=[1, 0]), node("y7 = MatMul x2 shown"),
        node("y8 = If flag", then_branch=body, else_branch=other),
        node("large = Expand narrow many"), node("top = ReduceMax large first", keepdims=0), node("y9 = Mul x top"),
        node("k1 = Neg single"), *(node(f"k{k + 1} = Neg k{k}") for k in range(1, 17)), node("y10 = MatMul x k17"),
    ]

    def want(x, x2, flag):
        w, full = half.astype(np.float32), (quant.astype(np.float32) - zero) * scale
        joined = np.concatenate([single, 2 * single, single], 1)
        return [x @ w.T, x @ full, x @ (2 * single), x @ joined[:, 120:380], x @ single.reshape(130, 132).T, x @ joined[:, :195],
                x @ joined[:, 195:], x2 @ single.T, x @ w.T if flag else x @ (2 * single),
                x, x @ -single, single.T]

    save("recipes", nodes, [f32("x", "n", 132), f32("x2", "n", 130), boolean("flag")],
         [f32(f"y{k}", "n", None) for k in range(9)] + [f32("y9", "n", 132), f32("y10", "n", 130), f32("shown", 130, 132)],
         [nh.from_array(half, "half"), nh.from_array(quant, "quant"), nh.from_array(scale, "scale"),
          nh.from_array(zero, "zero"), constant("two", 2, np.float32), constant("n120", [0, 120]), constant("n380", [132, 380]),
          constant("n1", [0, 1]), constant("n_1", [-1]), constant("shape", [130, 132]),
          constant("first", [0]), constant("narrow", np.ones((1, 1, 132)), np.float32), constant("many", [200, 1, 132])],
         [[ints(n, 132), ints(n, 130), np.array(flag)] for n, flag in ((1, True), (7, False))], want=want)


def randoms():
    """Every operator that draws: by its attribute seed (names with _s), and by the seed of the run. One feeds another, so
    that any of them may be on any rank. What is drawn is judged elsewhere (tests/differential)."""
    nodes, outs = [], []
    for end, how in (("_s", dict(seed=3.0)), ("", {})):
        whole = dict(seed=3) if how else {}
        drawn = [("uniform", "RandomUniform", dict(shape=[6, 50], **how)),
                 ("normal", "RandomNormal", dict(shape=[6, 50], mean=1.0, **how)),
                 (f"uniform_like = RandomUniformLike normal{end}", None, how),
                 (f"normal_like = RandomNormalLike uniform{end}", None, how),
                 (f"bernoulli = Bernoulli uniform{end}", None, how),
                 (f"multinomial = Multinomial normal{end}", None, dict(sample_size=70, **how)),
                 (f"dropout = Dropout normal_like{end} half yes", None, whole)]
        for name, op, attributes in drawn:
            out, rest = (name, op) if op else name.split(" = ")
            nodes.append(node(f"{out}{end} = {rest}", **attributes))
            kind = T.INT32 if out == "multinomial" else T.FLOAT
            outs.append(h.make_tensor_value_info(out + end, kind, [6, 70 if out == "multinomial" else 50]))
    save("randoms", nodes, [], outs, [constant("half", 0.5, np.float32), constant("yes", True, bool)])


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for make in (late, computed_shape, views, in_place, nested_if, sequences, removable, large_constant, outputs, failing,
                 skipping, pairs, functions, bad_functions, attentions, branches, question_marks, captured_state,
                 defaults, running_sum):
        make()
    rng = np.random.default_rng(2)  # so that the numbers below do not change with what comes before
    for make in (conv_norm, conv_norm_old, shapes, broadcast_in_place, failing_states):
        make()
    rng = np.random.default_rng(3)
    guards()
    from gradients import gradients  # which has this file's helpers
    gradients()
    from gradient_layers import layers
    layers()
    from masks import masks
    masks()
    rng = np.random.default_rng(4)
    recipes()
    randoms()
    named("pairs_encoder", ["past_key_values.0.decoder.key", "past_key_values.0.encoder.key"],
          ["present.0.decoder.key", "seen"])
