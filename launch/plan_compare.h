/* SPDX-License-Identifier: Apache-2.0
 * plan --compare: what more stages bring, and what the solver is worth. */
#ifndef SC_LAUNCH_PLAN_COMPARE_H
#define SC_LAUNCH_PLAN_COMPARE_H

#include <stdio.h>

#include "runtime/planning.h"

/* Prints a line for each number of stages from 1 to planning->n_stages, as far as the graph can be cut: the plan that
 * is made, its proven bound, and the best of some random convex plans beside it. planning and is_state as for
 * sc_planning_make. */
enum sc_status sc_plan_compare(
    struct sc_model *model, const struct sc_planning *planning, const bool *is_state, FILE *out);

#endif
