#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoders that round rows, to 8 bits before products (MatMulNBits, accuracy_level 4) or to 8 or 4 on their way into a cache.

usage: roundings.py PROGRAM MODEL_FOLDER REFERENCE FOLDER     needs ./dev venv

A sum's last bit may turn a rounding, and logits then move by tenths. So the judge is given the roundings: ONNX Runtime runs the
file's graph in which nothing is rounded, but what was rounded to is an input. PROGRAM reads the texts of REFERENCE
(make_references.py) in one pass, and ONNX Runtime token by token. Of each of the two is claimed, for all rows of all nodes:

- rounded: products are those of rows that are rounded by the rule, to 1e-5
- near: what is rounded is what the judge has in its place, to 1e-3 of a code; of a cache, which shows codes alone, to half a code more
- judged: logits are the judge's, to 1e-4

So where the two have different codes first, they rounded a number that is a tie to 1e-3 of a code, and what follows from such
codes is all that their logits differ by. FOLDER gets what the judge says with PROGRAM's roundings: decoder_test holds every step
of the decoder against that.
"""
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from make_references import Decoder, write

ROUNDED, NEAR, JUDGED = 1e-5, 1e-3, 1e-4


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def floats(name, dims=None):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


class Product:
    """A MatMulNBits: each block of a row has a scale, by which its largest number is 127."""

    def __init__(self, node, weights):
        self.of = attributes(node)
        self.rows, self.result, self.given = node.input[0], node.output[0], node.input[0] + ":given"
        if any(node.input[3:]):
            sys.exit(f"{node.name} has zero points, groups or a bias: not known here")
        columns, bits = self.of["N"], self.of["bits"]
        packed = weights[node.input[1]].reshape(columns, -1, 1)
        codes = packed >> np.arange(0, 8, bits, dtype=np.uint8) & (2 ** bits - 1)
        blocks = codes.reshape(columns, -1, self.of["block_size"]) - 2.0 ** (bits - 1)
        scales = weights[node.input[2]].reshape(columns, -1, 1)
        self.weights = (blocks * scales).reshape(columns, -1)[:, :self.of["K"]]

    def watched(self):
        return [self.rows, self.result]

    def judge(self, graph):
        """Takes its rows as they are given. Returns what is given in place of which value."""
        node = next(n for n in graph.node if n.output[0] == self.result)
        node.input[0] = self.given
        next(a for a in node.attribute if a.name == "accuracy_level").i = 0  # products of floats
        return {self.given: self.rows}

    def codes(self, rows):
        """And the distance of two codes, of each number."""
        K, block = self.of["K"], self.of["block_size"]
        blocks = np.pad(rows, ((0, 0), (0, -K % block))).reshape(len(rows), -1, block)
        most = np.abs(blocks).max(2, keepdims=True)
        inverse = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
        unit = np.broadcast_to(most / np.float32(127), blocks.shape)
        return [part.reshape(len(rows), -1)[:, :K] for part in (np.rint(blocks * inverse), unit)]

    def roundings(self, seen):
        codes, unit = self.codes(seen[self.rows])
        return {self.given: codes * unit}

    def held(self, seen, said):
        """How far products are from those of the rounded rows, as a part of a row's largest; how many codes rows are from the
        judge's; how many codes there are, and how many are not those of the judge's rows."""
        codes, unit = self.codes(seen[self.rows])
        want = (codes * unit).astype(np.float64) @ self.weights.T
        off = np.abs(seen[self.result] - want).max(1) / np.abs(want).max(1)
        near = np.abs(seen[self.rows] - said[self.rows].astype(np.float64)) / np.where(unit > 0, unit, 1)
        return off.max(), near.max(), codes.size, np.count_nonzero(codes != self.codes(said[self.rows])[0])


class Cache:
    """A GroupQueryAttention whose caches hold codes of 8 bits, or two of 4 in a byte, by scales of the file. Caches are outputs;
    rows before they are rounded are inside the operator."""

    def __init__(self, node, weights):
        self.name, self.of, self.packed, self.caches = node.name, attributes(node), node.input[0], node.output[1:3]
        if node.input[1] or not self.of.get("do_rotary"):
            sys.exit(f"{node.name} is not of joined rows with a rotary embedding: not known here")
        self.heads, self.kv_heads, self.width = self.of["num_heads"], self.of["kv_num_heads"], 2 * weights[node.input[7]].shape[1]
        self.units = [weights[name].reshape(-1) for name in node.input[12:14]]
        self.owned = [node.name + ":k:turned", node.name + ":v"]

    def watched(self):
        return []

    def judge(self, graph):
        """Splits and turns rows before the operator, which takes keys and values as they are given and keeps floats."""
        at, node = next((i, n) for i, n in enumerate(graph.node) if n.name == self.name)
        q, k, v, sizes, begin = (f"{self.name}:{part}" for part in ("q", "k", "v", "sizes", "begin"))
        heads = np.array([self.heads, self.kv_heads, self.kv_heads])
        graph.initializer.extend([numpy_helper.from_array(heads * self.width, sizes), numpy_helper.from_array(np.array([0]), begin)])
        given = [cache + ":given" for cache in self.caches]
        kept = {name: value for name, value in self.of.items() if not any(word in name for word in ("quant", "rotary", "bit"))}
        ours = {"domain": "com.microsoft"}
        turn = {"interleaved": self.of["rotary_interleaved"], **ours}
        made = [helper.make_node("Split", [self.packed, sizes], [q, k, v], axis=-1)]
        made += [helper.make_node("RotaryEmbedding", [part, begin, *node.input[7:9]], [part + ":turned"], num_heads=n, **turn)
                 for part, n in ((q, self.heads), (k, self.kv_heads))]
        made.append(helper.make_node("GroupQueryAttention", [q + ":turned", *given, *node.input[3:7]], node.output, **kept, **ours))
        for value in (*graph.input, *graph.output):
            if value.name in (*node.input[3:5], *self.caches):
                value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
                value.type.tensor_type.shape.dim[3].dim_value = self.width
        nodes = [*graph.node[:at], *made, *graph.node[at + 1:]]
        del graph.node[:]
        graph.node.extend(nodes)
        return dict(zip(given, self.owned))

    def codes(self, seen):
        caches = [np.moveaxis(seen[cache], 0, 1) for cache in self.caches]
        if self.of["kv_cache_bit_width"] == 4:  # the lower half is that of the even column; 8 stands for 0
            caches = [np.stack([cache & 15, cache >> 4], 3).astype(np.int8) - 8 for cache in caches]
        return [cache.reshape(-1, self.kv_heads * self.width) for cache in caches]

    def roundings(self, seen):
        return {cache + ":given": codes * unit for cache, codes, unit in zip(self.caches, self.codes(seen), self.units)}

    def held(self, seen, said):
        """As of a product, of which there is none; near: over half a code."""
        most = 2 ** (self.of["kv_cache_bit_width"] - 1)
        own = [np.clip(said[name].astype(np.float64) / unit, -most, most - 1) for name, unit in zip(self.owned, self.units)]
        over = np.abs(np.stack(self.codes(seen)) - own) - 0.5
        return 0, max(over.max(), 0), over.size, np.count_nonzero(over > 0)


class Watched:
    """The model as it is, of which more values are outputs."""

    def __init__(self, program, path):
        self.program, self.path, self.decoder = program, path, Decoder(path, "onnxruntime")

    def ours(self, text):
        """In one pass, which gives what every other way gives."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.program, "run", self.path, "-t", "1", "--log-level", "error", "-o", f"{folder}/out"]
            for i, (name, value) in enumerate(self.decoder.feeds(self.decoder.begin(), 0, text).items()):
                np.save(f"{folder}/{i}.npy", value)
                command += ["-i", f"{name}={folder}/{i}.npy"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            return {name: np.load(f"{folder}/out/{name.replace('/', '_')}.npy")[0] for name in self.decoder.outputs}

    def theirs(self, text, length):
        """By ONNX Runtime: so many at once, then token by token."""
        state, position, seen = self.decoder.begin(), 0, []
        for ids in [text[:length]] + [[token] for token in text[length:]]:
            feeds = self.decoder.feeds(state, position, ids)
            seen.append(dict(zip(self.decoder.outputs, self.decoder.evaluate(None, feeds))))
            state, position = {name: seen[-1][new] for name, new in self.decoder.states.items()}, position + len(ids)
        last = {new: seen[-1][new][0] for new in self.decoder.states.values()}
        return {name: np.concatenate([one[name][0] for one in seen]) for name in self.decoder.outputs if name not in last} | last


class Test:
    def __init__(self, program, model, folder):
        proto = onnx.load(model / "model.onnx")
        weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
        self.places = [Product(node, weights) for node in proto.graph.node
                       if node.op_type == "MatMulNBits" and attributes(node).get("accuracy_level") == 4]
        self.places += [Cache(node, weights) for node in proto.graph.node if attributes(node).get("k_quant_type", b"NONE") != b"NONE"]
        if not self.places:
            sys.exit(f"{model} rounds no rows")
        judge = copy.deepcopy(proto)
        given = {name: own for place in self.places for name, own in place.judge(judge.graph).items()}
        judge.graph.input.extend(floats(name, [1, None, None]) for name in given)
        watched = [name for place in self.places for name in place.watched()]
        self.judge = Decoder(self.save(judge, given.values(), model, folder / "judge"), "onnxruntime")
        self.watched = Watched(program, self.save(proto, watched, model, folder / "watched"))
        self.passed = self.failed = 0

    @staticmethod
    def save(proto, outputs, model, folder):
        there = {output.name for output in proto.graph.output}
        proto.graph.output.extend(floats(name) for name in dict.fromkeys(outputs) if name not in there)
        folder.mkdir()
        shutil.copy(model / "genai_config.json", folder)
        onnx.save(proto, folder / "model.onnx")
        return folder / "model.onnx"

    def tell(self, name, off, bound):
        good = off <= bound
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good:
            print(f"FAIL {name}: off by {off:.3g}, want {bound:.0e}")

    def hold(self, name, text, seen):
        """The judge's logits, and of the roundings how many codes at most they are off, how many there are, and how many turned."""
        given = {value: rows[None] for place in self.places for value, rows in place.roundings(seen).items()}
        feeds = self.judge.feeds(self.judge.begin(), 0, text) | given
        said = {value: made[0] for value, made in zip(self.judge.outputs, self.judge.evaluate(None, feeds))}
        off, near, n, turned = zip(*(place.held(seen, said) for place in self.places))
        self.tell(f"{name}_rounded", max(off), ROUNDED)
        self.tell(f"{name}_near", max(near), NEAR)
        self.tell(f"{name}_judged", np.abs(seen["logits"] - said["logits"]).max(), JUDGED)
        return said["logits"], max(near), sum(n), sum(turned)


def main():
    program, model, reference, folder = map(pathlib.Path, sys.argv[1:])
    prompts = json.loads((reference / "reference.json").read_text())
    shutil.rmtree(folder, ignore_errors=True)
    rows, apart, counts = [], [], []
    with tempfile.TemporaryDirectory() as passing:
        test = Test(program, model, pathlib.Path(passing))
        for p, prompt in enumerate(prompts):
            text, first = prompt["ids"] + prompt["greedy"][:-1], len(prompt["ids"]) - 1
            ours, theirs = test.watched.ours(text), test.watched.theirs(text, first + 1)
            logits, *mine = test.hold(f"prompt_{p}", text, ours)
            _, *own = test.hold(f"onnxruntime_prompt_{p}", text, theirs)
            rows.append(logits[first:])
            counts.append([*mine, *own])
            apart.append(np.abs(ours["logits"] - theirs["logits"]).max(1)[first:])
    folder.mkdir(parents=True)
    write(folder, prompts, rows)
    near, n, turned, near_own, _, turned_own = zip(*counts)
    apart = np.concatenate(apart)
    print(f"roundings: {sum(n):,}, of which {sum(turned)} turned, by {max(near):.1e} of a code or less; "
          f"{sum(turned_own)} of ONNX Runtime, by {max(near_own):.1e}; "
          f"with its own it is off by {apart.max():.1e}, {np.count_nonzero(apart > 1e-2)} steps by more than 1e-2")
    print(f"{test.passed} passed, {test.failed} failed")
    sys.exit(test.failed > 0)


if __name__ == "__main__":
    main()
