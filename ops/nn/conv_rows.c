/* SPDX-License-Identifier: Apache-2.0
 * Conv by products of rows, for every type: a run of output positions becomes rows of their windows, which are
 * multiplied by the weights and turned into channels. A part is such a run of one group of one image, so that rooms
 * stay small. */
#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/conv_ways.h"
#include "ops/nn/norm.h"
#include "ops/room.h"

enum { RUN_ELEMENTS = 1 << 16 }; /* of the rows of one part */

/* The weights of one group as B[K, N]: K runs over channel and kernel, N over maps. */
static struct sc_gemm_b group_weights(const struct sc_tensor *w, int64_t groups, int64_t group)
{
    const int64_t K = sc_dims_product(w->dims, 1, w->rank);
    const int64_t N = w->dims[0] / groups;
    return (struct sc_gemm_b){.type = w->type,
        .K = K,
        .N = N,
        .data = w->data ? sc_const_at(w->data, group * N * K, sc_type_bytes(w->type)) : NULL,
        .row_stride = 1,
        .column_stride = K};
}

void sc_conv_rows_pack(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_tensor *w, int64_t groups, void *packed)
{
    for (int64_t g = 0; g < groups; g++) {
        const struct sc_gemm_b b = group_weights(w, groups, g);
        sc_gemm_pack(kernels, team, &b, (char *)packed + (size_t)g * sc_gemm_packed_bytes(b.type, b.K, b.N));
    }
}

struct rows {
    const struct sc_conv *conv;
    enum sc_product_way way;
    int64_t run, runs; /* output positions of one part; parts of an image */
    const char *packed;
    size_t packed_step, rows_bytes, result_bytes, product_bytes, weights_bytes; /* rooms */
};

static struct rows open_rows(const struct sc_conv *c)
{
    struct rows r = {.conv = c, .way = (enum sc_product_way)c->call->choice, .packed = c->call->packed};
    r.run = c->K > 0 && c->K < RUN_ELEMENTS / 16 ? RUN_ELEMENTS / c->K : 16;
    r.run = r.run < c->positions ? r.run : c->positions;
    r.runs = r.run > 0 ? sc_parts(c->positions, r.run) : 0;
    if (c->call->choice >= SC_PRODUCT_PLAIN) { /* chosen before the type or the dims were known */
        r.way = sc_product_choose(c->x->type, false, false, -1, -1);
    }
    const size_t bytes = sc_type_bytes(c->x->type);
    r.packed_step = sc_gemm_packed_bytes(c->x->type, c->K, c->maps);
    if (r.way == SC_PRODUCT_PACK) { /* packed once for all parts */
        r.way = SC_PRODUCT_PACKED;
        r.weights_bytes = sc_room_round((size_t)c->groups * r.packed_step);
        r.packed = c->call->scratch;
    }
    r.rows_bytes = sc_room_round((size_t)(r.run * c->K) * bytes);
    r.result_bytes = sc_room_round((size_t)(r.run * c->maps) * bytes);
    r.product_bytes = sc_room_round(sc_product_scratch_bytes(r.way, c->x->type, r.run, c->maps, c->K, 1));
    return r;
}

static size_t room_bytes(const struct rows *r)
{
    return r->rows_bytes + r->result_bytes + r->product_bytes + sc_room_round(2 * (size_t)r->run * sizeof(float));
}

size_t sc_conv_rows_scratch(const struct sc_conv *conv)
{
    const struct rows r = open_rows(conv);
    return r.weights_bytes + room_bytes(&r) * (size_t)sc_team_size(conv->call->team);
}

/* The window at one position of one channel, zeros where it leaves the input: kernel entries in row-major order. */
static void copy_window(const struct sc_conv *c, const char *plane, const int64_t *at, char *to, size_t bytes)
{
    const struct sc_window *w = &c->window;
    const int last = w->axes - 1;
    const int64_t start = at[last] * w->stride[last] - w->begin[last];
    int64_t first, end;
    sc_window_clip(w, last, start, &first, &end);
    int64_t k[SC_MAX_AXES] = {0};
    const int64_t row = w->kernel[last];
    const int64_t rows = sc_dims_product(w->kernel, 0, last);
    for (int64_t r = 0; r < rows; r++, to += (size_t)row * bytes) {
        int64_t offset = start + first * w->dilation[last];
        bool inside = first < end;
        for (int i = 0; i < last; i++) {
            const int64_t x = at[i] * w->stride[i] - w->begin[i] + k[i] * w->dilation[i];
            inside = inside && x >= 0 && x < w->in[i];
            offset += x * c->strides[i];
        }
        if (!inside) {
            memset(to, 0, (size_t)row * bytes);
        } else {
            memset(to, 0, (size_t)first * bytes);
            memset(to + (size_t)end * bytes, 0, (size_t)(row - end) * bytes);
            if (w->dilation[last] == 1) {
                memcpy(to + (size_t)first * bytes, plane + offset * (int64_t)bytes, (size_t)(end - first) * bytes);
            } else {
                for (int64_t i = first; i < end; i++, offset += w->dilation[last]) {
                    memcpy(to + (size_t)i * bytes, plane + offset * (int64_t)bytes, bytes);
                }
            }
        }
        for (int i = last - 1; i >= 0 && ++k[i] == w->kernel[i]; i--) {
            k[i] = 0;
        }
    }
}

/* Results [run, maps] become channels [maps, run], and take their bias. */
static void put_channels(
    const struct sc_conv *c, int64_t image, int64_t group, int64_t first, int64_t n, const void *result, float *room)
{
    const struct sc_kernels *k = c->call->kernels;
    const enum sc_type type = c->x->type;
    const size_t bytes = sc_type_bytes(type);
    struct sc_move move = {.bytes = bytes,
        .to = sc_at(c->y->data, ((image * c->groups + group) * c->maps) * c->positions + first, bytes),
        .from = result};
    sc_move_axis(&move, c->maps, c->positions, 1);
    sc_move_axis(&move, n, 1, c->maps);
    sc_move_run(&move, NULL);
    for (int64_t m = 0; c->bias && m < c->maps; m++) {
        const void *b = sc_const_at(c->bias->data, group * c->maps + m, bytes);
        void *y = sc_at(move.to, m * c->positions, bytes);
        if (type == SC_F64) {
            for (int64_t i = 0; i < n; i++) {
                ((double *)y)[i] += *(const double *)b;
            }
            continue;
        }
        float narrow;
        const float *bias = sc_norm_widen(k, type, b, &narrow, 1);
        const float *wide = sc_norm_widen(k, type, y, room, n);
        float *sum = type == SC_F32 ? y : room;
        k->binary[SC_BINARY_add](wide, 1, bias, 0, sum, n);
        sc_norm_narrow(k, type, sum, y, n);
    }
}

static void conv_part(void *arg, int64_t part, int worker)
{
    const struct rows *r = arg;
    const struct sc_conv *c = r->conv;
    const size_t bytes = sc_type_bytes(c->x->type);
    char *rows = (char *)c->call->scratch + r->weights_bytes + (size_t)worker * room_bytes(r);
    char *result = rows + r->rows_bytes;
    char *product_room = result + r->result_bytes;
    float *room = (float *)(void *)(product_room + r->product_bytes);
    const int64_t first = part % r->runs * r->run;
    const int64_t n = c->positions - first < r->run ? c->positions - first : r->run;
    const int64_t group = part / r->runs % c->groups;
    const int64_t image = part / r->runs / c->groups;
    const int64_t window = c->K / (c->channels > 0 ? c->channels : 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t at[SC_MAX_AXES];
        int64_t rest = first + i;
        for (int d = c->window.axes - 1; d >= 0; d--) {
            at[d] = rest % c->window.out[d];
            rest /= c->window.out[d];
        }
        for (int64_t ch = 0; ch < c->channels; ch++) {
            const int64_t plane = (image * c->groups + group) * c->channels + ch;
            copy_window(c, sc_const_at(c->x->data, plane * c->in_count, bytes), at,
                rows + (size_t)(i * c->K + ch * window) * bytes, bytes);
        }
    }
    const struct sc_gemm_b b = group_weights(c->w, c->groups, group);
    const struct sc_product product = {.way = r->way,
        .type = c->x->type,
        .M = n,
        .N = c->maps,
        .K = c->K,
        .a = rows,
        .a_stride = c->K,
        .b = b.data,
        .b_row_stride = b.row_stride,
        .b_column_stride = b.column_stride,
        .packed = r->packed ? r->packed + (size_t)group * r->packed_step : NULL,
        .c = result};
    sc_product_run(&product, c->call->kernels, NULL, product_room);
    put_channels(c, image, group, first, n, result, room);
}

void sc_conv_rows_run(const struct sc_conv *conv)
{
    struct rows r = open_rows(conv);
    const struct sc_call *call = conv->call;
    if (r.weights_bytes > 0) {
        sc_conv_rows_pack(call->kernels, call->team, conv->w, conv->groups, call->scratch);
    }
    sc_team_for(call->team, conv->x->dims[0] * conv->groups * r.runs, conv_part, &r);
}
