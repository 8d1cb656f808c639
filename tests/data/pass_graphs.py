# SPDX-License-Identifier: Apache-2.0
"""Models for passes: what is removed, folded, taken into products, known for every size, or made once."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from graph_files import boolean, constant, f32, i64, ints, node, rng, save


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
    large = ints(132), ints(132), ints(132), rng().integers(1, 9, 132).astype(np.float32)
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


def narrow_cast():
    """A Cast to the type that is there already, one that Identity does not take."""
    x, y = (h.make_tensor_value_info(name, T.FLOAT6E2M3, ["n"]) for name in "xy")
    data = np.array([-4, 0, 3, 0.5], h.tensor_dtype_to_np_dtype(T.FLOAT6E2M3))
    save("narrow_cast", [node("y = Cast x", to=T.FLOAT6E2M3)], [x], [y], data=[[data]], opset=28, ir=13, want=lambda x: [x])


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


def bias_rule(table, query, key, most, both):
    """T5's, an element at a time. table: [heads, buckets]"""
    heads, buckets = table.shape
    out = np.empty((1, heads, query, key), np.float32)
    n = buckets // 2 if both else buckets
    for q in range(query):
        for k in range(key):
            far = abs(k - q) if both else max(q - k, 0)
            bucket = far if far < n // 2 else min(n - 1, n // 2 + int(np.log(far / (n // 2)) / np.log(most / (n // 2)) * (n - n // 2)))
            out[0, :, q, k] = table[:, bucket + (n if both and k > q else 0)]
    return out


def position_biases():
    """RelativePositionBias, whose table says [buckets, heads] and lies as [heads, buckets]; lengths of rank 1 and 0."""
    table = np.arange(36, dtype=np.float32).reshape(3, 12)
    bias = dict(domain="com.microsoft", max_distance=20)
    nodes = [node("q0 = Squeeze q"), node("k0 = Squeeze k"), node("before = RelativePositionBias table q k", **bias),
             node("around = RelativePositionBias table k0 q0", is_bidirectional=1, **bias)]
    save("position_biases", nodes, [i64("q", 1), i64("k", 1)], [f32("before", 1, 3, "q", "k"), f32("around", 1, 3, "k", "q")],
         [constant("table", table.reshape(12, 3), np.float32)], [[np.array([40]), np.array([7])], [np.array([3]), np.array([50])]],
         want=lambda q, k: (bias_rule(table, q[0], k[0], 20, False), bias_rule(table, k[0], q[0], 20, True)),
         domains=["com.microsoft"])
