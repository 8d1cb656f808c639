/* SPDX-License-Identifier: Apache-2.0
 * What a tokenizer is made of, for the files of this folder that need to look inside. */
#ifndef SC_TEXT_TOKENIZER_PARTS_H
#define SC_TEXT_TOKENIZER_PARTS_H

#include "text/added.h"
#include "text/bpe.h"
#include "text/decode_text.h"
#include "text/normalize.h"
#include "text/postprocess.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"
#include "text/unigram.h"

struct sc_tokenizer {
    struct sc_arena arena; /* texts and steps of all parts */
    struct sc_vocabulary model;
    struct sc_added added;
    struct sc_normalizer normalizer;
    struct sc_pretokenizer pretokenizer;
    struct sc_bpe bpe; /* or */
    struct sc_unigram unigram;
    struct sc_surround surround;
    struct sc_decoder decoder;
};

#endif
