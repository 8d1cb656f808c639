/* SPDX-License-Identifier: Apache-2.0
 * One text that is to be made. */
#ifndef SC_DECODE_REQUEST_H
#define SC_DECODE_REQUEST_H

#include "decode/sample.h"
#include "tensor/tensor.h"

enum sc_stop { SC_STOP_LENGTH, SC_STOP_EOS, SC_STOP_CONTEXT, SC_STOP_CALLER, SC_STOP_ERROR };

/* What an encoder reads, for decoders that have one. */
struct sc_source {
    const int64_t *ids; /* tokens; NULL: features */
    int64_t n;
    const struct sc_tensor *features; /* f32, without a batch: [bands, frames] for a spectrogram */
};

/* The caller sets the first part, adds the request to a schedule, and keeps it and what it points to until it is done.
 * Its text depends on its own fields and the model alone: not on other requests, slots, chunks, ranks or threads. */
struct sc_request {
    const int64_t *prompt; /* with an encoder: what its decoder begins with */
    int64_t n_prompt;
    struct sc_source
        source; /* zeros where there is no encoder, and for a text that goes on from one that a slot holds */
    int64_t n_predict; /* tokens to make at most; 0: the prompt alone */
    const int64_t *eos; /* ids that end the text; they are not passed on */
    int n_eos;
    struct sc_sample_options sample;
    uint64_t key; /* draws are a function of sample.seed, key and position */
    const int64_t *forced; /* continue with these n_predict tokens, whatever is drawn; NULL: with what is drawn */
    const int64_t *among; /* the only tokens that may come, whatever is suppressed */
    int n_among; /* 0: any may */
    const int64_t *last; /* the token that stands at place n_predict, whatever is drawn; NULL: any */
    bool fresh; /* computes all of its prompt, also what another one has computed: for measuring */
    bool (*on_token)(void *arg, int64_t token); /* false stops; NULL: nothing */
    void (*on_logits)(void *arg, const float *logits); /* of every draw; NULL: nothing */
    void (*on_done)(void *arg, struct sc_request *request); /* may add and cancel others; NULL: nothing */
    void *arg;

    /* the schedule's; to be read once it is done */
    bool done;
    enum sc_stop stop;
    struct sc_error error; /* with SC_STOP_ERROR */
    int64_t n_made;
    int slot; /* that holds its text, until another request takes it */
    int64_t n_shared; /* positions of the prompt that were there already */
    int64_t added_ns, begun_ns, first_ns, ended_ns; /* begun: its first chunk was sent; first: its first token came */
    int64_t encoded_ns; /* its source had been read by all stages; 0: there is no encoder */

    /* the schedule's alone */
    struct sc_request *next;
    bool tried; /* it failed once after it began as another one's, and is to begin alone */
};

#endif
