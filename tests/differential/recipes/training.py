# SPDX-License-Identifier: Apache-2.0
"""Steps of optimizers, and Gradient."""
import numpy as np
from onnx import helper

from draw import Case, recipe

DOMAIN = "ai.onnx.preview.training"


def coefficient(x):
    """As a float attribute holds it."""
    return float(np.float32(x))


@recipe("Adagrad", "Adam", "Momentum", domain=DOMAIN)
def optimizer(d):
    name = d.row.name
    rate, count = d.values("T1", [], 0.01, 0.5), np.array(d.pick(0, 1, 7), np.int64)
    kinds = {"Adagrad": 3, "Adam": 4, "Momentum": 3}[name]  # tensors that each optimized one has
    shapes = [d.shape(0, 3) for _ in range(d.int(1, 3))]
    tensors = [d.values("T3", shape, 0 if kind == kinds - 1 and name != "Momentum" else -2, 2)
               for kind in range(kinds) for shape in shapes]
    norm = d.pick(0.0, 0.25) if name == "Momentum" else d.pick(None, 0.25)
    written = {"Adagrad": dict(decay_factor=d.pick(None, 0.1), epsilon=d.pick(None, 1e-3)),
               "Adam": dict(alpha=d.pick(None, 0.5), beta=d.pick(None, 0.75), epsilon=d.pick(None, 1e-3),
                            norm_coefficient_post=d.pick(None, 0.125)),
               "Momentum": dict(alpha=0.9, beta=0.5, mode=d.pick("standard", "nesterov"))}[name]
    held = {"decay_factor": 0.0, "epsilon": 1e-6, "alpha": 0.9, "beta": 0.999, "norm_coefficient_post": 0.0}
    held |= {key: value for key, value in written.items() if value is not None}
    epsilon, alpha, beta = (coefficient(held[key]) for key in ("epsilon", "alpha", "beta"))

    def adagrad(r, t, x, g, h):
        h = h + g * g
        return x - r / (1 + t * coefficient(held["decay_factor"])) * g / (np.sqrt(h) + epsilon), h

    def adam(r, t, x, g, v, h):
        v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
        r = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
        return (1 - coefficient(held["norm_coefficient_post"])) * (x - r * v / (np.sqrt(h) + epsilon)), v, h

    def momentum(r, t, x, g, v):
        v = alpha * v + (beta if t > 0 else 1) * g
        return x - r * (g + alpha * v if held["mode"] == "nesterov" else v), v

    step = {"Adagrad": adagrad, "Adam": adam, "Momentum": momentum}[name]

    def rule(r, t, *tensors):
        n = len(shapes)
        news = []
        for i in range(n):
            x, g, *rest = tensors[i::n]
            news.append(step(float(r), float(t), x, coefficient(norm or 0) * x + g, *rest))
        return tuple(new[part] for part in range(kinds - 1) for new in news)

    return Case(rate, count, *tensors, outputs=len(shapes) * (kinds - 1), rule=rule, error=16, norm_coefficient=norm,
                **written)


def node(text, **attributes):
    out, _, kind, *ins = text.split()
    return helper.make_node(kind, ins, [out], **attributes)


CHAINS = [  # nodes from x0 and x1 to y, and the derivatives of y by both
    ([node("y = Mul x0 x1")], lambda a, b: (b, a)),
    ([node("s = Add x0 x1"), node("y = Tanh s")], lambda a, b: (1 - np.tanh(a + b) ** 2,) * 2),
    ([node("e = Exp x1"), node("y = Div x0 e")], lambda a, b: (np.exp(-b), -a * np.exp(-b))),
    ([node("y = Max x0 x1")], lambda a, b: ((a >= b) * 1.0, (b > a) * 1.0)),
    ([node("s = Sub x0 x1"), node("t = Mul s s"), node("y = Mul t x0")],
     lambda a, b: ((a - b) ** 2 + 2 * a * (a - b), -2 * a * (a - b))),
]


@recipe("Gradient", domain=DOMAIN)
def gradient(d):
    """Of a few nodes that stand before it, by both of their inputs. A type without a derivative is that of a third
    tensor, on which y does not depend."""
    if d.cell == "T1" and d.types["T1"] in d.row.types["T2"]:
        d.types["T2"] = d.types["T1"]
    kind, of = d.types["T1"], d.types["T2"]
    nodes, slopes = d.pick(*CHAINS)
    shape = d.shape(0, 3)
    x0, x1 = (d.values(of, shape, -1.5, 1.5) for _ in range(2))
    others = [d.values(kind, [2])] if kind != of else []
    return Case(x0, x1, *others, outputs=2, rule=lambda a, b, *_: slopes(a, b), error=32, before=nodes,
                input_types=[of, of] + [kind] * len(others), xs=["x0", "x1"], y="y", zs=["x2"] if others else None)
