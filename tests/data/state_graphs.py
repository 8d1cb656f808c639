# SPDX-License-Identifier: Apache-2.0
"""Models with inputs and outputs that are one state."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from graph_files import boolean, constant, f32, i64, ints, node, save


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


def mixed_rows():
    """A cache behind DynamicQuantizeLinear, which makes one scale of all the rows it is given."""
    nodes = [
        node("e = Gather table input_ids"),
        node("codes scale zero = DynamicQuantizeLinear e"),
        node("x = DequantizeLinear codes scale zero"),
        node("logits key_after value_after = Attention x x x - key value", is_causal=1, q_num_heads=2, kv_num_heads=2)
    ]
    cache = lambda name, length: f32(name, "batch", 2, length, 2)
    ins = [i64("input_ids", "batch", "sequence"), cache("key", "past"), cache("value", "past")]
    outs = [f32("logits", "batch", "sequence", 4), cache("key_after", "total"), cache("value_after", "total")]
    save("mixed_rows", nodes, ins, outs, [nh.from_array(ints(8, 4), "table")], opset=23, ir=11)


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


def many_nodes():
    """An Attention layer with a cache, and a chain of so many nodes behind it, which all read it, that stages of one node each take
    more messages of it at once than a link has buffers."""
    n = 540
    nodes = [node("x = Gather table input_ids"),
             node("c0 present.0.key present.0.value = Attention x x x - past_key_values.0.key past_key_values.0.value", is_causal=1,
                  q_num_heads=2, kv_num_heads=2)]
    nodes += [node(f"c{i + 1} = Sub c0 c{i}" if i else "c1 = Cos c0") for i in range(n)]
    nodes += [node(f"logits = MatMul c{n} head")]
    cache = lambda name, length: f32(name, "batch", 2, length, 2)
    save("many_nodes", nodes,
         [i64("input_ids", "batch", "sequence"), cache("past_key_values.0.key", "past"), cache("past_key_values.0.value", "past")],
         [f32("logits", "batch", "sequence", 8), cache("present.0.key", "total"), cache("present.0.value", "total")],
         [nh.from_array(ints(8, 4), "table"), nh.from_array(ints(4, 8), "head")], opset=23, ir=11)


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


def encoder_pair():
    named("pairs_encoder", ["past_key_values.0.decoder.key", "past_key_values.0.encoder.key"],
          ["present.0.decoder.key", "seen"])
