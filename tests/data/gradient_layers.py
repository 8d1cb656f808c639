# SPDX-License-Identifier: Apache-2.0
"""The models gradient_layers and gradient_layers_open of tests/data/graphs, for make_graphs.py: convolutions, pools,
normalizations, losses and what else networks are made of, as gradients.py has it for the rest."""
import numpy as np

from gradients import f64, gradient_cases, gradient_of, read_by, save_rules, step_nodes
from graph_files import constant, node

rng = np.random.default_rng(5)

# Inputs x [2,4,5], i [1,2,4,5] and z [1,1,3,2,3] have one, two and three axes for windows; w, k and q are their weights; d,
# f, m and u have one number for each channel of x, c and o for each of i; r and s scale what is normalised; e has both
# signs, p is a number, h has zeros.
LAYERS = {
    "conv": ["Conv x w d", {"group": 2, "strides": [2], "pads": [1, 2], "dilations": [2]}],
    "conv_left": ["Conv x w", {"group": 2, "strides": [3]}],
    "conv_upper": ["Conv x w", {"group": 2, "strides": [2], "auto_pad": "SAME_UPPER", "dilations": [2]}],
    "conv_lower": ["Conv i k", {"strides": [2, 2], "auto_pad": "SAME_LOWER"}],
    "conv_valid": ["Conv i k c", {"strides": [1, 2], "auto_pad": "VALID"}],
    "conv_plane": ["Conv i k c", {"strides": [2, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2]}],
    "conv_space": ["Conv z q c", {"pads": [1, 0, 0, 0, 1, 0], "strides": [2, 1, 1]}],
    "conv_of_product": ["Mul i i", "Conv $0 k", {"pads": [0, 0, 1, 1]}],
    "back": ["ConvTranspose x w d", {"group": 2, "strides": [2], "pads": [1, 0], "output_padding": [1]}],
    "back_whole": ["ConvTranspose x w c", {"dilations": [2]}],
    "back_shape": ["ConvTranspose x w", {"strides": [3], "output_shape": [12]}],
    "back_upper": ["ConvTranspose x w", {"strides": [2], "output_shape": [12], "auto_pad": "SAME_UPPER"}],
    "back_lower": ["ConvTranspose i k", {"strides": [2, 1], "auto_pad": "SAME_LOWER"}],
    "back_plane": ["ConvTranspose i k c", {"strides": [1, 3], "pads": [0, 1, 1, 0], "dilations": [2, 1]}],
    "back_space": ["Reshape q turned", "ConvTranspose z $0 c", {"strides": [1, 2, 1]}],
    "max_pool": ["MaxPool x", {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}],
    "max_pool_plane": ["MaxPool i", {"kernel_shape": [2, 3], "strides": [1, 2], "ceil_mode": 1, "storage_order": 1}],
    "max_pool_same": ["MaxPool i", {"kernel_shape": [3, 2], "auto_pad": "SAME_LOWER", "dilations": [1, 2]}],
    "max_pool_space": ["MaxPool z", {"kernel_shape": [2, 2, 2]}],
    "average_pool": ["AveragePool x", {"kernel_shape": [3], "strides": [2], "pads": [1, 2]}],
    "average_pool_all": ["AveragePool i", {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 1, 1, 1],
                                           "count_include_pad": 1}],
    "average_pool_up": ["AveragePool i", {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}],
    "average_pool_up_all": ["AveragePool x", {"kernel_shape": [4], "strides": [3], "ceil_mode": 1, "pads": [1, 1],
                                              "count_include_pad": 1}],
    "average_pool_same": ["AveragePool i", {"kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": "SAME_UPPER"}],
    "average_pool_space": ["AveragePool z", {"kernel_shape": [2, 2, 2]}],
    "lp_pool": ["LpPool i", {"kernel_shape": [2, 3], "p": 3, "pads": [1, 0, 0, 1], "dilations": [2, 1]}],
    "lp_pool_2": ["LpPool x", {"kernel_shape": [3], "strides": [2]}],
    "global_average": ["GlobalAveragePool i"],
    "global_max": ["GlobalMaxPool x"],
    "global_lp": ["GlobalLpPool i", {"p": 3}],
    "batch_norm": ["BatchNormalization x d f m u", {"epsilon": 0.25}],
    "batch_norm_flat": ["Reshape x flat", "BatchNormalization $0 d f m u"],
    "instance_norm": ["InstanceNormalization x d f", {"epsilon": 0.125}],
    "lrn": ["LRN x", {"size": 3, "alpha": 2.0, "beta": 1.5, "bias": 0.5}],
    "lrn_even": ["LRN x", {"size": 2, "alpha": 2.0}],
    "mean_variance": ["MeanVarianceNormalization i"],
    "mean_variance_axes": ["MeanVarianceNormalization x", {"axes": [0, 2]}],
    "lp_norm": ["LpNormalization x", {"axis": 1}],
    "lp_norm_1": ["LpNormalization e", {"p": 1}],
    "pad": ["Pad x pads p", {"mode": "constant"}],
    "pad_axes": ["Pad x one_pad - axis_1"],
    "pad_reflect": ["Pad x pads", {"mode": "reflect"}],
    "pad_edge": ["Pad x pads", {"mode": "edge"}],
    "nll": ["NegativeLogLikelihoodLoss x target d"],
    "nll_plain": ["NegativeLogLikelihoodLoss x target", {"reduction": "sum"}],
    "nll_each": ["NegativeLogLikelihoodLoss x target d", {"reduction": "none", "ignore_index": 1}],
    "nll_ignoring": ["NegativeLogLikelihoodLoss x target", {"ignore_index": -1}],
    "cross_entropy": ["SoftmaxCrossEntropyLoss x target d", {"ignore_index": 2}],
    "cross_entropy_each": ["SoftmaxCrossEntropyLoss x target", {"reduction": "none"}],
    "cross_entropy_flat": ["SoftmaxCrossEntropyLoss e narrow_target", {"reduction": "sum"}],
    "resize": ["Resize i - - sizes"],
    "hard_sigmoid": ["HardSigmoid e"],
    "hard_sigmoid_steep": ["HardSigmoid e", {"alpha": 2.0, "beta": 0.25}],
    "hard_swish": ["Mul e e8", "HardSwish $0"],
    "mish": ["Mish e"],
    "selu": ["Selu e"],
    "selu_own": ["Selu e", {"alpha": 0.5, "gamma": 2.0}],
    "shrink": ["Shrink e", {"lambd": 0.5, "bias": 0.25}],
    "thresholded": ["ThresholdedRelu e", {"alpha": 0.5}],
    "reduce_max": ["ReduceMax x axis_1", {"keepdims": 0}],
    "reduce_min": ["ReduceMin x"],
    "reduce_prod": ["ReduceProd h axis_1", {"keepdims": 0}],
    "cum_sum": ["CumSum x one_axis"],
    "cum_sum_other": ["CumSum x one_axis", {"exclusive": 1, "reverse": 1}],
    "trilu": ["Trilu x", {"upper": 0}],
    "dropout": ["Dropout x"],
    "dropout_off": ["Dropout x half no"],
    "compress": ["Compress x picked", {"axis": 1}],
    "reverse_sequence": ["ReverseSequence x lengths", {"batch_axis": 0, "time_axis": 1}],
}

# For opset 24.
NEW_LAYERS = {
    "average_pool_far": ["AveragePool i", {"kernel_shape": [2, 2], "dilations": [2, 3], "pads": [1, 2, 1, 2]}],
    "pad_wrap": ["Pad x pads", {"mode": "wrap"}],
    "group_norm": ["GroupNormalization x d f", {"num_groups": 2, "epsilon": 0.125}],
    "gelu": ["Gelu e"],
    "gelu_tanh": ["Gelu e", {"approximate": "tanh"}],
    "swish": ["Swish e", {"alpha": 1.5}],
}

# For opset 18.
OLD_LAYERS = {"group_norm": ["GroupNormalization x c o", {"num_groups": 2, "epsilon": 0.125}]}

# Operators whose statistics are float whatever the type: their gradients are those of the same in plain operators, which
# differences are taken of. (operator, plain)
STASHED = {
    "layer_norm": (["LayerNormalization x s b5", {"epsilon": 0.125}],
                   ["ReduceMean x axis_2", "Sub x $0", "Mul $1 $1", "ReduceMean $2 axis_2", "Add $3 eighth", "Sqrt $4",
                    "Div $1 $5", "Mul $6 s", "Add $7 b5"]),
    "layer_norm_wide": (["LayerNormalization x r", {"axis": 1, "epsilon": 0.125}],
                        ["ReduceMean x axes_12", "Sub x $0", "Mul $1 $1", "ReduceMean $2 axes_12", "Add $3 eighth",
                         "Sqrt $4", "Div $1 $5", "Mul $6 r"]),
    # in float alone, so that the test gives it that much
    "float_celu": (["Sub x half", "CastLike $0 float", "Celu $1", {"alpha": 0.5}],
                   ["Sub x half", "Div $0 half", "Elu $1", "Mul $2 half"]),
}
NEW_STASHED = {
    "rms_norm": (["RMSNormalization x s", {"epsilon": 0.125}],
                 ["Mul x x", "ReduceMean $0 axis_2", "Add $1 eighth", "Sqrt $2", "Div x $3", "Mul $4 s"]),
}

# Whose gradients are differentiated once more.
TWICE = ("conv_plane conv_upper back max_pool average_pool lp_pool_2 global_max batch_norm instance_norm lrn pad_reflect pad "
         "cross_entropy mean_variance reduce_max cum_sum").split()


def layer_weights():
    return [constant("pads", [0, 1, -1, 0, -1, 2]), constant("one_pad", [2, -1]), constant("axis_1", [1]),
            constant("axis_2", [2]), constant("axes_12", [1, 2]), constant("target", [[0, 3, 1, 2, 2], [1, 1, 0, 3, 2]]),
            constant("narrow_target", [2, 0], np.int32), constant("sizes", [1, 2, 7, 3]), constant("one_axis", 1),
            constant("half", 0.5, np.float64), constant("float", 1, np.float32), constant("no", False, np.bool_), constant("turned", [1, 2, 2, 1, 2]),
            constant("picked", [True, False, True, True], np.bool_), constant("lengths", [3, 2]),
            constant("eighth", 0.125, np.float64), constant("e8", [1, 5, 7], np.float64), constant("flat", [10, 4]),
            constant("two", [2]), constant("b5", [1, 2, 3, 4, 5], np.float64),
            constant("by_place", np.arange(40).reshape(2, 4, 5) % 7, np.float64)]


def stashed_cases(cases, dims):
    """The operator's gradients, and in place of its value that of the plain operators; each entry counts by its place."""
    nodes, outs = [], []
    for case, (operator, plain) in cases.items():
        made, last = step_nodes(case + ".of", operator)
        own, end = step_nodes(case + ".plain", plain)
        xs = read_by(made, dims)
        nodes += made + own + [
            node(f"{case}.wide = CastLike {last} by_place"), node(f"{case}.weighed = Mul {case}.wide by_place"), node(f"{case}.y = ReduceSum {case}.weighed", keepdims=0),
            node(f"{case}.v = Mul {end} by_place"), node(f"{case} = ReduceSum {case}.v", keepdims=0),
            gradient_of(f"{case}.y", xs, [f"{case}/{x}" for x in xs])]
        outs += [f64(case)] + [f64(f"{case}/{x}", *dims[x]) for x in xs]
    return nodes, outs


def twice_cases(dims):
    nodes, outs = [], []
    for case in TWICE:
        xs, again = read_by(step_nodes(case, LAYERS[case])[0], dims), "twice_" + case
        nodes += [node(f"{again}.sin = Sin {case}/{xs[-1]}"), node(f"{again} = ReduceSum {again}.sin", keepdims=0),
                  gradient_of(again, xs, [f"{again}/{x}" for x in xs])]
        outs += [f64(again)] + [f64(f"{again}/{x}", *dims[x]) for x in xs]
    return nodes, outs


def outputs_cases(dims):
    """What depends on outputs after the first."""
    nodes = [node("top.v top.i = TopK x two", axis=1), node("top.sin = Sin top.v"),
             node("top = ReduceSum top.sin", keepdims=0), gradient_of("top", ["x"], ["top/x"]),
             node("log.loss log.prob = SoftmaxCrossEntropyLoss x target d"), node("log.sin = Sin log.prob"),
             node("log.each = Mul log.sin log.loss"), node("log = ReduceSum log.each", keepdims=0),
             gradient_of("log", ["x", "d"], ["log/x", "log/d"]),
             node("alone.loss alone.prob = SoftmaxCrossEntropyLoss x target"), node("alone.sin = Sin alone.prob"),
             node("alone = ReduceSum alone.sin", keepdims=0), gradient_of("alone", ["x"], ["alone/x"])]
    outs = [f64("top"), f64("top/x", *dims["x"]), f64("log"), f64("log/x", *dims["x"]), f64("log/d", *dims["d"]),
            f64("alone"), f64("alone/x", *dims["x"])]
    return nodes, outs


def gradient_layers(name, known, opset):
    """As gradient_rules, for the operators of networks."""
    dims = {"x": [2, 4, 5], "i": [1, 2, 4, 5], "z": [1, 1, 3, 2, 3], "w": [4, 2, 3], "k": [2, 2, 2, 3],
            "q": [2, 1, 2, 1, 2], "c": [2], "o": [2], "d": [4], "f": [4], "m": [4], "u": [4], "r": [4, 5], "s": [5],
            "e": [2, 3], "p": [], "h": [3, 3]}
    new = opset >= 24
    nodes, outs = [], []
    for more, made in (gradient_cases({**LAYERS, **(NEW_LAYERS if new else OLD_LAYERS)}, dims),
                       stashed_cases({**STASHED, **(NEW_STASHED if new else {})}, dims), twice_cases(dims),
                       outputs_cases(dims)):
        nodes, outs = nodes + more, outs + made
    # no two entries of an input are so close that a step changes which is larger
    values = {x: (rng.permutation(np.arange(np.prod(shape))).reshape(shape) + 0.5) / (np.prod(shape)) * 0.6 + 0.2
              for x, shape in dims.items()}
    values["e"] *= np.where(rng.random((2, 3)) < 0.5, -1, 1)
    values["h"] *= [[1, 1, 1], [1, 0, 1], [0, 1, 0]]
    save_rules(name, nodes, dims, list(values.values()), known, outs, layer_weights(), opset)


def layers():
    gradient_layers("gradient_layers", True, 24)
    gradient_layers("gradient_layers_open", False, 18)
