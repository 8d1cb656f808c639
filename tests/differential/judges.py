# SPDX-License-Identifier: Apache-2.0
"""Who says what a case should give: ONNX Runtime, the evaluator of the onnx package, and the clause's rule in numpy."""
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import references
import schema
from draw import EMPTY

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)


def value_info(name, type_name):
    """Declares no dims: a case's shapes are its values'."""
    return helper.make_value_info(name, schema.type_proto(type_name))


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def proto_of(value, name, type_name):
    """A value as files hold it; without one, an empty optional."""
    if type_name.startswith("optional("):
        value = None if value is EMPTY else value
        kind = "SEQUENCE" if schema.inner(type_name).startswith("seq(") else "TENSOR"
        return numpy_helper.from_optional(value, name, onnx.OptionalProto.DataType.Value(kind))
    if isinstance(value, dict):
        return references.map_proto(value, name, schema.numpy_type(schema.base(type_name)))
    if type_name.startswith("seq(map("):
        maps = [references.map_proto(each, "", schema.numpy_type(schema.base(type_name))) for each in value]
        return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP, map_values=maps)
    return numpy_helper.from_list(value, name) if isinstance(value, list) else constant(name, value)


def model_of(row, case, in_types, out_types):
    """The model at the row's own version, and its inputs {name: (type, value)}. Absent inputs have an empty name."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(case.inputs)]
    while names and not names[-1]:
        names.pop()
    outs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(row.name, names, outs, domain=row.domain)
    for name, value in case.attributes.items():  # an empty list does not say of what
        kind = onnx.AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    given = {name: (in_types[i], case.inputs[i]) for i, name in enumerate(names) if name and i not in case.constants}
    given |= case.outer
    graph = helper.make_graph(
        [*case.before, node], str(row), [value_info(name, kind) for name, (kind, _) in given.items()],
        [value_info(name, kind) for name, kind in zip(outs, out_types)],
        [constant(names[i], case.inputs[i]) for i in sorted(case.constants) if names[i]])
    opsets = [helper.make_opsetid(row.domain, row.since)]
    if row.domain:
        opsets.append(helper.make_opsetid("", 20))
    version = min(helper.find_min_ir_version_for(opsets, ignore_unknown=True) if row.since > 2 else 4, 13)
    return helper.make_model(graph, opset_imports=opsets, ir_version=max(version, 4)), given


class Silent(str):
    """Why a judge has no answer."""


def runtime(model, feeds):
    """ONNX Runtime's outputs, or a Silent."""
    if any(isinstance(v, np.ndarray) and v.dtype.kind == "V" or "ml_dtypes" in str(getattr(v, "dtype", "").__class__)
           for v in feeds.values()):
        return Silent("takes no such inputs from numpy")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {name: plain(value) for name, value in feeds.items()})
    except Exception as error:  # its exceptions have no common class
        return Silent("has no kernel" if "NOT_IMPLEMENTED" in str(error) else "refuses the model")


def evaluator(model, feeds):
    """The outputs, or a Silent; what is no value of ONNX (numbers among strings) is no answer."""
    try:
        outputs = ReferenceEvaluator(model).run(None, feeds)
        for output in outputs:
            if not isinstance(output, list) and output is not None:
                constant("y", output)
        return outputs
    except Exception:
        return Silent("cannot run the model")


def plain(value):
    """As ONNX Runtime takes maps: of Python's own numbers."""
    return {key: getattr(each, "item", lambda: each)() for key, each in value.items()} if isinstance(value, dict) else value


def widened(value):
    """As the rules compute: floats in f64, everything else as it is."""
    if isinstance(value, list):
        return [widened(v) for v in value]
    if isinstance(value, dict) or value is None or value is EMPTY or value.dtype == object or value.dtype.kind in "biuc":
        return value
    return value.astype(np.float64)


def rounded(value, type_name):
    if isinstance(value, list):
        return [rounded(v, type_name) for v in value]
    if isinstance(value, dict):
        return {key: rounded(v, type_name) for key, v in value.items()}
    if value is None:
        return None
    value = np.asarray(value)
    kind = schema.numpy_type(type_name)
    if kind == object or value.dtype == kind:
        return value.astype(kind)
    if kind.kind not in "biufc":  # the types of ml_dtypes round once from f64, other than through f32
        return value.astype(np.float64).astype(kind)
    return value.astype(kind)


def by_rule(case, out_types):
    if case.rule is None:
        return Silent("is not written")
    with np.errstate(all="ignore"):
        outputs = case.rule(*[widened(value) for value in case.inputs])
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)  # a list is a sequence
        return [rounded(value, schema.base(kind)) for value, kind in zip(outputs, out_types)]


def feeds_of(given):
    return {name: None if value is EMPTY else value for name, (_, value) in given.items()}


def has_type(value, kind):
    if value is None:
        return kind.startswith("optional(")
    if "map(" in kind:
        return isinstance(value, list)
    if isinstance(value, list):
        return "seq(" in kind and not any(v is None or isinstance(v, list) for v in value)
    return "seq(" not in kind and np.asarray(value).dtype == schema.numpy_type(schema.base(kind))


def has_types(outputs, out_types):
    """An answer of other types than the schema's is none: numpy has no fp8, some evaluations widen, and the evaluator has
    a list for an optional."""
    return all(map(has_type, outputs, out_types))


def largest(outputs):
    """The largest finite magnitude, rounded up to a power of two, so that few tolerances differ."""
    top = 0.0
    for value in outputs:
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biuOUc" and value.size:
            wide = np.abs(value.astype(np.float64))
            top = max(top, float(np.where(np.isfinite(wide), wide, 0).max()))
    return float(2.0 ** min(np.ceil(np.log2(top)), 60)) if top > 0 else 1.0


def tolerance(judge, case, outputs, in_types, out_types):
    """(rtol, atol). The rule is exact but for `error` units in the last place, which sums (error > 2) take from their
    largest value, and of their coarsest type; peers round more often than that."""
    step = max(map(schema.epsilon, out_types), default=0.0)
    if case.error > 2 and step:
        step = max(map(schema.epsilon, out_types + in_types))
    if judge == "rule":
        return case.error * step, case.error * step * largest(outputs) if case.error > 2 else 0.0
    return max(1e-3, 4 * step) if step else 0.0, max(1e-6, 8 * step * largest(outputs)) if step else 0.0
