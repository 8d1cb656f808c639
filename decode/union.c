/* SPDX-License-Identifier: Apache-2.0
 * Each file becomes nodes that are there once and for all, then they are joined, and weights that two files have are
 * kept once. */
#include "decode/union.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decode/pairs.h"
#include "ops/kernels/kernels.h"
#include "passes/join.h"
#include "passes/passes.h"
#include "runtime/session.h"

enum { ENCODER, CROSS, STEPS, N_FILES };

struct opening {
    struct sc_world *world; /* NULL: alone */
    const struct sc_log *log;
    const char *folder;
    struct sc_arena arena;
    struct sc_model *models[N_FILES];
};

static bool has(const char *folder, const char *name)
{
    struct sc_arena passing = {0};
    const char *path = sc_path_join(&passing, folder, name);
    const bool there = path && access(path, F_OK) == 0;
    sc_arena_release(&passing);
    return there;
}

bool sc_union_is_one(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode) && has(path, "encoder_model.onnx") &&
        !has(path, "model.onnx");
}

static enum sc_status agree(const struct opening *opening, enum sc_status status)
{
    return opening->world ? sc_world_agree(opening->world, status) : status;
}

/* What rank 0 sees of the folder. */
enum layout { NOT_ONE, MERGED, APART };

static enum sc_status find_layout(const struct opening *opening, int32_t *layout)
{
    const char *folder = opening->folder;
    *layout = NOT_ONE;
    if (!sc_union_is_one(folder)) {
        return SC_OK;
    }
    *layout = has(folder, "decoder_model_merged.onnx") ? MERGED : APART;
    if (*layout == APART && (!has(folder, "decoder_model.onnx") || !has(folder, "decoder_with_past_model.onnx"))) {
        return sc_fail(SC_IO,
            "'%s' has an encoder_model.onnx, but neither decoder_model_merged.onnx nor both of decoder_model.onnx and "
            "decoder_with_past_model.onnx",
            folder);
    }
    return SC_OK;
}

static enum sc_status open_file(struct opening *opening, int part, const char *name)
{
    const char *path = sc_path_join(&opening->arena, opening->folder, name);
    SC_TRY(agree(opening, path ? SC_OK : SC_NO_MEMORY));
    return opening->world ? sc_session_open_model(opening->world, path, opening->log, &opening->models[part])
                          : sc_model_open(path, &opening->models[part]);
}

static enum sc_status open_files(struct opening *opening, bool merged)
{
    SC_TRY(open_file(opening, ENCODER, "encoder_model.onnx"));
    SC_TRY(open_file(opening, CROSS, merged ? "decoder_model_merged.onnx" : "decoder_model.onnx"));
    return open_file(opening, STEPS, merged ? "decoder_model_merged.onnx" : "decoder_with_past_model.onnx");
}

/* The one branch that a merged decoder takes in this role. */
static enum sc_status take_branch(struct opening *opening, int part)
{
    struct sc_model *model = opening->models[part];
    const struct sc_graph *graph = model->graph;
    int8_t *modes = sc_arena_array(&opening->arena, (size_t)graph->n_inputs + 1, sizeof *modes);
    if (!modes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const bool mode = strcmp(graph->values[graph->inputs[i]].name, "use_cache_branch") == 0;
        modes[i] = (int8_t)(!mode ? 0 : part == STEPS ? 1 : -1);
    }
    const struct sc_pass_options options = {.modes = modes};
    sc_pass_defaults(model->graph, NULL);
    SC_TRY(sc_pass_functions(model));
    return sc_pass_branches(model, &options);
}

static enum sc_status choose_outputs(struct opening *opening, int part, struct sc_join_part *to)
{
    const struct sc_graph *graph = opening->models[part]->graph;
    const struct sc_graph *steps = opening->models[STEPS]->graph;
    int *outputs = sc_arena_array(&opening->arena, (size_t)graph->n_outputs + 1, sizeof *outputs);
    if (!outputs) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const char *name = graph->values[graph->outputs[o]].name;
        const bool cross = sc_pairs_makes_constant(steps, name);
        if (part == ENCODER ? o == 0 : cross == (part == CROSS)) {
            outputs[to->n_outputs++] = graph->outputs[o];
        }
    }
    to->outputs = outputs;
    return to->n_outputs > 0
        ? SC_OK
        : sc_fail(SC_BAD_MODEL, "'%s' makes no %s", opening->models[part]->path,
              part == CROSS ? "keys and values of cross-attention that the decoder with the past reads" : "outputs");
}

/* Of the decoder without a past only that stays which makes keys and values. It may ask the tokens for their sizes, as
 * exporters take the batch from there: those are known, for a text is encoded by itself. */
static enum sc_status cut_cross(struct opening *opening, const struct sc_join_part *part)
{
    struct sc_model *model = opening->models[CROSS];
    struct sc_graph *graph = model->graph;
    bool changed;
    for (int o = 0; o < part->n_outputs; o++) {
        graph->outputs[o] = part->outputs[o];
    }
    graph->n_outputs = part->n_outputs;
    for (int i = 0; i < graph->n_inputs; i++) {
        struct sc_fact *fact = &graph->values[graph->inputs[i]].fact;
        const bool tokens = strcmp(graph->values[graph->inputs[i]].name, "input_ids") == 0;
        for (int d = 0; d < fact->rank && d < (tokens ? 2 : 1); d++) {
            fact->dims[d] = 1;
        }
    }
    SC_TRY(sc_pass_position_bias(model));
    SC_TRY(sc_pass_shapes(model, sc_kernels_at(SC_ISA_BASE)));
    SC_TRY(sc_pass_presents(model, &changed));
    SC_TRY(changed ? sc_pass_shapes(model, sc_kernels_at(SC_ISA_BASE)) : SC_OK);
    SC_TRY(sc_pass_fold(graph));
    return sc_pass_dead(graph);
}

static enum sc_status join(struct opening *opening, struct sc_model **model)
{
    static const char *const prefixes[N_FILES] = {SC_UNION_ENCODER, SC_UNION_CROSS, ""};
    struct sc_join_part parts[N_FILES] = {{0}};
    for (int p = 0; p < N_FILES; p++) {
        SC_TRY(take_branch(opening, p));
    }
    for (int p = 0; p < N_FILES; p++) {
        parts[p].model = opening->models[p];
        parts[p].prefix = prefixes[p];
        parts[p].inner = p == ENCODER;
        SC_TRY(choose_outputs(opening, p, &parts[p]));
    }
    SC_TRY(cut_cross(opening, &parts[CROSS]));
    const struct sc_graph *encoder = opening->models[ENCODER]->graph;
    parts[CROSS].input = "encoder_hidden_states";
    parts[CROSS].from =
        sc_arena_printf(&opening->arena, "%s%s", SC_UNION_ENCODER, encoder->values[encoder->outputs[0]].name);
    SC_TRY(parts[CROSS].from ? SC_OK : SC_NO_MEMORY);
    memset(opening->models, 0, sizeof opening->models); /* the whole has them now, or nobody */
    return sc_models_join(N_FILES, parts, opening->folder, model);
}

/* Rank 0 has all files. */
static enum sc_status share_weights(const struct opening *opening, struct sc_model *model)
{
    const size_t n = (size_t)model->graph->n_weights + 1;
    int *same = sc_arena_array(&model->arena, n, sizeof *same);
    SC_TRY(agree(opening, same ? SC_OK : SC_NO_MEMORY));
    if (!opening->world || sc_world_rank(opening->world) == 0) {
        sc_weights_compare(model, same);
    }
    SC_TRY(opening->world ? sc_world_broadcast(opening->world, same, n * sizeof *same) : SC_OK);
    return agree(opening, sc_weights_share(model, same));
}

/* Of whole numbers, [rows, unknown]; a file that has an input of this name keeps its own. */
static enum sc_status add_input(struct sc_model *model, const char *name, int64_t n_rows)
{
    struct sc_graph *graph = model->graph;
    const int64_t dims[2] = {n_rows, SC_DIM_UNKNOWN};
    if (sc_graph_find(graph, name) >= 0) {
        return SC_OK;
    }
    int value, *inputs = sc_arena_array(graph->arena, (size_t)graph->n_inputs + 1, sizeof *inputs);
    SC_TRY(inputs ? SC_OK : SC_NO_MEMORY);
    SC_TRY(sc_graph_add_value(graph, name, &value));
    graph->values[value].place = SC_PLACE_INPUT;
    sc_fact_tensor(&graph->values[value].fact, SC_I64, 2, dims);
    memcpy(inputs, graph->inputs, (size_t)graph->n_inputs * sizeof *inputs);
    inputs[graph->n_inputs++] = value;
    graph->inputs = inputs;
    return SC_OK;
}

static enum sc_status add_inputs(struct sc_model *model)
{
    SC_TRY(add_input(model, SC_UNION_LENGTH, 0));
    return add_input(model, SC_UNION_POSITIONS, SC_DIM_UNKNOWN);
}

static enum sc_status open_union(struct opening *opening, bool merged, struct sc_model **model)
{
    struct sc_model *made = NULL;
    SC_TRY(open_files(opening, merged));
    SC_TRY(agree(opening, join(opening, &made)));
    enum sc_status status = agree(opening, add_inputs(made));
    status = status == SC_OK ? share_weights(opening, made) : status;
    if (status != SC_OK) {
        const struct sc_error error = *sc_error_last();
        sc_model_close(made);
        return sc_error_set(&error);
    }
    *model = made;
    return SC_OK;
}

static enum sc_status open_any(struct opening *opening, struct sc_model **model)
{
    int32_t layout = NOT_ONE;
    const bool root = !opening->world || sc_world_rank(opening->world) == 0;
    SC_TRY(agree(opening, root ? find_layout(opening, &layout) : SC_OK));
    SC_TRY(opening->world ? sc_world_broadcast(opening->world, &layout, sizeof layout) : SC_OK);
    if (layout != NOT_ONE) {
        return open_union(opening, layout == MERGED, model);
    }
    return opening->world ? sc_session_open_model(opening->world, opening->folder, opening->log, model)
                          : sc_model_open(opening->folder, model);
}

enum sc_status sc_union_open(
    struct sc_world *world, const char *path, const struct sc_log *log, struct sc_model **model)
{
    struct opening opening = {.world = world, .log = log, .folder = path};
    const enum sc_status status = open_any(&opening, model);
    const struct sc_error error = *sc_error_last();
    for (int p = 0; p < N_FILES; p++) {
        sc_model_close(opening.models[p]);
    }
    sc_arena_release(&opening.arena);
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}
