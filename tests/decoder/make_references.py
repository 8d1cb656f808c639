#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other runtimes make of the decoders of forms.tsv, as decoder_test reads it; up to date ones are left alone.

usage: make_references.py FOLDER [FORM...]     all forms, into FOLDER/FORM; needs ./dev venv
       make_references.py FOLDER --model MODEL.onnx      one more, into FOLDER itself

Ten prompts of random ids by a fixed seed, each continued by its greedy tokens for 200 steps. reference.json has per prompt
the ids, the greedy tokens and the five largest logits of every step (with an encoder its source too, or the place of its
features in features.npy); logits.npy whole rows of all steps, prompt after prompt. ONNX Runtime on one thread computes them,
and for operators that it does not have, or approximates, the reference evaluator of onnx.

Of forms that are judged `rounded` this has what ONNX Runtime says with roundings of its own; roundings.py makes of it what
decoder_test reads.
"""
import argparse
import hashlib
import json
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/exports/together"))
import make_together  # noqa: E402

TOGETHER = make_together.FAMILIES | make_together.FUSED

STEPS = 200
LENGTHS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 70]  # the last is cut by chunks of 64
TYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.FLOAT16: np.float16, onnx.TensorProto.BOOL: bool,
         onnx.TensorProto.INT8: np.int8, onnx.TensorProto.UINT8: np.uint8, onnx.TensorProto.INT32: np.int32,
         onnx.TensorProto.INT64: np.int64}
CONTINUED = [("past_key_values", "present"), ("past", "present"), (r"^", "updated_"), (r"\.(\d+)$", r"_after.\1"),
             (r"$", "_new")]


class Decoder:
    """One file, all of whose states begin empty. A genai_config.json beside it says how wide a cache is whose width the model
    only names; a file `states` which input an output continues where the names do not tell."""

    def __init__(self, path, judge):
        graph = onnx.load(path).graph
        self.inputs = {i.name: i.type.tensor_type for i in graph.input}
        self.outputs = [output.name for output in graph.output]
        said = path.parent / "states"
        self.said = dict(line.split("=") for line in said.read_text().split()) if said.exists() else {}
        config = path.parent / "genai_config.json"
        model = json.loads(config.read_text())["model"] if config.exists() else {}
        decoder = model.get("decoder", {})
        self.named = {"batch": 1, "batch_size": 1, "kv_cache_dim": decoder.get("head_size", 0),
                      "max_seq_len": model.get("context_length", 0), "past_sliding_length": decoder.get("sliding_window", {}).get("window_size", 0)}
        self.states = {name: self.continuation(name) for name in self.inputs if self.continuation(name)}
        self.vocabulary = graph.output[self.outputs.index("logits")].type.tensor_type.shape.dim[-1].dim_value
        self.evaluate = ReferenceEvaluator(str(path)).run if judge == "onnx" else make_together.session(path).run

    def continuation(self, name):
        made = [self.said.get(name)] + [re.sub(old, new, name, count=1) for old, new in CONTINUED if re.search(old, name)]
        return next((output for output in made if output != name and output in self.outputs), None)

    def empty(self, kind):
        dims = [dim.dim_value if dim.HasField("dim_value") else self.named.get(dim.dim_param, 0) for dim in kind.shape.dim]
        return np.zeros(dims, TYPES[kind.elem_type])

    def begin(self):
        return {name: self.empty(self.inputs[name]) for name in self.states}

    def feeds(self, state, position, ids):
        """Of the ids, which come next in a text of so many positions."""
        total = position + len(ids)
        made = {"input_ids": [ids], "position_ids": [list(range(position, total))], "attention_mask": [[1] * total],
                "write_indices": [position], "nonpad_kv_seqlen": [total], "use_cache_branch": [position > 0],
                "past_sequence_length": [position], "beam_width": [1], "cache_indirection": np.zeros((1, 1, self.named["max_seq_len"]))}
        return state | {name: np.array(made[name], TYPES[kind.elem_type]) for name, kind in self.inputs.items() if name in made}

    def step(self, state, position, ids):
        """Logits of the ids, and the states after them."""
        if "past_sequence_length" in self.inputs and len(ids) > 1:  # its operator takes a token at a time
            made = []
            for i, one in enumerate(ids):
                logits, state = self.step(state, position + i, [one])
                made.append(logits)
            return np.concatenate(made), state
        result = dict(zip(self.outputs, self.evaluate(None, self.feeds(state, position, ids))))
        return result["logits"][0].astype(np.float32), {name: result[new] for name, new in self.states.items()}

    def rows(self, prompt):
        state, ids, position, rows = self.begin(), list(prompt), 0, []
        for _ in range(STEPS):
            logits, state = self.step(state, position, ids)
            position += len(ids)
            rows.append(logits[-1])
            ids = [int(rows[-1].argmax())]
        return np.stack(rows)


def write(folder, prompts, rows):
    for prompt, made in zip(prompts, rows):
        top = np.argsort(-made, axis=1, kind="stable")[:, :5]
        prompt.setdefault("greedy", top[:, 0].tolist())
        prompt["top5"] = [[[int(i), round(float(row[i]), 6)] for i in best] for row, best in zip(made, top)]
    (folder / "reference.json").write_text(json.dumps(prompts, separators=(",", ":")))
    np.save(folder / "logits.npy", np.concatenate(rows))


def of_file(path, judge, folder):
    decoder, random = Decoder(path, judge), np.random.default_rng(20)
    prompts, rows = [], []
    for length in LENGTHS:
        prompts.append({"ids": random.integers(0, decoder.vocabulary, length).tolist()})
        rows.append(decoder.rows(prompts[-1]["ids"]))
    write(folder, prompts, rows)


def of_encoder(family, folder):
    """Sources of the same lengths, in the other order; prompts begin as the config says."""
    files, config = TOGETHER[family]
    hears = family.startswith("whisper")
    models, random = make_together.Together(files), np.random.default_rng(31)
    sounds = make_together.features(random, len(LENGTHS))
    prompts, rows = [], []
    for p, length in enumerate(LENGTHS):
        source = random.integers(0, 96, LENGTHS[-1 - p]).tolist()
        prompts.append({"ids": [config["decoder_start_token_id"]] + random.integers(0, 96, length - 1).tolist()})
        prompts[-1] |= {"features": p} if hears else {"source": source}
        rows.append(models.rows(sounds[p:p + 1] if hears else np.array([source]), prompts[-1]["ids"], STEPS))
    if hears:
        np.save(folder / "features.npy", sounds)
    write(folder, prompts, rows)


def digest(files):
    made = hashlib.sha256(" ".join([onnxruntime.__version__, onnx.__version__, np.__version__]).encode())
    for file in [HERE / "make_references.py", ROOT / "tests/exports/together/make_together.py", *files]:
        made.update(file.read_bytes())
    return made.hexdigest()


def make(form, model, judge, folder):
    family = form.removeprefix("together_").removesuffix("_apart")
    models = [model] if judge != "together" else [
        ROOT / f"tests/exports/models/{TOGETHER[family][0]}_{part}" for part in make_together.PARTS]
    stamp = digest(file for part in models for file in sorted(part.iterdir()) if file.is_file()) + "\n"
    if (folder / "stamp").exists() and (folder / "stamp").read_text() == stamp:
        return
    passing = folder.with_name(folder.name + ".new")  # so that a run that is cut short leaves none
    shutil.rmtree(passing, ignore_errors=True)
    passing.mkdir(parents=True)
    if judge == "together":
        of_encoder(family, passing)
    else:
        of_file(model / "model.onnx", judge, passing)
    (passing / "stamp").write_text(stamp)
    shutil.rmtree(folder, ignore_errors=True)
    passing.rename(folder)
    print(f"{form}: made", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("forms", nargs="*")
    parser.add_argument("--model", type=pathlib.Path)
    options = parser.parse_args()
    if options.model:
        options.folder.mkdir(parents=True, exist_ok=True)
        of_file(options.model, "onnxruntime", options.folder)
        return
    for line in (HERE / "forms.tsv").read_text().splitlines()[1:]:
        form, model, _, judge, _ = line.split("\t")
        if not options.forms or form in options.forms:
            make(form, ROOT / model, judge, options.folder / form)


if __name__ == "__main__":
    main()
