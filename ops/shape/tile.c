/* SPDX-License-Identifier: Apache-2.0
 * Tile: the input seen with one more axis of stride 0 before each of its own. Version 1 repeats one axis. */
#include <math.h>
#include <string.h>

#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* Version 1 has tiles and axis as two scalars of the input's own type, or of integers as later versions have them. */
static enum sc_status read_scalar(const struct sc_infer *infer, int input, const char *name, int64_t *value)
{
    const struct sc_tensor *t = infer->in[input]->value;
    if (sc_tensor_count(t) != 1 || !sc_convertible(t->type)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s is not a scalar number", name);
    }
    double number;
    sc_convert(t->type, t->data, SC_F64, &number, 1, 0);
    if (!(number >= -0x1p53 && number <= 0x1p53) || number != floor(number)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s is %g, want a whole number", name, number);
    }
    *value = (int64_t)number;
    return SC_OK;
}

static enum sc_status read_repeats(const struct sc_infer *infer, int rank, int64_t repeats[SC_MAX_RANK], bool *known)
{
    const struct sc_fact *list = infer->in[1];
    const struct sc_fact *axis_of = sc_infer_in(infer, 2);
    struct sc_ints ints;
    *known = list->value && (!axis_of || axis_of->value);
    if (!*known) {
        return SC_OK;
    }
    if (axis_of) {
        int64_t tiles, written;
        int axis;
        SC_TRY(read_scalar(infer, 1, "tiles", &tiles));
        SC_TRY(read_scalar(infer, 2, "axis", &written));
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", written, rank, &axis));
        for (int i = 0; i < rank; i++) {
            repeats[i] = i == axis ? tiles : 1;
        }
    } else {
        SC_TRY(sc_input_ints(infer, 1, repeats, &ints));
        if (ints.n != rank) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%d repeats for rank %d", ints.n, rank);
        }
    }
    for (int i = 0; i < rank; i++) {
        if (repeats[i] < 0) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "axis %d is repeated %lld times", i, (long long)repeats[i]);
        }
    }
    return SC_OK;
}

static enum sc_status infer_tile(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (in->rank < 0) {
        sc_fact_of_type(out, in->type);
        return SC_OK;
    }
    int64_t dims[SC_MAX_RANK];
    bool known;
    SC_TRY(read_repeats(infer, in->rank, dims, &known));
    if (!known) {
        sc_fact_of_rank(out, in->type, in->rank);
        return SC_OK;
    }
    for (int i = 0; i < in->rank; i++) {
        SC_TRY(sc_dim_multiply(infer, in->dims[i], dims[i], &dims[i]));
    }
    if (out) {
        sc_fact_tensor(out, in->type, in->rank, dims);
    }
    return SC_OK;
}

static void run_tile(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *out = sc_call_out(call, 0);
    if (sc_tensor_count(out) == 0) {
        return;
    }
    struct sc_move move = {.bytes = sc_type_bytes(in->type), .to = out->data, .from = in->data};
    for (int i = 0; i < in->rank; i++) {
        sc_move_axis(&move, out->dims[i] / in->dims[i], out->strides[i] * in->dims[i], 0);
        sc_move_axis(&move, in->dims[i], out->strides[i], in->strides[i]);
    }
    sc_move_run(&move, call->team);
}

#define TILE(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Tile", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 1,             \
        .infer = infer_tile, .resolve = sc_resolve_by_infer, .run = run_tile                                           \
    }

const struct sc_op sc_ops_shape_tile[] = {TILE(1), TILE(6), TILE(13), {.name = NULL}};
