/* SPDX-License-Identifier: Apache-2.0
 * HannWindow, HammingWindow, BlackmanWindow: a0 - a1 cos(x) + a2 cos(2 x), x going once around over the window's
 * length, or over one less when it is symmetric. A symmetric window of one point is its peak. */
#include <math.h>
#include <string.h>

#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

struct params {
    double a0, a1, a2;
    bool periodic;
    enum sc_type type;
};

enum sc_status sc_math_output_type(const struct sc_graph *graph, const struct sc_node *node, enum sc_type *type)
{
    int64_t number;
    SC_TRY(sc_node_int(node, "output_datatype", SC_F32, &number));
    *type = sc_type_valid(number) ? (enum sc_type)number : SC_TYPE_NONE;
    return sc_type_is_float(*type) || sc_type_is_int(*type)
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "output_datatype is %lld, want a float or integer of 8 bits or more",
              (long long)number);
}

static enum sc_status params_window(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int64_t periodic;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "periodic", 1, &periodic));
    *p = (struct params){.a0 = 0.5, .a1 = 0.5, .periodic = periodic != 0};
    if (strcmp(node->op, "HammingWindow") == 0) {
        p->a0 = 25.0 / 46.0;
        p->a1 = 21.0 / 46.0;
    } else if (strcmp(node->op, "BlackmanWindow") == 0) {
        p->a0 = 0.42;
        p->a2 = 0.08;
    }
    return sc_math_output_type(graph, node, &p->type);
}

static enum sc_status infer_window(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_tensor *size = infer->in[0]->value;
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_rank(out, p->type, 1);
    if (!size) {
        return SC_OK;
    }
    if (sc_tensor_count(size) != 1 || sc_index_at(size, 0) < 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "size is not one number of 0 or more");
    }
    if (out) {
        out->dims[0] = sc_index_at(size, 0);
    }
    return SC_OK;
}

static void run_window(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t n = out->dims[0], around = p->periodic ? n : n - 1;
    for (int64_t i = 0; i < n; i++) {
        const double x =
            around > 0 ? 2.0 * 3.14159265358979323846 * (double)i / (double)around : 3.14159265358979323846;
        const double y = p->a2 * cos(2.0 * x) + p->a0 - p->a1 * cos(x); /* in this order 0 and 1 are exact */
        sc_convert(SC_F64, &y, p->type, sc_at(out->data, i, sc_type_bytes(p->type)), 1, 0);
    }
}

#define ROW(op)                                                                                                        \
    {                                                                                                                  \
        .domain = "", .name = (op), .since = 17, .flags = SC_OP_PURE, .params = params_window, .infer = infer_window,  \
        .resolve = sc_resolve_by_infer, .run = run_window                                                              \
    }

const struct sc_op sc_ops_math_windows[] = {
    ROW("BlackmanWindow"), ROW("HammingWindow"), ROW("HannWindow"), {.name = NULL}};
