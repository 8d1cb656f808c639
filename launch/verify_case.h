/* SPDX-License-Identifier: Apache-2.0
 * One model with recorded data sets, run once or in many ways. */
#ifndef SC_LAUNCH_VERIFY_CASE_H
#define SC_LAUNCH_VERIFY_CASE_H

#include "base/json.h"
#include "launch/app.h"
#include "launch/compare.h"

#define SC_VERIFY_STAGES 8 /* the most of a random plan */

struct sc_verify_options {
    struct sc_tolerance tolerance; /* of the first run */
    int n_plans; /* random ones of the runs after it, which must give its bits; -1: it is the only one */
    int n_states;
    const char *const *states; /* "IN=OUT": from the second data set on IN is what OUT was in the one before */
};

struct sc_verify_result {
    int n_runs;
    bool opened; /* the plan was found good, once at least */
    bool stages_seen[SC_VERIFY_STAGES + 1]; /* by number of stages; the last: so many or more */
    int most_stages;
    uint64_t bits; /* digest of all outputs of the first run; rank 0 */
};

/* The first run is as the command line says and is compared with what was recorded. Others are on one thread and on
 * two, cut in 2, 3 and 4 stages, and by random plans; where the graph has fewer nodes, in as many stages as it has.
 * Collective; the first failure ends it on all ranks. What the ranks did in the first run is added to `report` (rank 0;
 * NULL: not). */
enum sc_status sc_verify_case(struct sc_app *app, const struct sc_verify_options *options, const char *folder,
    struct sc_json *report, struct sc_verify_result *result);

#endif
