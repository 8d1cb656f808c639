/* SPDX-License-Identifier: Apache-2.0
 * What `generate` does beside making text: goes on from a file of states, writes one, goes on with another plan. */
#ifndef SC_LAUNCH_RESUME_H
#define SC_LAUNCH_RESUME_H

#include "decode/schedule.h"
#include "launch/options.h"

struct sc_resume {
    const char *load, *save, *plan; /* files; NULL: not asked for */
    int64_t replan_at; /* tokens that have been made before the other plan */
    bool replanned;
    struct sc_state_file *file; /* rank 0: of load, open */
};

/* On every rank; SC_BAD_USAGE for options that do not go together. many: there is a file of requests. */
enum sc_status sc_resume_read(const struct sc_options *options, bool many, struct sc_resume *resume);
void sc_resume_release(struct sc_resume *resume); /* safe on zeros */

/* All on rank 0. open: once the decoder's states are known, before its weights are loaded; the tokens of the text so
 * far, which are the file's, or none. */
enum sc_status sc_resume_open(
    struct sc_resume *resume, const struct sc_decoder *decoder, const int64_t **tokens, int64_t *n);

/* Once the decoder is open, before anything is printed: reads the other plan to see whether it is one, which fits. */
enum sc_status sc_resume_check(const struct sc_resume *resume, struct sc_decoder *decoder);

/* Before the first request: puts the states where they belong. */
enum sc_status sc_resume_begin(struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule);

/* Between two steps, with the number of tokens made until now. */
enum sc_status sc_resume_turn(
    struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule, int64_t n_made);

/* After the request is done: saves what it holds. */
enum sc_status sc_resume_end(const struct sc_resume *resume, struct sc_decoder *decoder, struct sc_schedule *schedule,
    const struct sc_request *request);

#endif
