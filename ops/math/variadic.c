/* SPDX-License-Identifier: Apache-2.0
 * Sum, Mean, Max and Min of any number of inputs, folded in order a span at a time. Beyond eight inputs the output is
 * the first operand of the next round, and 16-bit floats are rounded between rounds. */
#include <stdio.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"

enum fold { FOLD_SUM, FOLD_MEAN, FOLD_MAX, FOLD_MIN };

struct variadic {
    enum fold function;
    int divide_by; /* 0: do not */
};

#define BODY "ops/math/variadic.inc.h"
#include "ops/math/each_number.inc.h"

static const struct sc_span_table table = {{SC_ON_NUMBERS(fold)}};

static void run_fold(const struct sc_call *call, enum fold function)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    const struct sc_tensor *in[SC_BROADCAST_MAX];
    int done = 0, n = 0;
    while (done < call->n_in) {
        for (; n < SC_BROADCAST_MAX && done < call->n_in; done++) {
            in[n++] = sc_call_in(call, done);
        }
        const bool last = done == call->n_in;
        const struct variadic p = {function, function == FOLD_MEAN && last ? call->n_in : 0};
        sc_elementwise(call, &table, out->type, n, in, &p);
        in[0] = out;
        n = 1;
    }
}

#define FOLD(name, function)                                                                                           \
    static void run_##name(const struct sc_call *call)                                                                 \
    {                                                                                                                  \
        run_fold(call, function);                                                                                      \
    }
FOLD(sum, FOLD_SUM)
FOLD(mean, FOLD_MEAN)
FOLD(max, FOLD_MAX)
FOLD(min, FOLD_MIN)
#undef FOLD

/* Versions before 8 take inputs of one shape. */
static enum sc_status check_same(const struct sc_infer *infer)
{
    const struct sc_fact *first = sc_infer_in(infer, 0);
    for (int i = 1; i < infer->n_in && first && first->rank >= 0; i++) {
        char name[32];
        snprintf(name, sizeof name, "input %d", i);
        SC_TRY(sc_infer_want(infer, i, name, first->rank, first->dims));
    }
    return SC_OK;
}

static enum sc_status infer_fold(struct sc_infer *infer)
{
    SC_TRY(sc_elementwise_check(infer, &table, sc_infer_type(infer, 0)));
    if (infer->node->version < 8) {
        SC_TRY(check_same(infer));
    }
    return sc_infer_broadcast(infer);
}

static void cost_fold(const struct sc_infer *infer, struct sc_cost *cost)
{
    sc_cost_elementwise(infer, infer->n_in, cost);
}

/* Not in place: with several rounds the output is read while inputs are still to come. */
#define ROW(op, version, function)                                                                                     \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS, .infer = infer_fold,            \
        .run = function, .cost = cost_fold                                                                             \
    }

const struct sc_op sc_ops_math_variadic[] = {
    ROW("Sum", 1, run_sum),
    ROW("Sum", 6, run_sum),
    ROW("Sum", 8, run_sum),
    ROW("Sum", 13, run_sum),
    ROW("Mean", 1, run_mean),
    ROW("Mean", 6, run_mean),
    ROW("Mean", 8, run_mean),
    ROW("Mean", 13, run_mean),
    ROW("Max", 1, run_max),
    ROW("Max", 6, run_max),
    ROW("Max", 8, run_max),
    ROW("Max", 12, run_max),
    ROW("Max", 13, run_max),
    ROW("Min", 1, run_min),
    ROW("Min", 6, run_min),
    ROW("Min", 8, run_min),
    ROW("Min", 12, run_min),
    ROW("Min", 13, run_min),
    {.name = NULL},
};
