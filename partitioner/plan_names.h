/* SPDX-License-Identifier: Apache-2.0
 * Names of units in plan.json; for plan_json.c and plan_write.c only. */
#ifndef SC_PARTITIONER_PLAN_NAMES_H
#define SC_PARTITIONER_PLAN_NAMES_H

#include "model/model.h"

/* Both ways between units of the model and names. Names are the first outputs; one without is called "#index", and what
 * functions and branches were put in place of has none. */
struct sc_plan_names {
    int n;
    const char **name;
    struct sc_map index;
    struct sc_arena arena;
};

enum sc_status sc_plan_names_init(const struct sc_model *model, struct sc_plan_names *names);
void sc_plan_names_release(struct sc_plan_names *names);

/* The nodes that an entry means: one, or a run in file order "first..last". False when it means none. */
bool sc_plan_names_find(const struct sc_plan_names *names, const char *entry, size_t bytes, int *first, int *last);

#endif
