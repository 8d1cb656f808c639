/* SPDX-License-Identifier: Apache-2.0
 * stagecoach verify: folders of a model and recorded data sets, any number of them in one job. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/app.h"
#include "launch/compare.h"
#include "launch/digest.h"
#include "launch/progress.h"
#include "launch/report.h"
#include "launch/report_file.h"

/* Names in memory of the arena, sorted. */
struct sc_names {
    int n, capacity;
    char **name;
};

struct sc_verifier {
    struct sc_app *app;
    struct sc_tolerance tolerance;
    struct sc_names cases; /* folders */
    struct sc_arena arena; /* of the run */
    struct sc_arena passing; /* of the case at hand */
    struct sc_model *model;
    struct sc_session *session;
    const char *folder;
    struct sc_names sets;
    const struct sc_value **inputs; /* per graph input, of the data set at hand */
    int64_t passed, failed, skipped;
    int stages, stages_used; /* of the case at hand; the most */
    bool print_bits;
    uint64_t bits; /* of all outputs of the case at hand */
    struct sc_report_file report;
    struct sc_json *reported, *at; /* the list of cases in it, and the one at hand; NULL: no report here */
};

static enum sc_status add_name(struct sc_arena *arena, struct sc_names *names, const char *name)
{
    if (names->n == names->capacity) {
        const int capacity = names->capacity ? 2 * names->capacity : 16;
        char **bigger = realloc(names->name, (size_t)capacity * sizeof *bigger);
        if (!bigger) {
            return sc_fail(SC_NO_MEMORY, "out of memory for %d names", capacity);
        }
        names->name = bigger;
        names->capacity = capacity;
    }
    names->name[names->n] = sc_arena_text(arena, name, strlen(name));
    return names->name[names->n++] ? SC_OK : SC_NO_MEMORY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Entries of a folder that start with `prefix`, sorted. */
static enum sc_status list_folder(struct sc_arena *arena, const char *path, const char *prefix, struct sc_names *names)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return sc_fail(SC_BAD_INPUT, "'%s' is not a folder that can be read", path);
    }
    enum sc_status status = SC_OK;
    for (struct dirent *entry = readdir(folder); entry && status == SC_OK; entry = readdir(folder)) {
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            status = add_name(arena, names, entry->d_name);
        }
    }
    closedir(folder);
    if (status == SC_OK && names->n > 1) {
        qsort(names->name, (size_t)names->n, sizeof *names->name, by_name);
    }
    return status;
}

static bool exists(const char *path)
{
    struct stat about;
    return path && stat(path, &about) == 0;
}

/* A folder with a model, or one that holds such folders. */
static enum sc_status find_cases(struct sc_verifier *verifier, const char *path)
{
    struct sc_arena *arena = &verifier->arena;
    if (exists(sc_path_join(arena, path, "model.onnx"))) {
        return add_name(arena, &verifier->cases, path);
    }
    struct sc_names inner = {0};
    enum sc_status status = list_folder(arena, path, "", &inner);
    const int before = verifier->cases.n;
    for (int i = 0; i < inner.n && status == SC_OK; i++) {
        const char *folder = sc_path_join(arena, path, inner.name[i]);
        if (folder && exists(sc_path_join(arena, folder, "model.onnx"))) {
            status = add_name(arena, &verifier->cases, folder);
        }
    }
    free(inner.name);
    if (status == SC_OK && verifier->cases.n == before) {
        status = sc_fail(SC_BAD_INPUT, "'%s' holds no model.onnx, nor does a folder in it", path);
    }
    return status;
}

/* NULL when memory is out. */
static const char *value_path(struct sc_verifier *verifier, const char *set, const char *kind, int j)
{
    struct sc_arena *arena = &verifier->passing;
    const char *folder = sc_path_join(arena, verifier->folder, set);
    const char *name = sc_arena_printf(arena, "%s_%d.pb", kind, j);
    return folder && name ? sc_path_join(arena, folder, name) : NULL;
}

/* Value J of a data set: input_J.pb or output_J.pb. *found is false when there is no such file. */
static enum sc_status read_value(struct sc_verifier *verifier, const char *set, const char *kind, int j,
    int graph_value, bool *found, struct sc_value *value)
{
    const struct sc_graph_value *declared = &verifier->model->graph->values[graph_value];
    const char *path = value_path(verifier, set, kind, j);
    if (!path) {
        return SC_NO_MEMORY;
    }
    *found = exists(path);
    return *found ? sc_value_read_pb(path, &declared->fact, &verifier->passing, value) : SC_OK;
}

/* Inputs of one data set; those not recorded are left to their defaults. */
static enum sc_status read_inputs(struct sc_verifier *verifier, const char *set)
{
    const struct sc_graph *graph = verifier->model->graph;
    struct sc_value *values = sc_arena_array(&verifier->passing, (size_t)graph->n_inputs + 1, sizeof *values);
    verifier->inputs = sc_arena_array(&verifier->passing, (size_t)graph->n_inputs + 1, sizeof *verifier->inputs);
    if (!values || !verifier->inputs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        bool found;
        SC_TRY(read_value(verifier, set, "input", i, graph->inputs[i], &found, &values[i]));
        verifier->inputs[i] = found ? &values[i] : NULL;
    }
    return SC_OK;
}

static enum sc_status compare_outputs(struct sc_verifier *verifier, const char *set, const struct sc_value **outputs)
{
    const struct sc_graph *graph = verifier->model->graph;
    for (int o = 0; o < graph->n_outputs; o++) {
        const char *name = graph->values[graph->outputs[o]].name;
        struct sc_value reference;
        bool found;
        SC_TRY(read_value(verifier, set, "output", o, graph->outputs[o], &found, &reference));
        if (!found) {
            return sc_fail(SC_BAD_INPUT, "%s holds no output_%d.pb for output '%s'", set, o, name);
        }
        if (!outputs[o]) {
            return sc_fail(SC_INTERNAL, "output '%s' was not delivered", name);
        }
        verifier->bits = sc_digest_value(verifier->bits, outputs[o]);
        const char *what = sc_arena_printf(&verifier->passing, "%s: output '%s'", set, name);
        SC_TRY(sc_compare_values(what ? what : name, outputs[o], &reference, &verifier->tolerance));
    }
    return SC_OK;
}

/* Rank 0: every data set of the case, one after the other; the first that differs is told. */
static enum sc_status drive(void *arg)
{
    struct sc_verifier *verifier = arg;
    const struct sc_graph *graph = verifier->model->graph;
    const struct sc_value **outputs = sc_arena_array(&verifier->passing, (size_t)graph->n_outputs + 1, sizeof *outputs);
    if (!outputs) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < verifier->sets.n; s++) {
        struct sc_microbatch microbatch = {0};
        SC_TRY(read_inputs(verifier, verifier->sets.name[s]));
        SC_TRY(sc_session_submit(verifier->session, &microbatch, verifier->inputs));
        SC_TRY(sc_session_next(verifier->session, outputs));
        SC_TRY(compare_outputs(verifier, verifier->sets.name[s], outputs));
    }
    return SC_OK;
}

/* For planning: facts of the first data set's inputs, and which inputs any set gives. */
static enum sc_status look_at_sets(struct sc_verifier *verifier, struct sc_fact **facts, bool **given)
{
    const struct sc_graph *graph = verifier->model->graph;
    *facts = sc_arena_array(&verifier->passing, (size_t)graph->n_inputs + 1, sizeof **facts);
    *given = sc_arena_array(&verifier->passing, (size_t)graph->n_inputs + 1, sizeof **given);
    if (!*facts || !*given) {
        return SC_NO_MEMORY;
    }
    SC_TRY(read_inputs(verifier, verifier->sets.name[0]));
    for (int i = 0; i < graph->n_inputs; i++) {
        (*facts)[i] = graph->values[graph->inputs[i]].fact;
        if (verifier->inputs[i]) {
            sc_fact_of(&(*facts)[i], verifier->inputs[i]);
            (*facts)[i].value = NULL;
        }
        for (int s = 0; s < verifier->sets.n && !(*given)[i]; s++) {
            (*given)[i] = exists(value_path(verifier, verifier->sets.name[s], "input", i));
        }
    }
    return SC_OK;
}

static enum sc_status verify_case(struct sc_verifier *verifier)
{
    struct sc_app *app = verifier->app;
    struct sc_session_options options;
    struct sc_fact *facts = NULL;
    bool *given = NULL;
    sc_app_session_options(app, &options);
    SC_TRY(sc_app_open_model(app, verifier->folder, &verifier->model));
    enum sc_status status = SC_OK;
    if (sc_app_is_root(app)) {
        status = list_folder(&verifier->passing, verifier->folder, "test_data_set_", &verifier->sets);
        if (status == SC_OK && verifier->sets.n == 0) {
            status = sc_fail(SC_BAD_INPUT, "there is no test_data_set_0");
        }
        if (status == SC_OK) {
            status = look_at_sets(verifier, &facts, &given);
        }
    }
    SC_TRY(sc_world_agree(app->world, status));
    options.input_facts = facts;
    options.given_inputs = given;
    SC_TRY(sc_session_open(app->world, verifier->model, &options, &verifier->session));
    verifier->stages = sc_session_plan(verifier->session)->n_stages;
    verifier->stages_used = verifier->stages > verifier->stages_used ? verifier->stages : verifier->stages_used;
    status = sc_app_run(app, verifier->session, drive, verifier);
    const struct sc_error failed = *sc_error_last();
    if (sc_options_given(app->options, "report")) {
        SC_TRY(sc_report_ranks(verifier->session, verifier->model, app->world, NULL, verifier->at));
    }
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

static void close_case(struct sc_verifier *verifier)
{
    sc_session_close(verifier->session);
    sc_model_close(verifier->model);
    free(verifier->sets.name);
    verifier->sets = (struct sc_names){0};
    verifier->session = NULL;
    verifier->model = NULL;
    sc_arena_reset(&verifier->passing);
}

static void tell(struct sc_verifier *verifier, enum sc_status status)
{
    if (status == SC_OK) {
        verifier->passed++;
        if (verifier->print_bits) {
            printf("BITS %016" PRIx64 " of %d stages: %s\n", verifier->bits, verifier->stages, verifier->folder);
        }
    } else if (status == SC_UNSUPPORTED) {
        verifier->skipped++;
        printf("SKIP %s: %s\n", verifier->folder, sc_error_last()->text);
    } else {
        verifier->failed++;
        printf("FAIL %s: %s\n", verifier->folder, sc_error_last()->text);
    }
}

/* The case's name and result, beside what its session has added. */
static enum sc_status report_case(struct sc_verifier *verifier, enum sc_status status)
{
    const char *result = status == SC_OK ? "passed" : status == SC_UNSUPPORTED ? "skipped" : "failed";
    SC_TRY(sc_json_add_text(verifier->at, "folder", verifier->folder));
    SC_TRY(sc_json_add_text(verifier->at, "result", result));
    return status == SC_OK ? SC_OK : sc_json_add_text(verifier->at, "message", sc_error_last()->text);
}

static enum sc_status open_report(struct sc_verifier *verifier)
{
    SC_TRY(sc_report_file_open(verifier->app, &verifier->report));
    struct sc_json *root = verifier->report.root;
    return root ? sc_json_add(root, "cases", true, &verifier->reported) : SC_OK;
}

/* One case on all ranks; a failure of it is told, and is none of the job. */
static enum sc_status take_case(struct sc_verifier *verifier, const char *folder)
{
    struct sc_app *app = verifier->app;
    verifier->folder = folder;
    verifier->bits = SC_DIGEST_START;
    SC_TRY(verifier->reported ? sc_json_add(verifier->reported, NULL, false, &verifier->at) : SC_OK);
    const enum sc_status status = verify_case(verifier);
    sc_progress_clear(&app->progress);
    SC_TRY(verifier->at ? report_case(verifier, status) : SC_OK);
    if (sc_app_is_root(app)) {
        tell(verifier, status);
    }
    close_case(verifier);
    return SC_OK;
}

static void print_last_line(const struct sc_verifier *verifier)
{
    fprintf(stderr, "stages used: up to %d on %d ranks\n", verifier->stages_used, sc_world_size(verifier->app->world));
    printf("%" PRId64 " passed, %" PRId64 " failed", verifier->passed, verifier->failed);
    if (verifier->skipped) {
        printf(", %" PRId64 " skipped", verifier->skipped);
    }
    printf("\n");
}

/* Rank 0's list to all, as texts one after the other: other hosts may not have the folders. */
static enum sc_status share_cases(struct sc_verifier *verifier)
{
    struct sc_world *world = verifier->app->world;
    const bool root = sc_app_is_root(verifier->app);
    uint64_t bytes = 0;
    for (int i = 0; i < verifier->cases.n; i++) {
        bytes += strlen(verifier->cases.name[i]) + 1;
    }
    SC_TRY(sc_world_broadcast(world, &bytes, sizeof bytes));
    char *texts = sc_arena_alloc(&verifier->arena, bytes);
    SC_TRY(sc_world_agree(world, texts ? SC_OK : SC_NO_MEMORY));
    char *at = texts;
    for (int i = 0; i < verifier->cases.n; i++) {
        at = stpcpy(at, verifier->cases.name[i]) + 1;
    }
    SC_TRY(sc_world_broadcast(world, texts, bytes));
    enum sc_status status = SC_OK;
    for (at = texts; !root && at < texts + bytes && status == SC_OK; at += strlen(at) + 1) {
        status = add_name(&verifier->arena, &verifier->cases, at);
    }
    return sc_world_agree(world, status);
}

static enum sc_status verify_all(struct sc_verifier *verifier)
{
    struct sc_app *app = verifier->app;
    for (int i = 0; i < app->options->n_arguments; i++) {
        const char *path = app->options->arguments[i];
        SC_TRY(sc_world_agree(app->world, sc_app_is_root(app) ? find_cases(verifier, path) : SC_OK));
    }
    SC_TRY(share_cases(verifier));
    SC_TRY(sc_world_agree(app->world, open_report(verifier)));
    sc_app_opened(app, "verifying", verifier->cases.n);
    for (int c = 0; c < verifier->cases.n; c++) {
        SC_TRY(take_case(verifier, verifier->cases.name[c]));
        sc_progress_set(&app->progress, c + 1);
    }
    sc_progress_end(&app->progress);
    if (sc_app_is_root(app)) {
        print_last_line(verifier);
    }
    SC_TRY(sc_report_file_write(&verifier->report));
    if (verifier->failed == 0) {
        return SC_OK;
    }
    sc_error_last()->text[0] = '\0'; /* failures have had their lines */
    return SC_INTERNAL;
}

enum sc_status sc_command_verify(struct sc_app *app)
{
    struct sc_verifier verifier = {.app = app,
        .print_bits = sc_options_flag(app->options, "bits"),
        .tolerance = {
            .relative = sc_options_real(app->options, "rtol"), .absolute = sc_options_real(app->options, "atol")}};
    const enum sc_status status = verify_all(&verifier);
    sc_report_file_release(&verifier.report);
    free(verifier.cases.name);
    sc_arena_release(&verifier.passing);
    sc_arena_release(&verifier.arena);
    return status;
}
