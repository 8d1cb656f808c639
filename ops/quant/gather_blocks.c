/* SPDX-License-Identifier: Apache-2.0
 * GatherBlockQuantized: rows of a table that stays quantised, widened as they are picked. */
#include <string.h>

#include "ops/infer.h"
#include "ops/quant/blocks.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum input { DATA, INDICES, SCALES, ZEROS };

struct params {
    int64_t bits, block, gather_axis, quantize_axis;
};

static enum sc_status params_gather(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "bits", 4, &p->bits));
    SC_TRY(sc_node_int(node, "block_size", 128, &p->block));
    SC_TRY(sc_node_int(node, "gather_axis", 0, &p->gather_axis));
    SC_TRY(sc_node_int(node, "quantize_axis", 1, &p->quantize_axis));
    const bool known_bits = p->bits == 2 || p->bits == 4 || p->bits == 8;
    return known_bits && p->block >= 16 && p->block <= 1 << 20
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "%lld bits in blocks of %lld, want 2, 4 or 8 in blocks of 16 to %d",
              (long long)p->bits, (long long)p->block, 1 << 20);
}

/* Elements per entry of the data's last axis: bytes hold several, the 4-bit types one each. */
static int64_t per_entry(const struct params *p, enum sc_type type)
{
    return type == SC_U8 ? 8 / p->bits : 1;
}

static enum sc_status infer_gather(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *data = infer->in[DATA];
    const struct sc_fact *indices = infer->in[INDICES];
    const struct sc_fact *scales = infer->in[SCALES];
    sc_fact_of_type(sc_infer_out(infer, 0), scales->type);
    if (data->rank < 0 || indices->rank < 0) {
        return SC_OK;
    }
    int gather, quantize;
    SC_TRY(sc_axis(infer->graph, infer->node, "gather_axis", p->gather_axis, data->rank, &gather));
    SC_TRY(sc_axis(infer->graph, infer->node, "quantize_axis", p->quantize_axis, data->rank, &quantize));
    if (data->rank != 2 || gather != 0 || quantize != 1 || (data->type != SC_U8 && p->bits != 4)) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED,
            "only rows of a table of rank 2, quantised along the row, are supported");
    }
    const int64_t width = data->dims[1] >= 0 ? data->dims[1] * per_entry(p, data->type) : SC_DIM_UNKNOWN;
    const int64_t blocks = width >= 0 ? (width + p->block - 1) / p->block : SC_DIM_UNKNOWN;
    if (scales->rank >= 0 &&
        (scales->rank != 2 || (blocks >= 0 && scales->dims[1] >= 0 && scales->dims[1] != blocks) ||
            (data->dims[0] >= 0 && scales->dims[0] >= 0 && scales->dims[0] != data->dims[0]))) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "scales do not have %lld blocks for each row", (long long)blocks);
    }
    if (indices->rank + 1 > SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "the result's rank is over %d", SC_MAX_RANK);
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, indices->dims, (size_t)indices->rank * sizeof(*dims));
    dims[indices->rank] = width;
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], scales->type, indices->rank + 1, dims);
    }
    return SC_OK;
}

/* Plain 4-bit tensors hold an element per byte: the block reader takes them as 8 bits wide. */
static struct sc_blocks describe(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *data = sc_call_in(call, DATA);
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS);
    const bool bytes = data->type == SC_U8;
    const int64_t width = data->dims[1] * per_entry(p, data->type);
    struct sc_blocks b = {.bits = bytes ? (int)p->bits : 8,
        .is_signed = data->type == SC_I4,
        .rows = data->dims[0],
        .width = width,
        .block = p->block,
        .blocks = (width + p->block - 1) / p->block,
        .data = data->data,
        .row_bytes = (size_t)data->dims[1],
        .scale_type = sc_call_in(call, SCALES)->type,
        .scales = sc_call_in(call, SCALES)->data,
        .zeros_type = SC_U8,
        .zeros = zeros ? zeros->data : NULL,
        .zero = bytes ? (float)(1 << (p->bits - 1)) : 0.0F};
    b.zeros_row_bytes = bytes ? (size_t)((b.blocks * p->bits + 7) / 8) : (size_t)b.blocks;
    return b;
}

static enum sc_status resolve_gather(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *indices = sc_call_in(call, INDICES);
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS);
    const struct sc_blocks b = describe(call);
    if (zeros && sc_tensor_count(zeros) != b.rows * (int64_t)b.zeros_row_bytes) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "zero_points do not have an entry for each block");
    }
    for (int64_t i = 0, n = sc_tensor_count(indices); i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        if (index < -b.rows || index >= b.rows) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "index %lld is outside of a table of %lld rows",
                (long long)index, (long long)b.rows);
        }
    }
    return SC_OK;
}

static size_t scratch_gather(const struct sc_call *call)
{
    return (size_t)describe(call).width * sizeof(float);
}

static void run_gather(const struct sc_call *call)
{
    const struct sc_tensor *indices = sc_call_in(call, INDICES);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const struct sc_blocks b = describe(call);
    float *row = call->scratch;
    for (int64_t i = 0, n = sc_tensor_count(indices); i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        const int64_t at = index < 0 ? index + b.rows : index;
        sc_blocks_row(&b, at, row, 1);
        sc_convert(SC_F32, row, out->type, sc_at(out->data, i * b.width, sc_type_bytes(out->type)), b.width, 0);
    }
}

const struct sc_op sc_ops_quant_gather_blocks[] = {
    {.domain = "com.microsoft",
        .name = "GatherBlockQuantized",
        .since = 1,
        .flags = SC_OP_PURE,
        .params = params_gather,
        .infer = infer_gather,
        .scratch = scratch_gather,
        .resolve = resolve_gather,
        .run = run_gather},
    {.name = NULL},
};
