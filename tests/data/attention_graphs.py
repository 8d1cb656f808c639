# SPDX-License-Identifier: Apache-2.0
"""Models with attention in parts, for the pass that puts it together."""
import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper as nh

from graph_files import constant, f32, i64, ints, node, rng, save


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
        return [rng().integers(0, 8, (1, n)), given, ints(1, 2, past, 2) / 4, ints(1, 2, past, 2) / 4]

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
