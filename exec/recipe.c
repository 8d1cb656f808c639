/* SPDX-License-Identifier: Apache-2.0
 * A recipe is a graph of weights: it is compiled, loaded and run like any other. Its weights may have recipes again,
 * which ends since a recipe has few steps in all (passes/recipes.c). */
#include "exec/recipe.h"

#include "exec/frame.h"

static void drop_pages(const struct sc_model *model, const struct sc_graph *graph)
{
    for (int w = 0; model && !model->remote && w < graph->n_weights; w++) {
        const struct sc_weight *weight = &graph->weights[w];
        if (weight->file >= 0 && weight->raw) {
            const struct sc_file *file = &model->files[weight->file];
            sc_file_drop(file, (size_t)(weight->raw - file->data), weight->raw_bytes);
        }
    }
}

enum sc_status sc_recipe_open(const struct sc_program_spec *spec, const struct sc_recipe *recipe, struct sc_team *team,
    struct sc_making *making, struct sc_tensor *tensor)
{
    const struct sc_graph *graph = recipe->graph;
    const struct sc_frame_options options = {.team = team};
    const struct sc_program_spec own = {.model = spec->model,
        .graph = graph,
        .n_outputs = graph->n_outputs,
        .outputs = graph->outputs,
        .kernels = spec->kernels,
        .blas = spec->blas,
        .seed = spec->seed};
    SC_TRY(sc_program_compile(&own, &making->program));
    SC_TRY(sc_program_load(making->program, team));
    SC_TRY(sc_frame_create(making->program, &options, &making->frame));
    SC_TRY(sc_frame_run(making->frame, NULL, 0));
    drop_pages(spec->model, graph);
    *tensor = sc_frame_output(making->frame, 0)->u.tensor;
    return SC_OK;
}

void sc_recipe_close(struct sc_making *making)
{
    sc_frame_free(making->frame);
    sc_program_free(making->program);
    *making = (struct sc_making){0};
}
