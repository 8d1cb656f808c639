# SPDX-License-Identifier: Apache-2.0
"""A function operator by its body: the model with the nodes that the schema has for the operator in its place, and what the
program's own kernel gives, which they should give too."""
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import function_testcase_helper

import judges
import schema


WITH_BODY = {(definition.domain, definition.name, definition.since_version)
             for definition in onnx.defs.get_all_schemas_with_history()
             if definition.has_function or definition.has_context_dependent_function}


def has_body(row):
    return (row.domain, row.name, row.since) in WITH_BODY


def input_type(case, in_types, i):
    """With dims: bodies are made for ranks."""
    value, kind = case.inputs[i], in_types[i]
    if value is None:
        return onnx.TypeProto()
    if schema.base(kind) != kind or isinstance(value, list) or kind.startswith(("seq(", "optional(", "map(")):
        return schema.type_proto(kind)
    return helper.make_tensor_type_proto(schema.element(kind), value.shape)


def model_of(row, case, in_types, model):
    """The model with the body in place of its last node."""
    node = onnx.NodeProto.FromString(model.graph.node[-1].SerializeToString())
    types = [input_type(case, in_types, i) for i in range(len(node.input))]
    bodies, _ = function_testcase_helper(node, types, "body", [helper.make_opsetid(row.domain, row.since)])
    nodes, opsets = bodies[0]
    made = onnx.ModelProto.FromString(model.SerializeToString())
    del made.graph.node[-1]
    made.graph.node.extend(nodes)
    theirs = {opset.domain for opset in opsets}
    others = [opset for opset in model.opset_import if opset.domain not in theirs]
    del made.opset_import[:]
    made.opset_import.extend([*opsets, *others])
    made.ir_version = max(made.ir_version, helper.find_min_ir_version_for(made.opset_import, ignore_unknown=True))
    return made


def arrays(data, kind):
    """What a file of a tensor, or of a sequence of them, holds."""
    if not kind.startswith("seq("):
        return [numpy_helper.to_array(onnx.TensorProto.FromString(data))]
    return numpy_helper.to_list(onnx.SequenceProto.FromString(data))


def short_mask(case):
    mask, past = ([*case.inputs, None, None, None][i] for i in (3, 4))
    return mask is not None and mask.shape[-1] < case.inputs[1].shape[-2] + (0 if past is None else past.shape[-2])


def cancels(row, case):
    """Some variance is nothing beside the square of the mean, which the body takes it from."""
    x = case.inputs[0].astype(np.float64)
    if row.name == "GroupNormalization":
        x, axes = x.reshape(len(x), case.attributes["num_groups"], -1), 2
    elif row.name == "LayerNormalization":
        axes = tuple(range(case.attributes.get("axis", -1) % x.ndim, x.ndim))
    else:
        axes = tuple(case.attributes.get("axes", (0, 2, 3)))
    with np.errstate(all="ignore"):
        return bool(x.size) and bool((x.mean(axes)**2 > 64 * x.var(axes)).any())


# Where a body does not do what its own clause says: (operator, when, why).
BROKEN = [
    ("AffineGrid", lambda row, case, types: case.inputs[0].shape[1] == 2 and case.inputs[0].shape[0] == 1,
     "squeezes theta without axes, so that a batch of one is lost"),
    ("AffineGrid", lambda row, case, types: case.attributes.get("align_corners") and 1 in case.inputs[1][2:],
     "divides by zero for axes of one entry, but the depth"),
    ("Attention", lambda row, case, types: len(types) > 3 and "int" in types[3],
     "casts -inf to the integers of the mask"),
    ("Attention", lambda row, case, types: row.since == 23 and short_mask(case),
     "has no short masks at 23, which the program takes as 24 does"),
    ("Bernoulli", lambda row, case, types: True, "draws other numbers"),
    ("BlackmanWindow", lambda row, case, types: case.attributes.get("output_datatype") not in FLOATS,
     "truncates to integers what float has just below 1"),
    ("CenterCropPad", lambda row, case, types: types[1] == "int32", "takes the larger of int64 and int32"),
    ("Celu", lambda row, case, types: row.since == 12 and case.inputs[0].ndim == 0,
     "has a list of one for alpha, which a scalar becomes"),
    ("Clip", lambda row, case, types: types[0] == "bfloat16", "uses Where in bfloat16 before version 16"),
    ("MeanVarianceNormalization", lambda row, case, types: types[0] != "float", "has its exponent and epsilon in float"),
    *[(name, lambda row, case, types: cancels(row, case), "has no digits left of a variance that is small beside the mean")
      for name in ("GroupNormalization", "LayerNormalization", "MeanVarianceNormalization")],
    ("Range", lambda row, case, types: row.since == 11 and types[0] == "int16", "uses Sub in int16 before version 14"),
    ("ReduceLogSum", lambda row, case, types: row.since == 18 and "int" in types[0], "takes Log of integers"),
    ("Shrink", lambda row, case, types: "int" in types[0],
     "rounds bias and lambd, which are real numbers, to integers, and negates unsigned ones"),
    ("SoftmaxCrossEntropyLoss", lambda row, case, types: row.since == 13 and types[0] == "bfloat16",
     "uses NegativeLogLikelihoodLoss in bfloat16 before version 22"),
]

FLOATS = (None, onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)


def broken(row, case, in_types):
    """Why the body is not held against the kernel in this case, or None."""
    return next((why for name, applies, why in BROKEN if name == row.name and applies(row, case, in_types)), None)


# Bodies with constants or statistics in float, whatever the type.
FLOAT = {"Attention", "BlackmanWindow", "FlexAttention", "Gelu", "GroupNormalization", "HammingWindow", "HannWindow",
         "HardSwish", "LayerNormalization", "MeanVarianceNormalization", "RMSNormalization", "ReduceL2"}

# Bodies that take a variance for the mean of squares less the square of the mean, and lose what these have in common.
CANCELLING = {"GroupNormalization", "LayerNormalization", "MeanVarianceNormalization"}


def tolerance(row, outputs, in_types, out_types):
    """(rtol, atol) for outputs as files. The two round in another order, at most a few times each; sums by their largest
    value, and what is near 0 for being close to a constant by that, of about 1."""
    step = max(map(schema.epsilon, in_types + out_types))
    step = max(step, schema.epsilon("float")) if step and row.name in FLOAT else step
    units = 256 if row.name in CANCELLING else 8
    found = [np.ones(1)] + [array for data, kind in zip(outputs, out_types) for array in arrays(data, kind)]
    return units * step, units * step * judges.largest(found)
