/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/text/rows.h"

static const struct sc_family_entry entries[] = {
    {"RegexFullMatch", sc_ops_text_strings},
    {"StringConcat", sc_ops_text_strings},
    {"StringNormalizer", sc_ops_text_strings},
    {"StringSplit", sc_ops_text_strings},
    {"TfIdfVectorizer", sc_ops_text_tfidf},
    {"Tokenizer", sc_ops_text_tokenizer},
};

const struct sc_family sc_family_text = {"text", SC_LENGTH(entries), entries};
