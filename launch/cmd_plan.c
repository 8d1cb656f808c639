/* SPDX-License-Identifier: Apache-2.0
 * stagecoach plan: the cut of a model, without running it and without MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/begin.h"
#include "decode/context.h"
#include "decode/feeds.h"
#include "decode/last_row.h"
#include "decode/pairs.h"
#include "decode/rewrite.h"
#include "decode/union.h"
#include "launch/app.h"
#include "launch/dims.h"
#include "launch/plan_compare.h"
#include "launch/plan_picture.h"
#include "launch/sized.h"
#include "partitioner/report.h"
#include "passes/passes.h"
#include "runtime/planning.h"

struct sc_planner_run {
    struct sc_app *app;
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_feeds *feeds;
    struct sc_plan *plan;
    struct sc_state_pair *pairs;
    int n_pairs;
    const char *open_dims; /* their names: they count as 1 */
    int64_t context; /* that nobody gave; 0: one was given, or there are no states */
    const char *context_why;
};

/* Sizes to plan for: for a decoder a step and a chunk of a prompt in the middle of the context, declared dims and -d
 * for the others. */
static enum sc_status input_facts(struct sc_planner_run *run, struct sc_planning *planning)
{
    const struct sc_options *options = run->app->options;
    const struct sc_graph *graph = run->model->graph;
    const char *const *items;
    const int n_items = sc_options_list(options, "dim", &items);
    struct sc_dims dims;
    SC_TRY(sc_dims_init(run->model, &run->arena, &dims));
    SC_TRY(sc_dims_add_all(&dims, n_items, items));
    planning->input_facts = dims.facts;
    const int64_t context = planning->context, chunk = sc_options_int(options, "ubatch");
    if (run->n_pairs > 0 && n_items == 0 &&
        sc_feeds_create(graph, run->n_pairs, run->pairs, chunk, context, &run->feeds) == SC_OK) {
        struct sc_fact *facts = sc_arena_array(&run->arena, (size_t)graph->n_inputs + 1, sizeof *facts);
        const int logits = sc_decode_find_logits(graph);
        if (!facts) {
            return SC_NO_MEMORY;
        }
        planning->chunk_facts = sc_feeds_sizes(run->feeds, chunk, context / 2, dims.facts, facts) ? facts : NULL;
        return logits >= 0 ? sc_decode_last_row(run->model, logits) : SC_OK;
    }
    return sc_dims_fill(&dims, &run->arena, &run->open_dims);
}

/* A decoder behind an encoder is made for the context that the files beside it say. */
static enum sc_status settle_usual(struct sc_planner_run *run, int64_t *context)
{
    int64_t usual = 0;
    if (run->model->n_parts == 0 || sc_options_given(run->app->options, "ctx")) {
        return SC_OK;
    }
    SC_TRY(sc_begin_context(run->model->folder, &run->arena, &usual));
    if (usual > 0 && usual < *context) {
        *context = usual;
        run->context_why = "the files beside it say so";
    }
    return SC_OK;
}

static enum sc_status write_plan(struct sc_planner_run *run, const char *path)
{
    char *text;
    SC_TRY(sc_plan_write(run->plan, run->model, &text));
    const enum sc_status status = sc_file_write(path, text, strlen(text));
    free(text);
    return status;
}

/* --dot and --html. */
static enum sc_status draw(struct sc_planner_run *run, const struct sc_fact *facts, const bool *is_state)
{
    const char *dot = sc_options_text(run->app->options, "dot"), *html = sc_options_text(run->app->options, "html");
    struct sc_picture picture;
    SC_TRY(sc_picture_init(run->plan, run->model, facts, is_state, &run->arena, &picture));
    SC_TRY(dot ? sc_picture_write(&picture, sc_picture_dot, dot) : SC_OK);
    return html ? sc_picture_write(&picture, sc_picture_html, html) : SC_OK;
}

/* The stage of each node of the file. What became several nodes has one where all of them are together. */
static enum sc_status find_stages(struct sc_planner_run *run, const struct sc_model *file, int **stages)
{
    const struct sc_plan *plan = run->plan;
    *stages = sc_arena_array(&run->arena, (size_t)file->n_file_nodes + 1, sizeof **stages);
    if (!*stages) {
        return SC_NO_MEMORY;
    }
    for (int n = 0; n < file->n_file_nodes; n++) {
        (*stages)[n] = -1;
    }
    for (int i = 0; i < plan->n_nodes; i++) {
        const int node = run->model->unit_file_nodes[i];
        if (plan->stage_of[i] < 0 || node < 0) {
            continue;
        }
        if ((*stages)[node] >= 0 && (*stages)[node] != plan->stage_of[i]) {
            char text[160];
            return sc_fail(SC_UNSUPPORTED,
                "'%s': %s becomes nodes of stages %d and %d, and can be annotated with one: give --plan instead",
                file->path, sc_node_text_name(file->graph, &file->graph->nodes[node], text, sizeof text),
                (*stages)[node], plan->stage_of[i]);
        }
        (*stages)[node] = plan->stage_of[i];
    }
    return SC_OK;
}

/* --annotate: the file again, with the stage of each node. */
static enum sc_status annotate(struct sc_planner_run *run, const char *path)
{
    struct sc_model *model;
    int *stages;
    SC_TRY(sc_model_open(run->model->path, &model));
    enum sc_status status = find_stages(run, model, &stages);
    if (status == SC_OK) {
        const struct sc_write_options options = {.n_stages = run->plan->n_stages, .stages = stages};
        status = sc_model_write(model, model->graph, path, &options);
    }
    sc_model_close(model);
    return status;
}

static void print_notes(const struct sc_planner_run *run)
{
    if (run->context > 0) {
        printf("note: planned for texts of %lld positions: %s; -c N says another number\n", (long long)run->context,
            run->context_why);
    }
    if (run->open_dims && run->open_dims[0]) {
        printf("note: no size was given for %s: 1 is taken; -d NAME=N says another\n", run->open_dims);
    }
}

static enum sc_status compare(struct sc_planner_run *run, const struct sc_planning *planning, const bool *is_state)
{
    static const char *const others[] = {"output", "dot", "html", "annotate", "plan", "random-plan"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (sc_options_given(run->app->options, others[i])) {
            return sc_fail(SC_BAD_USAGE, "options '--compare' and '--%s' exclude each other", others[i]);
        }
    }
    if (planning->n_stages == 0) {
        return sc_fail(SC_BAD_USAGE, "option '--compare' needs -pp N, the most stages to look at");
    }
    SC_TRY(sc_plan_compare(run->model, planning, is_state, stdout));
    print_notes(run);
    return SC_OK;
}

static enum sc_status plan(struct sc_planner_run *run)
{
    const struct sc_options *options = run->app->options;
    const int n_stages = (int)sc_options_int(options, "pp");
    struct sc_planning planning = {.n_ranks = n_stages > 0 ? n_stages : 1,
        .n_stages = n_stages,
        .plan_path = sc_options_text(options, "plan"),
        .random = sc_options_given(options, "random-plan"),
        .random_seed = (uint64_t)sc_options_int(options, "random-plan"),
        .n_slots = 1,
        .context = sc_options_int(options, "ctx"),
        .aim = (enum sc_plan_aim)sc_options_choice(options, "for")};
    struct sc_fact *facts;
    bool *is_state;
    const char *table;
    SC_TRY(sc_union_open(NULL, sc_options_text(options, "model"), NULL, &run->model));
    SC_TRY(sc_app_say_states(options, run->model));
    if (n_stages == 0 && run->model->file_node_stages) {
        planning.n_ranks = run->model->n_file_nodes; /* one for each stage that it asks for */
    }
    bool *given = sc_arena_array(&run->arena, (size_t)run->model->graph->n_inputs + 1, sizeof *given);
    int64_t *memory = sc_arena_array(&run->arena, (size_t)planning.n_ranks, sizeof *memory);
    if (!given || !memory) {
        return SC_NO_MEMORY;
    }
    for (int r = 0; r < planning.n_ranks; r++) {
        memory[r] = sc_options_int(options, "memory");
    }
    planning.memory = memory;
    const char *override = sc_options_text(options, "override");
    SC_TRY(override ? sc_pass_name_given(run->model->graph, override, given) : SC_OK);
    SC_TRY(sc_decode_rewrite(run->model, given, &run->n_pairs, &run->pairs));
    const struct sc_cache_formats formats = sc_options_cache_formats(options);
    SC_TRY(sc_pairs_set_formats(run->pairs, run->n_pairs, &formats));
    SC_TRY(sc_context_settle(run->model->graph, run->n_pairs, run->pairs, &planning.context));
    run->context_why =
        sc_sized_context_why(planning.context, sc_context_most(run->model->graph, run->n_pairs, run->pairs));
    SC_TRY(settle_usual(run, &planning.context));
    run->context = run->n_pairs > 0 && !sc_options_given(options, "ctx") ? planning.context : 0;
    SC_TRY(input_facts(run, &planning));
    if (sc_options_given(options, "for") && !planning.chunk_facts) {
        return sc_fail(SC_BAD_USAGE, "option '--for': '%s' has no prompts that go in chunks", run->model->path);
    }
    SC_TRY(sc_kernels_best(&planning.kernels));
    SC_TRY(sc_planning_mark_states(run->model, run->n_pairs, run->pairs, &run->arena, &is_state));
    SC_TRY(sc_passes_run(run->model, planning.kernels));
    planning.n_pairs = run->n_pairs;
    planning.pairs = run->pairs;
    if (sc_options_flag(options, "compare")) {
        return compare(run, &planning, is_state);
    }
    SC_TRY(sc_planning_make(run->model, &planning, is_state, &run->arena, &facts, &run->plan));
    SC_TRY(sc_plan_table(run->plan, run->model, run->model->graph, facts, is_state, &run->arena, &table));
    const char *path = sc_options_text(options, "output");
    if (path) {
        SC_TRY(write_plan(run, path));
    }
    const char *annotated = sc_options_text(options, "annotate");
    SC_TRY(annotated ? annotate(run, annotated) : SC_OK);
    SC_TRY(draw(run, facts, is_state));
    fputs(table, stdout);
    print_notes(run);
    return SC_OK;
}

enum sc_status sc_command_plan(struct sc_app *app)
{
    struct sc_planner_run run = {.app = app};
    const enum sc_status status = plan(&run);
    sc_plan_free(run.plan);
    sc_feeds_free(run.feeds);
    sc_model_close(run.model);
    sc_arena_release(&run.arena);
    return status;
}
