#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the families by both exporters of torch and by Optimum, with what ONNX Runtime makes of seeded inputs.

usage: make_exports.py [NAME ...]      all, or those whose name begins so; needs requirements.txt

models/<family>_<exporter><opset>/ gets model.onnx and test_data_set_N/; models/tolerance.tsv the bounds to judge by. Weights are random by a fixed seed, and cut to 8 bits of
mantissa in the file so that git can pack them; doc strings and metadata go.
"""
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import families

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import references  # noqa: E402

MODELS = HERE / "models"
LIMIT = 400 << 10

# (family, exporter, opset). `script` is torch.onnx.export(dynamo=False), `dynamo` the exporter on torch.export, which begins
# at opset 18; `half` behind a name is the module in f16. TorchScript knows aten::triu (T5) and
# aten::scaled_dot_product_attention (Whisper) from opset 14 on.
EXPORTS = [
    ("resnet", "script", 11), ("resnet", "dynamo", 18), ("resnet_half", "script", 17),
    ("mobilenet_v3", "script", 12), ("mobilenet_v3", "dynamo", 19),
    ("efficientnet", "script", 13), ("efficientnet", "script", 18), ("efficientnet", "dynamo", 20),
    ("unet", "script", 11), ("unet", "script", 16), ("unet", "dynamo", 18),
    ("inception", "script", 14), ("inception", "dynamo", 19),
    ("vit", "script", 15), ("vit", "dynamo", 20),
    ("swin", "script", 16), ("swin", "dynamo", 18),
    ("bert", "script", 12), ("bert", "script", 18), ("bert", "dynamo", 19),
    ("gpt2", "script", 14), ("gpt2", "dynamo", 20), ("gpt2_eager", "script", 13),
    ("llama", "script", 17), ("llama", "dynamo", 18), ("llama_half", "dynamo", 18),
    ("qwen2", "script", 19), ("qwen2", "dynamo", 20),
    ("mixtral", "script", 20), ("mixtral", "dynamo", 18),
    ("t5", "script", 14), ("t5", "dynamo", 19),
    ("whisper", "script", 15), ("whisper", "dynamo", 20),
]
OPTIMUM = [  # (family, task, opset)
    ("bert", "feature-extraction", 11),
    ("vit_hf", "image-classification", 14),
    ("gpt2", "text-generation-with-past", 14),
    ("gpt2_eager", "text-generation-with-past", 12),
    ("llama", "text-generation-with-past", 16),
    ("qwen2", "text-generation-with-past", 17),
    ("qwen3_moe", "text-generation-with-past", 18),
    ("t5", "text2text-generation-with-past", 15),
    ("whisper", "automatic-speech-recognition-with-past", 14),
    ("mistral", "text-generation-with-past", 15),
    ("gemma2", "text-generation-with-past", 19),
    ("phi3", "text-generation-with-past", 18),
    ("falcon", "text-generation-with-past", 14),
    ("opt", "text-generation-with-past", 17),
    ("bloom", "text-generation-with-past", 16),
    ("gpt_neox", "text-generation-with-past", 15),
    ("gemma2_eager", "text-generation-with-past", 18),
    ("mpt", "text-generation-with-past", 16),
    ("stablelm", "text-generation-with-past", 17),
    ("gptj", "text-generation-with-past", 14),
    ("codegen", "text-generation-with-past", 15),
    ("gpt_neo", "text-generation-with-past", 14),
    ("gpt_bigcode", "text-generation-with-past", 18),
    ("phi", "text-generation-with-past", 17),
    ("falcon_alibi", "text-generation-with-past", 16),
    ("bart", "text2text-generation-with-past", 17),
    ("deberta_v2", "feature-extraction", 13),
    ("convnext", "image-classification", 12),
    ("detr", "object-detection", 16),
    ("clip", "zero-shot-image-classification", 15),
]
# What Optimum's inputs are at each data set: sizes by the words of their dims.
FIXED = dict(num_channels=3, height=32, width=32, feature_size=16, encoder_sequence_length_out=24, text_batch_size=2,
             image_batch_size=3)
SIZES = [
    dict(batch_size=1, sequence_length=5, past_sequence_length=0, decoder_sequence_length=4, past_decoder_sequence_length=1,
         encoder_sequence_length=6),
    dict(batch_size=2, sequence_length=4, past_sequence_length=3, decoder_sequence_length=1, past_decoder_sequence_length=3,
         encoder_sequence_length=9),
    dict(batch_size=3, sequence_length=1, past_sequence_length=9, decoder_sequence_length=1, past_decoder_sequence_length=6,
         encoder_sequence_length=4),
]


def module_of(family):
    """The family in f32 or, by its name, in f16."""
    made = families.FAMILIES[family.removesuffix("_half")]()
    families.settle(made.module)
    if family.endswith("_half"):
        made.module.half()
        made.feeds = [{name: value.astype(np.float16) if value.dtype == np.float32 else value
                       for name, value in feed.items()} for feed in made.feeds]
    return made


@contextlib.contextmanager
def traceable_masks():
    """TorchScript cannot trace the masks of transformers (vmap: "unordered_map::at"; diff: unsupported); those of Optimum it can."""
    from optimum.exporters.onnx import model_patcher as patches
    from transformers import masking_utils as masks
    makers = masks.ALL_MASK_ATTENTION_FUNCTIONS
    before = makers["sdpa"], makers["eager"], masks.find_packed_sequence_indices
    makers.register("sdpa", patches.sdpa_mask_without_vmap)
    makers.register("eager", patches.eager_mask_without_vmap)
    masks.find_packed_sequence_indices = patches.find_packed_sequence_indices_patched
    yield
    makers.register("sdpa", before[0])
    makers.register("eager", before[1])
    masks.find_packed_sequence_indices = before[2]


def export(made, exporter, opset, path):
    args = tuple(torch.from_numpy(value) for value in made.feeds[0].values())
    names = dict(input_names=list(made.dims), output_names=list(made.outputs), opset_version=opset)
    if exporter == "script":
        with traceable_masks():
            torch.onnx.export(made.module, args, path, dynamo=False, dynamic_axes=made.dims | made.outputs, **names)
        return
    dims = tuple(made.dims.values())
    star = isinstance(made.module, families.Logits)  # its forward takes *tensors: one argument to torch.export
    torch.onnx.export(made.module, args, path, dynamo=True, dynamic_shapes=(dims,) if star else dims,
                      external_data=False, verbose=False, **names)


def small(model):
    """Without what only people read, and with weights of 8 bits: both halve what git keeps."""
    references.strip(model)
    for graph in references.graphs_of(model.graph):
        for tensor in graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) > 64:
                bits = numpy_helper.to_array(tensor).view(np.uint32)
                if np.abs(bits.view(np.float32)).max() < 1e4:  # masks stay as they are
                    tensor.raw_data = (bits & np.uint32(0xFFFF0000)).tobytes()
    return model


def size_of(dim, sizes):
    if isinstance(dim, int):
        return dim
    return sum(int(word) if word.isdigit() else (FIXED | sizes)[word] for word in dim.replace(" ", "").split("+"))


def optimum_feeds(inputs, sizes, random):
    feeds = {}
    for declared in inputs:
        shape = [size_of(dim, sizes) for dim in declared.shape]
        name = declared.name
        if name == "use_cache_branch":
            value = np.array([sizes["past_decoder_sequence_length"] > 1])
        elif name.endswith("attention_mask"):
            value = families.padded(shape[0], shape[1], 3, left=sizes["past_sequence_length"] > 0)
        elif name == "position_ids":
            mask = feeds["attention_mask"]
            value = np.maximum(mask.cumsum(-1) - 1, 0)[:, -shape[1]:]
        elif "int64" in declared.type:
            value = families.tokens(random, 2 if name == "token_type_ids" else 96, *shape)
        else:
            value = families.picture(random, *shape)
        feeds[name] = value
    return feeds


def record(name, model, data_sets, judge=None):
    """Into models/<name>; returns the row of tolerance.tsv. judge: the file that ONNX Runtime runs; None: the model itself."""
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    small(model)
    if model.ByteSize() > LIMIT:
        for node in model.graph.node:
            node.name = ""
    onnx.save(model, folder / "model.onnx")
    size = (folder / "model.onnx").stat().st_size
    if size > LIMIT:
        sys.exit(f"{name}: {size} bytes, at most {LIMIT}")
    recorder = references.Recorder(folder, judge or folder / "model.onnx")
    if callable(data_sets):
        data_sets = data_sets(recorder.inputs)
    for feeds in data_sets:
        recorder.record(feeds)
    half = "_half_" in name
    ltol = references.f16_bound(model, data_sets) if half else references.LTOL
    print(f"{name}: {size >> 10} KiB, {len(model.graph.node)} nodes, ltol {ltol:.3g}", flush=True)
    return f"{references.RTOL:g}\t{ltol:.3g}"


def make_torch(family, exporter, opset, name):
    made = module_of(family)
    with tempfile.TemporaryDirectory() as passing:
        path = f"{passing}/model.onnx"
        export(made, exporter, opset, path)
        return {name: record(name, onnx.load(path), made.feeds)}


def make_optimum(family, task, opset, name):
    from optimum.exporters.onnx import onnx_export_from_model
    made = module_of(family)
    rows = {}
    with tempfile.TemporaryDirectory() as passing:
        onnx_export_from_model(made.module.model, passing, opset=opset, task=task, do_validation=False,
                               nb_max_frames=48)
        for path in sorted(pathlib.Path(passing).glob("*.onnx")):
            part = path.stem.removesuffix("_model").replace("_model_", "_").removeprefix("model")
            full = f"{name}_{part}" if part else name
            random = np.random.default_rng(12)
            rows[full] = record(full, onnx.load(path),
                                lambda inputs: [optimum_feeds(inputs, sizes, random) for sizes in SIZES])
    return rows


def main():
    if os.environ.get("PYTHONHASHSEED") != "0":  # Optimum names weights that it merges by the order of a set
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    warnings.filterwarnings("ignore")
    chosen = sys.argv[1:] or [""]
    jobs = [(f"{family}_{exporter}{opset}", make_torch, (family, exporter, opset))
            for family, exporter, opset in EXPORTS]
    jobs += [(f"{family}_optimum{opset}", make_optimum, (family, task, opset)) for family, task, opset in OPTIMUM]
    table = MODELS / "tolerance.tsv"
    rows = dict(line.split("\t", 1) for line in table.read_text().splitlines()) if table.exists() else {}
    for name, make, arguments in jobs:
        if any(name.startswith(prefix) for prefix in chosen):
            rows |= make(*arguments, name)
            table.write_text("".join(f"{key}\t{rows[key]}\n" for key in sorted(rows)))


if __name__ == "__main__":
    main()
