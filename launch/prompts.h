/* SPDX-License-Identifier: Apache-2.0
 * A file of requests, one JSON object a line. */
#ifndef SC_LAUNCH_PROMPTS_H
#define SC_LAUNCH_PROMPTS_H

#include "base/arena.h"
#include "base/lines.h"
#include "decode/sample.h"

#define SC_PROMPTS_LINE ((size_t)4 << 20) /* most bytes of a line */

/* What a line does not say. */
struct sc_prompt_defaults {
    int64_t n_predict;
    struct sc_sample_options sample;
    bool ignore_eos;
};

/* A line that is not blank. Fields of the object: prompt (text) or audio (the path of a .wav file), one of which must
 * be there; id (any text, given back), n_predict or max_tokens, temperature, top_k, top_p, min_p, repeat_penalty,
 * no_repeat_ngram_size, min_length, seed, ignore_eos. */
struct sc_prompt {
    int64_t line; /* from 1 */
    const char *id; /* NULL: none */
    const char *text;
    size_t text_bytes;
    const char *audio; /* NULL: none */
    int64_t n_predict;
    struct sc_sample_options sample;
    uint64_t key; /* of draws: 0 with a seed of its own, as for one prompt alone; else how many prompts came before */
    bool ignore_eos;
    struct sc_error error; /* code SC_OK: none. Else the line is no request, and this says why, with its number */
};

/* The file, of which a line is in memory: open ──► next ... ──► close. Zeros: none. */
struct sc_prompts {
    struct sc_prompt_defaults defaults;
    struct sc_lines lines;
    int64_t n_lines, n; /* read so far; of them prompts */
};

/* Bytes of the byte order mark that text begins with, which some editors put before all: no part of a prompt. */
size_t sc_prompts_mark(const char *text, size_t bytes);

/* Fails when the file cannot be read. The path is borrowed. */
enum sc_status sc_prompts_open(const char *path, const struct sc_prompt_defaults *defaults, struct sc_prompts *prompts);

/* What the prompt points to is in the arena. A bad line is a prompt with an error; fails only when the file cannot be
 * read on. *more: there was one. */
enum sc_status sc_prompts_next(
    struct sc_prompts *prompts, struct sc_arena *arena, struct sc_prompt *prompt, bool *more);

void sc_prompts_close(struct sc_prompts *prompts); /* safe on zeros */

#endif
