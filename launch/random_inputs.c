/* SPDX-License-Identifier: Apache-2.0
 * Element i of input k is a function of (seed, k, i), whatever the order in which inputs are made. */
#include "launch/random_inputs.h"

#include "base/random.h"
#include "launch/inputs.h"
#include "tensor/convert.h"

static enum sc_status fill(uint64_t seed, int input, const char *name, struct sc_tensor *tensor)
{
    const struct sc_random_key key = {.seed = seed, .stream = (uint64_t)input};
    const bool is_float = sc_type_is_float(tensor->type);
    const int64_t n = sc_tensor_count(tensor);
    if (!is_float && !sc_type_is_int(tensor->type) && tensor->type != SC_BOOL) {
        return sc_fail(
            SC_UNSUPPORTED, "input '%s' is %s, which cannot be made at random", name, sc_type_name(tensor->type));
    }
    for (int64_t i = 0; i < n; i++) {
        const double uniform = sc_random_uniform(&key, (uint64_t)i);
        const double value = is_float ? 2 * uniform - 1 : uniform < 0.5 ? 0 : 1;
        sc_convert(SC_F64, &value, tensor->type, (char *)tensor->data + (size_t)i * sc_type_bytes(tensor->type), 1, 0);
    }
    return SC_OK;
}

enum sc_status sc_random_inputs(const struct sc_model *model, uint64_t seed, int n_dims, const char *const *dims,
    struct sc_arena *arena, const struct sc_value ***values, struct sc_fact **facts)
{
    const struct sc_graph *graph = model->graph;
    const size_t n = (size_t)graph->n_inputs + 1;
    struct sc_value *made = sc_arena_array(arena, n, sizeof *made);
    *values = sc_arena_array(arena, n, sizeof **values);
    *facts = sc_arena_array(arena, n, sizeof **facts);
    if (!made || !*values || !*facts) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        (*facts)[i] = graph->values[graph->inputs[i]].fact;
        (*facts)[i].value = NULL;
    }
    SC_TRY(sc_inputs_settle_dims(model, n_dims, dims, graph->n_inputs, *facts));
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *declared = &graph->values[graph->inputs[i]];
        const struct sc_fact *fact = &(*facts)[i];
        if (declared->weight >= 0) {
            continue;
        }
        if (fact->kind != SC_KIND_TENSOR || fact->rank < 0) {
            return sc_fail(SC_UNSUPPORTED, "input '%s' is no tensor of declared rank", declared->name);
        }
        SC_TRY(sc_dims_check(declared->name, fact->type, fact->rank, fact->dims));
        made[i].kind = SC_KIND_TENSOR;
        SC_TRY(sc_tensor_new(arena, fact->type, fact->rank, fact->dims, &made[i].u.tensor));
        SC_TRY(fill(seed, i, declared->name, &made[i].u.tensor));
        (*values)[i] = &made[i];
    }
    return SC_OK;
}
