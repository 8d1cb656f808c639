#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the files of an encoder and its decoder, and what ONNX Runtime makes of them.

usage: make_together.py       needs onnxruntime and numpy (./dev venv); ../../decoder/make_references.py runs them too

For each family of ../models with an encoder: a tokenizer of single letters, the configs that transformers writes, and read.txt
and heard.txt: greedy texts of a line and of a sound, with what the configs force and forbid. The files run as Optimum runs them:
the encoder, the decoder without a past once, then with it.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "data"))
import make_sounds  # noqa: E402

MODELS = HERE.parent / "models"
LETTERS = "Ġabcdefghijklmnopqrstuvwxyz.,!?'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PARTS = ["encoder", "decoder", "decoder_with_past"]
FAMILIES = {  # files, what config.json says beside the start
    "t5": ("t5_optimum15", {"is_encoder_decoder": True, "decoder_start_token_id": 0, "eos_token_id": 1}),
    "bart": ("bart_optimum17", {"is_encoder_decoder": True, "decoder_start_token_id": 1, "eos_token_id": 1,
                                "max_position_embeddings": 288, "forced_bos_token_id": 7}),
    "whisper": ("whisper_optimum14", {"is_encoder_decoder": True, "decoder_start_token_id": 2, "eos_token_id": 1,
                                      "max_target_positions": 288}),
}
FUSED = {  # beside the same files; apart. T5's judge is what was fused: ONNX Runtime has no RelativePositionBias on a CPU
    "t5_fused": ("t5_optimum15", FAMILIES["t5"][1]), "whisper_fused": ("whisper_fused17", FAMILIES["whisper"][1])}
SPEECH = {  # of Whisper's generation_config.json
    "decoder_start_token_id": 2, "eos_token_id": 1, "lang_to_id": {"<|en|>": 3, "<|fr|>": 4},
    "task_to_id": {"transcribe": 5, "translate": 6}, "no_timestamps_token_id": 7, "suppress_tokens": [5, 6, 7, 9, 56, *range(77, 96)],
    "begin_suppress_tokens": [0, 1, 40], "forced_decoder_ids": [[1, None], [2, 5]], "is_multilingual": True,
}
EXTRACTOR = {"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 16, "sampling_rate": 16000,
             "hop_length": 160, "n_fft": 400, "n_samples": 7680, "nb_max_frames": 48}

RULES = [  # of generation_config.json; the tokens that end a text are ones that these models like
    {"max_length": 21, "eos_token_id": 1, "repetition_penalty": 1.75},
    {"max_length": 21, "eos_token_id": 1, "no_repeat_ngram_size": 2},
    {"max_length": 21, "eos_token_id": 1, "no_repeat_ngram_size": 1, "repetition_penalty": 1.25},
    {"max_length": 21, "eos_token_id": [3, 44, 58, 82], "min_length": 9, "no_repeat_ngram_size": 3},
    {"max_length": 15, "eos_token_id": 3, "no_repeat_ngram_size": 2, "forced_eos_token_id": 3},
]


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # what is to fail says nothing
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ruled(row, text, rules):
    """transformers' processors of logits, in their order"""
    row = row.copy()
    seen = sorted(set(text))
    penalty = rules.get("repetition_penalty", 1.0)
    row[seen] = np.where(row[seen] < 0, row[seen].astype(np.float64) * penalty, row[seen].astype(np.float64) / penalty)
    n = rules.get("no_repeat_ngram_size", 0)
    for at in range(len(text) - n + 1) if n else ():
        if n == 1 or text[at:at + n - 1] == text[1 - n:]:
            row[text[at + n - 1]] = -np.inf
    if len(text) < rules.get("min_length", 0):
        row[rules["eos_token_id"]] = -np.inf
    return row


class Together:
    def __init__(self, files):
        self.encoder, self.first, self.rest = (session(MODELS / f"{files}_{part}/model.onnx") for part in PARTS)

    def encode(self, source):
        made = {"input_ids": source, "attention_mask": np.ones(source.shape, np.int64), "input_features": source}
        return self.encoder.run(None, {i.name: made[i.name] for i in self.encoder.get_inputs()})[0]

    def rows(self, source, prompt, steps, forbidden=(), not_first=(), rules=None):
        hidden = self.encode(source)
        states, ids, rows, text = {}, list(prompt), [], list(prompt)
        for step in range(steps):
            decoder = self.rest if step else self.first
            made = states | {"input_ids": np.array([ids]), "encoder_hidden_states": hidden,
                             "encoder_attention_mask": np.ones(hidden.shape[:2], np.int64)}
            result = dict(zip([o.name for o in decoder.get_outputs()],
                              decoder.run(None, {i.name: made[i.name] for i in decoder.get_inputs()})))
            states |= {name.replace("present", "past_key_values"): value for name, value in result.items()
                       if name.startswith("present")}
            row = result["logits"][0, -1].copy()
            rows.append(row.copy())
            row[list(forbidden) + (list(not_first) if step == 0 else [])] = -np.inf
            row = ruled(row, text, rules) if rules else row
            ids = [int(row.argmax())]
            text += ids
            rows[-1] = row if rules else rows[-1]
        return np.stack(rows)


def tokenizer():
    special = ["<pad>", "</s>", "<|start|>", "<|en|>", "<|fr|>", "<|transcribe|>", "<|translate|>", "<|notimestamps|>"]
    vocabulary = {word: index for index, word in enumerate(special + list(LETTERS))}
    added = [{"id": vocabulary[word], "content": word, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for word in special]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return vocabulary, {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": level,
                        "post_processor": None, "decoder": level,
                        "model": {"type": "BPE", "unk_token": None, "vocab": vocabulary, "merges": []}}


def write(folder, name, content):
    (folder / name).write_text(json.dumps(content, separators=(",", ":"), ensure_ascii=False) + "\n")


def features(random, n):
    return (random.integers(-64, 64, (n, 16, 48)) / 32).astype(np.float32)


def greedy(rows, forbidden, not_first):
    rows = rows.copy()
    rows[:, forbidden] = -np.inf
    rows[0, not_first] = -np.inf
    return rows.argmax(1).tolist()


def hear(folder, models):
    """The text of tone.wav: heard.txt has its ids in the language that is found, then French and translated, then English; long.txt the ids
    of it three times over, window by window."""
    write(folder, "generation_config.json", SPEECH)
    write(folder, "preprocessor_config.json", EXTRACTOR)
    sound = make_sounds.tone(6000) / 32768
    mel = make_sounds.spectrogram(sound, 16, 7680)[None]
    lines = []
    found = 3 + int(models.rows(mel, [2], 1)[0, 3:5].argmax())
    for words in ([found, 5], [4, 6], [3, 5]):
        rows = models.rows(mel, [2, *words, 7], 20, SPEECH["suppress_tokens"], SPEECH["begin_suppress_tokens"])
        lines.append(json.dumps(greedy(rows, SPEECH["suppress_tokens"], SPEECH["begin_suppress_tokens"])))
    (folder / "heard.txt").write_text("\n".join(lines) + "\n")
    three, made = np.concatenate([sound] * 3), []
    found = None
    for at in range(0, len(three), 7680):
        mel = make_sounds.spectrogram(three[at:at + 7680], 16, 7680)[None]
        found = found or 3 + int(models.rows(mel, [2], 1)[0, 3:5].argmax())
        rows = models.rows(mel, [2, found, 5, 7], 9, SPEECH["suppress_tokens"], SPEECH["begin_suppress_tokens"])
        made += greedy(rows, SPEECH["suppress_tokens"], SPEECH["begin_suppress_tokens"])
    (folder / "long.txt").write_text(json.dumps({"language": ["<|en|>", "<|fr|>"][found - 3], "tokens": made}) + "\n")


def read(folder, models, config):
    """The text of a line, as ids in read.txt, and in ruled.txt under rules."""
    vocabulary = tokenizer()[0]
    ids = [vocabulary["Ġ" if letter == " " else letter] for letter in "hello, world"]
    begin = [config[name] for name in ("decoder_start_token_id", "forced_bos_token_id") if name in config]
    lines = []
    for rules in RULES:
        rows = models.rows(np.array([ids]), begin, rules["max_length"] - len(begin), rules=rules)
        made = greedy(rows, [], [])
        made = made[:-1] + [rules.get("forced_eos_token_id", made[-1])]
        end = [at for at, token in enumerate(made) if token in np.atleast_1d(rules["eos_token_id"])]
        lines.append(json.dumps({"rules": rules, "tokens": made[:end[0]] if end else made}))
    (folder / "ruled.txt").write_text("\n".join(lines) + "\n")
    (folder / "read.txt").write_text(json.dumps(greedy(models.rows(np.array([ids]), begin, 20), [], [])) + "\n")


def make(family, files, config):
    folder = HERE / family
    folder.mkdir(exist_ok=True)
    models = Together(files)
    write(folder, "tokenizer.json", tokenizer()[1])
    write(folder, "config.json", config)
    if family == "whisper":
        hear(folder, models)
    else:
        read(folder, models, config)


def main():
    for family, rest in FAMILIES.items():
        make(family, *rest)


if __name__ == "__main__":
    main()
