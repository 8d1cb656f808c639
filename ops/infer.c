/* SPDX-License-Identifier: Apache-2.0
 * Small pieces of shape inference: most operators keep a shape or broadcast. */
#include "ops/infer.h"

#include <inttypes.h>
#include <stdio.h>

#include "ops/broadcast.h"

enum sc_type sc_infer_type(const struct sc_infer *infer, int i)
{
    const struct sc_fact *in = sc_infer_in(infer, i);
    return in ? in->type : SC_TYPE_NONE;
}

void sc_infer_shape_of(struct sc_infer *infer, int i, const struct sc_fact *like, enum sc_type type)
{
    struct sc_fact *out = sc_infer_out(infer, i);
    if (!out) {
        return;
    }
    out->kind = SC_KIND_TENSOR;
    out->type = type;
    out->rank = like ? like->rank : -1;
    for (int d = 0; d < out->rank; d++) {
        out->dims[d] = like->dims[d];
    }
}

enum sc_status sc_infer_same(struct sc_infer *infer)
{
    sc_infer_shape_of(infer, 0, sc_infer_in(infer, 0), sc_infer_type(infer, 0));
    return SC_OK;
}

enum sc_status sc_infer_broadcast_typed(struct sc_infer *infer, enum sc_type type)
{
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!out) {
        return SC_OK;
    }
    out->kind = SC_KIND_TENSOR;
    out->type = type;
    return sc_broadcast_facts(infer->graph, infer->node, infer->n_in, infer->in, out);
}

enum sc_status sc_infer_broadcast(struct sc_infer *infer)
{
    return sc_infer_broadcast_typed(infer, sc_infer_type(infer, 0));
}

enum sc_status sc_infer_want(const struct sc_infer *infer, int i, const char *name, int rank, const int64_t *want)
{
    const struct sc_fact *fact = sc_infer_in(infer, i);
    if (!fact || fact->rank < 0) {
        return SC_OK;
    }
    bool fits = fact->rank == rank;
    for (int d = 0; d < rank && fits; d++) {
        fits = fact->dims[d] < 0 || want[d] < 0 || fact->dims[d] == want[d];
    }
    if (fits) {
        return SC_OK;
    }
    char have[128], wanted[128];
    return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has shape %s, want %s", name,
        sc_dims_text(fact->rank, fact->dims, have, sizeof have), sc_dims_text(rank, want, wanted, sizeof wanted));
}

enum sc_status sc_axis(
    const struct sc_graph *graph, const struct sc_node *node, const char *what, int64_t axis, int rank, int *normal)
{
    if (axis < -rank || axis >= rank) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "%s is %" PRId64 ", want one in [%d, %d)", what, axis, -rank, rank);
    }
    *normal = (int)(axis < 0 ? axis + rank : axis);
    return SC_OK;
}

bool sc_fact_ints(const struct sc_fact *fact, int room, int *n, int64_t *values)
{
    if (!fact || !fact->value || !fact->value->data || (fact->value->type != SC_I64 && fact->value->type != SC_I32)) {
        return false;
    }
    const int64_t count = sc_tensor_count(fact->value);
    if (count > room) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        values[i] = sc_index_at(fact->value, i);
    }
    *n = (int)count;
    return true;
}

char *sc_dims_text(int rank, const int64_t *dims, char *buffer, size_t bytes)
{
    size_t used = (size_t)snprintf(buffer, bytes, rank < 0 ? "[...]" : "[");
    for (int d = 0; d < rank && used < bytes; d++) {
        const char *comma = d ? "," : "";
        used += (size_t)(dims[d] < 0 ? snprintf(buffer + used, bytes - used, "%s?", comma)
                                     : snprintf(buffer + used, bytes - used, "%s%" PRId64, comma, dims[d]));
    }
    if (rank >= 0 && used < bytes) {
        snprintf(buffer + used, bytes - used, "]");
    }
    return buffer;
}
