/* SPDX-License-Identifier: Apache-2.0
 * A text of sound: its language first, where the model is to find it, then window after window of what its encoder
 * reads. */
#ifndef SC_LAUNCH_HEARING_H
#define SC_LAUNCH_HEARING_H

#include "base/log.h"
#include "decode/begin.h"
#include "decode/request.h"

/* Windows are texts of their own: each begins as the files say, with all that a request may make, and what they make is
 * one text. The language is that token of the model's languages which is likeliest behind the start, for the first
 * window. */
struct sc_hearing {
    const char *path; /* NULL: no sound is read, and all below does nothing */
    const struct sc_begin *begin;
    const struct sc_log *log;
    struct sc_tensor *windows;
    int64_t n_windows, at;
    int64_t *prompt; /* its own: begin's with the language that was found */
    bool listens; /* for the language */
    const char *language; /* that was found; NULL: none was to be */
    struct sc_request after; /* what the request is when the language is known */
    int64_t n_made; /* of windows before */
    int64_t begun_ns, first_ns; /* of the first */
};

/* Once all of the request is set, before it is added. */
void sc_hearing_begin(struct sc_hearing *hearing, struct sc_request *request);

/* For each token that comes: true: it is the language's, and not of the text. */
bool sc_hearing_token(struct sc_hearing *hearing, int64_t token);

/* When the request is done. true: it goes on, and is to be added again. Else its counts and times are of all
 * windows. */
bool sc_hearing_goes_on(struct sc_hearing *hearing, struct sc_request *request);

#endif
