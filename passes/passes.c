/* SPDX-License-Identifier: Apache-2.0
 * The order of the passes. */
#include "passes/passes.h"

#include "ops/schema.h"

static enum sc_status rewrite(struct sc_model *model, const struct sc_pass_options *options)
{
    SC_TRY(sc_check_graph(model->graph));
    if (!(options->without & SC_PASS_BRANCHES)) {
        SC_TRY(sc_pass_branches(model, options));
    }
    SC_TRY(sc_pass_position_bias(model));
    SC_TRY(sc_pass_gradient(model));
    SC_TRY(options->without & SC_PASS_ATTENTION ? SC_OK : sc_pass_attention(model, options));
    SC_TRY(options->without & SC_PASS_LENGTHS ? SC_OK : sc_pass_lengths(model, options));
    return sc_pass_positions(model, options);
}

enum sc_status sc_passes_run_without(struct sc_model *model, const struct sc_kernels *kernels, unsigned without)
{
    struct sc_graph *graph = model->graph;
    SC_TRY(without & SC_PASS_SHAPES ? sc_pass_infer(graph, kernels) : sc_pass_shapes(model, kernels));
    SC_TRY(without & SC_PASS_FOLD ? SC_OK : sc_pass_fold(graph));
    SC_TRY(without & SC_PASS_IDENTITY ? SC_OK : sc_pass_identity(graph));
    SC_TRY(without & SC_PASS_CONV_NORM ? SC_OK : sc_pass_conv_norm(model));
    SC_TRY(without & SC_PASS_RECIPES ? SC_OK : sc_pass_recipes(model));
    return without & SC_PASS_DEAD ? SC_OK : sc_pass_dead(graph);
}

/* Passes tell the node; the file is put before it. */
static enum sc_status name_file(const struct sc_model *model, enum sc_status status)
{
    return status == SC_OK || !model->path ? status : sc_fail_in("'%s'", model->path);
}

enum sc_status sc_passes_rewrite(struct sc_model *model, const struct sc_pass_options *options)
{
    const struct sc_pass_options none = {0};
    options = options ? options : &none;
    sc_pass_defaults(model->graph, options->given);
    SC_TRY(sc_pass_functions(model));
    return name_file(model, rewrite(model, options));
}

enum sc_status sc_passes_run(struct sc_model *model, const struct sc_kernels *kernels)
{
    return name_file(model, sc_passes_run_without(model, kernels, 0));
}
