# SPDX-License-Identifier: Apache-2.0
"""Models of how programs run: what is late, viewed, in place, in bodies, in sequences; what fails."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h

from graph_files import boolean, constant, f32, i64, ints, node, save


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


def broadcast_in_place():
    """A step that may work in place where its first input has one row, and not elsewhere."""
    nodes = [node("a = Neg x"), node("most = ReduceMax a first", keepdims=1), node("b = Neg most"),
             node("c = Add b a"), node("y = Abs c")]
    save("broadcast_in_place", nodes, [f32("x", "m", "n")], [f32("y", "m", "n")], [constant("first", [0])],
         [[ints(*dims)] for dims in ((1, 4), (3, 4), (1, 9), (9, 1), (12, 12), (1, 144))],
         want=lambda x: [np.abs(-x - (-x).max(0, keepdims=True))])
