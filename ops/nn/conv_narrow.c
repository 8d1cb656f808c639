/* SPDX-License-Identifier: Apache-2.0
 * Conv of f16 and bf16: pictures are widened, run as f32, and each result, with its bias, is rounded once. Constant
 * weights are widened when they are loaded. */
#include <string.h>

#include "ops/nn/conv_ways.h"
#include "ops/room.h"

enum { PART = 1 << 14 }; /* elements */

struct move {
    const struct sc_kernels *kernels;
    enum sc_type type;
    void *narrow;
    float *wide;
    int64_t count;
};

static void widen_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct move *m = arg;
    const int64_t first = part * PART, n = m->count - first < PART ? m->count - first : PART;
    (m->type == SC_F16 ? m->kernels->f16_to_f32 : m->kernels->bf16_to_f32)(
        (const uint16_t *)m->narrow + first, m->wide + first, n);
}

static void narrow_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct move *m = arg;
    const int64_t first = part * PART, n = m->count - first < PART ? m->count - first : PART;
    (m->type == SC_F16 ? m->kernels->f32_to_f16 : m->kernels->f32_to_bf16)(
        m->wide + first, (uint16_t *)m->narrow + first, n);
}

static void move_all(
    const struct sc_call *call, const struct sc_tensor *narrow, const struct sc_tensor *wide, bool widen)
{
    struct move m = {call->kernels, narrow->type, narrow->data, wide->data, sc_tensor_count(narrow)};
    sc_team_for(call->team, sc_parts(m.count, PART), widen ? widen_part : narrow_part, &m);
}

void sc_conv_narrow_pack(const struct sc_pack *pack)
{
    struct move m = {
        pack->prepare->kernels, pack->weight->type, pack->weight->data, pack->packed, sc_tensor_count(pack->weight)};
    sc_team_for(pack->team, sc_parts(m.count, PART), widen_part, &m);
}

/* A value like that of a port, as f32, in the next piece of the scratch, or where its content is already. */
static void take(struct sc_conv_narrow *n, struct sc_value *value, const struct sc_tensor *like, const void *content)
{
    value->kind = SC_KIND_TENSOR;
    sc_tensor_init(&value->u.tensor, SC_F32, like->rank, like->dims);
    memcpy(&value->u.tensor.data, &content, sizeof(content)); /* which is only read */
    if (!content) {
        value->u.tensor.data = n->given->scratch ? (char *)n->given->scratch + n->bytes : NULL;
        n->bytes += sc_room_round(sc_tensor_bytes(&value->u.tensor));
    }
}

void sc_conv_narrow_open(const struct sc_call *call, struct sc_conv_narrow *n)
{
    const struct sc_tensor *bias = sc_call_in(call, 2);
    *n = (struct sc_conv_narrow){.given = call, .call = *call};
    take(n, &n->x, sc_call_in(call, 0), NULL);
    take(n, &n->w, sc_call_in(call, 1), call->packed);
    if (bias) {
        take(n, &n->bias, bias, NULL);
    }
    take(n, &n->y, sc_call_out(call, 0), NULL);
    n->in[0] = &n->x;
    n->in[1] = &n->w;
    n->in[2] = bias ? &n->bias : NULL;
    n->out[0] = &n->y;
    n->call.in = n->in;
    n->call.n_in = 3;
    n->call.out = n->out;
    n->call.n_out = 1;
    n->call.packed = NULL;
    n->call.scratch = call->scratch ? (char *)call->scratch + n->bytes : NULL;
}

void sc_conv_narrow_widen(const struct sc_conv_narrow *n)
{
    for (int i = 0; i < 3; i++) {
        if (n->in[i] && !(i == 1 && n->given->packed)) {
            move_all(n->given, sc_call_in(n->given, i), &n->in[i]->u.tensor, true);
        }
    }
}

void sc_conv_narrow_put(const struct sc_conv_narrow *n)
{
    move_all(n->given, sc_call_out(n->given, 0), &n->y.u.tensor, false);
}
