# SPDX-License-Identifier: Apache-2.0
"""Decoders of one layer whose attention is written in parts, each with another kind of mask."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h

from graph_files import constant, f32, i64, ints, node, save

HEADS, WIDTH, VOCABULARY, ROWS = 2, 2, 8, 128
BUCKETS = (np.arange(8 * HEADS) * 7 % 11 - 5).reshape(8, HEADS) / 8
LOWEST = np.finfo(np.float32).min


AFTER = ("p3", "y3", "y")  # the softmax
PRODUCTS = (node("k.t = Transpose present.0.key", perm=[0, 1, 3, 2]), node("scores = MatMul q k.t"),
            node("y = MatMul p present.0.value"))
# Batch and heads as one dim.
FOLDED = (*[node(f"{part}3 = Reshape {whole} folded") for part, whole in
            (("q", "q"), ("k", "present.0.key"), ("v", "present.0.value"))],
          node("k3.t = Transpose k3", perm=[0, 2, 1]), node("scores = MatMul q3 k3.t"), node("n1 = Unsqueeze n zero"),
          node("flat = Concat heads n1 total1", axis=0), node("p3 = Reshape p flat"), node("y3 = MatMul p3 v3"),
          node("y = Reshape y3 apart"))


def decoder(name, masked, visible, cap=0.0, slopes=None, biased=None, positions=(), front=(), products=PRODUCTS, domains=()):
    """masked: nodes from "scores" to "masked"; visible: the rule over (keys, queries); positions: nodes that make "x" of
    "tokens" and add the position times an eighth; biased: what is added for a head, a key and a query; products: nodes that make "scores", and "y" of "p"."""
    cache = ["batch", HEADS, "past", WIDTH]
    nodes = [
        *front, node("tokens = Gather table input_ids"), *(positions or [node("x = Identity tokens")]),
        node("mask.sizes = Shape attention_mask"), node("total = Gather mask.sizes scalar_one"),
        node("ids.sizes = Shape input_ids"), node("n = Gather ids.sizes scalar_one"), node("past = Sub total n"),
        node("key_line = Range scalar_zero total scalar_one"), node("query_line = Range past total scalar_one"),
        node("keys = Unsqueeze key_line three_front"), node("queries = Unsqueeze query_line around"),
        node("total1 = Unsqueeze total zero"), node("past1 = Unsqueeze past zero"),
    ]
    for part, to in (("q", "q"), ("k", "new_k"), ("v", "new_v")):
        nodes += [node(f"{part}.rows = MatMul x w{part}"), node(f"{part}.split = Reshape {part}.rows split"),
                  node(f"{to} = Transpose {part}.split", perm=[0, 2, 1, 3])]
    nodes += [
        node("present.0.key = Concat past_key_values.0.key new_k", axis=2),
        node("present.0.value = Concat past_key_values.0.value new_v", axis=2),
        *[made for made in products if made.output[0] not in AFTER], *masked, node("p = Softmax masked", axis=-1),
        *[made for made in products if made.output[0] in AFTER],
        node("y.t = Transpose y", perm=[0, 2, 1, 3]), node("z = Reshape y.t whole"), node("logits = MatMul z head"),
    ]
    if domains:  # an operator in place of the parts
        nodes = [made for made in nodes if made.output[0] not in PARTS] + list(masked) + [node("logits = MatMul z head")]
    hidden = HEADS * WIDTH
    weights = {"table": ints(VOCABULARY, hidden) / 4, "head": ints(hidden, VOCABULARY)}
    weights |= {f"w{part}": ints(hidden, hidden) / 8 for part in "qkv"}
    places = np.arange(ROWS)[:, None] / 8 * np.ones(hidden)
    numbers = [constant(k, v, np.float32) for k, v in (*weights.items(), ("places", places), ("nothing", 0.0), ("lowest", LOWEST),
                                                       ("gone", -np.inf), ("cap", 2.5), ("eighth", 0.125), ("half", 0.5),
                                                       ("one.f", 1.0), ("slopes", [[0.5], [0.125]]),
                                                       ("buckets", BUCKETS), ("four.f", 4.0), ("log", np.log(8)))]
    numbers += [constant(k, v) for k, v in (
        ("split", [0, 0, HEADS, WIDTH]), ("whole", [0, 0, hidden]), ("zero", [0]), ("one", [1]), ("two", [2]), ("three", [3]),
        ("scalar_zero", 0), ("scalar_one", 1), ("one.s", 1), ("scalar_two", 2), ("scalar_three", 3), ("three_front", [0, 1, 2]),
        ("around", [0, 1, 3]), ("middle", [1, 2]), ("both", [0, 1]), ("last", [-1]), ("column", [-1, 1]),
        ("scalar_four", 4), ("scalar_seven", 7), ("minus_three", -3),
        ("far", [np.iinfo(np.int64).max]), ("in_fours", [-1, 1, 1, 1]), ("in_threes", [-1, 1, 1]),
        ("folded", [HEADS, -1, WIDTH]), ("heads", [HEADS]), ("alibi", [HEADS, 1, -1]), ("apart", [1, HEADS, -1, WIDTH]))]
    square = np.tril(np.ones((1, 1, ROWS, ROWS), bool))
    numbers += [constant("triangle", square, bool), constant("band", square & ~np.tril(square, -5), bool)]
    used = {i for made in nodes for i in made.input}
    numbers = [number for number in numbers if number.name in used]

    def want(ids, given, past_k, past_v):
        x = weights["table"][ids]
        at = np.arange(past_k.shape[2], past_k.shape[2] + ids.shape[1])
        x = x + at[None, :, None] / 8 if positions else x

        def heads(w):
            return (x @ w).reshape(*ids.shape, HEADS, WIDTH).transpose(0, 2, 1, 3)

        k = np.concatenate([past_k, heads(weights["wk"])], 2)
        v = np.concatenate([past_v, heads(weights["wv"])], 2)
        s = heads(weights["wq"]) @ k.transpose(0, 1, 3, 2) * (0.5 if cap or slopes is not None else 1)
        s = cap * np.tanh(s / cap) if cap else s
        j, i = np.arange(k.shape[2])[None], at[:, None]
        s = s if slopes is None else s + np.array(slopes)[None, :, None, None] * j
        s = s if biased is None else s + np.stack([biased(head, j, i) for head in range(HEADS)])
        s = np.where(visible(j, i), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        y = (p / p.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(*ids.shape, hidden) @ weights["head"]
        return [a.astype(np.float32) for a in (y, k, v)]

    def case(past, n):
        cached = [ints(1, HEADS, past, WIDTH) / 4 for _ in range(2)]
        return [np.arange(n)[None] * 5 % VOCABULARY, np.ones((1, past + n), np.int64), *cached]

    ins = [i64("input_ids", "batch", "sequence"), i64("attention_mask", "batch", "total"),
           f32("past_key_values.0.key", *cache), f32("past_key_values.0.value", *cache)]
    grown = ["batch", HEADS, "total", WIDTH]
    save(name, nodes, ins, [f32("logits", "batch", "sequence", VOCABULARY), f32("present.0.key", *grown),
                            f32("present.0.value", *grown)],
         numbers, [case(3, 2), case(0, 4), case(70, 1), case(66, 7)], opset=18, ir=8, want=want, domains=domains)


PARTS = {"q.split", "q", "k.split", "new_k", "v.split", "new_v", "present.0.key", "present.0.value", "k.t", "scores", "p", "y", "y.t",
         "z", "logits", "given", "order", "bias"}
MULTI = (node("given = Cast attention_mask", to=T.INT32), node("order = LessOrEqual keys queries"),
         node("bias = Where order nothing lowest"))


def causal(j, i):
    return j <= i


CAUSAL = [node("order = LessOrEqual keys queries"), node("bias = Where order nothing gone"), node("masked = Add scores bias")]
# Positions of a table, so that a run past its end fails.
TABLED = [node("at = Add query_line.first scalar_zero"), node("place = Gather places at"), node("x = Add tokens place")]
FIRST = [node("first.sizes = Shape past_key_values.0.key"), node("first.past = Gather first.sizes scalar_two"),
         node("first.ids = Shape input_ids"), node("first.n = Gather first.ids scalar_one"),
         node("first.total = Add first.past first.n"), node("query_line.first = Range first.past first.total scalar_one")]


def scattered():
    """All places of a mask are replaced by what is there, one by one, as a slice that is assigned to is exported."""
    return [
        node("n1 = Unsqueeze n zero"), node("square = Concat n1 total1", axis=0),
        node("full = Expand lowest square"), node("tri = Trilu full scalar_one", upper=1),
        node("column.queries = Reshape query_line column"), node("later = Greater key_line column.queries"),
        node("later.f = Cast later", to=T.FLOAT), node("mask2 = Mul tri later.f"), node("mask4 = Unsqueeze mask2 both"),
        node("given4 = Unsqueeze attention_mask middle"), node("given.f = Cast given4", to=T.FLOAT),
        node("sum = Add mask4 given.f"), node("none = Equal sum nothing"), node("updates = Where none lowest mask4"),
        node("mask4.sizes = Shape mask4"), node("d0 = Gather mask4.sizes scalar_zero"),
        node("d1 = Gather mask4.sizes scalar_one"), node("d2 = Gather mask4.sizes scalar_two"),
        node("r0 = Range scalar_zero d0 scalar_one"), node("r1 = Range scalar_zero d1 scalar_one"),
        node("r2 = Range scalar_zero d2 scalar_one"), node("p0 = Reshape r0 in_fours"), node("p1 = Reshape r1 in_threes"),
        node("p2 = Reshape r2 column"), node("p01 = Add p0 p1"), node("p012 = Add p01 p2"),
        node("p0123 = Add p012 key_line"), node("all = Shape p0123"),
        *[node(f"e{d} = Expand {p} all") for d, p in enumerate(("p0", "p1", "p2", "key_line"))],
        *[node(f"u{d} = Unsqueeze e{d} last") for d in range(4)], node("places4 = Concat u0 u1 u2 u3", axis=-1),
        node("bias = ScatterND mask4 places4 updates"), node("masked = Add scores bias")]


def table(name, which, visible, **more):
    decoder(name, [node(f"rows = Slice {which} past1 total1 two"), node("seen = Slice rows zero total1 three"),
                   node("masked = Where seen scores lowest")], visible, **more)


# The slopes as Bloom has them: over batch and heads as one dim, times what a running sum of attention_mask counts.
ALIBI = [
    node("counts = CumSum attention_mask one.s"), node("from0 = Sub counts one.s"), node("where.f = Cast from0", to=T.FLOAT),
    node("lines = Mul slopes where.f"), node("alibi3 = Reshape lines alibi"), node("halved = Mul scores half"),
    node("biased = Add halved alibi3"), node("apart4 = Concat one heads n1 total1", axis=0),
    node("biased4 = Reshape biased apart4"), node("order = LessOrEqual keys queries"),
    node("bias = Where order nothing gone"), node("masked = Add biased4 bias")]


# What T5 adds for how far back a key is, of all positions, of which the last ones are then taken.
DISTANCES = [
    node("all_line = Range scalar_zero total scalar_one"), node("row = Unsqueeze all_line zero"),
    node("column.all = Unsqueeze all_line one"), node("distance = Sub row column.all")]
BACK = [
    node("not_later = Min distance scalar_zero"), node("back = Neg not_later"), node("near = Less back scalar_four"),
    node("back.f = Cast back", to=T.FLOAT), node("fours = Div back.f four.f"), node("logs = Log fours"),
    node("share = Div logs log"), node("steps.f = Mul share four.f"), node("steps = Cast steps.f", to=T.INT64),
    node("coarse = Add steps scalar_four"), node("most = Min coarse scalar_seven"), node("bucket = Where near back most")]
LOOKED_UP = [
    node("found = Gather buckets bucket"), node("found.t = Transpose found", perm=[2, 0, 1]),
    node("found4 = Unsqueeze found.t zero"), node("n1 = Unsqueeze n zero"), node("from_n = Neg n1"),
    node("added = Slice found4 from_n far two"), node("order = LessOrEqual keys queries"),
    node("bias = Where order nothing lowest"), node("added.bias = Add added bias"), node("masked = Add scores added.bias")]
ADDED = [node("order = LessOrEqual keys queries"), node("bias = Where order nothing lowest"),
         node("biased = Add scores added"), node("masked = Add biased bias")]


def bucket(back):
    with np.errstate(divide="ignore"):
        coarse = np.minimum(4 + np.log(back / 4) / np.log(8) * 4, 7)
    return np.where(back < 4, back, coarse).astype(np.int64)


def distances():
    decoder("masks_buckets", DISTANCES + BACK + LOOKED_UP, causal,
            biased=lambda head, j, i: BUCKETS[bucket(np.maximum(i - j, 0)), head])
    # on both sides, and later keys are seen too
    decoder("masks_clipped", [
        node("both_sides = Sub keys queries"), node("cut = Clip both_sides minus_three scalar_four"),
        node("bucket = Add cut scalar_three"), node("found = Gather buckets bucket"),
        node("found.flat = Squeeze found both"), node("added = Transpose found.flat", perm=[2, 0, 1]),
        node("masked = Add scores added")], lambda j, i: j >= 0,
        biased=lambda head, j, i: BUCKETS[np.clip(j - i, -3, 4) + 3, head])
    # of the key's own position
    decoder("masks_places", [
        node("bucket = Min keys scalar_seven"), node("found = Gather buckets bucket"),
        node("found.flat = Squeeze found both"), node("added = Transpose found.flat", perm=[2, 0, 1]), *ADDED], causal,
        biased=lambda head, j, i: BUCKETS[np.minimum(j, 7), head] + 0 * i)
    # of how far both are from the start together
    decoder("masks_sums", [
        node("together = Add keys queries"), node("bucket = Min together scalar_seven"), node("found = Gather buckets bucket"),
        node("found.flat = Squeeze found both"), node("added = Transpose found.flat", perm=[2, 0, 1]), *ADDED], causal,
        biased=lambda head, j, i: BUCKETS[np.minimum(j + i, 7), head])
    # of the distance, but of how long the text is too
    decoder("masks_lengths", DISTANCES + BACK + [
        node("third = Mod total scalar_two"), node("bucket.moved = Sub bucket third")] +
        [node("found = Gather buckets bucket.moved"), *LOOKED_UP[1:]], causal,
        biased=lambda head, j, i: BUCKETS[bucket(np.maximum(i - j, 0)) - j.size % 2, head])
    # of the distance, without an end
    decoder("masks_squares", [
        node("both_sides = Sub keys queries"), node("far.f = Cast both_sides", to=T.FLOAT), node("square = Mul far.f far.f"),
        node("down = Mul square eighth"), node("added = Neg down"), *ADDED], causal, biased=lambda head, j, i: -(j - i)**2 / 8)


def masks():
    decoder("masks_window", [
        node("order = LessOrEqual keys queries"), node("from = Sub queries scalar_three"), node("near = Greater keys from"),
        node("visible = And near order"), node("bias = Where visible nothing gone"), node("masked = Add scores bias")],
        lambda j, i: (j <= i) & (j > i - 3))
    decoder("masks_cap", [node("halved = Mul scores half"), node("less = Div halved cap"), node("tanh = Tanh less"),
                          node("capped = Mul tanh cap"), node("order = LessOrEqual keys queries"),
                          node("bias = Where order nothing gone"), node("masked = Add capped bias")], causal, cap=2.5)
    decoder("masks_scatter", scattered(), causal)
    table("masks_table", "triangle", causal, positions=TABLED, front=FIRST)
    table("masks_table_open", "triangle", causal)
    table("masks_band", "band", lambda j, i: (j <= i) & (j > i - 5))
    decoder("masks_slopes", ALIBI, causal, slopes=[0.5, 0.125], products=FOLDED)
    odd = [node("third = Mod keys scalar_three"), node("kept = Less third scalar_two"),
           node("order = LessOrEqual keys queries")]
    decoder("masks_live", odd + [node("visible = And kept order"), node("masked = Where visible scores lowest")],
            lambda j, i: (j % 3 < 2) & (j <= i))
    decoder("masks_live_both", odd + [node("bias = Where kept nothing lowest"), node("biased = Add scores bias"),
                                      node("fourth = Mod keys scalar_two"), node("even = Less fourth scalar_one"),
                                      node("visible = And even order"), node("masked = Where visible biased lowest")],
            lambda j, i: (j % 3 < 2) & (j % 2 == 0) & (j <= i))
    decoder("masks_length", CAUSAL, causal, positions=[
        node("at.f = Cast query_line.first", to=T.FLOAT), node("at.eighth = Mul at.f eighth"),
        node("at.row = Unsqueeze at.eighth last"), node("x = Add tokens at.row")], front=FIRST)
    operator = h.make_node(
        "MultiHeadAttention", ["q.rows", "k.rows", "v.rows", "", "given", "bias", "past_key_values.0.key", "past_key_values.0.value"],
        ["z", "present.0.key", "present.0.value"], domain="com.microsoft", num_heads=HEADS, scale=1.0)
    decoder("masks_operator", [*MULTI, operator], causal, domains=["com.microsoft"])
    distances()
