# SPDX-License-Identifier: Apache-2.0
"""The model families: published architectures with few and narrow layers, and what to feed them.

A family is a function that returns a Family. Sizes are such that its file stays under 400 KB.
"""
import dataclasses
import functools

import numpy as np
import torch
from torch import nn


@dataclasses.dataclass
class Family:
    module: nn.Module
    dims: dict  # of each input: names of its dynamic dims by axis
    outputs: dict  # the same of each output
    feeds: list  # data sets: arrays by input; the first one is traced


def picture(random, *shape):
    """Pixels of 6 bits, normalised."""
    return (random.integers(-64, 64, shape) / 32).astype(np.float32)


def tokens(random, vocabulary, *shape):
    return random.integers(0, vocabulary, shape)


def padded(rows, length, shortest, left=False):
    """A mask whose rows end one by one earlier, or start later."""
    mask = np.ones((rows, length), np.int64)
    for row in range(rows):
        gap = min(row, length - shortest)
        mask[row, :gap] = 0 if left else 1
        mask[row, length - gap:] = 1 if left else 0
    return mask


class Logits(nn.Module):
    """A model of transformers as most export it: tensors in, the first output out."""

    def __init__(self, model, names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)), return_dict=False)[0]


PLANE = {0: "batch", 2: "height", 3: "width"}
TEXT = {0: "batch", 1: "sequence"}
NARROW = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
SMALL = dict(vocab_size=96, **NARROW)
POSITIONS = 288  # of a decoder: room for a prompt of 70 tokens and 200 steps


def classifier(module, sizes, dynamic):
    random = np.random.default_rng(7)
    feeds = [{"x": picture(random, n, 3, height, width)} for n, height, width in sizes]
    return Family(module, {"x": PLANE if dynamic else {0: "batch"}}, {"y": {0: "batch"}}, feeds)


def resnet():
    from transformers import ResNetConfig, ResNetForImageClassification
    config = ResNetConfig(embedding_size=16, hidden_sizes=[32, 32, 48, 64], depths=[2, 1, 1, 1], num_labels=10)
    return classifier(Logits(ResNetForImageClassification(config), ["pixel_values"]), [(2, 64, 64), (1, 32, 96)], True)


def mobilenet_v3():
    from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
    row = functools.partial(InvertedResidualConfig, width_mult=0.5)
    rows = [row(16, 3, 16, 16, True, "RE", 2, 1), row(16, 3, 72, 24, False, "RE", 2, 1),
            row(24, 5, 96, 40, True, "HS", 2, 1), row(40, 5, 120, 40, True, "HS", 1, 1)]
    return classifier(MobileNetV3(rows, 64, 10), [(2, 64, 64), (3, 33, 50)], True)


def efficientnet():
    from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig
    rows = [FusedMBConvConfig(1, 3, 1, 16, 16, 1), FusedMBConvConfig(2, 3, 2, 16, 24, 1),
            MBConvConfig(4, 5, 2, 24, 24, 2), MBConvConfig(4, 3, 2, 24, 32, 1)]
    return classifier(EfficientNet(rows, 0.0, num_classes=10, last_channel=64), [(2, 64, 64), (1, 40, 72)], True)


def inception():
    """Inception v3 in a sixteenth of its widths, without the blocks that repeat their neighbour."""
    from torchvision.models import inception as v3

    def conv(channels, out, **arguments):
        return v3.BasicConv2d(channels if channels == 3 else channels // 16, out // 16, **arguments)

    blocks = [v3.InceptionA, v3.InceptionB, v3.InceptionC, v3.InceptionD, v3.InceptionE]
    narrow = [conv] + [functools.partial(block, conv_block=conv) for block in blocks]
    model = v3.Inception3(10, aux_logits=False, transform_input=True, inception_blocks=narrow + [nn.Identity],
                          init_weights=False)
    model.fc = nn.Linear(2048 // 16, 10)
    model.Mixed_5d = model.Mixed_6c = model.Mixed_6d = model.Mixed_7c = nn.Identity()
    return classifier(model, [(2, 96, 96), (1, 107, 91)], True)


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 24), classes=2):
        super().__init__()
        self.down = nn.ModuleList(self.pair(*io) for io in zip((3, *widths), widths))
        self.up = nn.ModuleList()
        self.join = nn.ModuleList()
        for skip, deep in reversed(list(zip(widths, widths[1:]))):
            first = len(self.up) == 0
            self.up.append(nn.ConvTranspose2d(deep, skip, 2, 2) if first else nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(deep, skip, 1)))
            self.join.append(self.pair(2 * skip, skip))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(widths[0], classes, 1)

    @staticmethod
    def pair(channels, out):
        return nn.Sequential(nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                             nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU())

    def forward(self, x):
        skips = []
        for pair in self.down[:-1]:
            x = pair(x)
            skips.append(x)
            x = self.pool(x)
        x = self.down[-1](x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = up(x)
            x = nn.functional.interpolate(x, size=skip.shape[2:], mode="nearest")  # where a side was odd
            x = join(torch.cat([skip, x], 1))
        return torch.sigmoid(self.head(x))


def unet():
    made = classifier(UNet(), [(2, 32, 32), (1, 28, 45)], True)
    made.outputs = {"y": PLANE}
    return made


def vit():
    from torchvision.models import VisionTransformer
    return classifier(VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10), [(2, 32, 32), (3, 32, 32)], False)


def vit_hf():
    from transformers import ViTConfig, ViTForImageClassification
    config = ViTConfig(**NARROW, image_size=32, patch_size=8, num_labels=10)
    return classifier(Logits(ViTForImageClassification(config), ["pixel_values"]), [(2, 32, 32), (1, 32, 32)], False)


def swin():
    from torchvision.models.swin_transformer import SwinTransformer
    model = SwinTransformer([2, 2], 12, [2, 1], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10)
    return classifier(model, [(2, 32, 32), (1, 32, 32)], False)


def encoder_of(model, vocabulary, names):
    random = np.random.default_rng(8)
    feeds = []
    for rows, length in [(2, 9), (3, 14), (1, 5)]:
        made = {"input_ids": tokens(random, vocabulary, rows, length), "attention_mask": padded(rows, length, 3),
                "token_type_ids": tokens(random, 2, rows, length)}
        feeds.append({name: made[name] for name in names})
    return Family(Logits(model, names), {name: TEXT for name in names}, {"last_hidden_state": TEXT}, feeds)


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(**SMALL, max_position_embeddings=32, attn_implementation="eager")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    return encoder_of(BertModel(config, add_pooling_layer=False), 96, names)


def causal(model, vocabulary=96):
    """A decoder without a cache: what `generate` is exported as when nobody thinks of one."""
    names = ["input_ids", "attention_mask"]
    random = np.random.default_rng(9)
    feeds = [{"input_ids": tokens(random, vocabulary, rows, length),
              "attention_mask": padded(rows, length, 3)} for rows, length in [(2, 7), (1, 12), (3, 5)]]
    model.config.use_cache = False
    return Family(Logits(model, names), {name: TEXT for name in names}, {"logits": TEXT}, feeds)


def gpt2(attention="sdpa"):
    from transformers import GPT2Config, GPT2LMHeadModel
    return causal(GPT2LMHeadModel(GPT2Config(vocab_size=96, n_positions=POSITIONS, n_embd=32, n_layer=2, n_head=4,
                                             bos_token_id=0, eos_token_id=0, attn_implementation=attention)))


def gpt2_eager():
    """As GPT-2 was exported for years: the scale is computed, and the causal mask a slice of a table."""
    return gpt2("eager")


ROTARY = dict(num_key_value_heads=2, max_position_embeddings=POSITIONS, bos_token_id=0, eos_token_id=0)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return causal(LlamaForCausalLM(LlamaConfig(**SMALL, **ROTARY, tie_word_embeddings=True)))


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    return causal(Qwen2ForCausalLM(Qwen2Config(**SMALL, **ROTARY)))


def every_expert(self, hidden):
    """The routing of transformers, over all experts: a loop over those that were hit cannot be traced."""
    rows = hidden.reshape(-1, hidden.shape[-1])
    logits = self.gate(rows)
    weights, chosen = torch.topk(torch.softmax(logits, -1), self.top_k, -1)
    weights = weights / weights.sum(-1, keepdim=True)
    share = torch.zeros_like(logits).scatter(-1, chosen, weights)
    made = sum(share[:, e:e + 1] * expert(rows) for e, expert in enumerate(self.experts))
    return made.reshape(hidden.shape), logits


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
    MixtralSparseMoeBlock.forward = every_expert
    config = MixtralConfig(**SMALL | {"intermediate_size": 32}, **ROTARY, num_local_experts=4, num_experts_per_tok=2)
    return causal(MixtralForCausalLM(config))


def qwen3_moe():
    """Made for Optimum, which brings its own routing."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
    return causal(Qwen3MoeForCausalLM(Qwen3MoeConfig(**SMALL, **ROTARY, head_dim=8, moe_intermediate_size=32,
                                                     num_experts=4, num_experts_per_tok=2, norm_topk_prob=True,
                                                     decoder_sparse_step=2)))


def pair_of(model, names, feeds):
    dims = {"input_ids": {0: "batch", 1: "source"}, "attention_mask": {0: "batch", 1: "source"},
            "input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}}
    model.config.use_cache = False
    return Family(Logits(model, names), {name: dims[name] for name in names},
                  {"logits": {0: "batch", 1: "target"}}, feeds)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(vocab_size=96, d_model=32, d_kv=4, d_ff=32, num_layers=2, num_heads=4, decoder_start_token_id=0,
                      feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    random = np.random.default_rng(10)
    feeds = [{"input_ids": tokens(random, 96, rows, source), "attention_mask": padded(rows, source, 3),
              "decoder_input_ids": tokens(random, 96, rows, target)}
             for rows, source, target in [(2, 9, 4), (3, 5, 7), (1, 14, 2)]]
    return pair_of(T5ForConditionalGeneration(config), ["input_ids", "attention_mask", "decoder_input_ids"], feeds)


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    config = WhisperConfig(vocab_size=96, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2,
                           encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32,
                           max_source_positions=24, max_target_positions=POSITIONS, decoder_start_token_id=1,
                           pad_token_id=0, bos_token_id=0, eos_token_id=0, suppress_tokens=None,
                           begin_suppress_tokens=None)
    random = np.random.default_rng(11)
    feeds = [{"input_features": picture(random, rows, 16, 48), "decoder_input_ids": tokens(random, 96, rows, target)}
             for rows, target in [(2, 4), (3, 7), (1, 1)]]
    return pair_of(WhisperForConditionalGeneration(config), ["input_features", "decoder_input_ids"], feeds)


def of_config(kind, config, **sizes):
    """A family of transformers for Optimum, which makes its own inputs."""

    def make():
        import transformers
        model = getattr(transformers, kind)(getattr(transformers, config)(**sizes))
        return Family(Logits(model, []), {}, {}, [])

    return make


ENCODER_DECODER = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                       decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32)
DETR_BACKBONE = dict(model_type="resnet", embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                     out_features=["stage4"])
MORE = {
    "mistral": of_config("MistralForCausalLM", "MistralConfig", **SMALL, **ROTARY, sliding_window=16),
    "gemma2": of_config("Gemma2ForCausalLM", "Gemma2Config", **SMALL, **ROTARY, head_dim=8, sliding_window=16),
    "phi3": of_config("Phi3ForCausalLM", "Phi3Config", **SMALL, **ROTARY, pad_token_id=0),
    "falcon": of_config("FalconForCausalLM", "FalconConfig", vocab_size=96, hidden_size=32, num_hidden_layers=2,
                        num_attention_heads=4, bos_token_id=0, eos_token_id=0),
    "opt": of_config("OPTForCausalLM", "OPTConfig", vocab_size=96, hidden_size=32, word_embed_proj_dim=32, ffn_dim=64,
                     num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=POSITIONS),
    "bloom": of_config("BloomForCausalLM", "BloomConfig", vocab_size=96, hidden_size=32, n_layer=2, n_head=4),
    "gemma2_eager": of_config("Gemma2ForCausalLM", "Gemma2Config", **SMALL, **ROTARY, head_dim=8, sliding_window=16,
                              attn_logit_softcapping=5.0, attn_implementation="eager"),
    "mpt": of_config("MptForCausalLM", "MptConfig", vocab_size=96, d_model=32, n_layers=2, n_heads=4,
                     max_seq_len=POSITIONS, expansion_ratio=2),
    "stablelm": of_config("StableLmForCausalLM", "StableLmConfig", **SMALL, **ROTARY),
    "gptj": of_config("GPTJForCausalLM", "GPTJConfig", vocab_size=96, n_positions=POSITIONS, n_embd=32, n_layer=2,
                      n_head=4, rotary_dim=4, bos_token_id=0, eos_token_id=0),
    "codegen": of_config("CodeGenForCausalLM", "CodeGenConfig", vocab_size=96, n_positions=POSITIONS, n_ctx=POSITIONS,
                         n_embd=32, n_layer=2, n_head=4, rotary_dim=4, bos_token_id=0, eos_token_id=0),
    "gpt_neo": of_config("GPTNeoForCausalLM", "GPTNeoConfig", vocab_size=96, hidden_size=32, num_layers=2, num_heads=4,
                         attention_types=[[["global", "local"], 1]], window_size=16, max_position_embeddings=POSITIONS,
                         bos_token_id=0, eos_token_id=0),
    "gpt_bigcode": of_config("GPTBigCodeForCausalLM", "GPTBigCodeConfig", vocab_size=96, n_positions=POSITIONS,
                             n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0),
    "phi": of_config("PhiForCausalLM", "PhiConfig", **SMALL, max_position_embeddings=POSITIONS, bos_token_id=0,
                     eos_token_id=0),
    "falcon_alibi": of_config("FalconForCausalLM", "FalconConfig", vocab_size=96, hidden_size=32, num_hidden_layers=2,
                              num_attention_heads=4, alibi=True, bos_token_id=0, eos_token_id=0),
    "gpt_neox": of_config("GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL, max_position_embeddings=POSITIONS),
    "bart": of_config("BartForConditionalGeneration", "BartConfig", **ENCODER_DECODER, vocab_size=96,
                      max_position_embeddings=POSITIONS, bos_token_id=0, eos_token_id=2, pad_token_id=1,
                      decoder_start_token_id=2, forced_eos_token_id=2),
    "deberta_v2": of_config("DebertaV2Model", "DebertaV2Config", **SMALL, max_position_embeddings=64,
                            relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "convnext": of_config("ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[8, 16, 24, 32],
                          depths=[1, 1, 1, 1], num_labels=10),
    "detr": of_config("DetrForObjectDetection", "DetrConfig", **ENCODER_DECODER, num_queries=5,
                      use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                      backbone_config=DETR_BACKBONE),
    "clip": of_config("CLIPModel", "CLIPConfig", projection_dim=16,
                      text_config=dict(**SMALL, max_position_embeddings=16, projection_dim=16),
                      vision_config=dict(**NARROW, image_size=32, patch_size=8, projection_dim=16)),
}


def settle(module):
    """Seeded weights under which every layer's output is about as large as its input."""
    torch.manual_seed(20261129)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "position_bias" in name or "relative_attention_bias" in name:
                parameter.normal_(0, 0.5)
            elif parameter.ndim >= 2:
                embedding = "embed" in name or ".wte." in name or ".wpe." in name or "shared" in name
                fan = parameter[0].numel() if parameter.ndim > 2 or not embedding else 4
                parameter.normal_(0, (1.5 / fan)**0.5)
            elif name.endswith("weight"):
                parameter.normal_(1, 0.1)
            else:
                parameter.normal_(0, 0.1)
        for part in module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
    return module.eval()


FAMILIES = {make.__name__: make
            for make in (resnet, mobilenet_v3, efficientnet, inception, unet, vit, vit_hf, swin, bert, gpt2, gpt2_eager,
                         llama, qwen2, mixtral, qwen3_moe, t5, whisper)} | MORE
