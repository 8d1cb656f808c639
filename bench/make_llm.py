#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One llama of random weights in the forms of bench/compare-llm: by onnxruntime-genai's builder in f32 and int4 (blocks of 32,
accuracy level 4), and as GGUF in f32, Q4_0 and Q8_0. Run by bench/compare-llm.

Usage: make_llm.py FOLDER"""
import ctypes
import json
import pathlib
import subprocess
import sys

import gguf
import llama_cpp
import tokenizers
import torch
import transformers

SIZES = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16,
         "num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 4096, "tie_word_embeddings": True}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def save_tokenizer(folder):
    """The builder asks for one; nothing here is text."""
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"t{i}": i for i in range(3, SIZES["vocab_size"])}}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>")),
        bos_token="<s>", eos_token="</s>", unk_token="<unk>").save_pretrained(folder)


def gguf_name(name):
    if name.startswith("model.layers."):
        _, _, layer, rest = name.split(".", 3)
        return f"blk.{layer}.{LAYER[rest.removesuffix('.weight')]}.weight"
    return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]


def interleave(weight, heads):
    """GGUF rotates neighbours where transformers rotates halves of a head."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(model, file):
    config, writer = model.config, gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")
    for name, value in model.state_dict().items():
        if name == "lm_head.weight":  # tied
            continue
        value = value.detach().numpy()
        if "q_proj" in name:
            value = interleave(value, config.num_attention_heads)
        elif "k_proj" in name:
            value = interleave(value, config.num_key_value_heads)
        writer.add_tensor(gguf_name(name), value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize(source, to, kind):
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread = kind, 2
    if llama_cpp.llama_model_quantize(str(source).encode(), str(to).encode(), ctypes.byref(params)):
        sys.exit(f"{to}: llama.cpp did not quantise it")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**SIZES)).float().eval()
    model.save_pretrained(folder / "hf")
    save_tokenizer(folder / "hf")
    for precision, options in (("fp32", []), ("int4", ["int4_block_size=32", "int4_accuracy_level=4"])):
        subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", folder / "hf", "-o", folder / precision,
                        "-p", precision, "-e", "cpu", *(["--extra_options", *options] if options else [])], check=True)
    write_gguf(model, folder / "f32.gguf")
    quantize(folder / "f32.gguf", folder / "q4_0.gguf", llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0)
    quantize(folder / "f32.gguf", folder / "q8_0.gguf", llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0)
    (folder / "done").write_text(json.dumps(SIZES))


if __name__ == "__main__":
    main()
