/* SPDX-License-Identifier: Apache-2.0
 * Attention in double precision: one query row after the other, every sum in order of its index. */
#include <math.h>

#include "ops/kernels/attention_rows.h"

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

static const double *view_row(const struct sc_state_view *view, int64_t head, int64_t position)
{
    const double *page = view->pages[position / SC_PAGE_ROWS];
    return page + head * view->head_stride + position % SC_PAGE_ROWS * view->row_stride;
}

struct f64_job {
    const struct sc_attention *attention;
    double *scratch;
    int64_t row; /* elements of scratch per worker */
};

static double *tap_row(const struct sc_attention *a, int64_t b, int64_t h, int64_t i)
{
    return (double *)a->qk_out + ((b * a->q_heads + h) * a->n_q + i) * a->qk_length;
}

static void tap(const struct sc_attention *a, double *out, const double *s, int64_t n, double rest)
{
    for (int64_t j = 0; j < a->qk_length; j++) {
        out[j] = j < n ? s[j] : rest;
    }
}

/* s[j] for all keys: scaled, capped, with bias; -inf where not visible. */
static void scores(const struct sc_attention *a, int64_t b, int64_t h, int64_t i, double *s)
{
    const struct sc_state_view *keys = &a->keys[b];
    const double *q = (const double *)a->q + sc_attention_at(a->q_strides, b, h, i);
    const int64_t n = keys->length, kv_head = h / (a->q_heads / a->kv_heads);
    for (int64_t j = 0; j < n; j++) {
        const double *k = view_row(keys, kv_head, j);
        double sum = 0;
        for (int64_t d = 0; d < a->qk_width; d++) {
            sum += q[d * a->q_strides[3]] * k[d * keys->column_stride];
        }
        s[j] = a->scale * sum;
    }
    if (a->tap == SC_TAP_SCORES) {
        tap(a, tap_row(a, b, h, i), s, n, 0);
    }
    for (int64_t j = 0; a->softcap > 0 && j < n; j++) {
        s[j] = a->softcap * tanh(s[j] / a->softcap);
    }
    if (a->tap == SC_TAP_SOFTCAP) {
        tap(a, tap_row(a, b, h, i), s, n, 0);
    }
    const struct sc_key_range visible = sc_attention_visible(a, b, i);
    const int64_t at = sc_attention_at(a->bias_strides, b, h, i);
    for (int64_t j = 0; j < n; j++) {
        const int64_t where = at + j * a->bias_strides[3];
        if (j < visible.from || j >= visible.to) {
            s[j] = -INFINITY;
        } else if (a->bias != NULL && a->bias_is_mask) {
            s[j] = ((const uint8_t *)a->bias)[where] != 0 ? s[j] : -INFINITY;
        } else if (a->bias != NULL) {
            s[j] += ((const double *)a->bias)[where];
        }
    }
    if (a->tap == SC_TAP_BIAS) {
        tap(a, tap_row(a, b, h, i), s, n, -INFINITY);
    }
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
    double *s = job->scratch + worker * job->row;
    double *y = (double *)a->y + sc_attention_at(a->y_strides, b, h, i);
    scores(a, b, h, i, s);
    const struct sc_key_range visible = sc_attention_visible(a, b, i);
    const double sum = softmax(s, visible, n);
    const bool nothing = sum == 0;
    for (int64_t d = 0; d < a->v_width; d++) {
        y[d] = 0;
    }
    for (int64_t j = visible.from; !nothing && j < visible.to; j++) {
        const double *v = view_row(values, kv_head, j);
        for (int64_t d = 0; d < a->v_width; d++) {
            y[d] += s[j] * v[d * values->column_stride];
        }
    }
    for (int64_t d = 0; !nothing && d < a->v_width; d++) {
        y[d] /= sum;
    }
    if (a->tap == SC_TAP_SOFTMAX) {
        for (int64_t j = 0; !nothing && j < n; j++) {
            s[j] /= sum;
        }
        tap(a, tap_row(a, b, h, i), s, n, 0);
    }
}

size_t sc_attention_f64_scratch_bytes(const struct sc_attention *attention, int64_t max_length, int n_workers)
{
    (void)attention;
    return (size_t)max_length * sizeof(double) * (size_t)n_workers;
}

void sc_attention_f64_run(struct sc_team *team, const struct sc_attention *attention, void *scratch)
{
    struct f64_job job = {attention, scratch, 0};
    for (int64_t b = 0; b < attention->batch; b++) {
        job.row = attention->keys[b].length > job.row ? attention->keys[b].length : job.row;
    }
    sc_team_for(team, attention->batch * attention->q_heads * attention->n_q, f64_part, &job);
}
