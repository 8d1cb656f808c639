/* SPDX-License-Identifier: Apache-2.0
 * Col2Im: each pixel is the sum of what the blocks that cover it have there, in order of the blocks' entries. 16-bit
 * floats are added in f32 and rounded once, integers wrap, of booleans one is enough. Sums are made row by row: a
 * block's entry adds a run of memory to a row. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/window.h"
#include "ops/tile.h"

enum { SEGMENT = 1024, PART_SUMS = 1 << 16 }; /* pixels of a row that are summed together; sums of a part */

typedef void add_fn(const void *from, void *to, int64_t n, int64_t step, int parts);

struct job {
    const struct sc_kernels *kernels;
    const struct sc_tensor *x, *y;
    struct sc_window w;
    add_fn *add;
    bool widens; /* 16-bit floats, summed in f32 */
    int parts; /* numbers of an element */
    size_t sum_bytes;
    int64_t n_entries, n_blocks; /* elements of a block, blocks of an image */
    int64_t rows, a_row, n_segments, per_part; /* rows of an image, segments of a row, of all, of a part */
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

/* The block whose entry `k` is at a pixel, both counted over all axes but the last, or -1. */
static int64_t block_at(const struct sc_window *w, const int64_t *pixel, int64_t k)
{
    int64_t block = 0, scale = 1;
    for (int i = w->axes - 2; i >= 0; i--) {
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

#define TYPE float
#define NAME add_f32
#include "ops/nn/col2im_run.inc.h"
#define TYPE double
#define NAME add_f64
#include "ops/nn/col2im_run.inc.h"
#define TYPE uint8_t
#define NAME add_u8
#include "ops/nn/col2im_run.inc.h"
#define TYPE uint16_t
#define NAME add_u16
#include "ops/nn/col2im_run.inc.h"
#define TYPE uint32_t
#define NAME add_u32
#include "ops/nn/col2im_run.inc.h"
#define TYPE uint64_t
#define NAME add_u64
#include "ops/nn/col2im_run.inc.h"

static void add_bool(const void *from, void *to, int64_t n, int64_t step, int parts)
{
    const uint8_t *x = from;
    uint8_t *y = to;
    (void)parts;
    for (int64_t i = 0; i < n; i++) {
        y[i * step] |= x[i] != 0;
    }
}

static add_fn *add_of(enum sc_type type)
{
    switch (type) {
    case SC_BOOL:
        return add_bool;
    case SC_F16:
    case SC_BF16:
    case SC_F32:
    case SC_C64:
        return add_f32;
    case SC_F64:
    case SC_C128:
        return add_f64;
    default:
        break;
    }
    switch (sc_type_bytes(type)) {
    case 1:
        return add_u8;
    case 2:
        return add_u16;
    case 4:
        return add_u32;
    default:
        return add_u64;
    }
}

/* Blocks are in rows, and their entries are as far apart as the stride: those of the last axis that are at pixels
 * [from, end) are added at once. */
static void add_entries(const struct job *job, int64_t entry, int64_t block, int64_t from, int64_t end, void *sums)
{
    const struct sc_window *w = &job->w;
    const int last = w->axes - 1;
    const int64_t stride = w->stride[last];
    float wide[SEGMENT];
    for (int64_t k = 0; k < w->kernel[last]; k++) {
        const int64_t shift = k * w->dilation[last] - w->begin[last]; /* the pixel of the first block's entry */
        const int64_t first = from <= shift ? 0 : sc_parts(from - shift, stride);
        const int64_t past = end <= shift ? 0 : sc_parts(end - shift, stride);
        const int64_t n = (past < w->out[last] ? past : w->out[last]) - first;
        if (n <= 0) {
            continue;
        }
        const int64_t at = (entry * w->kernel[last] + k) * job->n_blocks + block * w->out[last] + first;
        const void *x = sc_const_at(job->x->data, at, sc_type_bytes(job->x->type));
        if (job->widens) {
            sc_widen(job->kernels, job->x->type, x, wide, n);
            x = wide;
        }
        job->add(x, sc_at(sums, first * stride + shift - from, job->sum_bytes), n, stride, job->parts);
    }
}

/* Pixels [from, end) of a row. */
static void sum_segment(const struct job *job, int64_t row, int64_t from, int64_t end)
{
    const struct sc_window *w = &job->w;
    const int last = w->axes - 1;
    int64_t pixel[SC_MAX_AXES], rest = row % job->rows;
    for (int d = last - 1; d >= 0; d--) {
        pixel[d] = rest % w->in[d];
        rest /= w->in[d];
    }
    float wide[SEGMENT];
    void *y = sc_at(job->y->data, row * w->in[last] + from, sc_type_bytes(job->y->type));
    void *sums = job->widens ? wide : y;
    memset(sums, 0, (size_t)(end - from) * job->sum_bytes);
    const int64_t n = job->n_entries / w->kernel[last];
    for (int64_t k = 0; k < n; k++) {
        const int64_t block = block_at(w, pixel, k);
        if (block >= 0) {
            add_entries(job, row / job->rows * n + k, block, from, end, sums);
        }
    }
    if (job->widens) {
        sc_round_to(job->kernels, job->y->type, wide, y, end - from);
    }
}

static void sum_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t width = job->w.in[job->w.axes - 1];
    const int64_t end = (part + 1) * job->per_part < job->n_segments ? (part + 1) * job->per_part : job->n_segments;
    for (int64_t i = part * job->per_part; i < end; i++) {
        const int64_t from = i % job->a_row * SEGMENT;
        sum_segment(job, i / job->a_row, from, from + SEGMENT < width ? from + SEGMENT : width);
    }
}

static void run_col2im(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    struct job job = {.kernels = call->kernels, .x = x, .y = y, .n_blocks = x->dims[2], .add = add_of(x->type)};
    int64_t block[SC_MAX_RANK];
    if (sc_tensor_count(y) == 0) {
        return;
    }
    for (int i = 0; i < y->rank - 2; i++) {
        block[i] = sc_index_at(sc_call_in(call, 2), i);
    }
    if (sc_window_find(call->graph, call->node, call->params, y->rank - 2, y->dims + 2, block, &job.w) != SC_OK) {
        return; /* cannot be: resolve has found the same window */
    }
    const int64_t width = y->dims[y->rank - 1];
    job.parts = x->type == SC_C64 || x->type == SC_C128 ? 2 : 1;
    job.widens = x->type == SC_F16 || x->type == SC_BF16;
    job.sum_bytes = job.widens ? sizeof(float) : sc_type_bytes(x->type);
    job.n_entries = x->dims[1] / y->dims[1];
    job.rows = sc_dims_product(y->dims, 2, y->rank - 1);
    job.a_row = sc_parts(width, SEGMENT);
    job.n_segments = sc_tensor_count(y) / width * job.a_row;
    job.per_part = sc_parts(PART_SUMS, job.n_entries * (width < SEGMENT ? width : SEGMENT));
    sc_team_for(call->team, sc_parts(job.n_segments, job.per_part), sum_part, &job);
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
