/* SPDX-License-Identifier: Apache-2.0
 * A plan as a picture: for graphviz, and as a page of its own. */
#ifndef SC_LAUNCH_PLAN_PICTURE_H
#define SC_LAUNCH_PLAN_PICTURE_H

#include <stdio.h>

#include "partitioner/plan.h"

struct sc_picture {
    const struct sc_plan *plan;
    const struct sc_model *model;
    const struct sc_fact *facts; /* per value of the model's graph, at planning dims */
    int n_edges;
    const struct sc_plan_edge *edges;
    const int64_t *edge_bytes; /* by edge */
    double slowest_seconds; /* of all stages */
    int64_t largest_bytes; /* of all stages together with their states and activations */
    FILE *out;
};

/* Edges and extremes of a plan, in the arena; `out` is the caller's to set. */
enum sc_status sc_picture_init(const struct sc_plan *plan, const struct sc_model *model, const struct sc_fact *facts,
    const bool *is_state, struct sc_arena *arena, struct sc_picture *picture);

/* Weights as the rank keeps them, activations and states. */
int64_t sc_picture_stage_bytes(const struct sc_plan_stage *stage);

void sc_picture_dot(const struct sc_picture *picture); /* a digraph: stages as boxes, edges with names and bytes */
void sc_picture_html(const struct sc_picture *picture); /* one page with an SVG; needs nothing from elsewhere */

/* Writes a picture to a file, whole or not at all. */
enum sc_status sc_picture_write(
    struct sc_picture *picture, void (*draw)(const struct sc_picture *picture), const char *path);

/* The first names of an edge's values, as "a, b, and 3 more", with characters that markup or graphviz read escaped. */
void sc_picture_names(
    const struct sc_picture *picture, const struct sc_plan_edge *edge, void (*put)(FILE *, const char *));

#endif
