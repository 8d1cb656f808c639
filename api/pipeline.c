/* SPDX-License-Identifier: Apache-2.0
 * A world, a model and a session under one handle, and the order of calls held to what the public header says. */
#include "api/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"

/* A call came back with a code, but the text may be of an older failure. */
static enum sc_status give(enum sc_status status)
{
    if (status != SC_OK && sc_error_last()->code != (int32_t)status) {
        return sc_fail(status, "%s", sc_status_name(status));
    }
    return status;
}

static bool is_root(const struct sc_pipeline *pipeline)
{
    return sc_world_rank(pipeline->world) == 0;
}

/* Options may be freed before the pipeline is. */
static enum sc_status keep_text(struct sc_pipeline *pipeline, const char **text)
{
    if (*text) {
        *text = sc_arena_text(&pipeline->arena, *text, strlen(*text));
        return *text ? SC_OK : SC_NO_MEMORY;
    }
    return SC_OK;
}

static enum sc_status open_over(struct sc_pipeline *pipeline, const char *path, const struct sc_session_options *given)
{
    struct sc_session_options options = *given;
    SC_TRY(sc_session_open_model(pipeline->world, path, &options.log, &pipeline->model));
    enum sc_status status = sc_ports_make(pipeline->model, pipeline);
    status = status == SC_OK ? keep_text(pipeline, &options.plan_path) : status;
    status = status == SC_OK ? keep_text(pipeline, &options.override) : status;
    SC_TRY(sc_world_agree(pipeline->world, status));
    return sc_session_open(pipeline->world, pipeline->model, &options, &pipeline->session);
}

/* Takes over the world. */
static enum sc_status open_pipeline(
    struct sc_world *world, const char *path, const struct sc_run_options *options, struct sc_pipeline **out)
{
    struct sc_session_options plain;
    sc_session_options_init(&plain);
    struct sc_pipeline *pipeline = calloc(1, sizeof *pipeline);
    enum sc_status status = pipeline ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for a pipeline");
    status = sc_world_agree(world, status);
    if (pipeline && status == SC_OK) {
        pipeline->world = world;
        status = open_over(pipeline, path, options ? &options->session : &plain);
    }
    if (status == SC_OK) {
        *out = pipeline;
        return SC_OK;
    }
    const struct sc_error error = *sc_error_last();
    if (pipeline && pipeline->world) {
        pipeline->ended = true; /* nothing ran */
        sc_pipeline_close(pipeline);
    } else {
        free(pipeline);
        sc_world_free(world);
    }
    return sc_error_set(&error);
}

enum sc_status sc_pipeline_open(
    int fortran_communicator, const char *model, const struct sc_run_options *options, struct sc_pipeline **pipeline)
{
    struct sc_world *world;
    if (!pipeline) {
        return sc_fail(SC_BAD_USAGE, "no place is given for the pipeline");
    }
    const enum sc_status status = sc_world_from_mpi(fortran_communicator, &world);
    return give(status == SC_OK ? open_pipeline(world, model, options, pipeline) : status);
}

enum sc_status sc_pipeline_open_alone(
    const char *model, const struct sc_run_options *options, struct sc_pipeline **pipeline)
{
    struct sc_world *world;
    if (!pipeline) {
        return sc_fail(SC_BAD_USAGE, "no place is given for the pipeline");
    }
    const enum sc_status status = sc_world_open_single(&world);
    return give(status == SC_OK ? open_pipeline(world, model, options, pipeline) : status);
}

int sc_pipeline_n_inputs(const struct sc_pipeline *pipeline)
{
    return pipeline ? pipeline->n_inputs : 0;
}

int sc_pipeline_n_outputs(const struct sc_pipeline *pipeline)
{
    return pipeline ? pipeline->n_outputs : 0;
}

static enum sc_status port_at(const char *what, int n, const struct sc_port *ports, int i, struct sc_port *port)
{
    if (i < 0 || i >= n || !port) {
        return sc_fail(SC_BAD_USAGE, "there is no %s %d among %d", what, i, n);
    }
    *port = ports[i];
    return SC_OK;
}

enum sc_status sc_pipeline_input(const struct sc_pipeline *pipeline, int i, struct sc_port *port)
{
    return port_at("input", sc_pipeline_n_inputs(pipeline), pipeline ? pipeline->inputs : NULL, i, port);
}

enum sc_status sc_pipeline_output(const struct sc_pipeline *pipeline, int i, struct sc_port *port)
{
    return port_at("output", sc_pipeline_n_outputs(pipeline), pipeline ? pipeline->outputs : NULL, i, port);
}

int sc_pipeline_n_stages(const struct sc_pipeline *pipeline)
{
    return pipeline ? sc_session_plan(pipeline->session)->n_stages : 0;
}

int sc_pipeline_window(const struct sc_pipeline *pipeline)
{
    return pipeline ? sc_session_window(pipeline->session) : 0;
}

int64_t sc_pipeline_in_flight(const struct sc_pipeline *pipeline)
{
    return pipeline && is_root(pipeline) ? sc_session_in_flight(pipeline->session) : 0;
}

/* What all calls on an open pipeline ask first. */
static enum sc_status check_call(const struct sc_pipeline *pipeline, const char *call, bool by_root)
{
    if (!pipeline) {
        return sc_fail(SC_BAD_USAGE, "%s: no pipeline is given", call);
    }
    if (is_root(pipeline) != by_root) {
        return sc_fail(SC_BAD_USAGE, "%s is for %s", call, by_root ? "rank 0" : "the other ranks");
    }
    if (pipeline->ended || pipeline->lost) {
        return sc_fail(SC_BAD_USAGE, "%s: the pipeline has %s", call, pipeline->lost ? "failed" : "ended");
    }
    return SC_OK;
}

static void drop_results(struct sc_pipeline *pipeline)
{
    pipeline->has_results = false;
    sc_arena_reset(&pipeline->shown);
}

/* A failure that is not one microbatch's: this rank no longer knows where the others are. */
static enum sc_status lose(struct sc_pipeline *pipeline, enum sc_status status)
{
    pipeline->lost = status != SC_OK;
    return give(status);
}

enum sc_status sc_pipeline_submit(struct sc_pipeline *pipeline, int n, const struct sc_array *inputs)
{
    SC_TRY(check_call(pipeline, "submit", true));
    if (n < 0 || (n > 0 && !inputs)) {
        return sc_fail(SC_BAD_USAGE, "submit: %d inputs are given", n);
    }
    drop_results(pipeline);
    const int window = sc_session_window(pipeline->session);
    if (sc_session_in_flight(pipeline->session) >= window) {
        return sc_fail(SC_LIMIT, "submit: %d microbatches are in flight, which is all the pipeline holds", window);
    }
    const struct sc_value **values;
    struct sc_microbatch microbatch = {0};
    enum sc_status status = sc_arrays_read(pipeline, n, inputs, &values);
    if (status == SC_OK) {
        status = sc_session_submit(pipeline->session, &microbatch, values);
        pipeline->lost = status != SC_OK && status != SC_BAD_INPUT;
    }
    sc_arena_reset(&pipeline->passing);
    return give(status);
}

enum sc_status sc_pipeline_next(struct sc_pipeline *pipeline)
{
    SC_TRY(check_call(pipeline, "next", true));
    drop_results(pipeline);
    const int64_t in_flight = sc_session_in_flight(pipeline->session);
    if (in_flight == 0) {
        return sc_fail(SC_BAD_USAGE, "next: nothing is in flight");
    }
    const enum sc_status status = sc_session_next(pipeline->session, pipeline->results);
    pipeline->has_results = status == SC_OK;
    const bool delivered = sc_session_in_flight(pipeline->session) < in_flight;
    return delivered ? give(status) : lose(pipeline, status);
}

enum sc_status sc_pipeline_result(struct sc_pipeline *pipeline, const char *name, struct sc_array *output)
{
    SC_TRY(check_call(pipeline, "result", true));
    if (!pipeline->has_results || !name || !output) {
        return sc_fail(
            SC_BAD_USAGE, "result: %s", pipeline->has_results ? "no name or place is given" : "there is none");
    }
    const int64_t o = sc_map_get(&pipeline->output_names, name, strlen(name), -1);
    if (o < 0) {
        return sc_fail(SC_BAD_USAGE, "the model has no output '%.100s'", name);
    }
    const struct sc_value *value = pipeline->results[o];
    return value ? give(sc_array_show(pipeline, &pipeline->outputs[o], value, output))
                 : sc_fail(SC_INTERNAL, "output '%s' was not delivered", name);
}

enum sc_status sc_pipeline_serve(struct sc_pipeline *pipeline)
{
    SC_TRY(check_call(pipeline, "serve", false));
    const enum sc_status status = sc_session_serve(pipeline->session);
    pipeline->ended = true;
    return lose(pipeline, status);
}

enum sc_status sc_pipeline_finish(struct sc_pipeline *pipeline)
{
    SC_TRY(check_call(pipeline, "finish", true));
    drop_results(pipeline);
    const enum sc_status status = sc_session_finish(pipeline->session);
    pipeline->ended = true;
    return lose(pipeline, status);
}

void sc_pipeline_close(struct sc_pipeline *pipeline)
{
    if (!pipeline) {
        return;
    }
    const struct sc_error before = *sc_error_last(); /* closing after a failure keeps its text */
    if (!pipeline->ended && !pipeline->lost) {
        (void)(is_root(pipeline) ? sc_pipeline_finish(pipeline) : sc_pipeline_serve(pipeline));
    }
    sc_session_close(pipeline->session);
    sc_model_close(pipeline->model);
    if (pipeline->lost) {
        sc_world_abandon(pipeline->world);
    }
    sc_world_free(pipeline->world);
    sc_map_release(&pipeline->input_names);
    sc_map_release(&pipeline->output_names);
    sc_arena_release(&pipeline->arena);
    sc_arena_release(&pipeline->shown);
    sc_arena_release(&pipeline->passing);
    free(pipeline);
    (void)sc_error_set(&before);
}
