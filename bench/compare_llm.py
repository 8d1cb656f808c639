#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens/s of a prompt and of generated tokens: Stagecoach, onnxruntime-genai and llama.cpp on the same weights, in turns, so that
whatever else the machine does meets all. The ratio is ours over the better peer of the same kind of weights; above 1 we are faster.
--cpu counts seconds of the processor instead of the clock's: for a machine that others use. Run by bench/compare-llm.

Usage: compare_llm.py [--models FOLDER] [--stagecoach PROGRAM] [--threads 1] [--prompt 128] [--tokens 32] [--rounds 3] [--cpu]"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import llama_cpp
import numpy as np
import onnxruntime_genai as og

TRIES = 3  # of ours, within a round


class Genai:
    def __init__(self, args, folder):
        config = og.Config(str(folder))
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {
            "intra_op_num_threads": args.threads, "inter_op_num_threads": 1}}}}))
        self.args, self.model = args, og.Model(config)

    def measure(self, clock):
        args, params = self.args, og.GeneratorParams(self.model)
        length = args.prompt + args.tokens + 1
        params.set_search_options(do_sample=False, max_length=length, min_length=length)
        generator = og.Generator(self.model, params)
        start = clock()
        generator.append_tokens(prompt(args))
        middle = clock()
        generator.generate_next_token()  # of the prompt's logits
        begin = clock()
        for _ in range(args.tokens):
            generator.generate_next_token()
        return args.prompt / (middle - start), args.tokens / (clock() - begin)


class Llama:
    def __init__(self, args, file):
        llama_cpp.llama_log_set(SILENT, None)
        self.args = args
        self.model = llama_cpp.llama_model_load_from_file(str(file).encode(), llama_cpp.llama_model_default_params())
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = 1024
        params.n_threads = params.n_threads_batch = args.threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)

    def decode(self, ids):
        array = (llama_cpp.llama_token * len(ids))(*map(int, ids))
        if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(array, len(ids))):
            sys.exit("llama.cpp did not decode")
        llama_cpp.llama_synchronize(self.context)

    def measure(self, clock):
        args = self.args
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        start = clock()
        self.decode(prompt(args))
        middle = clock()
        for token in range(args.tokens):
            self.decode([token])
        return args.prompt / (middle - start), args.tokens / (clock() - middle)


@llama_cpp.llama_log_callback
def SILENT(level, text, data):
    pass


class Stagecoach:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def bench(self, prompt_size, tokens, tries):
        """Tokens/s of the prompt or of the tokens, and the seconds of the processor that the process took."""
        command = [self.args.stagecoach, "bench", self.folder, "-t", str(self.args.threads), "-p", str(prompt_size), "-n",
                   str(tokens), "-r", str(tries), "-o", "json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run(command, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if out.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {out.stderr}")
        rows = json.loads(out.stdout[out.stdout.index("["):])
        row = next(row for row in rows if row["test"] == (f"tg{tokens}" if tokens else f"pp{prompt_size}"))
        return row["mean"], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self, clock):
        speeds = []
        for prompt_size, tokens in ((self.args.prompt, 0), (0, self.args.tokens)):
            speed, most = self.bench(prompt_size, tokens, 1 + TRIES)
            if clock is time.process_time:
                _, least = self.bench(prompt_size, tokens, 1)
                speed = TRIES * (prompt_size + tokens) / (most - least)
            speeds.append(speed)
        return tuple(speeds)


def prompt(args):
    return np.random.default_rng(1).integers(3, 1000, args.prompt).astype(np.int32)


ROWS = [("f32", "stagecoach", Stagecoach, "fp32"), ("f32", "onnxruntime-genai", Genai, "fp32"), ("f32", "llama.cpp", Llama, "f32.gguf"),
        ("4 bits", "stagecoach", Stagecoach, "int4"), ("4 bits", "onnxruntime-genai", Genai, "int4"),
        ("4 bits", "llama.cpp", Llama, "q4_0.gguf"), ("8 bits", "llama.cpp", Llama, "q8_0.gguf")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("build/bench/peers"))
    parser.add_argument("--stagecoach", default="build/release/stagecoach")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    clock = time.process_time if args.cpu else time.perf_counter
    programs = [(kind, name, make(args, args.models / what)) for kind, name, make, what in ROWS]
    found = {(kind, name): [] for kind, name, _ in programs}
    for _ in range(args.rounds):
        for kind, name, program in programs:
            found[kind, name].append(program.measure(clock))
    print(f"tokens/s, {args.threads} thread{'s' if args.threads > 1 else ''}, {'CPU' if args.cpu else 'wall'} time, medians of "
          f"{args.rounds} rounds\n{'weights':8} {'program':18} {'prompt ' + str(args.prompt):>10} {'tokens ' + str(args.tokens):>10}")
    medians = {key: [statistics.median(column) for column in zip(*values)] for key, values in found.items()}
    for (kind, name), values in medians.items():
        ratio = ""
        if name == "stagecoach":
            peers = [v for (k, n), v in medians.items() if k == kind and n != name]
            ratio = "   ratios " + ", ".join(f"{a / max(p[i] for p in peers):.2f}" for i, a in enumerate(values))
        print(f"{kind:8} {name:18} {values[0]:10.1f} {values[1]:10.1f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
