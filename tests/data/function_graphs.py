# SPDX-License-Identifier: Apache-2.0
"""Models with local functions, good and bad, and with branches that passes make part of the graph."""
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from graph_files import boolean, constant, f32, i64, ints, node, save


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
