# SPDX-License-Identifier: Apache-2.0
"""Strings."""
import numpy as np

from draw import Case, recipe


@recipe("StringConcat")
def concat(d):
    a, b = d.broadcast(2)
    return Case(d.values("string", a), d.values("string", b), rule=lambda a, b: np.asarray(a + b, object))


@recipe("StringSplit")
def split(d):
    shape = d.shape(0, 2, (1, 2, 3))
    words = ["a b c", "x,y,,z", "one", "", " two  spaces ", "日本,語"]
    x = np.array([d.pick(*words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    delimiter, most = d.pick(None, "", ",", "ab"), d.pick(None, 1, 2)

    def rule(x):
        parts = [v.split(delimiter or None, -1 if most is None else most) for v in x.reshape(-1)]
        width = max((len(p) for p in parts), default=0)
        flat = np.array([p + [""] * (width - len(p)) for p in parts], object).reshape([*shape, width])
        return flat, np.array([len(p) for p in parts], np.int64).reshape(shape)

    return Case(x, outputs=2, rule=rule, delimiter=delimiter, maxsplit=most)


@recipe("RegexFullMatch")
def regex(d):
    import re
    pattern = d.pick(r"[a-z]+", r"\d{2,3}", r"(ab|cd)*x?", r"[^@]+@[a-z]+\.(com|org)", r".", r"")
    words = ["abc", "12", "1234", "ababx", "me@site.com", "é", "", "A", "日"]
    shape = d.shape(0, 2)
    x = np.array([d.pick(*words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    rule = lambda x: np.array([re.fullmatch(pattern, v) is not None for v in x.reshape(-1)], bool).reshape(shape)  # noqa: E731
    return Case(x, rule=rule, pattern=pattern)


@recipe("StringNormalizer")
def normalizer(d):
    words = ["Monday", "tuesday", "STOP", "stop", "Été"]
    n = d.int(1, 6)
    x = np.array([d.pick(*words) for _ in range(n)], object)
    change = d.pick(None, "NONE", "LOWER", "UPPER")
    sensitive = d.pick(None, 0, 1)
    stops = d.pick(None, ["stop"], ["stop", "monday"])

    def rule(x):
        fold = {"LOWER": str.lower, "UPPER": str.upper}.get(change, str)
        held = set(stops or []) if sensitive else {s.lower() for s in stops or []}
        kept = [v for v in x if (v if sensitive else v.lower()) not in held]
        return np.array([fold(v) for v in kept] or [""], object)

    return Case(x, rule=rule, case_change_action=change, is_case_sensitive=sensitive, stopwords=stops)


@recipe("TfIdfVectorizer")
def tf_idf(d):
    strings = d.chance(0.3) if d.types["T"] == "string" else False
    if d.types["T"] == "string":
        strings = True
    grams = [[1], [2], [3], [1, 2], [2, 3], [3, 1]]
    ids = [int(i) for i in d.rng.permutation(len(grams))]
    flat = [v for g in grams for v in g]
    shape = d.pick([7], [2, 5])
    x = d.rng.integers(1, 5, shape)
    pool = dict(pool_strings=[str(v) for v in flat]) if strings else dict(pool_int64s=flat)
    x = x.astype(str).astype(object) if strings else x.astype(d.dtype("T"))
    weights = [float(np.float32(v)) for v in d.rng.uniform(0.5, 2, len(grams))] if d.chance() else None
    mode, skips = d.pick("TF", "IDF", "TFIDF"), d.int(0, 2)

    def rule(x):
        def count(row, gram):
            """A gram's items stand side by side, or skip as many between any two."""
            n, row = len(gram), [int(v) for v in row]
            steps = range(1, skips + 2) if n > 1 else [1]
            return sum(row[at:at + (n - 1) * step + 1:step] == gram for step in steps for at in range(len(row) - (n - 1) * step))

        y = np.zeros([*shape[:-1], len(grams)])
        for i, gram in enumerate(grams):
            n = np.apply_along_axis(count, -1, x, gram)
            weight = 1.0 if weights is None else weights[i]
            y[..., ids[i]] = {"TF": n, "IDF": (n > 0) * weight, "TFIDF": n * weight}[mode]
        return y

    return Case(x, mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=skips,
                ngram_counts=[0, 3], ngram_indexes=ids, weights=weights, rule=rule, **pool)
