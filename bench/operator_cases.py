# SPDX-License-Identifier: Apache-2.0
"""What bench/operators times: of each operator a node on about a million elements, or on a shape that people run it on."""
import numpy as np
from onnx import helper, numpy_helper

from draw import Case

M = (1024, 1024)
IMAGE = (1, 64, 128, 128)
ROWS = (1024, 1024)
rng = np.random.default_rng(1)

F32, F64, F16, I64, I32, I8, U8, BOOL, STRING = (
    np.dtype(name) for name in ("f4", "f8", "f2", "i8", "i4", "i1", "u1", "?", "O"))


def values(kind, *shape, low=-3.0, high=3.0):
    kind = np.dtype(kind)
    if kind == BOOL:
        return rng.random(shape) < 0.5
    if kind == STRING:
        words = np.array(["", "mast", "Boat house", "tide tables of the north", "straße"], object)
        return words[rng.integers(len(words), size=shape)]
    if kind.kind in "iu":
        return rng.integers(max(low, np.iinfo(kind).min), min(high, np.iinfo(kind).max), shape, endpoint=True).astype(kind)
    return rng.uniform(low, high, shape).astype(kind)


def many(kind, low, high, *shape):
    return values(kind, *shape, low=low, high=high)


def ids(high, *shape):
    return rng.integers(0, high, shape)


def longs(*numbers):
    return np.array(numbers, np.int64)


def floats(*numbers):
    return np.array(numbers, np.float32)


def type_of(value):
    if isinstance(value, list):
        return f"seq(tensor({type_of(value[0])}))"
    return "string" if value.dtype == object else helper.tensor_dtype_to_string(
        helper.np_dtype_to_tensor_dtype(value.dtype)).removeprefix("TensorProto.").lower()


def bound(row, types, case):
    """(types of inputs, types of outputs): type parameters are what the inputs are, and else what `types` says."""
    types = dict(types)
    at = lambda formals, i: formals[min(i, len(formals) - 1)]  # noqa: E731
    ins = []
    for i, value in enumerate(case.inputs):
        kind = None if value is None else type_of(value)
        ins.append(kind)
        if kind:
            types.setdefault(at(row.inputs, i).type, kind)
    def output(formal):
        kind = types.get(formal.type) or (row.types[formal.type][0] if formal.type in row.types else formal.type)
        return kind if kind.startswith("seq(") else kind.removeprefix("tensor(").removesuffix(")")
    return ins, [output(at(row.outputs, i)) for i in range(case.outputs)]


CASES = []  # (domain, name, types of type parameters that no input binds, Case)


def case(name, *inputs, domain="", types=(), **how):
    """One case; `types`: element types of outputs whose type parameter no input has, by parameter."""
    constants = how.pop("constants", ())
    CASES.append((domain, name, dict(types), Case(*inputs, constants=constants, **how)))


def each(names, kinds, make, **how):
    for name in names.split():
        for kind in kinds:
            made = make(kind)
            case(name, *(made if isinstance(made, tuple) else (made,)), **how)


def math():
    each("Abs Neg Sign", (F32, F16, I8, I64), lambda k: values(k, *M))
    each("Ceil Floor Round Exp Sqrt Reciprocal Sigmoid Tanh Erf Sin Cos Tan Softplus Softsign Elu Selu Celu LeakyRelu HardSigmoid "
         "HardSwish Gelu Mish Swish ThresholdedRelu Shrink Sinh Cosh Asinh Atan IsInf", (F32, F16), lambda k: values(k, *M))
    each("IsNaN", (F32, F16), lambda k: values(k, *M))
    each("Acos Asin Atanh", (F32, F16), lambda k: many(k, -0.9, 0.9, *M))
    each("Acosh Log", (F32, F16), lambda k: many(k, 1.1, 9, *M))
    case("Gelu", values(F32, *M), approximate="tanh")
    each("Relu", (F32, F16, I8, I32), lambda k: values(k, *M))
    each("Not", (BOOL,), lambda k: values(k, *M))
    each("BitwiseNot", (U8, I64), lambda k: values(k, *M))
    each("Add Sub Mul", (F32, F16, F64, I32, I64, I8, U8), lambda k: (values(k, *M), values(k, *M)))
    each("Div", (F32, F16, F64, I32, I64, U8), lambda k: (values(k, *M), many(k, 1, 9, *M)))
    each("Add Mul Div", (F32, F16, I64), lambda k: (values(k, *M), many(k, 1, 4, 1024)))
    each("Add Mul", (F32,), lambda k: (values(k, *M), values(k, 1024, 1)))
    each("Add Mul Pow", (F32,), lambda k: (many(k, 1, 4, *M), np.array(2.5, F32)))
    each("Add", (F32,), lambda k: (values(k, *IMAGE), values(k, 1, 64, 1, 1)))
    each("Pow", (F32, F16, I64), lambda k: (many(k, 1, 3, *M), many(k, 1, 3, *M)))
    each("Pow", (F32, I32), lambda k: (many(k, 1, 3, *M), np.array(2, k)))
    each("Mod", (I64, I32, U8), lambda k: (values(k, *M), many(k, 1, 9, *M)))
    each("Mod", (F32, F16), lambda k: (values(k, *M), many(k, 1, 9, *M)), fmod=1)
    each("Equal Less Greater LessOrEqual GreaterOrEqual", (F32, F16, I64, I32), lambda k: (values(k, *M), values(k, *M)))
    each("Equal", (BOOL, STRING), lambda k: (values(k, *M), values(k, *M)))
    each("And Or Xor", (BOOL,), lambda k: (values(k, *M), values(k, *M)))
    each("BitwiseAnd BitwiseOr BitwiseXor", (U8, I64), lambda k: (values(k, *M), values(k, *M)))
    each("BitShift", (np.dtype("u1"), np.dtype("u8")), lambda k: (values(k, *M), values(k, *M)), direction="LEFT")
    each("Max Min", (F32, F16, I64, I32), lambda k: (values(k, *M), values(k, *M)))
    each("Sum Mean", (F32, F16), lambda k: (values(k, *M), values(k, *M), values(k, *M)))
    each("PRelu", (F32, F16), lambda k: (values(k, *IMAGE), values(k, 64, 1, 1)))
    each("Clip", (F32, F16, I8, I64), lambda k: (values(k, *M), np.array(0, k), np.array(2, k)))
    each("Where", (F32, F16, I64, U8), lambda k: (values(BOOL, *M), values(k, *M), values(k, *M)))
    each("Where", (F32,), lambda k: (values(BOOL, 1024, 1), values(k, *M), np.array(1, k)))
    for to, code in (("float16", 10), ("double", 11), ("int64", 7), ("int32", 6), ("uint8", 2), ("bool", 9), ("string", 8)):
        case("Cast", values(F32, *(M if to != "string" else (256, 256))), types={"T2": to}, to=code)
    for kind in (F16, F64, I64, I32, U8, BOOL):
        case("Cast", values(kind, *M), types={"T2": "float"}, to=1)
    case("Cast", values(F32, 256, 256).astype(str).astype(object), types={"T2": "float"}, to=1)
    case("Cast", values(F32, *M), types={"T2": "float8e4m3fn"}, to=17)
    case("CastLike", values(F32, *M), values(I64, 1))
    case("BitCast", values(F32, *M), types={"T2": "int32"}, to=6)
    each("CumSum CumProd", (F32, I64), lambda k: (values(k, *M), np.array(1)))
    each("CumSum CumProd", (F32,), lambda k: (values(k, *M), np.array(0)))
    names = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare"
    for axis in (1, 0):
        each(names, (F32, F16) if axis else (F32,), lambda k: (many(k, 0.9, 1.1, *M), longs(axis)))
    each("ReduceSum ReduceMean ReduceMax", (I64, I32), lambda k: (values(k, *M), longs(1)))
    each("ReduceSum ReduceMax", (F32,), lambda k: (values(k, *M), None))
    each("ReduceSum ReduceMean", (F32,), lambda k: (values(k, *IMAGE), longs(2, 3)))
    each("ReduceSum ReduceMean ReduceMax", (F32,), lambda k: (values(k, *IMAGE), longs(1)))
    each("ReduceMean", (F32,), lambda k: (values(k, *IMAGE), longs(0, 2, 3)))
    for axis in (1, 0):
        each("ArgMax ArgMin", (F32, I32, U8), lambda k: values(k, *M), axis=axis)
        each("Softmax LogSoftmax Hardmax", (F32, F16), lambda k: values(k, *M), axis=axis)
    each("Softmax", (F32,), lambda k: values(k, 65536, 16), axis=1)
    case("Softmax", values(F32, 4, 100000))
    case("Einsum", values(F32, 512, 512), values(F32, 512, 512), equation="ij,jk->ik")
    case("Einsum", values(F32, 8, 12, 128, 64), values(F32, 8, 12, 128, 64), equation="bhid,bhjd->bhij")
    case("Einsum", values(F32, 8, 128, 12, 64), values(F32, 8, 128, 12, 64), equation="bihd,bjhd->bhij")
    case("Einsum", values(F32, *M), equation="ij->ji")
    case("Einsum", values(F32, *M), equation="ij->i")
    case("Einsum", values(F32, *M), values(F32, *M), equation="ij,ij->i")
    case("Einsum", values(F32, 1024), values(F32, 1024), equation="i,j->ij")
    case("Einsum", values(F32, 64, 64, 64), values(F32, 64, 64), values(F32, 64, 64), equation="abc,cd,be->aed")
    case("Det", values(F32, 1000, 32, 32))
    case("Det", values(F32, 256, 256))
    for n in (512, 1000, 1021):
        case("DFT", values(F32, 1 << 20 >> 9, n, 1), None, np.array(1))
        case("DFT", values(F32, 1 << 20 >> 9, n, 2), None, np.array(1), inverse=1)
    case("DFT", values(F32, 1 << 20 >> 9, 512, 1), None, np.array(1), onesided=1)
    case("STFT", values(F32, 4, 160000, 1), np.array(160), values(F32, 400))
    case("MelWeightMatrix", np.array(80), np.array(4096), np.array(16000), floats(0)[0].reshape(()), np.array(8000, F32), types={"T3": "float"})
    each("HannWindow HammingWindow BlackmanWindow", (I64,), lambda k: np.array(1 << 20), types={"T2": "float"})
    case("Range", np.array(0), np.array(1 << 20), np.array(1))
    case("Range", np.array(0, F32), np.array(1 << 20, F32), np.array(1, F32))
    case("SwiGLU", values(F32, *M), values(F32, *M))
    case("Multinomial", values(F32, 64, 4096), types={"T2": "int32"}, sample_size=16, seed=1.0)
    each("Bernoulli", (F32,), lambda k: many(k, 0, 1, *M), seed=1.0)
    each("RandomUniformLike RandomNormalLike", (F32,), lambda k: values(k, *M), seed=1.0)
    each("RandomUniform RandomNormal", ("",), lambda k: (), types={"T": "float"}, shape=list(M), seed=1.0)


def layers():
    for kind in (F32, F16):
        case("MatMul", values(kind, 512, 512), values(kind, 512, 512))
        case("Gemm", values(kind, 512, 512), values(kind, 512, 512), values(kind, 512), transB=1)
    case("MatMul", values(F32, 512, 512), values(F32, 512, 512), constants=(1,))
    case("MatMul", values(F32, 1, 1024), values(F32, 1024, 1024), constants=(1,))
    case("MatMul", values(F32, 96, 128, 64), values(F32, 96, 64, 128))
    case("MatMul", values(F64, 512, 512), values(F64, 512, 512))
    case("MatMul", values(I32, 256, 256), values(I32, 256, 256))
    case("MatMul", values(I64, 256, 256), values(I64, 256, 256))
    for kind in (F32, F16):
        case("Conv", values(kind, 1, 64, 56, 56), values(kind, 64, 64, 3, 3), values(kind, 64), pads=[1] * 4, constants=(1, 2))
    case("Conv", values(F32, 1, 64, 56, 56), values(F32, 256, 64, 1, 1), constants=(1,))
    case("Conv", values(F32, 1, 64, 112, 112), values(F32, 64, 1, 3, 3), group=64, pads=[1] * 4, constants=(1,))
    case("Conv", values(F32, 1, 64, 56, 56), values(F32, 64, 8, 3, 3), group=8, pads=[1] * 4, constants=(1,))
    case("Conv", values(F32, 1, 64, 16384), values(F32, 64, 64, 3), pads=[1, 1], constants=(1,))
    case("Conv", values(F32, 1, 8, 32, 32, 32), values(F32, 16, 8, 3, 3, 3), pads=[1] * 6, constants=(1,))
    case("ConvTranspose", values(F32, 1, 64, 56, 56), values(F32, 64, 32, 2, 2), strides=[2, 2], constants=(1,))
    case("ConvTranspose", values(F32, 1, 64, 56, 56), values(F32, 64, 64, 3, 3), strides=[1, 1], pads=[1] * 4, constants=(1,))
    case("DeformConv", values(F32, 1, 64, 56, 56), values(F32, 64, 64, 3, 3), values(F32, 1, 18, 56, 56), values(F32, 64),
         many(F32, 0, 1, 1, 9, 56, 56), pads=[1] * 4)
    case("Col2Im", values(F32, 1, 64 * 9, 56 * 56), longs(56, 56), longs(3, 3), pads=[1] * 4)
    for kind in (F32, F16):
        each("MaxPool AveragePool", (kind,), lambda k: values(k, *IMAGE), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    each("MaxPool", (I8, U8), lambda k: values(k, *IMAGE), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    each("MaxPool AveragePool LpPool", (F32,), lambda k: values(k, *IMAGE), kernel_shape=[3, 3], pads=[1] * 4)
    case("MaxPool", values(F32, *IMAGE), kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    each("MaxPool AveragePool", (F32,), lambda k: values(k, 1, 64, 16384), kernel_shape=[4], strides=[4])
    each("MaxPool AveragePool", (F32,), lambda k: values(k, 1, 8, 32, 64, 64), kernel_shape=[2] * 3, strides=[2] * 3)
    each("GlobalAveragePool GlobalMaxPool GlobalLpPool", (F32, F16), lambda k: values(k, *IMAGE))
    case("MaxUnpool", values(F32, 1, 64, 64, 64), np.arange(64 * 4096, dtype=np.int64).reshape(1, 64, 64, 64) * 4,
         kernel_shape=[2, 2], strides=[2, 2])
    case("MaxRoiPool", values(F32, 1, 64, 56, 56), np.tile(floats(0, 4, 4, 40, 40), (100, 1)), pooled_shape=[7, 7])
    case("RoiAlign", values(F32, 1, 64, 56, 56), np.tile(floats(4, 4, 40, 40), (100, 1)), np.zeros(100, np.int64),
         output_height=7, output_width=7, sampling_ratio=2)
    for kind in (F32, F16):
        channels = [values(kind, 64) for _ in range(3)] + [many(kind, 1, 2, 64)]
        case("BatchNormalization", values(kind, *IMAGE), *channels)
        case("InstanceNormalization", values(kind, *IMAGE), *channels[:2])
        case("LayerNormalization", values(kind, *ROWS), values(kind, 1024), values(kind, 1024))
        case("RMSNormalization", values(kind, *ROWS), values(kind, 1024))
        case("SimplifiedLayerNormalization", values(kind, *ROWS), values(kind, 1024))
        case("GroupNormalization", values(kind, *IMAGE), values(kind, 64), values(kind, 64), num_groups=8)
    case("LRN", values(F32, *IMAGE), size=5)
    case("LpNormalization", values(F32, *ROWS), p=2, axis=-1)
    case("LpNormalization", values(F32, *ROWS), p=1, axis=0)
    case("MeanVarianceNormalization", values(F32, *IMAGE))
    case("Dropout", values(F32, *M))
    case("Dropout", values(F32, *M), np.array(0.3, F32), np.array(True), seed=1)
    for mode in ("nearest", "linear", "cubic"):
        for kind in (F32, U8):
            case("Resize", values(kind, *IMAGE, high=100), None, floats(1, 1, 2, 2), mode=mode)
    case("Resize", values(F32, *IMAGE), None, floats(1, 1, 0.5, 0.5), mode="linear", antialias=1)
    case("Resize", values(F32, 1, 128, 128, 64), None, floats(1, 2, 2, 1), mode="linear")
    case("Resize", values(F16, *IMAGE), None, floats(1, 1, 2, 2), mode="linear")
    case("Upsample", values(F32, *IMAGE), floats(1, 1, 2, 2), mode="nearest")
    for mode in ("linear", "nearest", "cubic"):
        case("GridSample", values(F32, *IMAGE), many(F32, -1, 1, 1, 128, 128, 2), mode=mode)
    case("AffineGrid", values(F32, 4, 2, 3), longs(4, 3, 512, 512))
    case("NonMaxSuppression", many(F32, 0, 1, 1, 2000, 4) + np.tile(floats(0, 0, 1, 1), (1, 2000, 1)), many(F32, 0, 1, 1, 4, 2000),
         np.array(100), np.array(0.5, F32), np.array(0.3, F32))
    for name, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        case(name, values(F32, 64, 8, 128), values(F32, 1, gates * 128, 128, low=-0.2, high=0.2),
             values(F32, 1, gates * 128, 128, low=-0.2, high=0.2), hidden_size=128, constants=(1, 2))
    case("Attention", values(F32, 1, 12, 256, 64), values(F32, 1, 12, 256, 64), values(F32, 1, 12, 256, 64))
    case("Attention", values(F32, 1, 12, 1, 64), values(F32, 1, 12, 1024, 64), values(F32, 1, 12, 1024, 64))
    case("RotaryEmbedding", values(F32, 1, 16, 1024, 64), values(F32, 1024, 32), values(F32, 1024, 32), np.arange(1024)[None])
    case("LinearAttention", values(F32, 1, 256, 512), values(F32, 1, 256, 512), values(F32, 1, 256, 512), q_num_heads=8, kv_num_heads=8,
         update_rule="linear", outputs=2)
    case("CausalConvWithState", values(F32, 4, 512, 512), values(F32, 512, 1, 4), outputs=2)
    case("TensorScatter", values(F32, 4, 8, 1024, 32), values(F32, 4, 8, 1, 32), longs(1, 2, 3, 4))
    scores, wanted = values(F32, 8192, 128), ids(128, 8192)
    case("NegativeLogLikelihoodLoss", scores, wanted)
    case("SoftmaxCrossEntropyLoss", scores, wanted)


def moves():
    kinds = (F32, F16, I64, U8)
    each("Transpose", kinds, lambda k: values(k, *M), perm=[1, 0])
    each("Transpose", (F32, F16), lambda k: values(k, 8, 128, 16, 64), perm=[0, 2, 1, 3])
    each("Transpose", (F32, U8), lambda k: values(k, *IMAGE), perm=[0, 2, 3, 1])
    each("Transpose", (F32,), lambda k: values(k, 1, 128, 128, 64), perm=[0, 3, 1, 2])
    each("Transpose", (F32,), lambda k: values(k, 32, 32, 32, 32), perm=[3, 1, 0, 2])
    each("Concat", kinds, lambda k: (values(k, *M), values(k, *M)), axis=1)
    each("Concat", (F32, STRING), lambda k: (values(k, 1024, 512), values(k, 1024, 512)), axis=0)
    each("Concat", (F32,), lambda k: (values(k, 65536, 8), values(k, 65536, 8)), axis=1)
    each("Split", kinds, lambda k: values(k, *M), axis=1, num_outputs=2, outputs=2)
    each("Slice", kinds, lambda k: (values(k, *M), longs(1, 1), longs(1000, 1000), longs(0, 1)))
    each("Slice", (F32,), lambda k: (values(k, *M), longs(0), longs(1024), longs(1), longs(2)))
    each("Slice", (F32,), lambda k: (values(k, *M), longs(-1), longs(-2000), longs(1), longs(-1)))
    each("Gather", kinds, lambda k: (values(k, *M), ids(1024, 1024)), axis=0)
    each("Gather", (F32, I64), lambda k: (values(k, *M), ids(1024, 1024)), axis=1)
    each("Gather", (F32, STRING), lambda k: (values(k, 4096), ids(4096, 1 << 20)), axis=0)
    each("GatherElements", (F32, I64), lambda k: (values(k, *M), ids(1024, *M)), axis=1)
    each("GatherElements", (F32,), lambda k: (values(k, *M), ids(1024, *M)), axis=0)
    each("GatherND", (F32, I64), lambda k: (values(k, *M), ids(1024, 1 << 18, 2)))
    each("GatherND", (F32,), lambda k: (values(k, *M), ids(1024, 1024, 1)))
    each("ScatterElements Scatter", (F32,), lambda k: (values(k, *M), ids(1024, *M), values(k, *M)), axis=1)
    for reduction in ("add", "max"):
        case("ScatterElements", values(F32, *M), ids(1024, *M), values(F32, *M), axis=0, reduction=reduction)
        case("ScatterND", values(F32, *M), ids(1024, 1 << 18, 2), values(F32, 1 << 18), reduction=reduction)
    case("ScatterND", values(F32, *M), ids(1024, 1024, 1), values(F32, *M))
    case("ScatterND", values(F32, *M), ids(1024, 1 << 18, 2), values(F32, 1 << 18))
    each("Expand", kinds, lambda k: (values(k, 1024, 1), longs(*M)))
    each("Expand", (F32,), lambda k: (values(k, 1024), longs(*M)))
    each("Tile", kinds, lambda k: (values(k, 256, 256), longs(4, 4)))
    each("Tile", (F32,), lambda k: (values(k, 1024, 1), longs(1, 1024)))
    for mode in ("constant", "reflect", "edge", "wrap"):
        case("Pad", values(F32, *IMAGE), longs(0, 0, 1, 1, 0, 0, 1, 1), mode=mode)
    each("Pad", (F16, I64, U8), lambda k: (values(k, *IMAGE), longs(0, 0, 1, 1, 0, 0, 1, 1)))
    each("Trilu", (F32, I64), lambda k: values(k, *M))
    each("TopK", (F32, I64), lambda k: (values(k, *M, high=1e6), longs(10)), outputs=2)
    each("TopK", (F32,), lambda k: (values(k, 1 << 20), longs(100)), outputs=2)
    each("TopK", (F32,), lambda k: (values(k, *M), longs(1024)), outputs=2)
    each("TopK", (F32,), lambda k: (values(k, *M), longs(10)), axis=0, outputs=2)
    case("Unique", values(I64, 1 << 20, high=1000), outputs=4)
    case("Unique", values(F32, 1 << 18), outputs=1)
    case("Unique", values(F32, 1 << 18), outputs=1, sorted=0)
    case("Unique", values(I64, 4096, 16, high=1), axis=0, outputs=1)
    case("NonZero", values(F32, *M))
    case("NonZero", values(BOOL, *M))
    case("Compress", values(F32, *M), values(BOOL, 1024), axis=0)
    case("Compress", values(F32, *M), values(BOOL, 1 << 20))
    case("OneHot", ids(256, 4096), np.array(256), floats(0, 1))
    case("OneHot", ids(256, 4096), np.array(256), floats(0, 1), axis=0)
    case("EyeLike", values(F32, *M), types={"T2": "float"}, dtype=1)
    case("ReverseSequence", values(F32, 1024, 64, 16), ids(1024, 64))
    each("DepthToSpace SpaceToDepth", (F32, F16), lambda k: values(k, *IMAGE), blocksize=2)
    case("CenterCropPad", values(F32, *M), longs(1000, 1100))
    case("ConstantOfShape", longs(*M), types={"T2": "float"})
    each("Identity Flatten", (F32,), lambda k: values(k, *M))
    each("Identity", (STRING,), lambda k: values(k, *M))
    case("Reshape", values(F32, *M), longs(-1))
    case("Squeeze", values(F32, 1, *M), longs(0))
    case("Unsqueeze", values(F32, *M), longs(0))
    each("Shape Size", (F32,), lambda k: values(k, *M))


def quantised():
    for kind, name in ((U8, "uint8"), (I8, "int8")):
        zero = np.array(3, kind)
        case("QuantizeLinear", values(F32, *M), np.array(0.02, F32), zero)
        case("DequantizeLinear", values(kind, *M), np.array(0.02, F32), zero, types={"T3": "float"})
        case("QuantizeLinear", values(F32, *M), many(F32, 0.01, 0.02, 1024), values(kind, 1024), axis=1)
        case("DequantizeLinear", values(kind, *M), many(F32, 0.01, 0.02, 1024), values(kind, 1024), axis=0, types={"T3": "float"})
        case("MatMulInteger", values(U8, 512, 512, high=200), values(kind, 512, 512, high=100), np.array(7, U8), zero, constants=(1, 3))
        case("QLinearMatMul", values(U8, 512, 512, high=200), np.array(0.02, F32), np.array(7, U8), values(kind, 512, 512, high=100),
             np.array(0.02, F32), zero, np.array(0.5, F32), np.array(7, U8), constants=(1, 2, 3, 4, 5, 6, 7))
        case("QLinearConv", values(U8, 1, 64, 56, 56, high=200), np.array(0.02, F32), np.array(7, U8),
             values(kind, 64, 64, 3, 3, high=100), np.array(0.02, F32), zero, np.array(0.5, F32), np.array(7, U8), pads=[1] * 4,
             constants=(1, 2, 3, 4, 5, 6, 7))
    case("ConvInteger", values(U8, 1, 64, 56, 56, high=200), values(U8, 64, 64, 3, 3, high=100), np.array(7, U8), pads=[1] * 4,
         constants=(1, 2))
    case("DequantizeLinear", values(I8, *M), many(F32, 0.01, 0.02, 1024, 32), axis=1, block_size=32, types={"T3": "float"})
    case("DynamicQuantizeLinear", values(F32, *M), outputs=3)


def texts():
    case("StringConcat", values(STRING, 65536), values(STRING, 65536))
    case("StringNormalizer", values(STRING, 65536), case_change_action="LOWER", locale="C")
    case("StringSplit", values(STRING, 65536), outputs=2)
    case("RegexFullMatch", values(STRING, 65536), pattern="[a-z ]+")
    case("Tokenizer", values(STRING, 65536), domain="com.microsoft", mark=0, mincharnum=1, pad_value="", tokenexp="[a-z]+")
    case("TfIdfVectorizer", ids(1000, 256, 512), mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
         ngram_counts=[0, 500], ngram_indexes=list(range(1000)), pool_int64s=list(range(500)) + list(range(1000)))


def trees(leaves, features, count):
    """Full binary trees of the classic operators, with random splits."""
    inner = leaves - 1
    tree, node, mode, feature, value, yes, no = [], [], [], [], [], [], []
    for t in range(count):
        for i in range(2 * leaves - 1):
            branch = i < inner
            tree.append(t), node.append(i), mode.append("BRANCH_LEQ" if branch else "LEAF")
            feature.append(int(rng.integers(features)) if branch else 0), value.append(float(rng.uniform(-1, 1)) if branch else 0.0)
            yes.append(2 * i + 1 if branch else 0), no.append(2 * i + 2 if branch else 0)
    at = [(t, i) for t, i, m in zip(tree, node, mode) if m == "LEAF"]
    return dict(nodes_treeids=tree, nodes_nodeids=node, nodes_modes=mode, nodes_featureids=feature, nodes_values=value,
                nodes_truenodeids=yes, nodes_falsenodeids=no), [t for t, _ in at], [i for _, i in at]


def learned():
    ml = dict(domain="ai.onnx.ml")
    case("ArrayFeatureExtractor", values(F32, *M), ids(1024, 512), **ml)
    case("Binarizer", values(F32, *M), threshold=0.5, **ml)
    case("Scaler", values(F32, *M), offset=[0.5] * 1024, scale=[2.0] * 1024, **ml)
    case("Imputer", values(F32, *M), imputed_value_floats=[0.0] * 1024, replaced_value_float=1.0, **ml)
    case("FeatureVectorizer", values(F32, *M), values(F32, *M), inputdimensions=[1024, 1024], **ml)
    for norm in ("L1", "L2", "MAX"):
        case("Normalizer", values(F32, *M), norm=norm, **ml)
    case("LabelEncoder", values(I64, *M, low=0, high=100), keys_int64s=list(range(100)), values_floats=[0.5] * 100, types={"T2": "float"}, **ml)
    case("LabelEncoder", values(STRING, 65536), keys_strings=["mast", "straße"], values_int64s=[1, 2], types={"T2": "int64"}, **ml)
    case("CategoryMapper", values(STRING, 65536), cats_strings=["mast", "straße"], cats_int64s=[1, 2], types={"T2": "int64"}, **ml)
    case("OneHotEncoder", values(I64, 16384, low=0, high=63), cats_int64s=list(range(64)), **ml)
    case("LinearRegressor", values(F32, 4096, 256), coefficients=list(values(F32, 1024)), intercepts=[0.0] * 4, targets=4, **ml)
    case("LinearClassifier", values(F32, 4096, 256), coefficients=list(values(F32, 2560)), intercepts=[0.0] * 10,
         classlabels_ints=list(range(10)), post_transform="SOFTMAX", outputs=2, types={"T2": "int64"}, **ml)
    vectors = dict(coefficients=list(values(F32, 200)), support_vectors=list(values(F32, 200 * 64)), kernel_params=[0.1, 0.0, 3.0])
    case("SVMRegressor", values(F32, 4096, 64), kernel_type="RBF", n_supports=200, rho=[0.5], **vectors, **ml)
    case("SVMClassifier", values(F32, 4096, 64), kernel_type="RBF", vectors_per_class=[100, 100], rho=[0.5], classlabels_ints=[0, 1],
         outputs=2, types={"T2": "int64"}, **vectors, **ml)
    nodes, ids_of, leaves = trees(64, 64, 100)
    one = [float(v) for v in values(F32, len(leaves))]
    case("TreeEnsembleRegressor", values(F32, 4096, 64), **nodes, target_treeids=ids_of, target_nodeids=leaves,
         target_ids=[0] * len(leaves), target_weights=one, n_targets=1, **ml)
    case("TreeEnsembleClassifier", values(F32, 4096, 64), **nodes, class_treeids=ids_of, class_nodeids=leaves,
         class_ids=[i % 10 for i in leaves], class_weights=one, classlabels_int64s=list(range(10)), outputs=2, types={"T2": "int64"}, **ml)
    n = 100  # trees of one branch
    case("TreeEnsemble", values(F32, 4096, 64), tree_roots=list(range(n)), nodes_featureids=list(ids(64, n)),
         nodes_splits=numpy_helper.from_array(values(F32, n)), nodes_modes=numpy_helper.from_array(np.zeros(n, U8)),
         nodes_truenodeids=list(range(0, 2 * n, 2)), nodes_falsenodeids=list(range(1, 2 * n, 2)), nodes_trueleafs=[1] * n,
         nodes_falseleafs=[1] * n, leaf_targetids=[0] * (2 * n), leaf_weights=numpy_helper.from_array(values(F32, 2 * n)), **ml)


def lists():
    parts = [values(F32, 1024, 128) for _ in range(8)]
    case("SequenceConstruct", *parts)
    case("SequenceAt", parts, np.array(3))
    case("SequenceInsert", parts, parts[0], np.array(3))
    case("SequenceErase", parts, np.array(3))
    case("SequenceLength", parts)
    case("ConcatFromSequence", parts, axis=1)
    case("SplitToSequence", values(F32, *M), np.array(128), axis=0)


def steps():
    how = dict(domain="ai.onnx.preview.training", norm_coefficient=0.01)
    start, lists = (np.array(0.1, F32), np.array(3)), [many(F32, 0.5, 2, *M) for _ in range(4)]
    case("Adagrad", *start, *lists[:3], outputs=2, **how)
    case("Adam", *start, *lists, outputs=3, **how)
    case("Momentum", *start, *lists[:3], outputs=2, alpha=0.9, beta=0.1, mode="standard", **how)


def microsoft():
    ms = dict(domain="com.microsoft")
    each("Gelu QuickGelu FastGelu", (F32, F16), lambda k: values(k, *M), **ms)
    case("BiasGelu", values(F32, *M), values(F32, 1024), **ms)
    case("SkipLayerNormalization", values(F32, *ROWS), values(F32, *ROWS), values(F32, 1024), values(F32, 1024), **ms)
    case("SkipSimplifiedLayerNormalization", values(F32, *ROWS), values(F32, *ROWS), values(F32, 1024), **ms)
    case("Attention", values(F32, 1, 256, 768), values(F32, 768, 2304), values(F32, 2304), num_heads=12, constants=(1, 2), **ms)
    case("RotaryEmbedding", values(F32, 1, 16, 1024, 64), np.arange(1024)[None], values(F32, 1024, 32), values(F32, 1024, 32), **ms)
    for rows, level in ((1, 0), (1, 4), (64, 0), (64, 4)):
        case("MatMulNBits", values(F32, rows, 1024), values(U8, 1024, 32, 16, low=0, high=255), many(F32, 0.01, 0.02, 1024, 32),
             K=1024, N=1024, bits=4, block_size=32, accuracy_level=level, constants=(1, 2), **ms)
    for rows in (1, 64):
        case("QMoE", values(F32, rows, 512), values(F32, rows, 8), values(U8, 8, 1024, 256, low=0, high=255),
             many(F32, 0.01, 0.02, 8, 1024, 16), None, values(U8, 8, 512, 512, low=0, high=255), many(F32, 0.01, 0.02, 8, 512, 32),
             k=2, activation_type="silu", block_size=32, expert_weight_bits=4, constants=(2, 3, 5, 6), **ms)
        case("QMoE", values(F32, rows, 512), values(F32, rows, 8), values(U8, 8, 1024, 256, low=0, high=255),
             many(F32, 0.01, 0.02, 8, 1024), None, values(U8, 8, 512, 512, low=0, high=255), many(F32, 0.01, 0.02, 8, 512),
             k=2, activation_type="silu", expert_weight_bits=4, constants=(2, 3, 5, 6), **ms)
    case("GatherBlockQuantized", values(U8, 4096, 128, low=0, high=255), ids(4096, 1024), many(F32, 0.01, 0.02, 4096, 8), bits=4,
         block_size=32, quantize_axis=1, **ms)


for family in (math, layers, moves, quantised, texts, learned, lists, steps, microsoft):
    family()
