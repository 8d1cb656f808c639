# SPDX-License-Identifier: Apache-2.0
"""The models of tests/data/graphs with Gradients, for make_graphs.py. test_pass_gradient holds gradient_rules and
gradient_open, and those of gradient_layers.py, against numeric differentiation; gradient_fed has numpy's answers; the
others are refused."""
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from function_graphs import call, function
from graph_files import FOLDER, constant, f32, i64, ints, node, rng

# Outputs "name" and "name/x" for each x that is read.
# Inputs a [2,3], b [3], c [2,1], g [2,2,3], m [3,2], n [2,3] and v [3] are positive and below 1; e [2,3] has both signs.
GRADIENTS = {
    **{op.lower(): [f"{op} a"] for op in (
        "Acos Asin Asinh Atan Atanh Cos Cosh Erf Exp Identity Log Neg Reciprocal Sigmoid Sin Sinh Softmax Softsign "
        "Softplus Sqrt Tan Tanh LogSoftmax Transpose Flatten ReduceSum ReduceMean ReduceL2 ReduceLogSum "
        "ReduceLogSumExp ReduceSumSquare Ceil Round").split()},
    **{f"{op.lower()}_signs": [f"{op} e"] for op in "Abs Relu Elu LeakyRelu ReduceL1 Sign Floor".split()},
    **{f"{op.lower()}_wide": [f"{op} a b"] for op in "Add Sub Mul Div Pow PRelu".split()},
    **{f"{op.lower()}_high": [f"{op} c a"] for op in "Add Sub Mul Div Pow".split()},
    "chain": ["Exp a", "Acosh $0", "Mul $1 a", "Add $2 $0"],
    "self": ["Mul a a"],
    "whole_power": ["Pow e two"],
    "softmax_0": ["Softmax a", {"axis": 0}],
    "reduce_axis": ["ReduceMean g axis_1", {"keepdims": 0}],
    "reduce_more": ["ReduceSum g axes_02", {"keepdims": 0}],
    "matmul": ["MatMul a m"],
    "matmul_right": ["MatMul a v"],
    "matmul_left": ["MatMul v m"],
    "matmul_dot": ["MatMul v b"],
    "matmul_batch": ["MatMul g m"],
    "matmul_batch_vector": ["MatMul g v"],
    "matmul_vector_batch": ["MatMul b m3"],
    "gemm": ["Gemm a m c", {"alpha": 0.5, "beta": 2.0}],
    "gemm_a": ["Gemm a n", {"transA": 1}],
    "gemm_b": ["Gemm a n", {"transB": 1}],
    "gemm_ab": ["Gemm a m", {"transA": 1, "transB": 1}],
    "transpose_perm": ["Transpose g", {"perm": [2, 0, 1]}],
    "reshape": ["Reshape g shape"],
    "squeeze": ["Squeeze c axis_1"],
    "unsqueeze": ["Unsqueeze c axis_1"],
    "expand": ["Expand c wide"],
    "concat": ["Concat a c e", {"axis": -1}],
    "slice": ["Slice g one three axis_2"],
    "gather": ["Gather a twice", {"axis": 1}],
    "gather_elements": ["GatherElements a at"],
    "tile": ["Tile a repeats"],
    "sum": ["Sum a b c"],
    "mean": ["Mean a b c"],
    "max": ["Max e b c"],
    "min": ["Min c e a"],
    "max_self": ["Max a a"],
    "clip": ["Clip e low high"],
    "where": ["Where mask a b"],
    "cast": ["Cast a", {"to": T.DOUBLE}],
    "cast_like": ["CastLike a b"],
}


def gradient_of(y, xs, outs, zs=(), ins=()):
    more = {"zs": zs} if zs else {}
    return h.make_node("Gradient", ins or [*xs, *zs], outs, domain="ai.onnx.preview.training", xs=xs, y=y, **more)


def f64(name, *dims):
    return h.make_tensor_value_info(name, T.DOUBLE, dims)


def step_nodes(case, steps):
    """The nodes of a case; attributes, at the end, are the last one's. $0 is the first one's output."""
    *steps, last = steps if isinstance(steps[-1], dict) else [*steps, {}]
    nodes = []
    for k, step in enumerate(steps):
        for j in range(k):
            step = step.replace(f"${j}", f"{case}.{j}")
        nodes.append(node(f"{case}.{k} = {step}", **(last if k == len(steps) - 1 else {})))
    return nodes, f"{case}.{len(steps) - 1}"


def read_by(nodes, dims):
    return sorted({name for made in nodes for name in made.input if name in dims})


def gradient_cases(cases, dims):
    """A scalar and its gradients for each case."""
    nodes, outs = [], []
    for case, steps in cases.items():
        made, last = step_nodes(case, steps)
        xs = read_by(made, dims)
        nodes += made + [node(f"{case}.sin = Sin {last}"), node(f"{case} = ReduceSum {case}.sin", keepdims=0),
                         gradient_of(case, xs, [f"{case}/{x}" for x in xs])]
        outs += [f64(case)] + [f64(f"{case}/{x}", *dims[x]) for x in xs]
    return nodes, outs


def gradient_rules(name, known):
    """Scalars made by each operator that has a derivative, and their gradients. With known dims sums are static."""
    dims = {"a": [2, 3], "b": [3], "c": [2, 1], "e": [2, 3], "g": [2, 2, 3], "m": [3, 2], "n": [2, 3], "v": [3]}
    nodes, outs = gradient_cases(GRADIENTS, dims)
    nodes += [node("pieces.0 pieces.1 = Split a", axis=1, num_outputs=2), node("pieces.2 = Mul pieces.0 pieces.0"),
              node("pieces.3 = ReduceSum pieces.2", keepdims=0), node("pieces.4 = ReduceSum pieces.1", keepdims=0),
              node("pieces = Mul pieces.3 pieces.4"), gradient_of("pieces", ["a"], ["pieces/a"])]
    nodes += [node("one_way = Slice a one three axis_1"), node("s1 = Exp one_way"), node("s2 = ReduceSum s1", keepdims=0),
              gradient_of("s2", ["a"], ["first"]), node("s3 = Mul first b"), node("second = ReduceSum s3", keepdims=0),
              gradient_of("second", ["a", "b"], ["second/a", "second/b"])]
    outs += [f64("pieces"), f64("pieces/a", 2, 3), f64("second"), f64("second/a", 2, 3), f64("second/b", 3)]
    weights = [constant("two", 2), constant("axis_1", [1]), constant("axis_2", [2]), constant("axes_02", [0, 2]),
               constant("shape", [3, -1]), constant("wide", [2, 4]), constant("one", [1]), constant("three", [3]),
               constant("twice", [[0, 2], [2, -1]]), constant("at", [[0, 1, 1], [1, 1, 0]]), constant("repeats", [2, 2]),
               constant("low", -0.5, np.float64), constant("high", 0.5, np.float64),
               constant("mask", [[True], [False]], np.bool_), constant("m3", rng().random((2, 3, 2)), np.float64)]
    values = [np.abs(rng().random(shape) * 0.6 + 0.2) for shape in dims.values()]
    values[3] *= np.where(rng().random((2, 3)) < 0.5, -1, 1)
    save_rules(name, nodes, dims, values, known, outs, weights, 18)


def save_rules(name, nodes, dims, values, known, outs, weights, opset):
    ins = [f64(x, *([None] * len(shape) if not known else shape)) for x, shape in dims.items()]
    save_gradient(name, nodes, ins, outs, weights, opset)
    data = FOLDER / name / "test_data_set_0"
    data.mkdir()
    for i, value in enumerate(values):
        (data / f"input_{i}.pb").write_bytes(nh.from_array(value).SerializeToString())

def save_gradient(name, nodes, ins, outs, weights=(), opset=21, functions=()):
    imports = [h.make_opsetid("", opset), h.make_opsetid("ai.onnx.preview.training", 1), h.make_opsetid("local", 1)]
    folder = FOLDER / name
    folder.mkdir(parents=True)
    onnx.save(h.make_model(h.make_graph(nodes, name, ins, outs, list(weights)), opset_imports=imports, ir_version=10,
                           producer_name="make_graphs", functions=list(functions)), folder / "model.onnx")


def gradient_fed():
    """What is fed is not what is named: another tensor, the same one twice, y made after its Gradient, y of many
    elements, an x that y does not need, y that is its own x."""
    nodes = [gradient_of("y", ["x"], ["early"], ["w"]), node("two = Add x x"), node("p = Mul x x"),
             node("y = Mul p w"), gradient_of("y", ["x"], ["other"], ["w"], ["two", "w"]),
             gradient_of("y", ["x", "w"], ["both_x", "both_w"], ins=["x", "x"]),
             gradient_of("p", ["x", "w"], ["need", "none"]), gradient_of("x", ["x"], ["self"])]
    names = ["early", "other", "both_x", "both_w", "need", "none", "self"]
    save_gradient("gradient_fed", nodes, [f32("x", 3), f32("w", 3)], [f32(n, 3) for n in names])
    data = FOLDER / "gradient_fed/test_data_set_0"
    data.mkdir()
    x, w = ints(3), ints(3)
    for kind, values in (("input", [x, w]),
                         ("output", [2 * x * w, 4 * x * w, 2 * x * x, x * x, 2 * x, 0 * x, 0 * x + 1])):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(nh.from_array(value.astype(np.float32)).SerializeToString())


def bad_gradients():
    """What a Gradient can get wrong."""
    def bad(name, nodes, xs, zs=(), ins=()):
        save_gradient("gradient_" + name, nodes + [gradient_of("y", xs, ["dx"], zs, ins)],
                      [f32("x", 3), f32("w", 3), i64("i", 3)], [f32("dx", 3)])

    mul = [node("y = Mul x w")]
    bad("no_tensor", mul, ["x", "no"], ins=["x", "w"])
    bad("twice", mul, ["x", "w"], zs=["x"])
    bad("count", mul, ["x"], zs=["w"], ins=["x"])
    bad("dependent", [node("h = Exp x"), node("y = Mul h w")], ["x", "h"], zs=["w"])
    bad("unlisted", mul, ["x"])
    bad("no_rule", [node("y = Hardmax x")], ["x"])
    bad("resize", [node("y = Resize x - - n", mode="linear"), node("n = Constant", value_ints=[5])][::-1], ["x"])
    bad("indices", [h.make_node("TopK", ["x", "k"], ["y", ""]), node("k = Constant", value_ints=[2])][::-1], ["x"])
    bad("training", [node("y = Dropout x - t"), node("t = Cast m", to=T.BOOL), node("m = ReduceMax i", keepdims=0)][::-1],
        ["x"], zs=["i"])
    bad("integers", [node("y = Mul i i")], ["i"])
    body = h.make_graph([node("r = Mul x w")], "r", [], [f32("r", None)])
    bad("body", [node("k = ReduceMax x", keepdims=0), node("f = Cast k", to=T.BOOL),
                 node("y = If f", then_branch=body, else_branch=body)], ["x"], zs=["w"])
    made = function("G", ["x"], ["dx"], [node("y = Mul x x"), gradient_of("y", ["x"], ["dx"])])
    made.opset_import.append(h.make_opsetid("ai.onnx.preview.training", 1))
    save_gradient("gradient_function", [call("dx = G x")], [f32("x", 3)], [f32("dx", 3)], functions=[made])


def gradients():
    gradient_rules("gradient_rules", True)
    gradient_rules("gradient_open", False)
    gradient_fed()
    bad_gradients()
