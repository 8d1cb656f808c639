/* SPDX-License-Identifier: Apache-2.0
 * A decoder over n ranks of this process, for tests: each rank is a thread with its own model. */
#ifndef SC_TESTS_DECODER_RANKS_H
#define SC_TESTS_DECODER_RANKS_H

#include "decode/decoder.h"

struct sc_ranks {
    int n;
    const char *model;
    struct sc_decoder_options options;
    /* rank 0's part; returns SC_OK or fails */
    enum sc_status (*drive)(void *arg, struct sc_decoder *decoder);
    void (*served)(void *arg, struct sc_decoder *decoder); /* on every rank, at its end; NULL: nothing */
    void *arg;
    int n_stages; /* set: stages of the plan */
};

/* And says what a file `states` in its folder does, an IN=OUT a line: option --state of these tests. */
enum sc_status sc_ranks_open_model(const char *folder, struct sc_model **model);

/* Opens, drives, closes. The status of rank 0; its error is this thread's. */
enum sc_status sc_ranks_run(struct sc_ranks *ranks);

#endif
