/* SPDX-License-Identifier: Apache-2.0
 * stagecoach run: inputs from files or made at random, outputs to files; one microbatch, or one for each piece of what
 * is cut. */
#include <inttypes.h>
#include <stdio.h>

#include "launch/app.h"
#include "launch/carried.h"
#include "launch/joined.h"
#include "launch/report.h"
#include "launch/report_file.h"

struct sc_runner {
    struct sc_app *app;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_session *session;
    struct sc_carried carried; /* inputs and outputs that are one state */
    struct sc_pieces pieces; /* inputs that are cut */
    struct sc_joined joined; /* their outputs; rank 0 */
    struct sc_inputs inputs; /* rank 0 */
    struct sc_outputs outputs; /* rank 0, with -o */
    enum sc_output_format format;
    struct sc_report_file report;
};

static bool is_cut(const struct sc_runner *runner)
{
    return runner->pieces.n_cuts > 0;
}

/* Type and dims. Returns text. */
static char *describe(const struct sc_value *value, char *text, size_t bytes)
{
    const bool optional = value->kind == SC_KIND_OPTIONAL;
    const int n = snprintf(text, bytes, "%s", optional ? "optional " : "");
    value = optional ? value->u.optional.item : value;
    if (value && value->kind == SC_KIND_TENSOR) {
        sc_tensor_text(&value->u.tensor, text + n, bytes - (size_t)n);
    } else if (value && value->kind == SC_KIND_SEQUENCE) {
        (void)snprintf(text + n, bytes - (size_t)n, "sequence of %" PRId64, value->u.sequence.n);
    } else if (value && value->kind == SC_KIND_MAP) {
        (void)snprintf(text + n, bytes - (size_t)n, "map of %s to %s, %" PRId64 " entries",
            sc_type_name(sc_map_key_type(value)), sc_type_name(value->u.sequence.type),
            value->u.sequence.items[0].u.tensor.dims[0]);
    } else {
        (void)snprintf(text + n, bytes - (size_t)n, "nothing");
    }
    return text;
}

static enum sc_status write_outputs(struct sc_runner *runner, const struct sc_value *const *values)
{
    const struct sc_graph *graph = runner->model->graph;
    for (int o = 0; o < graph->n_outputs; o++) {
        const char *name = graph->values[graph->outputs[o]].name;
        const int pair = sc_carried_of_output(&runner->carried, graph->outputs[o]);
        SC_TRY(pair >= 0         ? sc_carried_write(runner->session, pair, name, values[o], &runner->outputs)
                : is_cut(runner) ? sc_joined_end(&runner->joined.outputs[o])
                                 : sc_outputs_add(&runner->outputs, name, values[o], runner->format));
    }
    return sc_outputs_commit(&runner->outputs);
}

/* Every output, for --report. */
static enum sc_status report_outputs(struct sc_runner *runner, const struct sc_value *const *values)
{
    const struct sc_graph *graph = runner->model->graph;
    struct sc_json *outputs, *output;
    SC_TRY(sc_json_add(runner->report.root, "outputs", true, &outputs));
    for (int o = 0; o < graph->n_outputs; o++) {
        char text[160];
        SC_TRY(sc_json_add(outputs, NULL, false, &output));
        SC_TRY(sc_json_add_text(output, "name", graph->values[graph->outputs[o]].name));
        SC_TRY(sc_json_add_text(output, "value", describe(values[o], text, sizeof text)));
    }
    return SC_OK;
}

/* Of states that stay where they are, what is told of them. */
static enum sc_status find_shapes(struct sc_runner *runner, const struct sc_value **values)
{
    const struct sc_graph *graph = runner->model->graph;
    for (int o = 0; o < graph->n_outputs; o++) {
        const int pair = sc_carried_of_output(&runner->carried, graph->outputs[o]);
        struct sc_value *shape = pair < 0 ? NULL : sc_arena_alloc(&runner->arena, sizeof *shape);
        if (pair >= 0) {
            SC_TRY(shape ? sc_carried_shape(runner->session, pair, shape) : SC_NO_MEMORY);
            values[o] = shape;
        }
    }
    return SC_OK;
}

static enum sc_status deliver(struct sc_runner *runner, const struct sc_value **values)
{
    const struct sc_graph *graph = runner->model->graph;
    SC_TRY(find_shapes(runner, values));
    for (int o = 0; o < graph->n_outputs; o++) {
        if (!values[o]) {
            return sc_fail(SC_INTERNAL, "output '%s' was not delivered", graph->values[graph->outputs[o]].name);
        }
    }
    if (runner->outputs.folder) {
        SC_TRY(write_outputs(runner, values));
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        char text[160];
        printf("%s %s\n", graph->values[graph->outputs[o]].name, describe(values[o], text, sizeof text));
    }
    return runner->report.root ? report_outputs(runner, values) : SC_OK;
}

static enum sc_status submit(struct sc_runner *runner, int64_t run)
{
    struct sc_microbatch microbatch = {0};
    sc_pieces_fill(&runner->pieces, run);
    sc_carried_row(&runner->carried, run, &microbatch);
    return sc_session_submit(runner->session, &microbatch, runner->inputs.values);
}

/* Piece after piece, as many at once as keep the stages busy: where a state is, they come in order. */
static enum sc_status drive_pieces(struct sc_runner *runner, const struct sc_value **values)
{
    const int64_t n = runner->pieces.n, window = sc_session_window(runner->session);
    for (int64_t sent = 0, done = 0; done < n; done++) {
        for (; sent < n && sent < done + window; sent++) {
            SC_TRY(submit(runner, sent));
        }
        if (sc_session_next(runner->session, values) != SC_OK) {
            return sc_fail_in("piece %" PRId64, done);
        }
        SC_TRY(sc_joined_add(&runner->joined, values));
        sc_progress_set(&runner->app->progress, done + 1);
    }
    for (int o = 0; o < runner->joined.n; o++) {
        values[o] = &runner->joined.outputs[o].all;
    }
    return SC_OK;
}

static enum sc_status drive_once(struct sc_runner *runner, const struct sc_value **values)
{
    SC_TRY(submit(runner, 0));
    return sc_session_next(runner->session, values);
}

static enum sc_status drive(void *arg)
{
    struct sc_runner *runner = arg;
    const struct sc_value **values =
        sc_arena_array(&runner->arena, (size_t)runner->model->graph->n_outputs + 1, sizeof *values);
    if (!values) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_carried_send(&runner->carried, runner->session, &runner->inputs));
    SC_TRY(is_cut(runner) ? drive_pieces(runner, values) : drive_once(runner, values));
    sc_report_file_ran(&runner->report);
    sc_progress_end(&runner->app->progress);
    return deliver(runner, values);
}

/* What the command line asks of inputs, once it is known which are cut and which are states. */
static struct sc_input_request request_of(struct sc_runner *runner)
{
    struct sc_input_request request = sc_input_request_of(runner->app->options);
    request.n_left = runner->carried.n;
    request.left = runner->carried.inputs;
    request.pieces = &runner->pieces;
    request.n_states = is_cut(runner) ? runner->carried.n : 0;
    request.states = runner->carried.empty;
    return request;
}

static enum sc_status check_outputs(const struct sc_runner *runner)
{
    const struct sc_graph *graph = runner->model->graph;
    for (int o = 0; o < graph->n_outputs; o++) {
        const struct sc_graph_value *output = &graph->values[graph->outputs[o]];
        const enum sc_output_format format = is_cut(runner) && runner->outputs.folder ? SC_OUTPUT_NPY : runner->format;
        if (sc_outputs_check(output->name, output->fact.kind, output->fact.type, format) != SC_OK) {
            return is_cut(runner)
                ? sc_fail(SC_UNSUPPORTED,
                      "output '%s' is none that a .npy file can hold, as outputs of pieces are joined in", output->name)
                : SC_UNSUPPORTED;
        }
    }
    return SC_OK;
}

/* What becomes of the pieces; a state that nobody found would be noticed by nothing else. */
static void tell_pieces(const struct sc_runner *runner)
{
    const struct sc_graph *graph = runner->model->graph;
    const struct sc_carried *carried = &runner->carried;
    char states[320] = "no input goes on from an output";
    if (carried->n > 0) {
        const struct sc_state_pair *first = &carried->pairs[0];
        const int n = snprintf(states, sizeof states, "'%.120s' goes on from '%.120s'", graph->values[first->in].name,
            graph->values[first->out].name);
        (void)snprintf(states + n, sizeof states - (size_t)n, carried->n > 1 ? ", and %d more" : "", carried->n - 1);
    }
    char overlap[64] = "";
    if (runner->pieces.overlap > 0) {
        (void)snprintf(overlap, sizeof overlap, ", behind %" PRId64 " of what came before", runner->pieces.overlap);
    }
    sc_log_write(&runner->app->log, SC_LOG_INFO, "%" PRId64 " pieces of %" PRId64 "%s; %s", runner->pieces.n,
        runner->pieces.window, overlap, states);
}

/* Said before anything is computed: what cannot be read, and what could not be written. */
static enum sc_status prepare(struct sc_runner *runner)
{
    const struct sc_options *options = runner->app->options;
    const char *folder = sc_options_text(options, "output");
    const struct sc_input_request request = request_of(runner);
    if (sc_options_given(options, "format") && !folder) {
        return sc_fail(SC_BAD_USAGE, "option '--format' says how files are written: give -o DIR too");
    }
    SC_TRY(sc_inputs_make(runner->model, &request, &runner->arena, &runner->inputs));
    SC_TRY(sc_pieces_check(&runner->pieces, runner->model));
    SC_TRY(sc_joined_parse(runner->model, options, &runner->arena, &runner->joined));
    runner->outputs.folder = folder;
    SC_TRY(check_outputs(runner));
    SC_TRY(folder ? sc_outputs_open(folder, &runner->outputs) : SC_OK);
    runner->joined.folder = folder ? &runner->outputs : NULL;
    for (int o = 0; o < runner->joined.n; o++) {
        runner->joined.outputs[o].left = sc_carried_of_output(&runner->carried, runner->model->graph->outputs[o]) >= 0;
    }
    if (is_cut(runner)) {
        tell_pieces(runner);
    }
    return SC_OK;
}

/* On every rank alike. */
static enum sc_status find_carried(struct sc_runner *runner)
{
    const struct sc_options *options = runner->app->options;
    SC_TRY(sc_app_say_states(options, runner->model));
    SC_TRY(sc_pieces_parse(runner->model, options, &runner->arena, &runner->pieces));
    const struct sc_input_request request = request_of(runner);
    if (sc_options_given(options, "format")) {
        runner->format = sc_options_choice(options, "format") == 0 ? SC_OUTPUT_NPY : SC_OUTPUT_PB;
    }
    if (is_cut(runner) && runner->format == SC_OUTPUT_PB) {
        return sc_fail(SC_BAD_USAGE, "options '--over' and '--format pb': outputs of pieces are joined in .npy files");
    }
    return sc_carried_find(runner->model, &request, runner->format, &runner->arena, &runner->carried);
}

/* How many runs there are, which rank 0 knows. */
static enum sc_status share_pieces(struct sc_runner *runner)
{
    struct sc_app *app = runner->app;
    SC_TRY(sc_world_broadcast(app->world, &runner->pieces.n, sizeof runner->pieces.n));
    runner->carried.n_runs = is_cut(runner) ? runner->pieces.n : 1;
    return SC_OK;
}

static enum sc_status run(struct sc_runner *runner)
{
    struct sc_app *app = runner->app;
    struct sc_session_options options;
    sc_app_session_options(app, &options);
    SC_TRY(sc_world_agree(app->world, sc_app_check_writable(app, "trace")));
    SC_TRY(sc_world_agree(app->world, sc_report_file_open(app, &runner->report)));
    SC_TRY(sc_app_open_model(app, sc_options_text(app->options, "model"), &runner->model));
    SC_TRY(sc_world_agree(app->world, find_carried(runner)));
    SC_TRY(sc_world_agree(app->world, sc_app_is_root(app) ? prepare(runner) : SC_OK));
    SC_TRY(share_pieces(runner));
    sc_inputs_options(&runner->inputs, &options);
    sc_carried_options(&runner->carried, &options);
    SC_TRY(sc_session_open(app->world, runner->model, &options, &runner->session));
    sc_report_file_ready(&runner->report);
    sc_app_opened(app, "running", runner->pieces.n);
    const enum sc_status status = sc_app_run(app, runner->session, drive, runner);
    const struct sc_error failed = *sc_error_last();
    if (sc_options_given(app->options, "report")) { /* together, also when rank 0's part has failed */
        SC_TRY(sc_report_ranks(runner->session, runner->model, app->world, 0, NULL, runner->report.root));
    }
    SC_TRY(sc_app_write_trace(app, runner->session));
    return status == SC_OK ? sc_report_file_write(&runner->report) : sc_error_set(&failed);
}

enum sc_status sc_command_run(struct sc_app *app)
{
    struct sc_runner runner = {.app = app};
    const enum sc_status status = run(&runner);
    sc_report_file_release(&runner.report);
    sc_joined_release(&runner.joined);
    sc_outputs_release(&runner.outputs);
    sc_inputs_release(&runner.inputs);
    sc_session_close(runner.session);
    sc_model_close(runner.model);
    sc_arena_release(&runner.arena);
    return status;
}
