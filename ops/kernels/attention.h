/* SPDX-License-Identifier: Apache-2.0
 * Attention over state views: the one routine behind every attention operator. */
#ifndef SC_OPS_KERNELS_ATTENTION_H
#define SC_OPS_KERNELS_ATTENTION_H

#include <math.h>

#include "base/team.h"
#include "ops/kernels/cache_codes.h"
#include "tensor/value.h"

/* What to copy to qk_out, in the order of Attention-23's qk_matmul_output_mode (errata of 2026). */
enum sc_attention_tap { SC_TAP_SCORES, SC_TAP_SOFTCAP, SC_TAP_BIAS, SC_TAP_SOFTMAX, SC_TAP_NONE };

/* For batch row b, head h and query i at absolute position offset[b] + i (offset may be negative):
 *   s[j] = scale * q·k[j]
 *   s[j] = softcap * tanh(s[j] / softcap)                 softcap > 0
 *   s[j] += what the distance j - position adds, then bias[j]
 *   y = sum of softmax(s)[j] v[j] over the keys j < length of the row's view that are visible:
 *       j <= position                                     causal
 *       j >= position - left_window                       left_window >= 0
 *       j <= position + right_window                      right_window >= 0
 * Invisible keys add exact zeros; a row that sees no key is all zero. A result depends on that row's query and its
 * visible keys alone: not on other rows, on length past the visible ones, or on threads.
 * Source: ONNX Attention-23 to -25. */
struct sc_attention {
    enum sc_type type; /* of q, y and the keys: F32, F16, BF16 or F64 */
    enum sc_type v_type; /* of the values, likewise. With an F64 of the two all is computed in F64, else in F32 */
    int64_t batch, q_heads, kv_heads, n_q, qk_width, v_width;
    const void *q; /* element (b, h, i, d) at q_strides */
    int64_t q_strides[4];
    const struct sc_state_view *keys, *values; /* one per batch row */
    const struct sc_cache_codes *k_codes, *v_codes; /* what views hold in place of numbers; NULL: numbers */
    const int64_t *offset; /* one per batch row */
    double scale, softcap;
    const float *slopes; /* per query head: s[j] += slope * (j - position); NULL: none */
    const void *distances; /* s[j] += element (h, j - position + before), the first or last one where that is outside of
                              the n_distances there are. Of `type`, heads distance_stride apart; NULL: none */
    int64_t n_distances, before, distance_stride;
    const float *sink; /* per query head: one more score, of a key whose value is 0; NULL: none */
    bool causal;
    int64_t left_window, right_window; /* -1: none */
    const void *bias; /* NULL: none. Of `type`, or bool when bias_is_mask; element (b, h, i, j) at bias_strides (0:
                         broadcast) */
    bool bias_is_mask;
    int64_t bias_strides[4];
    int64_t bias_length; /* keys past it are masked out */
    void *y; /* element (b, h, i, d) at y_strides; y_strides[3] == 1 */
    int64_t y_strides[4];
    enum sc_attention_tap tap;
    void *qk_out; /* dense [batch, q_heads, n_q, qk_length] of `type` when tap != NONE */
    int64_t qk_length;
};

/* The attribute of every attention operator, 0 where it is not given. */
static inline double sc_attention_scale(float attribute, int64_t width)
{
    return attribute != 0.0F ? (double)attribute : 1.0 / sqrt((double)width);
}

size_t sc_attention_scratch_bytes(const struct sc_attention *attention, int64_t max_length, int n_workers);
void sc_attention_run(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_attention *attention, void *scratch);

#endif
