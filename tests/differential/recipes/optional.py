# SPDX-License-Identifier: Apache-2.0
"""Optionals, and Identity, which takes values of any kind."""
import numpy as np

import schema
from draw import EMPTY, Case, recipe


def optional_of(kind):
    return f"optional({kind if kind.startswith('seq(') else f'tensor({kind})'})"


@recipe("Identity")
def identity(d):
    return Case(d.value(d.type(d.row.inputs[0].type)), rule=lambda x: x, error=0)


@recipe("Optional")
def optional(d):
    """With a value, or without one and of the type that an attribute says."""
    kind = d.types["V"] if d.cell == "V" else schema.inner(d.types["O"])
    d.types["V"] = kind
    d.types["O"] = optional_of(kind)
    if d.chance(0.3):
        return Case(rule=lambda: None, type=schema.type_proto(kind))
    return Case(d.value(kind), rule=lambda x: x)


@recipe("OptionalGetElement")
def get_element(d):
    if d.cell == "V":
        bare = d.types["V"]
        whole = optional_of(bare)
        d.types["O"] = d.pick(bare, whole) if bare in d.row.types["O"] else whole
    else:
        d.types["V"] = schema.inner(d.types["O"])
    return Case(d.value(d.types["V"]), rule=lambda x: x)


@recipe("OptionalHasElement")
def has_element(d):
    kind = d.types["O"]
    if not kind.startswith("optional("):
        return Case(d.value(kind), rule=lambda x: np.array(True))
    if d.chance(0.4):
        return Case(EMPTY, rule=lambda x: np.array(False))
    return Case(d.value(schema.inner(kind)), rule=lambda x: np.array(True))
