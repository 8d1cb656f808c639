#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoders and decoders as onnxruntime.transformers' optimiser fuses them, like make_exports.py beside it.

usage: make_fused.py [NAME ...]      all, or those whose name begins so; needs requirements.txt

Whisper is exported by Optimum with attention as transformers wrote it when the optimiser learned its patterns: scores are a
product and a mask, nothing else. What comes out is com.microsoft's: Attention in the encoder, MultiHeadAttention in the decoders.
Of the products of transformers 4.57 itself it fuses norms and activations alone.

T5 is as Optimum exports it: com.microsoft's Attention in the encoder, RelativePositionBias in all. ONNX Runtime has no kernel for that
on a CPU, so the judge is the export that was fused, of the same weights.
"""
import contextlib
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model
from optimum.exporters.onnx import model_patcher, onnx_export_from_model
from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_utils import AttentionInterface

import make_exports

# name: (family, task, opset, the optimiser's word for it, heads, width)
FUSED = {
    "t5_fused15": ("t5", "text2text-generation-with-past", 15, "t5", 4, 32),
    "whisper_fused17": ("whisper", "automatic-speech-recognition-with-past", 17, "bart", 4, 32),
}


def plain(module, query, key, value, attention_mask, scaling=None, **_):
    scores = torch.matmul(query if scaling in (None, 1.0) else query * scaling, key.transpose(2, 3))
    scores = scores if attention_mask is None else scores + attention_mask
    return torch.matmul(torch.softmax(scores, -1), value).transpose(1, 2), None


def fuse(path, kind, heads, width):
    options = FusionOptions(kind)
    options.use_multi_head_attention = kind == "bart"
    with open("/dev/null", "w") as nowhere, contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere):  # it prints what it looks at
        return optimize_model(str(path), model_type=kind, num_heads=heads, hidden_size=width, opt_level=0,
                              optimization_options=options).model


def cut_weights(path):
    """As they are in what is recorded."""
    model = onnx.load(path)
    make_exports.small(model)
    onnx.save(model, path)
    return path


def make(name, family, task, opset, kind, heads, width):
    made = make_exports.module_of(family)
    if kind == "bart":
        made.module.model.set_attn_implementation("plain")
    rows = {}
    with tempfile.TemporaryDirectory() as passing:
        onnx_export_from_model(made.module.model, passing, opset=opset, task=task, do_validation=False, nb_max_frames=48)
        for part in ["encoder", "decoder", "decoder_with_past"]:
            path = pathlib.Path(passing) / f"{part}_model.onnx"
            judge = cut_weights(path) if kind == "t5" else None
            model = fuse(path, kind, heads, width)
            random = np.random.default_rng(12)
            rows[f"{name}_{part}"] = make_exports.record(
                f"{name}_{part}", model,
                lambda inputs: [make_exports.optimum_feeds(inputs, sizes, random) for sizes in make_exports.SIZES], judge)
    return rows


def main():
    warnings.filterwarnings("ignore")
    AttentionInterface.register("plain", plain)
    AttentionMaskInterface.register("plain", model_patcher.eager_mask_without_vmap)
    table = make_exports.MODELS / "tolerance.tsv"
    rows = dict(line.split("\t", 1) for line in table.read_text().splitlines())
    for name, arguments in FUSED.items():
        if any(name.startswith(prefix) for prefix in sys.argv[1:] or [""]):
            rows |= make(name, *arguments)
            table.write_text("".join(f"{key}\t{rows[key]}\n" for key in sorted(rows)))


if __name__ == "__main__":
    main()
