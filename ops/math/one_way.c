/* SPDX-License-Identifier: Apache-2.0
 * One-way broadcasting becomes the usual one by giving B ones for the axes that it lacks. */
#include "ops/math/one_way.h"

#include <inttypes.h>

#include "ops/infer.h"

enum sc_status sc_one_way_read(const struct sc_node *node, struct sc_one_way *one_way)
{
    int64_t broadcast;
    SC_TRY(sc_node_int(node, "broadcast", 0, &broadcast));
    one_way->on = true;
    one_way->same = broadcast == 0;
    one_way->suffix = one_way->same || !sc_node_attribute(node, "axis");
    return sc_node_int(node, "axis", 0, &one_way->axis);
}

static int64_t first_axis(const struct sc_one_way *one_way, int a_rank, int b_rank)
{
    if (one_way->suffix) {
        return a_rank - b_rank;
    }
    return one_way->axis < 0 ? one_way->axis + a_rank : one_way->axis;
}

/* A dim of 1 goes with any: the clause of versions 1 and 6 does not have it yet, the official cases do. */
enum sc_status sc_one_way_dims(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_one_way *one_way, const struct sc_fact *a, const struct sc_fact *b, int64_t *dims)
{
    const int64_t first = first_axis(one_way, a->rank, b->rank);
    bool fits = one_way->same ? b->rank == a->rank : b->rank == 0 || (first >= 0 && first + b->rank <= a->rank);
    for (int d = 0; d < a->rank && fits; d++) {
        const int64_t of_b = d - first;
        dims[d] = of_b >= 0 && of_b < b->rank ? b->dims[of_b] : 1;
        fits = dims[d] == a->dims[d] || (dims[d] == 1 && !one_way->same) || dims[d] < 0 || a->dims[d] < 0;
    }
    if (!fits) {
        char x[200], y[200];
        if (one_way->same) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "B has shape %s, want that of A, %s, as broadcast is 0",
                sc_dims_text(b->rank, b->dims, x, sizeof x), sc_dims_text(a->rank, a->dims, y, sizeof y));
        }
        return sc_node_fail(graph, node, SC_BAD_MODEL, "shape %s does not broadcast to %s at axis %" PRId64,
            sc_dims_text(b->rank, b->dims, x, sizeof x), sc_dims_text(a->rank, a->dims, y, sizeof y), first);
    }
    return SC_OK;
}

enum sc_status sc_one_way_infer(struct sc_infer *infer, const struct sc_one_way *one_way, enum sc_type type)
{
    if (!one_way->on) {
        return sc_infer_broadcast_typed(infer, type);
    }
    const struct sc_fact *a = sc_infer_in(infer, 0), *b = sc_infer_in(infer, 1);
    if (a && b && a->rank >= 0 && b->rank >= 0) {
        int64_t dims[SC_MAX_RANK];
        SC_TRY(sc_one_way_dims(infer->graph, infer->node, one_way, a, b, dims));
    }
    sc_infer_shape_of(infer, 0, a, type);
    return SC_OK;
}

struct sc_tensor sc_one_way_view(const struct sc_call *call, const struct sc_one_way *one_way)
{
    const struct sc_tensor *a = sc_call_in(call, 0), *b = sc_call_in(call, 1);
    if (!one_way->on || b->rank == 0) {
        return *b;
    }
    const int64_t first = first_axis(one_way, a->rank, b->rank);
    int64_t dims[SC_MAX_RANK];
    for (int d = 0; d < a->rank; d++) {
        dims[d] = d >= first && d < first + b->rank ? b->dims[d - first] : 1;
    }
    struct sc_tensor view;
    sc_tensor_init(&view, b->type, a->rank, dims);
    view.data = b->data;
    return view;
}
