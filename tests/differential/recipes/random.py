# SPDX-License-Identifier: Apache-2.0
"""What is drawn at random, judged by its distribution: a false alarm has a chance of about one in 100,000, once for a seed."""
import math

import numpy as np

import schema
from draw import Case, Drawn, recipe

LARGE = [[4096], [61, 67], [3, 5, 307], [1, 4096]]


def far_from(x, distribution, step):
    """Kolmogorov and Smirnov: the largest distance of the observed from the stated distribution; step: how far rounding
    to the type may have moved an element, in chance."""
    x = np.sort(x.reshape(-1).astype(np.float64))
    n, wanted = len(x), distribution(x)
    distance = max((np.arange(1, n + 1) / n - wanted).max(), (wanted - np.arange(n) / n).max())
    limit = 2.5 / math.sqrt(n) + step
    return f"a distance of {distance:.4f} from the distribution, at most {limit:.4f} is by chance" if distance > limit else None


def unlikely(counts, wanted):
    """Pearson's chi-squared, by the normal approximation of Wilson and Hilferty."""
    if np.any(counts[wanted == 0]):
        return "an outcome of probability 0 was drawn"
    counts, wanted = counts[wanted > 0], wanted[wanted > 0]
    freedom = len(counts) - 1
    chi = ((counts - wanted) ** 2 / wanted).sum()
    if freedom < 1:
        return None
    z = ((chi / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return f"chi-squared is {chi:.1f} of {freedom} degrees of freedom" if z > 4.5 else None


def seed(d):
    return d.pick(None, 0.0, 1.5, -7.0)


def shaped(d, kind, **attributes):
    """(inputs, attributes) that say shape and type: of the operator itself, or of its Like."""
    shape = d.pick(*LARGE) if d.chance(0.8) else d.shape(0, 3)
    if d.row.name.endswith("Like"):
        source = d.types["T1"]
        dtype = None if source == kind and d.chance() else schema.element(kind)
        return shape, [d.values(source, shape)], dict(dtype=dtype, **attributes)
    dtype = None if kind == "float" and d.chance() else schema.element(kind)
    return shape, [], dict(shape=shape, dtype=dtype, **attributes)


@recipe("RandomUniform", "RandomUniformLike")
def uniform(d):
    kind = d.types["T" if d.row.name == "RandomUniform" else "T2"]
    low, high = d.pick((None, None), (-2.0, 3.0), (0.0, 100.0))
    a, b = (0.0, 1.0) if low is None else (low, high)
    shape, inputs, how = shaped(d, kind, low=low, high=high, seed=seed(d))

    def statistics(y):
        if y.size and (y.min() < a or y.max() > b):
            return f"an element from {y.min()} to {y.max()}"
        step = schema.epsilon(kind) * max(abs(a), abs(b)) / (b - a)
        return far_from(y, lambda x: (x - a) / (b - a), step) if y.size > 1000 else None

    return Drawn(*inputs, shapes=[shape], statistics=statistics, varies=math.prod(shape) > 1000, **how)


@recipe("RandomNormal", "RandomNormalLike")
def normal(d):
    kind = d.types["T" if d.row.name == "RandomNormal" else "T2"]
    mean, scale = d.pick((None, None), (-2.0, 3.0), (10.0, 0.5))
    m, s = (0.0, 1.0) if mean is None else (mean, scale)
    shape, inputs, how = shaped(d, kind, mean=mean, scale=scale, seed=seed(d))
    below = np.vectorize(lambda x: 0.5 * (1 + math.erf((x - m) / s / math.sqrt(2))), otypes=[float])
    step = schema.epsilon(kind) * (abs(m) + 3 * s) / s
    statistics = lambda y: far_from(y, below, step) if y.size > 1000 else None  # noqa: E731
    return Drawn(*inputs, shapes=[shape], statistics=statistics, varies=math.prod(shape) > 1000, **how)


@recipe("Bernoulli")
def bernoulli(d):
    shape = d.pick(*LARGE)
    levels = np.array([0, 0.125, 0.5, 0.875, 1])
    which = d.rng.integers(0, len(levels), shape)
    p = levels[which].astype(d.dtype("T1"))
    dtype = None if d.types["T1"] == d.types["T2"] and d.chance() else schema.element(d.types["T2"])

    def statistics(y):
        y = y.astype(np.float64)
        if not np.isin(y, [0, 1]).all():
            return "an element that is neither 0 nor 1"
        bad = [unlikely(np.array([(drawn == 0).sum(), (drawn == 1).sum()]), drawn.size * np.array([1 - level, level]))
               for level, drawn in ((level, y[which == i]) for i, level in enumerate(levels))]
        return next(filter(None, bad), None)

    return Drawn(p, shapes=[shape], statistics=statistics, dtype=dtype, seed=seed(d))


@recipe("Multinomial")
def multinomial(d):
    rows, classes, n = d.int(1, 4), d.int(1, 7), 1500
    logs = np.round(d.rng.uniform(-2, 2, [rows, classes]) * 4) / 4
    kind = d.types["T2"]
    dtype = None if kind == "int32" and d.chance() else schema.element(kind)

    def statistics(y):
        chances = np.exp(logs) / np.exp(logs).sum(1, keepdims=True)
        if y.min() < 0 or y.max() >= classes:
            return f"an outcome from {y.min()} to {y.max()} of {classes}"
        return next(filter(None, (unlikely(np.bincount(row, minlength=classes), n * p) for row, p in zip(y, chances))), None)

    return Drawn(logs.astype(d.dtype("T1")), shapes=[[rows, n]], statistics=statistics, varies=classes > 1, dtype=dtype,
                 sample_size=n, seed=seed(d))


@recipe("Dropout")
def dropout(d):
    """In training since version 12, when an input says so; before 7 an attribute does."""
    trains = d.since >= 12 and d.chance(0.6)
    shape = d.pick(*LARGE) if trains else d.shape()
    x = d.values("T", shape, 1, 4)
    if not trains:
        written = dict(is_test=1) if d.since < 7 else {}
        return Case(x, rule=lambda x: x, error=0, ratio=d.pick(None, 0.3) if d.since < 12 else None, **written)
    ratio = d.pick(0.0, 0.25, 0.5, 0.875)

    def statistics(y, mask):
        kept = x.astype(np.float64) / (1 - ratio)
        off = np.abs(y.astype(np.float64) - np.where(mask, kept, 0)) > 2 * schema.epsilon(d.types["T"]) * kept
        if off.any():
            return "an element that is neither 0 nor scaled, or not what the mask says"
        return unlikely(np.array([(~mask).sum(), mask.sum()]), y.size * np.array([ratio, 1 - ratio]))

    return Drawn(x, np.array(ratio, d.dtype("T1")), np.array(True), shapes=[shape, shape], statistics=statistics,
                 varies=ratio > 0, seed=d.pick(None, 3))
