/* SPDX-License-Identifier: Apache-2.0
 * stagecoach generate with a file of requests: as many at once as there are slots, results in the file's order. */
#ifndef SC_LAUNCH_GENERATE_MANY_H
#define SC_LAUNCH_GENERATE_MANY_H

#include "decode/schedule.h"
#include "decode/search.h"
#include "launch/app.h"
#include "launch/prompts.h"
#include "launch/reading.h"
#include "launch/resume.h"
#include "text/tokenizer.h"

/* On rank 0, once the decoder is open. */
struct sc_many {
    struct sc_app *app;
    struct sc_decoder *decoder;
    struct sc_tokenizer *tokenizer;
    const struct sc_reading *reading;
    struct sc_resume *resume;
    const struct sc_search *search; /* for what prompts leave open */
    int64_t usual_length;
    struct sc_prompts prompts; /* read as results are printed; closed by whoever has this */
    const int64_t *eos;
    int n_eos;
    int n_slots; /* requests that run at once */
    /* set by sc_generate_many */
    int64_t n; /* requests */
    int64_t n_failed, n_cancelled;
    int64_t n_prompt, n_made; /* tokens of all */
    int64_t ns; /* from the first to the last */
    struct sc_schedule_counts counts;
};

/* Prints a JSON object a line to stdout for each prompt: index, id, text, tokens, finish_reason (stop: the text ended;
 * length, context, cancelled, error), error, timings. Of the file no more is read than slots want, or a thousand lines
 * whose results wait for one before them, so that memory does not grow with it. A prompt that fails costs itself alone.
 * When somebody asks to stop, what is under way ends there, and all is printed. Fails when stdout does, and when the
 * job is lost. */
enum sc_status sc_generate_many(struct sc_many *many);

#endif
