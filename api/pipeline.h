/* SPDX-License-Identifier: Apache-2.0
 * What a pipeline of the public header holds; for the files of api/ alone. */
#ifndef SC_API_PIPELINE_H
#define SC_API_PIPELINE_H

#include "base/map.h"
#include "include/stagecoach.h"
#include "model/model.h"
#include "runtime/session.h"

/* open ──► ended (rank 0 finished, the others served) ──► closed;  lost: the ranks no longer agree, nobody waits. */
struct sc_pipeline {
    struct sc_arena arena; /* ports, texts of options */
    struct sc_arena shown; /* what the result at hand needs */
    struct sc_arena passing; /* the values of one submit */
    struct sc_world *world;
    struct sc_model *model;
    struct sc_session *session;
    int n_inputs, n_outputs;
    struct sc_port *inputs, *outputs;
    struct sc_map input_names, output_names; /* name -> port; there may be thousands */
    const struct sc_value **results; /* by output */
    bool has_results;
    bool ended, lost;
};

/* arrays.c */

/* What the model's file declares; before passes run. */
enum sc_status sc_ports_make(const struct sc_model *model, struct sc_pipeline *pipeline);

/* Values by graph input, in pipeline->passing; they borrow the arrays' data. */
enum sc_status sc_arrays_read(
    struct sc_pipeline *pipeline, int n, const struct sc_array *arrays, const struct sc_value ***values);

/* A tensor as the caller sees it; a copy is made in pipeline->shown where it is not plain and dense. */
enum sc_status sc_array_show(
    struct sc_pipeline *pipeline, const struct sc_port *port, const struct sc_value *value, struct sc_array *array);

#endif
