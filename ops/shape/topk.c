/* SPDX-License-Identifier: Apache-2.0
 * TopK: a heap of k positions per row, its worst at the root; then sorted. Ties go to the lower index. */
#include <string.h>

#include "ops/shape/element.h"
#include "ops/shape/shape.h"

struct params {
    int64_t axis, largest;
    int64_t k; /* version 1; -1: an input */
};

static enum sc_status params_topk(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", -1, &p->axis));
    SC_TRY(sc_node_int(node, "largest", 1, &p->largest));
    return sc_node_int(node, "k", -1, &p->k);
}

static enum sc_status infer_topk(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    sc_fact_of_type(sc_infer_out(infer, 0), in->type);
    sc_fact_of_type(sc_infer_out(infer, 1), SC_I64);
    if (in->rank < 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank, &axis));
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, in->dims, sizeof(dims));
    dims[axis] = p->k >= 0 ? p->k : SC_DIM_UNKNOWN;
    const struct sc_fact *k = sc_infer_in(infer, 1);
    if (p->k < 0 && k && k->value) {
        int64_t values[SC_MAX_RANK];
        struct sc_ints list;
        SC_TRY(sc_input_ints(infer, 1, values, &list));
        if (list.n != 1 || values[0] < 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "K is not one number of 0 or more");
        }
        dims[axis] = values[0];
    }
    if (in->dims[axis] >= 0 && dims[axis] > in->dims[axis]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "K is %lld, axis %d has %lld entries",
            (long long)dims[axis], axis, (long long)in->dims[axis]);
    }
    for (int i = 0; i < 2; i++) {
        if (sc_infer_out(infer, i)) {
            sc_fact_tensor(infer->out[i], i == 0 ? in->type : SC_I64, in->rank, dims);
        }
    }
    return SC_OK;
}

struct row {
    enum sc_type type;
    size_t bytes;
    const void *data;
    int64_t stride;
    bool largest;
};

/* Whether entry a stands before entry b in the result. */
static bool before(const struct row *row, int64_t a, int64_t b)
{
    const int order = sc_element_order(row->type, sc_const_at(row->data, a * row->stride, row->bytes),
        sc_const_at(row->data, b * row->stride, row->bytes));
    return order == 0 ? a < b : (order > 0) == row->largest;
}

/* The entry that stands last is at the root. */
static void sift(const struct row *row, int64_t *heap, int64_t n, int64_t at)
{
    const int64_t entry = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(row, heap[child], heap[child + 1])) {
            child++;
        }
        if (!before(row, entry, heap[child])) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

static void top_of_row(const struct row *row, int64_t n, int64_t k, int64_t *heap)
{
    for (int64_t i = 0; i < k; i++) {
        heap[i] = i;
    }
    for (int64_t i = k / 2 - 1; i >= 0; i--) {
        sift(row, heap, k, i);
    }
    for (int64_t i = k; i < n && k > 0; i++) {
        if (before(row, i, heap[0])) {
            heap[0] = i;
            sift(row, heap, k, 0);
        }
    }
    for (int64_t end = k - 1; end > 0; end--) {
        const int64_t last = heap[0];
        heap[0] = heap[end];
        heap[end] = last;
        sift(row, heap, end, 0);
    }
}

struct job {
    const struct sc_call *call;
    int axis;
    int64_t n, k, inner;
};

static int64_t call_k(const struct sc_call *call, int axis)
{
    const struct sc_tensor *out = sc_call_out(call, 0) ? sc_call_out(call, 0) : sc_call_out(call, 1);
    return out ? out->dims[axis] : 0;
}

static void topk_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_tensor *in = sc_call_in(job->call, 0);
    const struct sc_tensor *values = sc_call_out(job->call, 0);
    const struct sc_tensor *indices = sc_call_out(job->call, 1);
    const size_t bytes = sc_type_bytes(in->type);
    int64_t *heap = (int64_t *)job->call->scratch + (int64_t)worker * job->k;
    const int64_t outer = part / job->inner;
    const int64_t at = part % job->inner;
    const struct row row = {.type = in->type,
        .bytes = bytes,
        .data = sc_const_at(in->data, outer * job->n * job->inner + at, bytes),
        .stride = job->inner,
        .largest = ((const struct params *)job->call->params)->largest != 0};
    top_of_row(&row, job->n, job->k, heap);
    for (int64_t i = 0; i < job->k; i++) {
        const int64_t to = (outer * job->k + i) * job->inner + at;
        if (values) {
            memcpy(sc_at(values->data, to, bytes), sc_const_at(row.data, heap[i] * row.stride, bytes), bytes);
        }
        if (indices) {
            ((int64_t *)indices->data)[to] = heap[i];
        }
    }
}

static int call_axis(const struct sc_call *call)
{
    const int64_t axis = ((const struct params *)call->params)->axis;
    return (int)(axis < 0 ? axis + sc_call_in(call, 0)->rank : axis);
}

static size_t scratch_topk(const struct sc_call *call)
{
    return (size_t)call_k(call, call_axis(call)) * sizeof(int64_t) * (size_t)sc_team_size(call->team);
}

static void run_topk(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct job job = {.call = call, .axis = call_axis(call)};
    job.n = in->dims[job.axis];
    job.k = call_k(call, job.axis);
    job.inner = sc_dims_product(in->dims, job.axis + 1, in->rank);
    if (job.k > 0) {
        sc_team_for(call->team, sc_dims_product(in->dims, 0, job.axis) * job.inner, topk_part, &job);
    }
}

#define TOPK(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "TopK", .since = (version), .flags = SC_OP_PURE, .params = params_topk,                  \
        .infer = infer_topk, .scratch = scratch_topk, .resolve = sc_resolve_by_infer, .run = run_topk                  \
    }

const struct sc_op sc_ops_shape_topk[] = {TOPK(1), TOPK(10), TOPK(11), TOPK(24), {.name = NULL}};
