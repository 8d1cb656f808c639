#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of published size with random weights: pictures and BERT by torch's exporter, decoders with caches by Optimum.
Each folder also gets test_data_set_0, where the outputs are those of ONNX Runtime on one thread. Run by bench/make_models.

Usage: make_models.py FOLDER [NAME ...]"""
import argparse
import pathlib
import tempfile

import torch
import torchvision
import transformers
from onnx import numpy_helper
from optimum.exporters.onnx import main_export

import feeds

LLAMA = {"vocab_size": 32000, "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 16,
         "tie_word_embeddings": True, "max_position_embeddings": 4096}
DECODERS = {
    "gpt2-124m": transformers.GPT2Config(),
    "llama-280m": transformers.LlamaConfig(hidden_size=1024, intermediate_size=4096, **LLAMA),
    "llama-1b": transformers.LlamaConfig(hidden_size=2048, intermediate_size=8192, **LLAMA),
    "qwen2-tiny": transformers.Qwen2Config(vocab_size=2048, hidden_size=128, intermediate_size=344, num_hidden_layers=4,
                                           num_attention_heads=4, num_key_value_heads=2),
}


def export(model, inputs, file, **axes):
    """axes: input or output name to its symbolic dims, inputs first."""
    names = list(axes)
    torch.onnx.export(model.eval(), inputs, file, dynamo=False, opset_version=18, input_names=names[: len(inputs)],
                      output_names=names[len(inputs):], dynamic_axes=axes)


def picture_model(folder, name):
    model = getattr(torchvision.models, name)(weights=None)
    for module in model.modules():  # statistics as training would leave them, so that values keep their size
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    export(model, (torch.randn(1, 3, 224, 224),), folder / "model.onnx", x={0: "batch"}, y={0: "batch"})


def bert(folder):
    tokens = {0: "batch", 1: "sequence"}
    ids = torch.randint(0, 1000, (1, 128))
    export(transformers.BertModel(transformers.BertConfig()), (ids, torch.ones_like(ids)), folder / "model.onnx",
           input_ids=tokens, attention_mask=tokens, last_hidden_state=tokens)


def decoder(folder, config):
    with tempfile.TemporaryDirectory() as saved:
        transformers.AutoModelForCausalLM.from_config(config).eval().save_pretrained(saved)
        main_export(saved, output=folder, task="text-generation-with-past", do_validation=False, no_post_process=True)


def save_reference(folder):
    runtime, to = feeds.session(folder), folder / "test_data_set_0"
    caches = any(i.name.startswith("past") for i in runtime.get_inputs())
    given = feeds.feeds(runtime, sequence=16, past=8) if caches else feeds.feeds(runtime, sequence=128)
    to.mkdir(exist_ok=True)
    for i, (name, values) in enumerate(given.items()):
        (to / f"input_{i}.pb").write_bytes(numpy_helper.from_array(values, name).SerializeToString())
    for i, (info, values) in enumerate(zip(runtime.get_outputs(), runtime.run(None, given))):
        (to / f"output_{i}.pb").write_bytes(numpy_helper.from_array(values, info.name).SerializeToString())


def main():
    names = ["resnet50", "mobilenet_v3_large", "bert-base", *DECODERS]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("to", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    args = parser.parse_args()
    for name in args.names or [n for n in names if n != "llama-1b"]:
        folder = args.to / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        if name in DECODERS:
            decoder(folder, DECODERS[name])
        elif name == "bert-base":
            bert(folder)
        else:
            picture_model(folder, name)
        save_reference(folder)
        print(folder, flush=True)


if __name__ == "__main__":
    main()
