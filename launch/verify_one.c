/* SPDX-License-Identifier: Apache-2.0
 * To look at a value inside, it is made an output of the model in both runs. */
#include "launch/verify_one.h"

#include <stdio.h>
#include <string.h>

#include "launch/bisect.h"
#include "launch/value_digest.h"
#include "launch/inputs.h"
#include "launch/report.h"

enum { PROBES = 24 };

struct sc_one {
    struct sc_app *app;
    const char *path;
    struct sc_json *report;
    struct sc_verify_result *result;
    int32_t n_probes, probes[PROBES]; /* values of the file's graph; the same on all ranks */
    int n_outputs; /* of the file's graph; probes follow */
    int stage[PROBES], rank[PROBES]; /* where each probe was made, in the run of all ranks */

    /* rank 0 */
    struct sc_arena arena; /* of both runs' values */
    struct sc_value *many, *alone;
    int stages;
};

/* One run. `model` and `session` are its own. */
struct sc_one_run {
    struct sc_one *one;
    struct sc_model *model;
    struct sc_session *session;
    struct sc_inputs inputs;
    struct sc_value *values; /* outputs and probes, in the arena of the case */
};

static enum sc_status add_probes(const struct sc_one *one, struct sc_graph *graph)
{
    const size_t n = (size_t)graph->n_outputs + (size_t)one->n_probes;
    int *outputs = sc_arena_array(graph->arena, n + 1, sizeof *outputs);
    if (!outputs) {
        return SC_NO_MEMORY;
    }
    memcpy(outputs, graph->outputs, (size_t)graph->n_outputs * sizeof *outputs);
    for (int p = 0; p < one->n_probes; p++) {
        outputs[graph->n_outputs + p] = one->probes[p];
    }
    graph->outputs = outputs;
    graph->n_outputs = (int)n;
    return SC_OK;
}

static enum sc_status make_inputs(struct sc_one_run *run)
{
    struct sc_input_request request = sc_input_request_of(run->one->app->options);
    request.random = true;
    request.seed = (uint64_t)sc_options_int(run->one->app->options, "seed");
    return sc_inputs_make(run->model, &request, &run->one->arena, &run->inputs);
}

static enum sc_status drive(void *arg)
{
    struct sc_one_run *run = arg;
    struct sc_arena *arena = &run->one->arena;
    const int n = run->model->graph->n_outputs;
    struct sc_microbatch microbatch = {0};
    const struct sc_value **outputs = sc_arena_array(arena, (size_t)n + 1, sizeof *outputs);
    run->values = sc_arena_array(arena, (size_t)n + 1, sizeof *run->values);
    if (!outputs || !run->values) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_session_submit(run->session, &microbatch, run->inputs.values));
    SC_TRY(sc_session_next(run->session, outputs));
    for (int o = 0; o < n; o++) {
        if (!outputs[o]) {
            return sc_fail(SC_INTERNAL, "output %d was not delivered", o);
        }
        SC_TRY(sc_value_copy(arena, outputs[o], &run->values[o]));
    }
    return SC_OK;
}

static void release(struct sc_one_run *run)
{
    sc_session_close(run->session);
    sc_model_close(run->model);
}

/* Where the probes were made. */
static void note_stages(struct sc_one *one, const struct sc_one_run *run)
{
    const struct sc_graph *graph = run->model->graph;
    const struct sc_plan *plan = sc_session_plan(run->session);
    one->stages = plan->n_stages;
    for (int p = 0; p < one->n_probes; p++) {
        const int producer = graph->values[one->probes[p]].producer;
        one->stage[p] = producer < 0 ? -1 : sc_plan_stage_of(plan, &graph->nodes[producer]);
        one->rank[p] = one->stage[p] < 0 ? -1 : plan->stages[one->stage[p]].ranks[0];
    }
}

static enum sc_status run_opened(struct sc_one *one, struct sc_one_run *run)
{
    struct sc_app *app = one->app;
    struct sc_session_options options;
    const bool root = sc_app_is_root(app);
    sc_app_session_options(app, &options);
    one->n_outputs = run->model->graph->n_outputs;
    const enum sc_status prepared = root ? make_inputs(run) : SC_OK;
    SC_TRY(sc_world_agree(app->world, prepared == SC_OK ? add_probes(one, run->model->graph) : prepared));
    sc_inputs_options(&run->inputs, &options);
    SC_TRY(sc_session_open(app->world, run->model, &options, &run->session));
    one->result->opened = true;
    note_stages(one, run);
    enum sc_status status = sc_app_run(app, run->session, drive, run);
    const struct sc_error failed = *sc_error_last();
    if (one->result->n_runs == 0 && sc_options_given(app->options, "report")) {
        SC_TRY(sc_report_ranks(run->session, run->model, app->world, 0, NULL, one->report));
    }
    status = status == SC_OK ? SC_OK : sc_error_set(&failed);
    return sc_world_agree(app->world, status);
}

static enum sc_status run_on_all(struct sc_one *one)
{
    struct sc_one_run run = {.one = one};
    enum sc_status status = sc_app_open_model(one->app, one->path, &run.model);
    if (status == SC_OK) {
        status = run_opened(one, &run);
    }
    one->many = run.values;
    release(&run);
    return status;
}

static enum sc_status run_alone_opened(struct sc_one *one, struct sc_one_run *run, struct sc_world *world)
{
    struct sc_session_options options;
    sc_app_session_options(one->app, &options);
    options.n_stages = 1;
    options.plan_path = NULL;
    options.random_plan = false;
    options.pin = -1;
    options.trace_events = 0;
    options.watchdog = NULL;
    options.show_tick = NULL;
    options.show_streaming = NULL;
    SC_TRY(sc_model_open(one->path, &run->model));
    SC_TRY(make_inputs(run));
    SC_TRY(add_probes(one, run->model->graph));
    sc_inputs_options(&run->inputs, &options);
    SC_TRY(sc_session_open(world, run->model, &options, &run->session));
    SC_TRY(drive(run));
    return sc_session_finish(run->session);
}

/* Rank 0 in a world of its own; the others wait. */
static enum sc_status run_alone(struct sc_one *one)
{
    struct sc_one_run run = {.one = one};
    struct sc_world *world;
    SC_TRY(sc_world_open_single(&world));
    sc_world_away(one->app->world, true);
    const enum sc_status status = run_alone_opened(one, &run, world);
    const struct sc_error failed = *sc_error_last();
    one->alone = run.values;
    release(&run);
    sc_world_free(world);
    sc_world_away(one->app->world, false);
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

static enum sc_status run_both(struct sc_one *one)
{
    SC_TRY(run_on_all(one));
    one->result->n_runs++;
    return sc_world_agree(one->app->world, sc_app_is_root(one->app) ? run_alone(one) : SC_OK);
}

static bool differs(const struct sc_one *one, int i)
{
    return sc_digest_value(SC_DIGEST_START, &one->many[i]) != sc_digest_value(SC_DIGEST_START, &one->alone[i]);
}

/* Rank 0's list to all. */
static enum sc_status share_probes(struct sc_one *one)
{
    SC_TRY(sc_world_broadcast(one->app->world, &one->n_probes, sizeof one->n_probes));
    return sc_world_broadcast(one->app->world, one->probes, sizeof one->probes);
}

/* Value `name`, which was compared at place i of the last runs. */
static enum sc_status fail_value(const struct sc_one *one, const char *what, int i)
{
    static const struct sc_tolerance none = {.reference = "on one rank it was"};
    SC_TRY(sc_compare_values(what, &one->many[i], &one->alone[i], &none));
    return sc_fail(SC_BAD_INPUT, "%s: the same numbers, but not the same bits (signs of zeros, kinds of NaN)", what);
}

/* What rank 0 knows while it looks for the first value that differs. */
struct sc_search {
    struct sc_one *one;
    struct sc_model *file; /* before passes */
    struct sc_bisect bisect;
    char found[SC_ERROR_TEXT]; /* the line about the value that is known to differ */
};

/* The line about probe p, which differs. */
static void describe(struct sc_search *search, int p)
{
    const struct sc_one *one = search->one;
    const struct sc_graph *graph = search->file->graph;
    const struct sc_graph_value *value = &graph->values[one->probes[p]];
    char node[160], what[480];
    (void)sc_node_text_name(graph, &graph->nodes[value->producer], node, sizeof node);
    (void)snprintf(what, sizeof what, "first value that differs: '%.120s' of %s, stage %d on rank %d", value->name,
        node, one->stage[p], one->rank[p]);
    (void)fail_value(one, what, one->n_outputs + p);
    (void)snprintf(search->found, sizeof search->found, "%s", sc_error_last()->text);
}

static void look(struct sc_search *search)
{
    struct sc_one *one = search->one;
    bool answers[PROBES];
    int values[PROBES];
    for (int p = 0; p < one->n_probes; p++) {
        values[p] = one->probes[p];
        answers[p] = differs(one, one->n_outputs + p);
    }
    sc_bisect_tell(&search->bisect, one->n_probes, values, answers);
    for (int p = 0; p < one->n_probes; p++) {
        if (answers[p] && values[p] == search->bisect.value) {
            describe(search, p);
        }
    }
}

static enum sc_status next_probes(struct sc_search *search)
{
    struct sc_one *one = search->one;
    int n, values[PROBES];
    SC_TRY(sc_bisect_probes(&search->bisect, PROBES, &n, values));
    for (int p = 0; p < n; p++) {
        one->probes[p] = values[p];
    }
    one->n_probes = n;
    return SC_OK;
}

static enum sc_status start_search(struct sc_search *search, int output)
{
    struct sc_one *one = search->one;
    SC_TRY(sc_model_open(one->path, &search->file));
    const struct sc_graph *graph = search->file->graph;
    char what[300];
    (void)snprintf(what, sizeof what, "output '%.200s'", graph->values[graph->outputs[output]].name);
    (void)fail_value(one, what, output);
    (void)snprintf(search->found, sizeof search->found, "%s", sc_error_last()->text);
    return sc_bisect_start(graph, graph->outputs[output], &one->arena, &search->bisect);
}

/* Collective: output `output` (rank 0) differs. Always fails, with what was found. */
static enum sc_status search_first(struct sc_one *one, int output)
{
    struct sc_world *world = one->app->world;
    const bool root = sc_app_is_root(one->app);
    struct sc_search search = {.one = one};
    enum sc_status status = sc_world_agree(world, root ? start_search(&search, output) : SC_OK);
    while (status == SC_OK) {
        status = sc_world_agree(world, root ? next_probes(&search) : SC_OK);
        status = status == SC_OK ? share_probes(one) : status;
        if (status != SC_OK || one->n_probes == 0) {
            break;
        }
        status = run_both(one);
        if (status == SC_OK && root) {
            look(&search);
        }
    }
    sc_model_close(search.file);
    SC_TRY(status);
    return sc_world_agree(world, root ? sc_fail(SC_BAD_INPUT, "%s", search.found) : SC_OK);
}

static enum sc_status check_ways(const struct sc_one *one)
{
    if (one->stages == 1 && sc_world_size(one->app->world) == 1) {
        return sc_fail(SC_BAD_USAGE,
            "there is no test_data_set_0, and one stage on one rank has nothing else to be compared with: start it by "
            "launch -n N, or give -pp N");
    }
    return SC_OK;
}

static enum sc_status verify(struct sc_one *one)
{
    SC_TRY(run_both(one));
    one->result->most_stages = one->stages;
    one->result->stages_seen[one->stages < SC_VERIFY_STAGES ? one->stages : SC_VERIFY_STAGES] = true;
    SC_TRY(check_ways(one));
    int32_t first = -1;
    for (int o = 0; o < one->n_outputs && sc_app_is_root(one->app); o++) {
        first = first < 0 && differs(one, o) ? o : first;
        one->result->bits = sc_digest_join(one->result->bits, sc_digest_value(SC_DIGEST_START, &one->many[o]));
    }
    SC_TRY(sc_world_broadcast(one->app->world, &first, sizeof first));
    return first < 0 ? SC_OK : search_first(one, first);
}

enum sc_status sc_verify_one(
    struct sc_app *app, const char *path, struct sc_json *report, struct sc_verify_result *result)
{
    struct sc_one one = {.app = app, .path = path, .report = report, .result = result};
    *result = (struct sc_verify_result){.bits = SC_DIGEST_START};
    const enum sc_status status = verify(&one);
    sc_arena_release(&one.arena);
    return status;
}
