#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small decoders with random weights as the model builder of onnxruntime-genai exports them, one folder each.

usage: make_genai.py FOLDER [NAME...]     needs onnxruntime-genai 0.18, torch 2.13, transformers 5
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import tokenizers
import torch
import transformers

SIZES = dict(vocab_size=80, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=288, bos_token_id=1, eos_token_id=2, pad_token_id=0)
# name: configuration, what it has beside SIZES, precision, options of the builder
FORMS = {
    "llama": ("LlamaConfig", {"head_dim": 16}, "fp32", []),
    "gemma2": ("Gemma2Config", {"head_dim": 16, "sliding_window": 24, "query_pre_attn_scalar": 16}, "fp32", []),
    "int4": ("LlamaConfig", {"head_dim": 16}, "int4", []),
    "int4_zeros": ("LlamaConfig", {"head_dim": 16}, "int4", ["is_symmetric=false", "accuracy_level=1"]),
    "int8": ("Qwen2Config", {"hidden_size": 64}, "int8", []),
    "cache8": ("LlamaConfig", {"head_dim": 16}, "fp32", ["kv_cache_quant_scheme=int8_per_channel"]),
    "cache4": ("LlamaConfig", {"head_dim": 16}, "fp32", ["kv_cache_quant_scheme=int4_per_tensor"]),
    "lfm2": ("Lfm2Config", {"hidden_size": 64, "layer_types": ["conv", "full_attention"], "block_multiple_of": 16}, "fp32", []),
}


def checkpoint(folder, kind, sizes):
    torch.manual_seed(24)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**{**SIZES, **sizes})).float()
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.25)
    model.save_pretrained(folder)
    words = ["<pad>", "<s>", "</s>"] + [chr(32 + i) for i in range(3, SIZES["vocab_size"])]
    letters = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
    letters.decoder = tokenizers.decoders.Fuse()
    transformers.PreTrainedTokenizerFast(tokenizer_object=letters, bos_token="<s>", eos_token="</s>").save_pretrained(folder)


def scales(folder, scheme):
    """The builder's option for the scales of a quantised cache, whose numbers are five at most."""
    bits, _, kind = scheme.split("=")[1].partition("_")
    most = 5 / (2 ** (int(bits[3:]) - 1) - 1)
    columns = [most * (1 - column / 200) for column in range(2 * 16)]
    layers = [columns if kind == "per_channel" else most] * SIZES["num_hidden_layers"]
    path = pathlib.Path(folder) / "scales.json"
    path.write_text(json.dumps({"scales": {"k_scales": layers, "v_scales": layers}}))
    return f"kv_cache_scale_file={path}"


def main():
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or FORMS:
        kind, sizes, precision, options = FORMS[name]
        with tempfile.TemporaryDirectory() as folder:
            checkpoint(folder, kind, sizes)
            options = options + [scales(folder, option) for option in options if option.startswith("kv_cache_quant_scheme")]
            subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", folder, "-o", out / name, "-p", precision,
                            "-e", "cpu", "-c", folder, "--extra_options", "hf_token=false", *options], check=True)


if __name__ == "__main__":
    main()
