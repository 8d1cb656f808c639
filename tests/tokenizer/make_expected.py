#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes texts with their ids and decoded text, as Hugging Face's tokenizers 0.23 has them.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    make_expected.py kinds                          > tests/tokenizer/kinds.json
    make_expected.py unigram                        > tests/tokenizer/unigram.json
    make_expected.py file PATH/tokenizer.json N     > expected.json

tests/unit/test_tokenizer.c reads such files: those beside this script, and those named on its command line.
kinds: small tokenizers made here, one for each kind of step; file: N texts for one tokenizer.json. A case has the ids
of its text, then "framed" (with special tokens) where that differs, the text of the framed ids ("all"), and "plain"
(without special tokens) where that differs.
"""
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]

WORDS = ("the and of to in is you that it he was for on are as with his they at be this have from or one had by word "
         "but not what all were we when your can said there use an each which she do how their if will up other about "
         "don't I'll you've they're it's he'd we'm CAN'T It'S \u2019s na\u00efve caf\u00e9 cafe\u0301 \u00dcber "
         "stra\u00dfe STRASSE \u0130stanbul \ufb01ne x\u00b2 \u2167 1 22 333 4444 1234567890 3.14 -7 1,000 \u0663\u0664 "
         "\u65e5\u672c\u8a9e \u4e2d\u6587 \ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u0440\u0443\u0441\u0441\u043a\u0438\u0439 "
         "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0639\u0631\u0628\u064a \u05e2\u05d1\u05e8\u05d9\u05ea "
         "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22 \u212bngstr\u00f6m").split()
ODD = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\u24b6",
       "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "\u200d", "\ufeff", "\u180e", "\t", "\n", "\r\n", "\r", "\x00",
       "\x01", "\x1b", "\x7f", "\u00ad", "\ufffd", "\u0301", "\u00ff", "\u0100", "\u0120", "\u2581", "\U00020000"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "\u2014", "\u00ab", "\u00bb", "\u20ac", "\u3002"]


def one_text(rng, tokens):
    out = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.random()
        if kind < 0.55:
            out.append(rng.choice(["", " ", " ", " "]) + rng.choice(WORDS))
        elif kind < 0.7:
            out.append(rng.choice(PUNCTUATION) * rng.choice([1, 1, 2, 5]))
        elif kind < 0.82:
            out.append(rng.choice(ODD) * rng.choice([1, 1, 3]))
        elif kind < 0.92:
            out.append(rng.choice([" ", "\n", "\t", " \n", "a", "=", "9", "\u4e2d"]) * rng.randint(1, 40))
        elif tokens:
            out.append(rng.choice(["", " ", "  "]) + rng.choice(tokens) + rng.choice(["", " ", "\n", "x"]))
    return "".join(out)


def texts(n, tokens, seed):
    rng = random.Random(seed)
    fixed = ["", " ", "\x00 a ", "Hello, world! How's it going?"]
    if n >= 100:
        fixed += ["".join(map(chr, range(128))), "".join(map(chr, range(128, 0x250))), "a" * 300, " " * 100 + "x",
                  "a", "\n", "  ", " a", "ab" * 200, "\U0001f600" * 20]
    lines = [line for name in ("README.md", "LICENSE", "base/README.md", "text/README.md", "base/regex.c", "base/team.c")
             if (ROOT / name).exists() for line in (ROOT / name).read_text().split("\n\n")]
    rng.shuffle(lines)
    chosen = fixed + lines[: n // 8]
    while len(chosen) < n:
        chosen.append(one_text(rng, tokens))
    return chosen[:n]


def cases(tokenizer, n, seed):
    spec = json.loads(tokenizer.to_str())
    tokens = [t["content"] for t in spec["added_tokens"]][:20]
    size = max(tokenizer.get_vocab(True).values()) + 1
    rng = random.Random(seed + 1)
    found = []
    for text in texts(n, tokens, seed):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        framed = tokenizer.encode(text).ids
        found.append({"text": text, "ids": ids, "framed": framed,
                      "all": tokenizer.decode(framed, skip_special_tokens=False),
                      "plain": tokenizer.decode(framed, skip_special_tokens=True)})
    for _ in range(n // 4):  # what a model may say: any ids, so broken UTF-8
        ids = [rng.randrange(size + 3) for _ in range(rng.randint(1, 30))]
        found.append({"ids": ids, "all": tokenizer.decode(ids, skip_special_tokens=False),
                      "plain": tokenizer.decode(ids, skip_special_tokens=True)})
    for case in found:
        if case["plain"] == case["all"]:
            del case["plain"]
        if case.get("framed") == case["ids"]:
            del case["framed"]
    return found


def added(id, content, **flags):
    base = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **base, **flags}


def train(spec, vocabulary=310):
    """Gives the spec a BPE model that was trained on the corpus through its own normalizer and pre-tokenizer."""
    from tokenizers.trainers import BpeTrainer
    base = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None}
    options = spec.pop("model", {})
    fallback = options.get("byte_fallback", False)
    tokens = spec.pop("tokens", [])
    empty = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {}, "merges": []}
    legacy = options.pop("legacy_merges", False)
    limit = options.pop("limit_alphabet", 80)
    tokenizer = Tokenizer.from_str(json.dumps({**base, **spec, "model": {**empty, **options, "unk_token": None}}))
    affixes = {k: v for k, v in options.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")}
    first = ["<unk>"] + ([f"<0x{b:02X}>" for b in range(256)] if fallback else [])
    trainer = BpeTrainer(vocab_size=vocabulary + len(first), special_tokens=first, limit_alphabet=limit,
                         show_progress=False, **affixes)
    corpus = [text.replace("\x00", "") for text in texts(400, [], 5)]  # our JSON reader takes no NUL in keys
    tokenizer.train_from_iterator(corpus, trainer)
    made = json.loads(tokenizer.to_str())
    model = {**made["model"], **options}
    if legacy:
        model["merges"] = [" ".join(pair) for pair in model["merges"] if not any(" " in half for half in pair)]
    size = max(model["vocab"].values()) + 1
    made.update(spec)
    made["model"] = model
    made["added_tokens"] = [added(size + i, *([t] if isinstance(t, str) else [t[0]]), **({} if isinstance(t, str) else t[1]))
                            for i, t in enumerate(tokens)]
    return made


def kinds():
    bytes_in = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    bytes_out = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    llama3 = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
              "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
    qwen = llama3.replace("\\p{N}{1,3}", "\\p{N}")
    raw = {**bytes_in, "use_regex": False}

    def split(pattern, behavior, invert=False):
        return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}

    def sequence(key, *steps):
        return {"type": "Sequence", key: list(steps)}

    def template(*pieces, **tokens):
        return {"type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}}
                           for p in pieces],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {k: {"id": k, "ids": v, "tokens": [k] * len(v)} for k, v in tokens.items()}}

    specs = {
        "bytelevel": {"pre_tokenizer": bytes_in, "decoder": bytes_out, "tokens": ["<|end|>", "<|endoftext|>"]},
        "bytelevel_prefix_space": {"pre_tokenizer": {**bytes_in, "add_prefix_space": True}, "decoder": bytes_out,
                                   "tokens": ["<s>"], "post_processor": bytes_out},
        "legacy_merges": {"pre_tokenizer": bytes_in, "decoder": bytes_out, "model": {"legacy_merges": True}},
        "llama3": {"pre_tokenizer": sequence("pretokenizers", split({"Regex": llama3}, "Isolated"), raw),
                   "decoder": bytes_out, "model": {"ignore_merges": True}, "tokens": ["<|bos|>", "<|eos|>"],
                   "post_processor": sequence("processors", bytes_out, template("<unk>", "A", **{"<unk>": [0]}))},
        "qwen": {"normalizer": {"type": "NFC"}, "decoder": bytes_out,
                 "pre_tokenizer": sequence("pretokenizers", split({"Regex": qwen}, "Isolated"), raw)},
        "llama2": {"normalizer": sequence("normalizers", {"type": "Prepend", "prepend": "\u2581"},
                                          {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}),
                   "decoder": sequence("decoders", {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                                       {"type": "ByteFallback"}, {"type": "Fuse"},
                                       {"type": "Strip", "content": " ", "start": 1, "stop": 0}),
                   "model": {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>", "limit_alphabet": 60},
                   "tokens": ["<s>", "</s>"], "post_processor": template("<unk>", "A", "<unk>", "<unk>", **{"<unk>": [0, 1]})},
        "metaspace_first": {"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first",
                                              "split": True},
                            "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first",
                                        "split": True},
                            "model": {"unk_token": "<unk>"}, "tokens": ["<s>", ["[MID]", {"special": False}]]},
        "metaspace_always": {"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581",
                                               "prepend_scheme": "always", "split": False},
                             "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always",
                                         "split": False},
                             "model": {"unk_token": "<unk>", "fuse_unk": True}, "tokens": ["<s>"]},
        "metaspace_never": {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never",
                                              "split": True},
                            "decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never",
                                        "split": True}, "model": {"unk_token": "<unk>"}},
        "suffix": {"pre_tokenizer": {"type": "Whitespace"}, "normalizer": {"type": "Lowercase"},
                   "model": {"end_of_word_suffix": "</w>", "unk_token": "<unk>"},
                   "decoder": {"type": "BPEDecoder", "suffix": "</w>"}},
        "prefix": {"pre_tokenizer": {"type": "BertPreTokenizer"},
                   "model": {"continuing_subword_prefix": "##", "unk_token": "<unk>", "fuse_unk": True}},
        "added_flags": {"pre_tokenizer": bytes_in, "decoder": bytes_out, "normalizer": {"type": "Lowercase"},
                        "tokens": [["<left>", {"lstrip": True}], ["<right>", {"rstrip": True}],
                                   ["<both>", {"lstrip": True, "rstrip": True}], ["word", {"single_word": True}],
                                   ["The", {"normalized": True, "special": False}],
                                   ["AND", {"normalized": False, "special": False}],
                                   ["  ", {"normalized": True, "special": False}],
                                   ["<right><both>", {}], ["\u65e5\u672c", {"single_word": True, "normalized": True}]]},
        "normalizers": {"normalizer": sequence("normalizers", {"type": "Strip", "strip_left": True, "strip_right": True},
                                               {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                                               sequence("normalizers", {"type": "NFKC"}),
                                               {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "#"}),
                        "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"unk_token": "<unk>"}},
        "nfkd": {"normalizer": sequence("normalizers", {"type": "NFKD"}, {"type": "Strip", "strip_left": False,
                                                                          "strip_right": True}),
                 "pre_tokenizer": bytes_in, "decoder": bytes_out},
        "bytelevel_normalizer": {"normalizer": {"type": "ByteLevel"}, "pre_tokenizer": None, "decoder": bytes_out},
        "digits_punctuation": {"pre_tokenizer": sequence("pretokenizers", {"type": "Digits", "individual_digits": True},
                                                         {"type": "Punctuation", "behavior": "Contiguous"}, raw),
                               "decoder": bytes_out},
        "digits_grouped": {"pre_tokenizer": sequence("pretokenizers", {"type": "Digits", "individual_digits": False},
                                                     {"type": "Punctuation", "behavior": "MergedWithPrevious"}, raw),
                           "decoder": bytes_out},
        "delimiter": {"pre_tokenizer": sequence("pretokenizers", {"type": "CharDelimiterSplit", "delimiter": "e"}, raw),
                      "decoder": bytes_out},
        "ruby_regex": {"pre_tokenizer": sequence("pretokenizers", split({"Regex": "^\\w+|\\h{2}|[\\S]$|\\W"}, "Isolated"),
                                                 split({"Regex": "x*"}, "MergedWithPrevious"), raw),
                       "decoder": bytes_out},
        "join_by_spaces": {"pre_tokenizer": {"type": "Punctuation", "behavior": "MergedWithNext"}},
        "roberta": {"pre_tokenizer": bytes_in, "decoder": bytes_out,
                    "post_processor": {"type": "RobertaProcessing", "sep": ["<unk>", 0], "cls": ["<unk>", 0],
                                       "trim_offsets": True, "add_prefix_space": False}},
        "replace_decoder": {"pre_tokenizer": bytes_in,
                            "decoder": sequence("decoders", {"type": "Replace", "pattern": {"Regex": "\u0120+"},
                                                             "content": "_"},
                                                {"type": "Strip", "content": "_", "start": 2, "stop": 0},
                                                {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                                 "use_regex": True})},
    }
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            specs[f"split_{behavior}_{'inverted' if invert else 'plain'}"] = {
                "pre_tokenizer": sequence("pretokenizers", split({"Regex": "[aeiou ]"}, behavior, invert), raw),
                "decoder": bytes_out}
    specs["split_string"] = {"pre_tokenizer": sequence("pretokenizers", split({"String": "th"}, "MergedWithNext"), raw),
                             "decoder": bytes_out}
    return specs


# What a table of sentencepiece may do: one character to several, several to one, to none, and clusters.
RULES = [("\ufb01", "fi"), ("\u00a0", " "), ("\t", " "), ("\n", " "), ("\u200b", ""), ("\u00b2", "2"), ("e\u0301", "\u00e9"),
         ("\u212b", "\u00c5"), ("\u3000", " "), ("\u2167", "VIII"), ("\ufeff", ""), ("\u1112\u1161\u11ab", "\ud55c"),
         ("\u2019", "'"), ("A", "a"), ("T", "t")]


def table():
    """The rules as sentencepiece compiles them, in base64."""
    import base64
    import tempfile
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    with tempfile.TemporaryDirectory() as folder:
        rules, corpus = pathlib.Path(folder) / "rules.tsv", pathlib.Path(folder) / "corpus.txt"
        rules.write_text("".join("\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule) + "\n" for rule in RULES))
        corpus.write_text("a b c d e f\n" * 20)
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=f"{folder}/m", vocab_size=10,
                                                 normalization_rule_tsv=str(rules), minloglevel=2)
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(pathlib.Path(f"{folder}/m.model").read_bytes())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()


def train_unigram(spec, vocabulary=700):
    from tokenizers.trainers import UnigramTrainer
    fallback = spec.pop("byte_fallback", False)
    unknown = spec.pop("unknown", True)
    base = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
            "decoder": None, "model": {"type": "Unigram", "unk_id": None, "vocab": [], "byte_fallback": False}}
    tokenizer = Tokenizer.from_str(json.dumps({**base, **spec}))
    trainer = UnigramTrainer(vocab_size=vocabulary, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                             show_progress=False, max_piece_length=16)
    corpus = [text.replace("\x00", "") for text in texts(400, [], 5)]
    tokenizer.train_from_iterator(corpus, trainer)
    made = json.loads(tokenizer.to_str())
    rare = {c for c in "".join(corpus) if "".join(corpus).count(c) < 4}  # so that some characters have no token
    model = made["model"]
    # Scores of eight binary digits have exact sums: which of two equal spellings wins is a rule then, and not a rounding.
    model["vocab"] = [[piece, round(score * 256) / 256] for i, (piece, score) in enumerate(model["vocab"])
                      if i < 3 or not set(piece) & rare]
    if fallback:
        model["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
    model["byte_fallback"] = fallback
    model["unk_id"] = 2 if unknown else None
    made["added_tokens"] = [token for token in made["added_tokens"] if token["content"] != "<unk>"]
    return made


def unigram():
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    end = {"type": "TemplateProcessing",
           "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
           "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}
    compiled = {"type": "Precompiled", "precompiled_charsmap": table()}
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]}
    return {
        "t5": {"normalizer": compiled, "pre_tokenizer": words, "decoder": space, "post_processor": end},
        "sentences": {"normalizer": {"type": "Sequence", "normalizers": [
            compiled, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
            "pre_tokenizer": {**space, "split": False}, "decoder": space},
        "unigram_bytes": {"pre_tokenizer": space, "byte_fallback": True,
                          "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, space]}},
    }


def write(entries):
    print("[")
    for i, entry in enumerate(entries):
        rows = ",\n".join("  " + json.dumps(case, separators=(",", ":")) for case in entry.pop("cases"))
        print(json.dumps(entry)[:-1] + ', "cases": [\n' + rows + "\n]}" + ("," if i + 1 < len(entries) else ""))
    print("]")


def main():
    if sys.argv[1:] == ["kinds"] or sys.argv[1:2] == ["kinds"] and len(sys.argv) == 3:
        n = int(sys.argv[2]) if len(sys.argv) == 3 else 12
        entries = []
        for seed, (name, spec) in enumerate(kinds().items()):
            text = json.dumps(train(spec), separators=(",", ":"))
            entries.append({"name": name, "tokenizer": text, "cases": cases(Tokenizer.from_str(text), n, 100 + seed)})
        write(entries)
    elif sys.argv[1:] == ["unigram"]:
        entries = []
        for seed, (name, spec) in enumerate(unigram().items()):
            text = json.dumps(train_unigram(spec), separators=(",", ":"))
            entries.append({"name": name, "tokenizer": text, "cases": cases(Tokenizer.from_str(text), 100, 300 + seed)})
        write(entries)
    elif sys.argv[1:2] == ["file"] and len(sys.argv) == 4:
        path = pathlib.Path(sys.argv[2]).resolve()
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        write([{"name": path.parent.name, "path": str(shown),
                "cases": cases(Tokenizer.from_file(str(path)), int(sys.argv[3]), 1)}])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
