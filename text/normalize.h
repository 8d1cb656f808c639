/* SPDX-License-Identifier: Apache-2.0
 * The normalizers of a tokenizer: what happens to a text before it is cut. */
#ifndef SC_TEXT_NORMALIZE_H
#define SC_TEXT_NORMALIZE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

/* Steps in order. Zeros: none; release is safe on it. */
struct sc_normalizer {
    struct sc_normalize_step *steps;
    size_t n_steps;
};

/* node: the "normalizer" of the file, or NULL. Steps live in the arena. Release also after a failure. */
enum sc_status sc_normalizer_read(const struct sc_json *node, struct sc_arena *arena, struct sc_normalizer *normalizer);
void sc_normalizer_release(struct sc_normalizer *normalizer);

/* Valid UTF-8 in and out; the output is the input itself or in the arena. */
enum sc_status sc_normalizer_run(const struct sc_normalizer *normalizer, const char *text, size_t bytes,
    struct sc_arena *arena, const char **normal, size_t *normal_bytes);

#endif
