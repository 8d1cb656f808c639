#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/merged/model.onnx: a tiny llama as Optimum exports it without a past and with one, merged into one
model with an If on use_cache_branch.

Needs torch==2.13.0 transformers==4.57.6 optimum-onnx==0.1.0 onnx==1.23.2.  usage: make_merged.py [FOLDER]"""
import pathlib
import sys
import tempfile

import torch
import transformers
from optimum.exporters.onnx import export
from optimum.exporters.onnx.model_configs import LlamaOnnxConfig
from optimum.onnx.graph_transformations import merge_decoders

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "merged"

if __name__ == "__main__":
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.3)
    model = transformers.LlamaForCausalLM(config).eval()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        parts = []
        for past in (False, True):
            parts.append(pathlib.Path(scratch) / f"past_{past}.onnx")
            export(model, LlamaOnnxConfig(config, task="text-generation", use_past=True, use_past_in_inputs=past),
                   parts[-1], opset=18)
        merge_decoders(*map(str, parts), save_path=str(FOLDER / "model.onnx"))
