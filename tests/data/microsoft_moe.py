# SPDX-License-Identifier: Apache-2.0
"""Cases of MoE and QMoE for make_microsoft.py, and their rule in numpy, for what ONNX Runtime has on other devices alone:
separate FC3, sparse mixing, gates before factors, weights that are not normalised (its QMoE always does)."""
import ml_dtypes
import numpy as np


def f32(random, *shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(np.float32)


def pack(codes, bits):
    """[..., n] codes as bytes, low bits first; the last one is padded with zeros."""
    each = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(*codes.shape[:-1], -1), -1, "little")


def unpack(data, bits, n):
    each = np.unpackbits(data, -1, n * bits, "little").reshape(*data.shape[:-1], n, bits)
    return (each.astype(int) << np.arange(bits)).sum(-1)


def experts(random, N, K, count, bits, block, zeros, bias, kind):
    """Weights, scales, bias and zero points of one layer; bits 0: MoE's."""
    added = f32(random, count, N, scale=0.3).astype(kind) if bias else None
    if not bits:
        return f32(random, count, N, K, scale=K ** -0.5).astype(kind), None, added, None
    if bits == "fp8":
        codes = f32(random, count, N, K).astype(ml_dtypes.float8_e4m3fn)
        shape = (count, -(-N // block), -(-K // block)) if block else (count,)
        return codes, (random.uniform(0.5, 1.5, shape) * K ** -0.5).astype(kind if block else np.float32), added, None
    codes = random.integers(0, 1 << bits, (count, N, K), np.uint8)
    shape = (count, N, K // block) if block else (count, N)
    scales = random.uniform(0.5, 1.5, shape).astype(kind) * kind(2.0 / (1 << bits) * K ** -0.5)
    points = pack(random.integers(0, 1 << bits, shape, np.uint8), bits) if zeros else None
    return pack(codes, bits), scales.astype(kind), added, points


def moe(random, op="MoE", rows=(5,), hidden=16, inter=24, count=4, k=2, bits=0, block=0, zeros=False, bias=False, fc3=False, apart=False,
        normalize=1, fusion=0, activation="relu", kind=np.float32, **attributes):
    """apart: weights of their own, router_weights."""
    bits = bits if isinstance(bits, tuple) else (bits,) * 3
    make = lambda layer, N, K: experts(random, N, K, count, bits[layer], block, zeros, bias, kind)
    fc1 = make(0, inter * (2 if fusion else 1), hidden)
    fc2 = make(1, hidden, inter)
    third = make(2, inter, hidden) if fc3 else (None,) * 4
    n = int(np.prod(rows))
    inputs = [f32(random, *rows, hidden).astype(kind), f32(random, n, count, scale=2).astype(kind)]
    if op == "MoE":
        for weights, _, added, _ in (fc1, fc2, third):
            inputs += [weights, added]
    else:
        for weights, scales, added, _ in (fc1, fc2, third):
            inputs += [weights, scales, added]
        inputs += [fc1[3], fc2[3], third[3]]
        inputs += [random.uniform(0.1, 1, (n, count)).astype(kind)] if apart else []
        if bits[0] == "fp8":
            attributes["quant_type"] = "fp8"
        else:
            attributes["expert_weight_bits"] = bits[0]
        if bits[0] == "fp8" and not block:
            inputs += [None] * (15 - len(inputs)) + [inputs[3], inputs[6]]
            inputs[3] = inputs[6] = None
        if bits[1] != bits[0]:
            attributes["fc2_expert_weight_bits"] = bits[1]
        if block:
            attributes["block_size"] = block
    attributes.update(k=k, normalize_routing_weights=normalize, activation_type=activation)
    if fusion:
        attributes["swiglu_fusion"] = fusion
    constants = range(2, 8) if op == "MoE" else range(2, 14)
    return op, inputs, attributes, 1, constants


def layer(op, inputs, attributes, which):
    """One layer's matrices and biases in double, as the page says; None where it is absent."""
    at = 2 + which * (2 if op == "MoE" else 3)
    get = lambda i: inputs[i] if i < len(inputs) else None
    weights = get(at)
    if weights is None:
        return None, None
    bias = get(at + (1 if op == "MoE" else 2))
    if op == "QMoE":
        block = attributes.get("block_size", 0)
        if attributes.get("quant_type") == "fp8":
            scales = (inputs[at + 1] if block else inputs[15 + which][:, None, None]).astype(float)
            if block:
                scales = np.repeat(np.repeat(scales, block, 1), block, 2)[:, :weights.shape[1], :weights.shape[2]]
            return weights.astype(float) * scales, 0 if bias is None else bias.astype(float)
        bits = attributes.get(f"fc{which + 1}_expert_weight_bits", attributes["expert_weight_bits"])
        scales, points = inputs[at + 1].astype(float), get(11 + which)
        codes = unpack(weights, bits, weights.shape[-1] * 8 // bits).astype(float)
        if points is None:
            points = np.full(scales.shape, 1 << (bits - 1))
        else:
            points = unpack(points, bits, scales.shape[-1])
        spread = (lambda x: np.repeat(x, block, -1)) if block else (lambda x: x[..., None])
        weights = (codes - spread(points)) * spread(scales)
    return weights.astype(float), 0 if bias is None else bias.astype(float)


def route(scores, attributes, given):
    k = attributes["k"]
    order = np.argsort(-scores, kind="stable")[:k]
    if given is not None:
        weights = given[order]
    elif attributes.get("use_sparse_mixer"):
        weights = []
        for i, e in enumerate(order):
            near = (scores[e] - scores) / np.maximum(np.abs(scores), scores[e]) <= 0.02
            near[order[:i]] = False
            weights.append(1 / np.exp(scores[near] - scores[e]).sum())
    else:
        p = np.exp(scores - scores.max())
        weights = (p / p.sum())[order]
    weights = np.asarray(weights)
    return order, weights / weights.sum() if attributes.get("normalize_routing_weights") else weights


def activate(gate, factor, attributes):
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    tanh_gelu = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
    kind = attributes["activation_type"]
    if kind == "swiglu":
        alpha, beta = attributes.get("activation_alpha", 1.0), attributes.get("activation_beta", 0.0)
        limit = attributes.get("swiglu_limit", np.inf)
        if attributes.get("swiglu_limit_after_activation"):
            gate = np.minimum(gate * sigmoid(alpha * gate), limit)
        else:
            gate = np.minimum(gate, limit)
            gate = gate * sigmoid(alpha * gate)
        return gate * (np.clip(factor, -limit, limit) + beta)
    functions = {"relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0) ** 2, "gelu": tanh_gelu, "geglu": tanh_gelu,
                 "silu": lambda x: x * sigmoid(x), "identity": lambda x: x}
    return functions[kind](gate) * (1 if factor is None else factor)


def rule(op, inputs, attributes):
    x = inputs[0].reshape(-1, inputs[0].shape[-1]).astype(float)
    layers = [layer(op, inputs, attributes, which) for which in range(3)]
    given = inputs[14].astype(float) if len(inputs) > 14 and inputs[14] is not None else None
    y = np.zeros_like(x)
    for row in range(len(x)):
        order, weights = route(inputs[1][row].astype(float), attributes, None if given is None else given[row])
        for e, weight in zip(order, weights):
            apply = lambda which, a: a @ layers[which][0][e].T + (layers[which][1][e] if np.ndim(layers[which][1]) else 0)
            gate, factor, fusion = apply(0, x[row]), None, attributes.get("swiglu_fusion", 0)
            if layers[2][0] is not None:
                factor = apply(2, x[row])
            elif fusion == 1:
                gate, factor = gate[::2], gate[1::2]
            elif fusion == 2:
                gate, factor = np.split(gate, 2)
            y[row] += weight * apply(1, activate(gate, factor, attributes))
    return [y.reshape(inputs[0].shape).astype(inputs[0].dtype)]


# By ONNX Runtime
RUN = {
    "moe_relu": dict(), "moe_gelu": dict(activation="gelu", bias=True), "moe_silu": dict(activation="silu", rows=(2, 3)),
    "moe_identity": dict(activation="identity", k=1), "moe_weights": dict(normalize=0, k=3), "moe_all": dict(k=4, bias=True),
    "moe_swiglu": dict(activation="swiglu", fusion=1, bias=True, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.7),
    "moe_swiglu_plain": dict(activation="swiglu", fusion=1, count=9, rows=(40,)),
    "qmoe_4": dict(op="QMoE", bits=4, activation="silu"), "qmoe_4_bias": dict(op="QMoE", bits=4, bias=True, rows=(2, 3), activation="gelu"),
    "qmoe_8": dict(op="QMoE", bits=8, bias=True), "qmoe_8_swiglu": dict(op="QMoE", bits=8, activation="swiglu", fusion=1, bias=True,
                                                                        activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.7),
    "qmoe_4_swiglu": dict(op="QMoE", bits=4, activation="swiglu", fusion=1, count=7, k=3),
    "qmoe_4_blocks": dict(op="QMoE", bits=4, block=32, hidden=64, inter=96, activation="silu"),
    "qmoe_4_blocks_swiglu": dict(op="QMoE", bits=4, block=32, hidden=64, inter=32, activation="swiglu", fusion=1, bias=True),
    "qmoe_4_zeros": dict(op="QMoE", bits=4, zeros=True, activation="silu"),
    "qmoe_4_blocks_zeros": dict(op="QMoE", bits=4, block=16, hidden=48, inter=32, zeros=True, activation="silu"),
    "qmoe_2_blocks": dict(op="QMoE", bits=2, block=32, hidden=64, inter=64, activation="relu"),
    "qmoe_apart": dict(op="QMoE", bits=4, apart=True, activation="silu"),
    "qmoe_apart_weights": dict(op="QMoE", bits=4, apart=True, normalize=0, activation="silu"),
    "half_qmoe_4": dict(op="QMoE", bits=4, kind=np.float16, bias=True, activation="silu"),
}
# By the rule
RULED = {
    "moe_fc3": dict(fc3=True, activation="silu", bias=True), "moe_fc3_swiglu": dict(fc3=True, activation="swiglu", swiglu_limit=1.0),
    "moe_fc3_gelu": dict(fc3=True, activation="gelu", k=1), "moe_swiglu_halves": dict(activation="swiglu", fusion=2, inter=19, hidden=13),
    "moe_swiglu_after": dict(activation="swiglu", fusion=1, swiglu_limit=0.3, swiglu_limit_after_activation=1, inter=300),
    "moe_geglu": dict(activation="geglu", fusion=1), "moe_relu2": dict(activation="relu2"),
    "moe_mixer": dict(use_sparse_mixer=1, normalize=0, rows=(12,), count=6, activation="silu", fc3=True),
    "qmoe_weights": dict(op="QMoE", bits=4, normalize=0, k=2, activation="silu"),
    "qmoe_mixed_bits": dict(op="QMoE", bits=(4, 8, 4), activation="silu", fc3=True, block=16, hidden=32, inter=48, zeros=True),
    "qmoe_8_blocks": dict(op="QMoE", bits=8, block=16, hidden=32, inter=48, zeros=True, activation="silu"),
    "qmoe_fp8": dict(op="QMoE", bits="fp8", hidden=20, inter=36, bias=True, activation="silu"),
    "qmoe_fp8_blocks": dict(op="QMoE", bits="fp8", block=16, hidden=40, inter=70, activation="swiglu", fusion=1, rows=(2, 3)),
    "qmoe_fp8_fc3": dict(op="QMoE", bits="fp8", block=128, hidden=140, inter=21, fc3=True, activation="silu"),
    "qmoe_3": dict(op="QMoE", bits=3, block=32, hidden=64, inter=96, activation="swiglu", fusion=1, bias=True, weights_prepacked=0),
    "qmoe_3_mixed": dict(op="QMoE", bits=(3, 4, 3), block=64, hidden=64, inter=128, activation="swiglu", fusion=1, zeros=True, weights_prepacked=0),
    "half_qmoe_fp8": dict(op="QMoE", bits="fp8", block=32, hidden=40, inter=33, kind=np.float16, activation="silu"),
    "qmoe_2": dict(op="QMoE", bits=2, zeros=True, hidden=20, inter=36, activation="silu"),
    "qmoe_fc3": dict(op="QMoE", bits=8, fc3=True, bias=True, activation="silu", hidden=40, inter=21),
    "half_moe": dict(kind=np.float16, fc3=True, activation="silu", bias=True),
}
