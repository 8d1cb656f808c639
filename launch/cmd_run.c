/* SPDX-License-Identifier: Apache-2.0
 * stagecoach run: inputs from files, one microbatch, outputs to files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/app.h"
#include "launch/inputs.h"
#include "launch/npy.h"

struct sc_runner {
    struct sc_app *app;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_session *session;
    const struct sc_value **inputs; /* per graph input; rank 0 */
    struct sc_fact *facts;
    bool *given; /* per graph input */
    const char *folder; /* of outputs, or NULL; rank 0 */
    bool made_folder;
};

static bool has_npy(enum sc_type type)
{
    return type != SC_STRING && type != SC_BF16 && (!sc_type_is_narrow(type));
}

static enum sc_status write_output(
    struct sc_runner *runner, const char *name, const struct sc_value *value, const char **path)
{
    char *file = sc_arena_printf(&runner->arena, "%s", name);
    if (!file) {
        return SC_NO_MEMORY;
    }
    for (char *c = file; *c; c++) { /* a value's name may hold what a file's may not */
        *c = *c == '/' || *c == '\\' || (unsigned char)*c < 32 ? '_' : *c;
    }
    const bool npy = value->kind == SC_KIND_TENSOR && has_npy(value->u.tensor.type);
    const char *full = sc_arena_printf(&runner->arena, "%s.%s", file, npy ? "npy" : "pb");
    *path = full ? sc_path_join(&runner->arena, runner->folder, full) : NULL;
    if (!*path) {
        return SC_NO_MEMORY;
    }
    return npy ? sc_npy_write(*path, &value->u.tensor) : sc_value_write_pb(*path, name, value);
}

static void describe(const char *name, const struct sc_value *value)
{
    char text[160] = "a sequence";
    if (value->kind == SC_KIND_TENSOR) {
        sc_tensor_text(&value->u.tensor, text, sizeof text);
    } else if (value->kind == SC_KIND_OPTIONAL) {
        snprintf(text, sizeof text, "an optional");
    }
    printf("%s %s\n", name, text);
}

/* Before anything is computed: a folder that files can be made in. */
static enum sc_status prepare_folder(struct sc_runner *runner)
{
    const char *folder = runner->folder = sc_options_text(runner->app->options, "output");
    if (!folder) {
        return SC_OK;
    }
    runner->made_folder = mkdir(folder, 0777) == 0;
    if (!runner->made_folder && errno != EEXIST) {
        return sc_fail(SC_IO, "folder '%s' cannot be made: %s", folder, strerror(errno));
    }
    struct stat about;
    if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return sc_fail(SC_IO, "'%s' is no folder, want one for the outputs", folder);
    }
    if (access(folder, W_OK | X_OK) != 0) {
        return sc_fail(SC_IO, "folder '%s' cannot be written: %s", folder, strerror(errno));
    }
    return SC_OK;
}

/* All outputs or none: when one cannot be written, those before it go. */
static enum sc_status write_outputs(struct sc_runner *runner, const struct sc_value *const *outputs)
{
    const struct sc_graph *graph = runner->model->graph;
    const char **paths = sc_arena_array(&runner->arena, (size_t)graph->n_outputs + 1, sizeof *paths);
    enum sc_status status = paths ? SC_OK : SC_NO_MEMORY;
    int n = 0;
    for (; n < graph->n_outputs && status == SC_OK; n++) {
        status = write_output(runner, graph->values[graph->outputs[n]].name, outputs[n], &paths[n]);
    }
    for (int o = 0; status != SC_OK && o < n - 1; o++) {
        (void)unlink(paths[o]);
    }
    return status;
}

static enum sc_status deliver(struct sc_runner *runner, const struct sc_value *const *outputs)
{
    const struct sc_graph *graph = runner->model->graph;
    for (int o = 0; o < graph->n_outputs; o++) {
        if (!outputs[o]) {
            return sc_fail(SC_INTERNAL, "output '%s' was not delivered", graph->values[graph->outputs[o]].name);
        }
    }
    if (runner->folder) {
        SC_TRY(write_outputs(runner, outputs));
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        describe(graph->values[graph->outputs[o]].name, outputs[o]);
    }
    return SC_OK;
}

static enum sc_status drive(void *arg)
{
    struct sc_runner *runner = arg;
    struct sc_microbatch microbatch = {0};
    const struct sc_value **outputs =
        sc_arena_array(&runner->arena, (size_t)runner->model->graph->n_outputs + 1, sizeof *outputs);
    if (!outputs) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_session_submit(runner->session, &microbatch, runner->inputs));
    SC_TRY(sc_session_next(runner->session, outputs));
    return deliver(runner, outputs);
}

/* What rank 0 alone does before the ranks open the model together. */
static enum sc_status prepare(struct sc_runner *runner)
{
    const char *const *items;
    const int n = sc_options_list(runner->app->options, "input", &items);
    SC_TRY(sc_inputs_read(runner->model, n, items, &runner->arena, &runner->inputs, &runner->facts));
    const int n_inputs = runner->model->graph->n_inputs;
    runner->given = sc_arena_array(&runner->arena, (size_t)n_inputs + 1, sizeof *runner->given);
    if (!runner->given) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n_inputs; i++) {
        runner->given[i] = runner->inputs[i] != NULL;
    }
    return prepare_folder(runner);
}

static enum sc_status run(struct sc_runner *runner)
{
    struct sc_app *app = runner->app;
    struct sc_session_options options;
    sc_app_session_options(app, &options);
    SC_TRY(sc_world_agree(app->world, sc_model_open(sc_options_text(app->options, "model"), &runner->model)));
    SC_TRY(sc_world_agree(app->world, sc_app_is_root(app) ? prepare(runner) : SC_OK));
    options.input_facts = runner->facts;
    options.given_inputs = runner->given;
    SC_TRY(sc_session_open(app->world, runner->model, &options, &runner->session));
    const enum sc_status status = sc_app_run(app, runner->session, drive, runner);
    const struct sc_error failed = *sc_error_last();
    SC_TRY(sc_app_write_trace(app, runner->session)); /* together, also when rank 0's part has failed */
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

enum sc_status sc_command_run(struct sc_app *app)
{
    struct sc_runner runner = {.app = app};
    const enum sc_status status = run(&runner);
    if (status != SC_OK && runner.made_folder) {
        (void)rmdir(runner.folder); /* as it was before */
    }
    sc_session_close(runner.session);
    sc_model_close(runner.model);
    sc_arena_release(&runner.arena);
    return status;
}
