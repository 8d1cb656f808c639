# SPDX-License-Identifier: Apache-2.0
"""Losses."""
import numpy as np

from draw import Case, recipe


def labelled(d, with_ignored):
    """(shape of the scores, labels, the label that is ignored or None): some label is not ignored."""
    shape = [d.int(1, 5), d.int(1, 6), *(d.int(1, 4) for _ in range(d.pick(0, 0, 1, 2, 3)))]
    labels = d.rng.integers(0, shape[1], [shape[0], *shape[2:]])
    ignored = d.pick(-1, 0, shape[1] + 9) if with_ignored and shape[1] > 1 else None
    if ignored is not None:
        labels = np.where(d.rng.random(labels.shape) < 0.3, ignored, labels)
        labels.reshape(-1)[0] = 1
    return shape, labels.astype(d.dtype("Tind")), ignored


def loss(log, labels, weights, ignored, reduction):
    """Of log probabilities."""
    kept = labels != ignored if ignored is not None else np.ones(labels.shape, bool)
    at = np.where(kept, labels, 0).astype(np.int64)
    each = kept * (np.ones(log.shape[1]) if weights is None else weights)[at]
    y = -np.take_along_axis(log, at[:, None], 1)[:, 0] * each
    return {"none": lambda: y, "sum": lambda: np.asarray(y.sum())}.get(reduction, lambda: np.asarray(y.sum() / each.sum()))()


@recipe("NegativeLogLikelihoodLoss")
def likelihood(d):
    shape, labels, ignored = labelled(d, d.chance())
    reduction = d.pick(None, "mean", "sum", "none")
    weights = d.values("T", [shape[1]], 0.25, 3) if d.chance() else None
    rule = lambda x, labels, weights=None: loss(x, labels, weights, ignored, reduction)  # noqa: E731
    return Case(d.values("T", shape, -5, 0), labels, weights, rule=rule, error=16, ignore_index=ignored, reduction=reduction)


@recipe("SoftmaxCrossEntropyLoss")
def cross_entropy(d):
    shape, labels, ignored = labelled(d, d.chance())
    reduction = d.pick(None, "mean", "sum", "none")
    weights = d.values("T", [shape[1]], 0.25, 3) if d.chance() else None
    outputs = d.pick(1, 2)

    def rule(x, labels, weights=None):
        x = x - x.max(1, keepdims=True)
        log = x - np.log(np.exp(x).sum(1, keepdims=True))
        y = loss(log, labels, weights, ignored, reduction)
        return (y, log) if outputs == 2 else y

    return Case(d.values("T", shape, -5, 5), labels, weights, outputs=outputs, rule=rule, error=16, ignore_index=ignored,
                reduction=reduction)
