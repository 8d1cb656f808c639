# SPDX-License-Identifier: Apache-2.0
"""Operators that carry a state from one call to the next."""
import numpy as np

from draw import Case, recipe


def silu(x):
    return x / (1 + np.exp(-x))


@recipe("CausalConvWithState")
def causal(d):
    batch, channels, length, k = d.int(1, 3), d.int(1, 5), d.pick(1, 1, 2, 5, 17), d.int(1, 4)
    activation = d.pick(None, "none", "silu", "swish")
    x, w = d.values("T", [batch, channels, length]), d.values("T", [channels, 1, k])
    bias = d.values("T", [channels]) if d.chance() else None
    past = d.values("T", [batch, channels, k - 1]) if d.chance() else None

    def rule(x, w, bias=None, past=None):
        past = np.zeros((batch, channels, k - 1)) if past is None else past
        whole = np.concatenate([past, x], 2)
        y = sum(whole[:, :, t:t + length] * w[:, 0, t, None] for t in range(k)) + (0 if bias is None else bias[:, None])
        return silu(y) if activation in {"silu", "swish"} else y, whole[:, :, length:]

    return Case(x, w, bias, past, outputs=2, rule=rule, error=8, activation=activation)


@recipe("LinearAttention")
def linear(d):
    batch, steps, heads, group, dk, dv = d.int(1, 2), d.pick(1, 2, 5), d.int(1, 3), d.int(1, 3), d.int(1, 5), d.int(1, 5)
    update = d.pick(None, "linear", "gated", "delta", "gated_delta")
    gated, delta = update not in {"linear", "delta"}, update not in {"linear", "gated"}
    query = d.values("T", [batch, steps, heads * group * dk], -1, 1)
    key, value = d.values("T", [batch, steps, heads * dk], -0.6, 0.6), d.values("T", [batch, steps, heads * dv], -1, 1)
    past = d.values("S", [batch, heads, dk, dv], -1, 1) if d.types["S"] != d.types["T"] or d.chance(0.7) else None
    decay = d.values("T", [batch, steps, heads * d.pick(1, dk)], -2, 0) if gated else None
    beta = d.values("T", [batch, steps, d.pick(1, heads)], 0, 1) if delta else None
    scale = d.pick(None, 0.0, 0.5)

    def rule(q, k, v, past=None, decay=None, beta=None):
        state = np.zeros((batch, heads, dk, dv)) if past is None else np.array(past)
        q, k, v = q.reshape(batch, steps, heads, group, dk), k.reshape(batch, steps, heads, dk), v.reshape(
            batch, steps, heads, dv)
        y = np.zeros((batch, steps, heads, group, dv))
        for t in range(steps):
            if gated:
                state = state * np.exp(decay[:, t].reshape(batch, heads, -1, 1))
            new = v[:, t]
            if delta:
                seen = np.einsum("bhkv,bhk->bhv", state, k[:, t])
                new = beta[:, t].reshape(batch, -1, 1) * (new - seen)
            state = state + k[:, t][..., None] * new[:, :, None]
            y[:, t] = (scale or dk ** -0.5) * np.einsum("bhgk,bhkv->bhgv", q[:, t], state)
        return y.reshape(batch, steps, -1), state

    return Case(query, key, value, past, decay, beta, outputs=2, rule=rule, error=16, update_rule=update, scale=scale,
                kv_num_heads=heads, q_num_heads=heads * group, chunk_size=d.pick(None, 2))
