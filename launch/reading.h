/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a user's text or sound: a prompt that a decoder continues, or what an encoder reads. */
#ifndef SC_LAUNCH_READING_H
#define SC_LAUNCH_READING_H

#include "audio/features.h"
#include "base/log.h"
#include "decode/begin.h"
#include "decode/request.h"
#include "launch/hearing.h"
#include "launch/options.h"
#include "model/model.h"
#include "text/tokenizer.h"

/* On rank 0. */
struct sc_reading {
    struct sc_tokenizer *tokenizer;
    bool encodes; /* there is an encoder: texts begin as `begin` says */
    bool hears; /* it reads sound, of which `mel` says how */
    struct sc_mel_options mel;
    const struct sc_log *log;
    struct sc_begin begin;
};

/* tokenizer and log are set. Reads the files beside the model. SC_BAD_USAGE for options that are for other models. */
enum sc_status sc_reading_open(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_reading *reading);

/* Sets prompt and source of a request, and of sound how it is heard; what they point to is in the arena. text NULL:
 * none was given; audio: a path. fresh: the text begins here, with the tokens that the tokenizer puts around one. */
struct sc_given_text {
    const char *text;
    size_t bytes;
    const char *audio;
    bool fresh;
};
enum sc_status sc_reading_request(const struct sc_reading *reading, const struct sc_given_text *given,
    struct sc_arena *arena, struct sc_request *request, struct sc_hearing *hearing);

#endif
