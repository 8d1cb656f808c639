/* SPDX-License-Identifier: Apache-2.0
 * A model at given dims: shapes of all values, costs and memory, without running it. */
#ifndef SC_LAUNCH_SIZED_H
#define SC_LAUNCH_SIZED_H

#include "launch/options.h"
#include "model/model.h"
#include "partitioner/plan.h"

struct sc_sized {
    struct sc_arena arena;
    struct sc_model *model; /* after passes, as a run would have it */
    struct sc_fact *facts; /* per value, for people: dims that were not given by name */
    struct sc_fact *closed; /* the same with dims that were not given as 1 */
    struct sc_plan *plan; /* one stage */
    int64_t context; /* positions that caches are counted for; 0: there are none */
    const char *context_why; /* what they are, where no past was given; "": it was */
    const char *open_dims; /* their names; "": none */
};

/* In words, why a context is taken that nobody gave: the model has room for `most` positions (sc_context_most). */
const char *sc_sized_context_why(int64_t context, int64_t most);

/* The model and dims of the options. Fails as opening, passes, formats and dims do; release is safe then too. */
enum sc_status sc_sized_open(const struct sc_options *options, struct sc_sized *sized);
void sc_sized_release(struct sc_sized *sized);

/* Gives the values of a graph of the same file the facts that are known of them here. */
void sc_sized_show(const struct sc_sized *sized, struct sc_graph *graph);

/* Costs by operator, and memory, to stdout. */
enum sc_status sc_sized_print(struct sc_sized *sized);

#endif
