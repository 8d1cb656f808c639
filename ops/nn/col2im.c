/* SPDX-License-Identifier: Apache-2.0
 * Col2Im: each pixel is the sum of what the blocks that cover it have there. Floats and complex numbers are added in
 * double and rounded once, integers wrap, of booleans one is enough. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/window.h"
#include "tensor/convert.h"

#define PART_ELEMENTS 4096

struct job {
    const struct sc_tensor *x, *y;
    struct sc_window w;
    int64_t plane, n_entries, n_blocks, per_part; /* pixels of an image, elements of a block */
};

static enum sc_status params_col2im(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_window_params), params));
    return sc_window_read(graph, node, *params);
}

static enum sc_status find_window(const struct sc_infer *infer, struct sc_window *w)
{
    int64_t image[SC_MAX_RANK], block[SC_MAX_RANK];
    struct sc_ints images, blocks;
    SC_TRY(sc_input_ints(infer, 1, image, &images));
    SC_TRY(sc_input_ints(infer, 2, block, &blocks));
    if (images.n != blocks.n || images.n < 1 || images.n > SC_MAX_AXES) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "image_shape has %d entries and block_shape %d, want as many, 1 to %d", images.n, blocks.n, SC_MAX_AXES);
    }
    for (int i = 0; i < images.n; i++) {
        if (image[i] < 0 || image[i] > INT32_MAX || block[i] < 1) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "blocks of %lld do not fit an image of %lld",
                (long long)block[i], (long long)image[i]);
        }
    }
    return sc_window_find(infer->graph, infer->node, infer->params, images.n, image, block, w);
}

static enum sc_status infer_col2im(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *x = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->type == SC_STRING) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "strings have no sum");
    }
    int64_t want[3] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_want(infer, 0, "input", 3, want));
    if (!infer->in[1]->value || !infer->in[2]->value) {
        return SC_OK;
    }
    struct sc_window w;
    SC_TRY(find_window(infer, &w));
    int64_t entries = 1, blocks = 1, dims[SC_MAX_RANK];
    for (int i = 0; i < w.axes; i++) {
        SC_TRY(sc_dim_multiply(infer, entries, w.kernel[i], &entries));
        SC_TRY(sc_dim_multiply(infer, blocks, w.out[i], &blocks));
        dims[2 + i] = w.in[i];
    }
    want[2] = blocks;
    SC_TRY(sc_infer_want(infer, 0, "input", 3, want));
    const int64_t rows = x->rank == 3 ? x->dims[1] : SC_DIM_UNKNOWN;
    if (rows >= 0 && rows % entries != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has %lld rows, want a multiple of %lld",
            (long long)rows, (long long)entries);
    }
    dims[0] = x->rank == 3 ? x->dims[0] : SC_DIM_UNKNOWN;
    dims[1] = rows >= 0 ? rows / entries : SC_DIM_UNKNOWN;
    if (out) {
        sc_fact_tensor(out, x->type, w.axes + 2, dims);
    }
    return SC_OK;
}

/* The block whose entry `k` is at a pixel, or -1. */
static int64_t block_at(const struct sc_window *w, const int64_t *pixel, int64_t k)
{
    int64_t block = 0, scale = 1;
    for (int i = w->axes - 1; i >= 0; i--) {
        const int64_t from = pixel[i] + w->begin[i] - k % w->kernel[i] * w->dilation[i];
        k /= w->kernel[i];
        if (from < 0 || from % w->stride[i] != 0 || from / w->stride[i] >= w->out[i]) {
            return -1;
        }
        block += from / w->stride[i] * scale;
        scale *= w->out[i];
    }
    return block;
}

struct sum {
    double number[2];
    uint64_t integer;
};

static void add(const struct sc_tensor *x, int64_t i, struct sum *sum)
{
    int64_t integer;
    switch (x->type) {
    case SC_C64:
        sum->number[0] += (double)((const float *)x->data)[2 * i];
        sum->number[1] += (double)((const float *)x->data)[2 * i + 1];
        break;
    case SC_C128:
        sum->number[0] += ((const double *)x->data)[2 * i];
        sum->number[1] += ((const double *)x->data)[2 * i + 1];
        break;
    case SC_F16:
    case SC_BF16:
    case SC_F32:
    case SC_F64:
        sum->number[0] += sc_number_at(x, i);
        break;
    default:
        sc_convert(x->type, sc_const_at(x->data, i, sc_type_bytes(x->type)), SC_I64, &integer, 1, 0);
        sum->integer += (uint64_t)integer;
    }
}

static void put(const struct sc_tensor *y, int64_t i, const struct sum *sum)
{
    switch (y->type) {
    case SC_C64:
        ((float *)y->data)[2 * i] = (float)sum->number[0];
        ((float *)y->data)[2 * i + 1] = (float)sum->number[1];
        break;
    case SC_C128:
        memcpy((double *)y->data + 2 * i, sum->number, sizeof sum->number);
        break;
    case SC_F16:
    case SC_BF16:
    case SC_F32:
    case SC_F64:
        sc_number_put(y, i, sum->number[0]);
        break;
    default:
        sc_convert(SC_U64, &sum->integer, y->type, sc_at(y->data, i, sc_type_bytes(y->type)), 1, 0);
    }
}

static void sum_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_window *w = &job->w;
    const int64_t n = sc_tensor_count(job->y);
    const int64_t end = (part + 1) * job->per_part < n ? (part + 1) * job->per_part : n;
    for (int64_t i = part * job->per_part; i < end; i++) {
        const int64_t image = i / job->plane;
        int64_t pixel[SC_MAX_AXES], rest = i % job->plane;
        for (int d = w->axes - 1; d >= 0; d--) {
            pixel[d] = rest % w->in[d];
            rest /= w->in[d];
        }
        struct sum sum = {{0.0, 0.0}, 0};
        for (int64_t k = 0; k < job->n_entries; k++) {
            const int64_t block = block_at(w, pixel, k);
            if (block >= 0) {
                add(job->x, (image * job->n_entries + k) * job->n_blocks + block, &sum);
            }
        }
        put(job->y, i, &sum);
    }
}

static void run_col2im(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    struct job job = {.x = x, .y = y, .n_blocks = x->dims[2]};
    int64_t block[SC_MAX_RANK];
    if (sc_tensor_count(y) == 0) {
        return;
    }
    job.n_entries = x->dims[1] / y->dims[1];
    job.plane = sc_dims_product(y->dims, 2, y->rank);
    for (int i = 0; i < y->rank - 2; i++) {
        block[i] = sc_index_at(sc_call_in(call, 2), i);
    }
    if (sc_window_find(call->graph, call->node, call->params, y->rank - 2, y->dims + 2, block, &job.w) != SC_OK) {
        return; /* cannot be: resolve has found the same window */
    }
    job.per_part = 1 + PART_ELEMENTS / job.n_entries;
    sc_team_for(call->team, sc_parts(sc_tensor_count(y), job.per_part), sum_part, &job);
}

const struct sc_op sc_ops_nn_col2im[] = {
    {.domain = "",
        .name = "Col2Im",
        .since = 18,
        .flags = SC_OP_PURE,
        .params = params_col2im,
        .infer = infer_col2im,
        .resolve = sc_resolve_by_infer,
        .run = run_col2im},
    {.name = NULL},
};
