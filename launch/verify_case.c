/* SPDX-License-Identifier: Apache-2.0
 * Every run opens the model anew, as passes change the graph; bits are compared as digests, so nothing of a run is
 * kept. */
#include "launch/verify_case.h"

#include <string.h>

#include "decode/pairs.h"
#include "launch/value_digest.h"
#include "launch/recorded.h"
#include "launch/report.h"

/* How one run differs from what the command line says. */
struct sc_way {
    int n_stages; /* 0: as the command line says, all else too */
    int n_threads;
    bool random;
    uint64_t seed;
};

struct sc_chain {
    int input, output;
};

struct sc_case {
    struct sc_app *app;
    const struct sc_verify_options *options;
    struct sc_json *report;
    struct sc_verify_result *result;
    struct sc_recorded recorded;
    struct sc_arena arena; /* of the case */
    uint64_t *bits; /* of each output of each set, as the first run made them */

    /* one run */
    struct sc_arena passing;
    struct sc_model *model;
    struct sc_session *session;
    int first, end; /* the data sets that the session takes; rank 0 */
    struct sc_chain *chains; /* one per state */
    struct sc_value *carried;
};

static enum sc_status compare_output(struct sc_case *c, int set, int o, const struct sc_value *output)
{
    const struct sc_graph *graph = c->model->graph;
    const char *name = graph->values[graph->outputs[o]].name, *set_name = c->recorded.sets.name[set];
    if (!output) {
        return sc_fail(SC_INTERNAL, "output '%s' was not delivered", name);
    }
    uint64_t *first = &c->bits[set * graph->n_outputs + o];
    const uint64_t bits = sc_digest_value(SC_DIGEST_START, output);
    if (c->result->n_runs > 0) {
        return bits == *first
            ? SC_OK
            : sc_fail(SC_BAD_INPUT, "%s: output '%s' has other bits than in the first run", set_name, name);
    }
    *first = bits;
    c->result->bits = sc_digest_join(c->result->bits, bits);
    struct sc_value reference;
    SC_TRY(sc_recorded_output(&c->recorded, set, o, &c->passing, &reference));
    const char *what = sc_arena_printf(&c->passing, "%s: output '%s'", set_name, name);
    return sc_compare_values(what ? what : name, output, &reference, &c->options->tolerance);
}

/* Rank 0: the session's data sets, one after the other; the first that differs is told. */
static enum sc_status drive(void *arg)
{
    struct sc_case *c = arg;
    const struct sc_graph *graph = c->model->graph;
    const int n_states = c->options->n_states;
    const struct sc_value **outputs = sc_arena_array(&c->passing, (size_t)graph->n_outputs + 1, sizeof *outputs);
    if (!outputs) {
        return SC_NO_MEMORY;
    }
    for (int s = c->first; s < c->end; s++) {
        struct sc_microbatch microbatch = {0};
        const struct sc_value **inputs;
        SC_TRY(sc_recorded_inputs(&c->recorded, s, &c->passing, &inputs));
        for (int i = 0; i < n_states && s > 0; i++) {
            inputs[c->chains[i].input] = &c->carried[i];
        }
        SC_TRY(sc_session_submit(c->session, &microbatch, inputs));
        SC_TRY(sc_session_next(c->session, outputs));
        for (int o = 0; o < graph->n_outputs; o++) {
            SC_TRY(compare_output(c, s, o, outputs[o]));
        }
        for (int i = 0; i < n_states; i++) {
            SC_TRY(sc_value_copy(&c->passing, outputs[c->chains[i].output], &c->carried[i]));
        }
    }
    return SC_OK;
}

static enum sc_status find_chains(struct sc_case *c)
{
    if (c->chains) { /* by an earlier session of the run */
        return SC_OK;
    }
    const size_t room = (size_t)c->options->n_states + 1;
    c->chains = sc_arena_array(&c->passing, room, sizeof *c->chains);
    c->carried = sc_arena_array(&c->passing, room, sizeof *c->carried);
    if (!c->chains || !c->carried) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < c->options->n_states; i++) {
        struct sc_chain *chain = &c->chains[i];
        SC_TRY(sc_pairs_parse(c->model->graph, c->options->states[i], &chain->input, &chain->output));
    }
    return SC_OK;
}

/* On rank 0, what the session is opened for. */
static enum sc_status look_at_sets(struct sc_case *c, struct sc_session_options *options)
{
    struct sc_inputs inputs;
    if (!c->bits) {
        const size_t n = (size_t)c->recorded.sets.n * (size_t)c->model->graph->n_outputs;
        c->bits = sc_arena_array(&c->arena, n + 1, sizeof *c->bits);
    }
    if (!c->bits) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_recorded_open(&c->recorded, c->first, &c->passing, &inputs, &c->end));
    sc_inputs_options(&inputs, options);
    return SC_OK;
}

static enum sc_status run_opened(struct sc_case *c, struct sc_session_options *options)
{
    struct sc_world *world = c->app->world;
    struct sc_verify_result *result = c->result;
    c->recorded.graph = c->model->graph;
    enum sc_status status = find_chains(c);
    if (status == SC_OK && sc_app_is_root(c->app)) {
        status = look_at_sets(c, options);
    }
    SC_TRY(sc_world_agree(world, status));
    SC_TRY(sc_session_open(world, c->model, options, &c->session));
    result->opened = true;
    const int stages = sc_session_plan(c->session)->n_stages;
    result->most_stages = stages > result->most_stages ? stages : result->most_stages;
    result->stages_seen[stages < SC_VERIFY_STAGES ? stages : SC_VERIFY_STAGES] = true;
    status = sc_app_run(c->app, c->session, drive, c);
    const struct sc_error failed = *sc_error_last();
    if (result->n_runs == 0 && c->first == 0 && sc_options_given(c->app->options, "report")) {
        SC_TRY(sc_report_ranks(c->session, c->model, world, 0, NULL, c->report));
    }
    if (status != SC_OK) {
        sc_error_set(&failed);
    }
    return sc_world_agree(world, status); /* what the root finds wrong ends the case everywhere */
}

/* One session. *more: there are sets that it could not take. */
static enum sc_status run_session(struct sc_case *c, const struct sc_way *way, bool *more)
{
    struct sc_session_options options;
    sc_app_session_options(c->app, &options);
    if (way->n_stages > 0) {
        options.n_stages = way->n_stages;
        options.fewer_stages = true;
        options.n_threads = way->n_threads;
        options.random_plan = way->random;
        options.plan_seed = way->seed;
        options.plan_path = NULL;
    }
    enum sc_status status = sc_app_open_model(c->app, c->recorded.folder, &c->model);
    if (status == SC_OK) {
        status = run_opened(c, &options);
    }
    sc_session_close(c->session);
    sc_model_close(c->model);
    c->session = NULL;
    c->model = NULL;
    SC_TRY(status);
    c->first = c->end;
    *more = c->first < c->recorded.sets.n;
    return sc_world_broadcast(c->app->world, more, sizeof *more);
}

/* All data sets: a merged decoder's come with a past and without, and each mode has its graph and its plan. */
static enum sc_status run(struct sc_case *c, const struct sc_way *way)
{
    enum sc_status status = SC_OK;
    c->first = 0;
    for (bool more = true; more && status == SC_OK;) {
        status = run_session(c, way, &more);
    }
    sc_arena_reset(&c->passing);
    c->chains = NULL;
    c->result->n_runs++;
    if (status != SC_OK && way->n_stages > 0) {
        return sc_fail_in("%d stages%s, %d threads", way->n_stages, way->random ? " at random" : "", way->n_threads);
    }
    return status;
}

/* The command line's way, then: whole on one and two threads, cut in 2, 3 and 4, and random plans. */
static struct sc_way nth_way(int n)
{
    if (n == 0) {
        return (struct sc_way){0};
    }
    if (n <= 5) {
        return (struct sc_way){.n_stages = n == 1 ? 1 : n - 1, .n_threads = n == 2 ? 2 : 1};
    }
    const int seed = n - 5;
    return (struct sc_way){.n_stages = 2 + seed % (SC_VERIFY_STAGES - 1),
        .n_threads = 1 + seed % 2,
        .random = true,
        .seed = (uint64_t)seed};
}

enum sc_status sc_verify_case(struct sc_app *app, const struct sc_verify_options *options, const char *folder,
    struct sc_json *report, struct sc_verify_result *result)
{
    struct sc_case c = {
        .app = app, .options = options, .report = report, .result = result, .recorded = {.folder = folder}};
    *result = (struct sc_verify_result){.bits = SC_DIGEST_START};
    enum sc_status status =
        sc_world_agree(app->world, sc_app_is_root(app) ? sc_recorded_list(&c.recorded, &c.arena) : SC_OK);
    const int n_ways = options->n_plans < 0 ? 1 : 6 + options->n_plans;
    for (int w = 0; w < n_ways && status == SC_OK; w++) {
        const struct sc_way way = nth_way(w);
        status = run(&c, &way);
    }
    sc_names_release(&c.recorded.sets);
    sc_arena_release(&c.passing);
    sc_arena_release(&c.arena);
    return status;
}
