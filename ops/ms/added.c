/* SPDX-License-Identifier: Apache-2.0
 * The sum is as broad as the two are. */
#include "ops/ms/added.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum mask_form { NO_FORM, LENGTHS, RANGES, FLAGS, EACH, ALL_POSITIONS };

static enum mask_form form_of(const struct sc_added *a)
{
    const struct sc_tensor *m = a->mask;
    const int64_t *d = m->dims;
    if (m->rank == 1) {
        return d[0] == a->batch || d[0] == 3 * a->batch + 2 ? LENGTHS : d[0] == 2 * a->batch ? RANGES : NO_FORM;
    }
    if (m->rank < 1 || d[0] != a->batch) {
        return NO_FORM;
    }
    if (m->rank == 2) {
        return d[1] == a->total ? FLAGS : NO_FORM;
    }
    if (m->rank == 3) {
        return d[1] == a->n && d[2] == a->total ? EACH : NO_FORM;
    }
    const bool all = m->rank == 4 && d[1] == 1 && d[2] == d[3] && d[2] >= a->total && d[2] >= a->past + a->n;
    return all ? ALL_POSITIONS : NO_FORM;
}

static enum sc_status check_bias(const struct sc_call *call, const struct sc_added *a)
{
    const struct sc_tensor *b = a->bias;
    const bool fits = b->rank == 4 && (b->dims[0] == 1 || b->dims[0] == a->batch) && b->dims[2] == a->n;
    return fits && b->dims[3] == a->total
        ? SC_OK
        : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "attention_bias has %lld keys, there are %lld",
              (long long)(b->rank == 4 ? b->dims[3] : -1), (long long)a->total);
}

enum sc_status sc_added_check(const struct sc_call *call, const struct sc_added *a, const char *name)
{
    if (a->bias) {
        SC_TRY(check_bias(call, a));
    }
    if (!a->mask) {
        return SC_OK;
    }
    const enum mask_form form = form_of(a);
    if (form == NO_FORM) {
        char text[128];
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "%s is %s, the batch %lld, with %lld queries and %lld keys", name,
            sc_dims_text(a->mask->rank, a->mask->dims, text, sizeof text), (long long)a->batch, (long long)a->n,
            (long long)a->total);
    }
    const int64_t ends = form == LENGTHS ? a->batch : form == RANGES ? 2 * a->batch : 0;
    for (int64_t i = 0; i < ends; i++) {
        const int64_t n = sc_index_at(a->mask, i);
        if (n < 0 || n > a->total) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "%s is %lld of %lld keys", name, (long long)n,
                (long long)a->total);
        }
    }
    return SC_OK;
}

/* Whether the mask lets query i of batch row b see key j. */
static bool lets(const struct sc_added *a, enum mask_form form, int64_t b, int64_t i, int64_t j)
{
    const struct sc_tensor *m = a->mask;
    switch (form) {
    case LENGTHS:
        return j < sc_index_at(m, b);
    case RANGES:
        return j < sc_index_at(m, b) && j >= sc_index_at(m, a->batch + b);
    case FLAGS:
        return sc_index_at(m, b * a->total + j) != 0;
    case EACH:
        return sc_index_at(m, (b * a->n + i) * a->total + j) != 0;
    default:
        return sc_index_at(m, (b * m->dims[2] + a->past + i) * m->dims[2] + j) != 0;
    }
}

struct size {
    int64_t heads, queries;
};

/* Before the dims of a mask are known to fit. */
static struct size size_of(const struct sc_added *a)
{
    const bool each = a->bias || (a->mask && a->mask->rank > 2);
    return (struct size){a->bias && a->bias->rank == 4 ? a->bias->dims[1] : 1, each ? a->n : 1};
}

static size_t row_bytes(const struct sc_added *a)
{
    return sc_room_round((size_t)a->total * sizeof(float));
}

size_t sc_added_bytes(const struct sc_added *a)
{
    const struct size size = size_of(a);
    return a->mask ? row_bytes(a) + (size_t)(a->batch * size.heads * size.queries * a->total) * sc_type_bytes(a->type)
                   : 0;
}

static void add_mask(const struct sc_added *a, float *row, void *to, struct sc_attention *attention)
{
    const struct size size = size_of(a);
    const enum mask_form form = form_of(a);
    const size_t bytes = sc_type_bytes(a->type);
    for (int64_t k = 0; k < a->batch * size.heads * size.queries; k++) {
        const int64_t i = k % size.queries, h = k / size.queries % size.heads, b = k / size.queries / size.heads;
        memset(row, 0, (size_t)a->total * sizeof(float));
        if (attention->bias) {
            const int64_t *strides = attention->bias_strides;
            const int64_t at = b * strides[0] + h * strides[1] + i * strides[2];
            sc_convert(a->type, sc_const_at(attention->bias, at, bytes), SC_F32, row, a->total, 0);
        }
        for (int64_t j = 0; j < a->total; j++) {
            row[j] += lets(a, form, b, i, j) ? 0 : a->hidden;
        }
        sc_convert(SC_F32, row, a->type, sc_at(to, k * a->total, bytes), a->total, 0);
    }
    attention->bias = to;
    attention->bias_strides[0] = size.heads * size.queries * a->total;
    attention->bias_strides[1] = size.heads > 1 ? size.queries * a->total : 0;
    attention->bias_strides[2] = size.queries > 1 ? a->total : 0;
    attention->bias_strides[3] = 1;
}

void sc_added_set(const struct sc_added *a, void *room, struct sc_attention *attention)
{
    if (a->bias) {
        attention->bias = a->bias->data;
        for (int i = 0; i < 4; i++) {
            attention->bias_strides[i] = a->bias->dims[i] == 1 && i < 2 ? 0 : a->bias->strides[i];
        }
    }
    if (a->mask) {
        add_mask(a, room, (char *)room + row_bytes(a), attention);
    }
    attention->bias_length = a->bias || a->mask ? a->total : 0;
}
