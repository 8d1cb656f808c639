/* SPDX-License-Identifier: Apache-2.0
 * A part widens sixty-four columns of an expert's matrix and multiplies all rows by them, one chain over k each. */
#include "ops/ms/qmoe_whole.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { PANEL = 16, COLUMNS = 64, RUN = 64 };

static const char *const names[SC_MOE_LAYERS] = {"fc1", "fc2", "fc3"};

enum sc_status sc_qmoe_whole_params(
    const struct sc_graph *graph, const struct sc_node *node, const char *quant_type, struct sc_moe_params *p)
{
    p->floats = strcmp(quant_type, "fp8") == 0;
    if (!p->floats && strcmp(quant_type, "int") != 0) {
        return sc_node_fail(
            graph, node, SC_UNSUPPORTED, "quant_type '%s' is not supported, only 'int' and 'fp8'", quant_type);
    }
    p->whole = p->floats;
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const bool three = !p->floats && p->bits[layer] == 3;
        p->bits[layer] = p->floats ? 8 : p->bits[layer];
        p->whole |= three;
        if (three && p->block != 32 && p->block != 64 && p->block != 128) {
            return sc_node_fail(graph, node, SC_BAD_MODEL,
                "block_size is %lld for experts of 3 bits, want 32, 64 or 128", (long long)p->block);
        }
    }
    return SC_OK;
}

static int64_t blocks_of(int64_t n, int64_t block)
{
    return n >= 0 ? sc_parts(n, block) : SC_DIM_UNKNOWN;
}

/* Square blocks of weights have a scale each; without blocks an expert's layer has one. */
static enum sc_status check_floats(
    const struct sc_infer *infer, const struct sc_moe_ports *at, const struct sc_moe_sizes *s, int layer)
{
    const struct sc_moe_params *p = infer->params;
    const int64_t N = s->N[layer], K = s->K[layer];
    const bool square = p->block > 0;
    const int scale = square ? at->scales : layer == SC_MOE_FC3 ? -1 : SC_QMOE_GLOBAL_SCALE + layer;
    const struct sc_fact *given = scale < 0 ? NULL : sc_infer_in(infer, scale);
    if (!given || sc_infer_in(infer, at->zeros) || (!square && sc_infer_in(infer, at->scales)) ||
        (square && layer < SC_MOE_FC3 && sc_infer_in(infer, SC_QMOE_GLOBAL_SCALE + layer))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL,
            "experts of float8e4m3fn have %s_%s, and no zero points or other scales", names[layer],
            square ? "scales" : "global_scale");
    }
    if (infer->in[at->weights]->type != SC_F8E4M3FN || (given->type != SC_F32 && sc_type_bytes(given->type) != 2)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has weights of %s and scales of %s",
            names[layer], sc_type_name(infer->in[at->weights]->type), sc_type_name(given->type));
    }
    const int64_t weights[3] = {s->experts, N, K};
    const int64_t scales[3] = {s->experts, square ? blocks_of(N, p->block) : 0, square ? blocks_of(K, p->block) : 0};
    SC_TRY(sc_infer_want(infer, at->weights, "weights of float8e4m3fn", 3, weights));
    return sc_infer_want(infer, scale, "scales of float8e4m3fn", square ? 3 : 1, scales);
}

enum sc_status sc_qmoe_whole_check(
    const struct sc_infer *infer, const struct sc_moe_kind *kind, const struct sc_moe_sizes *s, int layer)
{
    const struct sc_moe_ports *at = &kind->ports[layer];
    const bool stray = at->scales >= 0 && sc_infer_in(infer, at->scales) && !s->has[layer];
    if (stray) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s_scales without weights", names[layer]);
    }
    return s->has[layer] ? check_floats(infer, at, s, layer) : SC_OK;
}

/* An expert's matrix: row n has K codes. */
struct matrix {
    const struct sc_moe_params *p;
    int64_t N, K, bits;
    const uint8_t *codes;
    size_t row_bytes;
    const struct sc_tensor *scales, *zeros;
    int64_t first_scale; /* the expert's */
    int64_t expert;
};

static struct matrix open_matrix(const struct sc_qmoe_whole *w, int64_t expert, int layer)
{
    const struct sc_moe_params *p = w->moe->params;
    const struct sc_moe_sizes *s = &w->moe->sizes;
    const struct sc_moe_ports *at = &w->kind->ports[layer];
    struct matrix m = {.p = p, .N = s->N[layer], .K = s->K[layer], .bits = p->bits[layer], .expert = expert};
    const bool global = p->floats && p->block == 0;
    m.row_bytes = (size_t)(m.K * m.bits / 8);
    m.codes = (const uint8_t *)sc_call_in(w->call, at->weights)->data + (size_t)(expert * m.N) * m.row_bytes;
    m.scales = sc_call_in(w->call, global ? SC_QMOE_GLOBAL_SCALE + layer : at->scales);
    m.zeros = sc_call_in(w->call, at->zeros);
    m.first_scale = expert * sc_dims_product(m.scales->dims, 1, m.scales->rank);
    return m;
}

static int code_at(const uint8_t *codes, int64_t bits, int64_t i)
{
    const int64_t bit = i * bits, shift = bit % 8;
    const int next = shift + bits > 8 ? codes[bit / 8 + 1] << (8 - shift) : 0;
    return (codes[bit / 8] >> shift | next) & ((1 << bits) - 1);
}

static float zero_of(const struct matrix *m, int64_t n, int64_t block)
{
    if (!m->zeros) {
        return (float)(1 << (m->bits - 1));
    }
    const bool by_row = m->p->block == 0; /* a row of all columns' */
    const int64_t row = m->zeros->dims[m->zeros->rank - 1];
    const uint8_t *codes = (const uint8_t *)m->zeros->data + (by_row ? m->expert : m->expert * m->N + n) * row;
    return (float)code_at(codes, m->bits, by_row ? n : block);
}

/* Codes [k, k + count) of row n as floats. Of square blocks, rows have a scale together. */
static void widen_run(const struct matrix *m, int64_t n, int64_t k, int64_t count, float *to)
{
    const int64_t block = m->p->block > 0 ? k / m->p->block : 0,
                  blocks = m->p->block > 0 ? sc_parts(m->K, m->p->block) : 1;
    const int64_t row = !m->p->floats ? n : m->p->block > 0 ? n / m->p->block : 0;
    const float scale = (float)sc_number_at(m->scales, m->first_scale + row * blocks + block);
    const uint8_t *codes = m->codes + (size_t)n * m->row_bytes;
    if (m->p->floats) {
        sc_convert(SC_F8E4M3FN, codes + k, SC_F32, to, count, 0);
        for (int64_t i = 0; i < count; i++) {
            to[i] *= scale;
        }
        return;
    }
    const float zero = zero_of(m, n, block);
    for (int64_t i = 0; i < count; i++) {
        to[i] = ((float)code_at(codes, m->bits, k + i) - zero) * scale;
    }
}

struct job {
    const struct sc_qmoe_whole *whole;
    struct matrix matrix;
    int64_t M;
    const float *a;
    float *c;
    size_t worker_bytes;
};

static size_t wide_bytes(int64_t K)
{
    return sc_room_round((size_t)(K * COLUMNS) * sizeof(float));
}

static size_t worker_bytes(int64_t K, int64_t M)
{
    return wide_bytes(K) + sc_room_round((size_t)(M * COLUMNS) * sizeof(float));
}

size_t sc_qmoe_whole_scratch(const struct sc_moe *moe, int n_workers)
{
    const struct sc_moe_sizes *s = &moe->sizes;
    const int64_t K = s->hidden > s->inter ? s->hidden : s->inter;
    return worker_bytes(K, s->rows) * (size_t)n_workers;
}

static void columns_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct matrix *m = &job->matrix;
    const int64_t first = part * COLUMNS, n = m->N - first < COLUMNS ? m->N - first : COLUMNS, K = m->K;
    char *room = (char *)job->whole->call->scratch + (size_t)worker * job->worker_bytes;
    float *wide = (float *)(void *)room, *c = (float *)(void *)(room + wide_bytes(K)), run[RUN];
    memset(wide, 0, (size_t)(sc_parts(n, PANEL) * PANEL * K) * sizeof(float));
    for (int64_t j = 0; j < n; j++) {
        float *column = wide + j / PANEL * PANEL * K + j % PANEL;
        const int64_t step = m->p->block > 0 && m->p->block < RUN ? m->p->block : RUN; /* in one block each */
        for (int64_t k = 0; k < K; k += step) {
            const int64_t count = K - k < step ? K - k : step;
            widen_run(m, first + j, k, count, run);
            for (int64_t i = 0; i < count; i++) {
                column[(k + i) * PANEL] = run[i];
            }
        }
    }
    const struct sc_gemm_tile tile = {.m = job->M,
        .k = K,
        .panels = sc_parts(n, PANEL),
        .a = job->a,
        .a_stride = K,
        .b = wide,
        .panel_stride = PANEL * K,
        .c = c,
        .c_stride = COLUMNS,
        .n = n};
    job->whole->call->kernels->gemm_tile(&tile);
    for (int64_t r = 0; r < job->M; r++) {
        memcpy(job->c + r * m->N + first, c + r * COLUMNS, (size_t)n * sizeof(float));
    }
}

void sc_qmoe_whole_multiply(void *arg, int64_t expert, enum sc_moe_layer layer, int64_t M, const float *a, float *c)
{
    const struct sc_qmoe_whole *whole = arg;
    struct job job = {.whole = whole, .matrix = open_matrix(whole, expert, (int)layer), .M = M, .a = a, .c = c};
    job.worker_bytes = worker_bytes(job.matrix.K, M);
    sc_team_for(whole->call->team, sc_parts(job.matrix.N, COLUMNS), columns_part, &job);
}
