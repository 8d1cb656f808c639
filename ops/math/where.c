/* SPDX-License-Identifier: Apache-2.0
 * Where moves elements: the width of an element is all that it needs to know of their type. */
#include "ops/broadcast.h"
#include "ops/infer.h"

static enum sc_status infer_where(struct sc_infer *infer)
{
    return sc_infer_broadcast_typed(infer, sc_infer_type(infer, 1));
}

#define SPAN(name, type)                                                                                               \
    static void name(void *arg, const struct sc_span *span)                                                            \
    {                                                                                                                  \
        (void)arg;                                                                                                     \
        const unsigned char *condition = span->in[0];                                                                  \
        const type *x = span->in[1], *y = span->in[2];                                                                 \
        type *out = span->out;                                                                                         \
        const int64_t c = span->step[0], sx = span->step[1], sy = span->step[2];                                       \
        const int64_t n = span->n;                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            out[i] = condition[i * c] ? x[i * sx] : y[i * sy];                                                         \
        }                                                                                                              \
    }
struct bytes16 {
    uint64_t low, high;
};
SPAN(span_1, uint8_t)
SPAN(span_2, uint16_t)
SPAN(span_4, uint32_t)
SPAN(span_8, uint64_t)
SPAN(span_16, struct bytes16)
#undef SPAN

static void run_where(const struct sc_call *call)
{
    const struct sc_tensor *in[3] = {sc_call_in(call, 0), sc_call_in(call, 1), sc_call_in(call, 2)};
    const struct sc_tensor *out = sc_call_out(call, 0);
    struct sc_broadcast loop;
    sc_broadcast_init(&loop, 3, in, out);
    sc_span_fn *fn = span_1;
    switch (sc_type_bytes(out->type)) {
    case 2:
        fn = span_2;
        break;
    case 4:
        fn = span_4;
        break;
    case 8:
        fn = span_8;
        break;
    case 16:
        fn = span_16;
        break;
    default:
        break;
    }
    sc_broadcast_run(&loop, call->team, fn, NULL);
}

#define WHERE(version)                                                                                                 \
    {                                                                                                                  \
        .domain = "", .name = "Where", .since = version, .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 7,              \
        .infer = infer_where, .run = run_where                                                                         \
    }

const struct sc_op sc_ops_math_where[] = {WHERE(9), WHERE(16), {.name = NULL}};
