/* SPDX-License-Identifier: Apache-2.0
 * Attention in double precision: one query row after the other, every sum in order of its index. */
#include <math.h>

#include "ops/kernels/attention_rows.h"
#include "tensor/convert.h"

/* A window reaches no further than this, so that positions do not overflow. */
#define FAR ((int64_t)1 << 40)

struct sc_key_range sc_attention_visible(const struct sc_attention *a, int64_t batch, int64_t query)
{
    const int64_t position = a->offset[batch] + query;
    struct sc_key_range range = {0, a->keys[batch].length};
    if (a->causal && range.to > position + 1) {
        range.to = position + 1;
    }
    if (a->right_window >= 0 && a->right_window < FAR && range.to > position + a->right_window + 1) {
        range.to = position + a->right_window + 1;
    }
    if (a->bias != NULL && range.to > a->bias_length) {
        range.to = a->bias_length;
    }
    if (a->left_window >= 0 && a->left_window < FAR && position - a->left_window > 0) {
        range.from = position - a->left_window;
    }
    return range;
}

static double number_at(enum sc_type type, const void *data, int64_t at)
{
    double number = 0;
    if (type == SC_F64) {
        return ((const double *)data)[at];
    }
    sc_convert(type, (const char *)data + at * (int64_t)sc_type_bytes(type), SC_F64, &number, 1, 0);
    return number;
}

static void put_number(enum sc_type type, double number, void *data, int64_t at)
{
    sc_convert(SC_F64, &number, type, (char *)data + at * (int64_t)sc_type_bytes(type), 1, 0);
}

/* Where a row of a view begins: in which page, and at which of its elements. */
static int64_t row_at(const struct sc_state_view *view, int64_t head, int64_t position)
{
    return head * view->head_stride + position % SC_PAGE_ROWS * view->row_stride;
}

struct f64_job {
    const struct sc_attention *attention;
    double *scratch;
    int64_t row; /* elements of scratch per worker */
};

/* Copies the row of scores to qk_out when it is the one asked for; `rest` stands for keys that the view does not
 * have. */
static void tap(const struct sc_attention *a, enum sc_attention_tap which, int64_t row, const double *s, int64_t n)
{
    const double rest = which == SC_TAP_BIAS ? -INFINITY : 0;
    for (int64_t j = 0; a->tap == which && j < a->qk_length; j++) {
        put_number(a->type, j < n ? s[j] : rest, a->qk_out, row * a->qk_length + j);
    }
}

/* What is added for how far a key is from the query. */
static double by_distance(const struct sc_attention *a, int64_t head, int64_t distance)
{
    const double sloped = a->slopes ? (double)a->slopes[head] * (double)distance : 0;
    if (!a->distances) {
        return sloped;
    }
    int64_t at = distance + a->before;
    at = at < 0 ? 0 : at >= a->n_distances ? a->n_distances - 1 : at;
    return sloped + number_at(a->type, a->distances, head * a->distance_stride + at);
}

/* s[j] for all keys: scaled, capped, with bias; -inf where not visible. */
static void scores(const struct sc_attention *a, int64_t b, int64_t h, int64_t i, double *s)
{
    const struct sc_state_view *keys = &a->keys[b];
    const int64_t q = sc_attention_at(a->q_strides, b, h, i), row = (b * a->q_heads + h) * a->n_q + i;
    const int64_t n = keys->length, kv_head = h / (a->q_heads / a->kv_heads);
    for (int64_t j = 0; j < n; j++) {
        const void *page = keys->pages[j / SC_PAGE_ROWS];
        const int64_t k = row_at(keys, kv_head, j);
        double sum = 0;
        for (int64_t d = 0; d < a->qk_width; d++) {
            sum += number_at(a->type, a->q, q + d * a->q_strides[3]) *
                number_at(a->type, page, k + d * keys->column_stride);
        }
        s[j] = a->scale * sum;
    }
    tap(a, SC_TAP_SCORES, row, s, n);
    for (int64_t j = 0; a->softcap > 0 && j < n; j++) {
        s[j] = a->softcap * tanh(s[j] / a->softcap);
    }
    tap(a, SC_TAP_SOFTCAP, row, s, n);
    const struct sc_key_range visible = sc_attention_visible(a, b, i);
    const int64_t at = sc_attention_at(a->bias_strides, b, h, i);
    const int64_t position = a->offset[b] + i;
    for (int64_t j = 0; j < n; j++) {
        s[j] += by_distance(a, h, j - position);
        const int64_t where = at + j * a->bias_strides[3];
        if (j < visible.from || j >= visible.to) {
            s[j] = -INFINITY;
        } else if (a->bias != NULL && a->bias_is_mask) {
            s[j] = ((const uint8_t *)a->bias)[where] != 0 ? s[j] : -INFINITY;
        } else if (a->bias != NULL) {
            s[j] += number_at(a->type, a->bias, where);
        }
    }
    tap(a, SC_TAP_BIAS, row, s, n);
}

/* s becomes the weights, which add up to the returned sum; 0 when no key is visible. */
static double softmax(double *s, struct sc_key_range visible, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t j = visible.from; j < visible.to; j++) {
        most = s[j] > most || isnan(s[j]) ? s[j] : most;
    }
    for (int64_t j = 0; j < n; j++) {
        s[j] = j < visible.from || j >= visible.to || most == -INFINITY ? 0 : exp(s[j] - most);
        sum += s[j];
    }
    return sum;
}

static void f64_part(void *arg, int64_t part, int worker)
{
    const struct f64_job *job = arg;
    const struct sc_attention *a = job->attention;
    const int64_t i = part % a->n_q, h = part / a->n_q % a->q_heads, b = part / a->n_q / a->q_heads;
    const struct sc_state_view *values = &a->values[b];
    const int64_t n = a->keys[b].length, kv_head = h / (a->q_heads / a->kv_heads);
    double *y = job->scratch + worker * job->row, *s = y + a->v_width;
    scores(a, b, h, i, s);
    const struct sc_key_range visible = sc_attention_visible(a, b, i);
    const double sum = softmax(s, visible, n);
    const bool nothing = sum == 0;
    for (int64_t d = 0; d < a->v_width; d++) {
        y[d] = 0;
    }
    for (int64_t j = visible.from; !nothing && j < visible.to; j++) {
        const void *page = values->pages[j / SC_PAGE_ROWS];
        const int64_t v = row_at(values, kv_head, j);
        for (int64_t d = 0; d < a->v_width; d++) {
            y[d] += s[j] * number_at(a->v_type, page, v + d * values->column_stride);
        }
    }
    for (int64_t d = 0; d < a->v_width; d++) {
        const int64_t at = sc_attention_at(a->y_strides, b, h, i) + d;
        put_number(a->type, nothing ? 0 : y[d] / sum, a->y, at);
    }
    for (int64_t j = 0; !nothing && j < n; j++) {
        s[j] /= sum;
    }
    tap(a, SC_TAP_SOFTMAX, part, s, n);
}

size_t sc_attention_f64_scratch_bytes(const struct sc_attention *attention, int64_t max_length, int n_workers)
{
    return (size_t)(max_length + attention->v_width) * sizeof(double) * (size_t)n_workers;
}

void sc_attention_f64_run(struct sc_team *team, const struct sc_attention *attention, void *scratch)
{
    struct f64_job job = {attention, scratch, 0};
    for (int64_t b = 0; b < attention->batch; b++) {
        job.row = attention->keys[b].length > job.row ? attention->keys[b].length : job.row;
    }
    job.row += attention->v_width;
    sc_team_for(team, attention->batch * attention->q_heads * attention->n_q, f64_part, &job);
}
