#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schema.tsv, one row per operator version of the onnx package, to standard output.

usage: python3 make_schema.py > schema.tsv        (onnx 1.23.2)
"""
import sys

import onnx
from onnx import defs, helper

MANY = 2147483647
ESCAPES = {"\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n"}


def escape(text):
    return "".join(ESCAPES.get(c, c) for c in text)


def type_text(name):
    """tensor(float) -> float; other kinds keep their form, without blanks and with ':' between key and value of a map."""
    name = name.replace(" ", "")
    if name.startswith("tensor(") and name.endswith(")"):
        return name[len("tensor("):-1]
    return name.replace(",", ":")


def parameters(formal):
    texts = []
    for p in formal:
        mark = ""
        if p.option == defs.OpSchema.FormalParameterOption.Optional:
            mark = "?"
        elif p.option == defs.OpSchema.FormalParameterOption.Variadic:
            mark = "*" if p.is_homogeneous else "*~"
        texts.append(f"{p.name}{mark}:{type_text(p.type_str)}")
    return " ".join(texts)


def default_text(value):
    value = helper.get_attribute_value(value)
    if isinstance(value, bytes):
        return escape(value.decode())
    if isinstance(value, float):
        return repr(value) if value != int(value) else f"{value:.1f}"
    if isinstance(value, int):
        return str(value)
    if hasattr(value, "__iter__") and not hasattr(value, "DESCRIPTOR"):
        return "[" + ",".join(escape(v.decode()) if isinstance(v, bytes) else str(v) for v in value) + "]"
    return "?"  # a tensor: none is a useful default


def attributes(schema):
    texts = []
    for name in sorted(schema.attributes):
        a = schema.attributes[name]
        text = f"{name}:{str(a.type).split('.')[-1].lower()}"
        if a.required:
            text += "!"
        elif a.default_value is not None and a.default_value.type != 0:
            text += "=" + default_text(a.default_value)
        texts.append(text)
    return " ".join(texts)


def types(schema):
    return " ".join(
        f"{c.type_param_str}={','.join(type_text(t) for t in c.allowed_type_strs)}" for c in schema.type_constraints)


def row(s):
    function = s.has_function or s.has_context_dependent_function
    return [s.domain, s.name, s.since_version, int(function), int(s.deprecated), s.min_input, min(s.max_input, MANY),
            s.min_output, min(s.max_output, MANY), parameters(s.inputs), parameters(s.outputs), attributes(s), types(s)]


def main():
    rows = [row(s) for s in defs.get_all_schemas_with_history()]
    rows.sort(key=lambda r: (r[0].encode(), r[1].encode(), r[2]))
    print(f"# made by make_schema.py from onnx {onnx.__version__}")
    print("# domain name since function deprecated min_in max_in min_out max_out inputs outputs attributes types"
          .replace(" ", "\t").replace("#\t", "# ", 1))
    for r in rows:
        print("\t".join(str(c) for c in r))
    print(f"{len(rows)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
