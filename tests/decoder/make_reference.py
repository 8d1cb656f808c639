#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Greedy tokens and logits of a decoder by ONNX Runtime on one thread, as decoder_test reads them.

usage: make_reference.py MODEL.onnx FOLDER [--prompts N] [--steps N] [--rows N]

Prompts are random ids, by a fixed seed. Writes FOLDER/reference.json: per prompt the ids, the greedy tokens and the five largest
logits of every step; and FOLDER/logits.npy: whole rows of the first prompt. A genai_config.json beside the model says how wide
a cache is whose width the model only names.
"""
import argparse
import json
import pathlib

import numpy as np
import onnxruntime


TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}


class Decoder:
    def __init__(self, path):
        config = pathlib.Path(path).parent / "genai_config.json"
        model = json.loads(config.read_text())["model"] if config.exists() else {}
        decoder = model.get("decoder", {})
        self.named = {"batch": 1, "batch_size": 1, "kv_cache_dim": decoder.get("head_size", 0),
                      "past_sliding_length": decoder.get("sliding_window", {}).get("window_size", 0)}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.states = {i.name: self.continuation(i.name) for i in self.inputs if self.continuation(i.name)}

    def continuation(self, name):
        for old, new in (("past_key_values", "present"), ("past", "present")):
            if name.startswith(old) and name.replace(old, new, 1) in self.outputs:
                return name.replace(old, new, 1)
        return "updated_" + name if "updated_" + name in self.outputs else None

    def empty(self, value):
        return np.zeros([dim if isinstance(dim, int) else self.named.get(dim, 0) for dim in value.shape], TYPES[value.type])

    def run(self, prompt, steps):
        state = {i.name: self.empty(i) for i in self.inputs if i.name in self.states}
        ids, position, rows = list(prompt), 0, []
        for _ in range(steps):
            n = len(ids)
            feeds = dict(state)
            for i in self.inputs:
                kind = {"tensor(int32)": np.int32, "tensor(bool)": bool}.get(i.type, np.int64)
                made = {"input_ids": [ids], "position_ids": [list(range(position, position + n))],
                        "attention_mask": [[1] * (position + n)], "write_indices": [position],
                        "nonpad_kv_seqlen": [position + n], "use_cache_branch": [position > 0]}
                if i.name in made:
                    feeds[i.name] = np.array(made[i.name], kind)
            result = dict(zip(self.outputs, self.session.run(None, feeds)))
            state = {name: result[new] for name, new in self.states.items()}
            position += n
            rows.append(result["logits"][0, -1].astype(np.float32))
            ids = [int(rows[-1].argmax())]
        return np.stack(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--rows", type=int, default=64)
    options = parser.parse_args()
    decoder = Decoder(options.model)
    vocabulary = decoder.session.get_outputs()[0].shape[-1]
    random = np.random.default_rng(20)
    options.folder.mkdir(parents=True, exist_ok=True)
    prompts = []
    for p in range(options.prompts):
        ids = random.integers(0, vocabulary, 3 + 5 * p).tolist()
        rows = decoder.run(ids, options.steps)
        top = np.argsort(-rows, axis=1, kind="stable")[:, :5]
        prompts.append({"ids": ids, "greedy": top[:, 0].tolist(),
                        "top5": [[[int(i), round(float(row[i]), 6)] for i in best] for row, best in zip(rows, top)]})
        if p == 0:
            np.save(options.folder / "logits.npy", rows[: options.rows])
    (options.folder / "reference.json").write_text(json.dumps(prompts, separators=(",", ":")))


if __name__ == "__main__":
    main()
