/* SPDX-License-Identifier: Apache-2.0
 * Recorded prompts, greedy tokens and logits of another runtime. */
#ifndef SC_TESTS_DECODER_REFERENCE_H
#define SC_TESTS_DECODER_REFERENCE_H

#include "decode/request.h"

#define SC_REFERENCE_STEPS 200
#define SC_REFERENCE_TOP 5

struct sc_reference_prompt {
    int64_t *ids;
    int64_t n_ids, n_steps;
    struct sc_source source; /* of an encoder */
    int64_t greedy[SC_REFERENCE_STEPS]; /* the text's tokens, which need not be the best ones */
    struct {
        int64_t id;
        double logit;
    } top[SC_REFERENCE_STEPS][SC_REFERENCE_TOP];
};

/* folder/reference.json; folder/logits.npy: f32 [rows, vocabulary] of the steps of one prompt after the other, all or
 * the first ones; and for encoders of sound folder/features.npy: f32 [prompts, bands, frames]. In the arena. */
struct sc_reference {
    int n_prompts;
    struct sc_reference_prompt *prompts;
    struct sc_tensor logits;
};

enum sc_status sc_reference_read(const char *folder, struct sc_arena *arena, struct sc_reference *reference);

#endif
