/* SPDX-License-Identifier: Apache-2.0
 * stagecoach run: inputs from files, one microbatch, outputs to files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
};

static bool has_npy(enum sc_type type)
{
    return type != SC_STRING && type != SC_BF16 && (!sc_type_is_narrow(type));
}

static enum sc_status write_output(
    struct sc_runner *runner, const char *folder, const char *name, const struct sc_value *value)
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
    const char *path = full ? sc_path_join(&runner->arena, folder, full) : NULL;
    if (!path) {
        return SC_NO_MEMORY;
    }
    return npy ? sc_npy_write(path, &value->u.tensor) : sc_value_write_pb(path, name, value);
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

static enum sc_status deliver(struct sc_runner *runner, const struct sc_value *const *outputs)
{
    const struct sc_graph *graph = runner->model->graph;
    const char *folder = sc_options_text(runner->app->options, "output");
    if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return sc_fail(SC_IO, "folder '%s' cannot be made: %s", folder, strerror(errno));
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const char *name = graph->values[graph->outputs[o]].name;
        if (!outputs[o]) {
            return sc_fail(SC_INTERNAL, "output '%s' was not delivered", name);
        }
        if (folder) {
            SC_TRY(write_output(runner, folder, name, outputs[o]));
        }
        describe(name, outputs[o]);
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

static enum sc_status read_inputs(struct sc_runner *runner)
{
    const char *const *items;
    const int n = sc_options_list(runner->app->options, "input", &items);
    return sc_inputs_read(runner->model, n, items, &runner->arena, &runner->inputs, &runner->facts);
}

static enum sc_status run(struct sc_runner *runner)
{
    struct sc_app *app = runner->app;
    struct sc_session_options options;
    sc_app_session_options(app, &options);
    SC_TRY(sc_world_agree(app->world, sc_model_open(sc_options_text(app->options, "model"), &runner->model)));
    SC_TRY(sc_world_agree(app->world, sc_app_is_root(app) ? read_inputs(runner) : SC_OK));
    options.input_facts = runner->facts;
    SC_TRY(sc_session_open(app->world, runner->model, &options, &runner->session));
    return sc_app_run(app, runner->session, drive, runner);
}

enum sc_status sc_command_run(struct sc_app *app)
{
    struct sc_runner runner = {.app = app};
    const enum sc_status status = run(&runner);
    sc_session_close(runner.session);
    sc_model_close(runner.model);
    sc_arena_release(&runner.arena);
    return status;
}
