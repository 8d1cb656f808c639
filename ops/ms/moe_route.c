/* SPDX-License-Identifier: Apache-2.0
 * The k best experts of every row, and the rows of every expert. Of equal scores the lower expert is first, as in
 * TopK. */
#include <math.h>
#include <string.h>

#include "ops/ms/moe.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

/* Of the sparse mixer: scores that are further below the best than twice that are out. */
static const float mixer_jitter = 0.01F;

struct job {
    const struct sc_moe *moe;
    const struct sc_moe_routes *routes;
    char *room;
};

static size_t row_bytes(const struct sc_moe *moe)
{
    return sc_room_round((size_t)moe->sizes.experts * sizeof(float));
}

size_t sc_moe_route_bytes(const struct sc_moe *moe)
{
    return 3 * row_bytes(moe) * (size_t)sc_team_size(moe->team);
}

/* left: room for the scores. A score that is not a number is the lowest; one that was chosen is none of those left. */
static void choose(const struct sc_moe *moe, const float *scores, int32_t *chosen, float *left)
{
    const int64_t n = moe->sizes.experts;
    for (int64_t e = 0; e < n; e++) {
        left[e] = isnan(scores[e]) ? -INFINITY : scores[e];
    }
    for (int64_t i = 0; i < moe->params->k; i++) {
        int64_t best = -1;
        for (int64_t e = 0; e < n; e++) {
            best = !isnan(left[e]) && (best < 0 || left[e] > left[best]) ? e : best;
        }
        chosen[i] = (int32_t)best;
        left[best] = NAN;
    }
}

/* Each choice's share among those that are left and close to it. */
static void mix_sparsely(
    const struct sc_moe *moe, const float *scores, const int32_t *chosen, float *weights, float *room)
{
    const int64_t n = moe->sizes.experts;
    for (int64_t i = 0; i < moe->params->k; i++) {
        const float best = scores[chosen[i]];
        for (int64_t e = 0; e < n; e++) {
            const float scale = fabsf(scores[e]) > best ? fabsf(scores[e]) : best;
            const bool gone = i > 0 && e == chosen[0];
            room[e] = gone || (best - scores[e]) / scale > 2 * mixer_jitter ? -INFINITY : scores[e];
        }
        weights[i] = 1 / moe->kernels->exp_sum(room, best, room, n);
    }
}

static void weigh(const struct sc_moe *moe, const float *scores, const int32_t *chosen, float *weights, float *room)
{
    const struct sc_kernels *k = moe->kernels;
    const int64_t n = moe->sizes.experts;
    const float sum = k->exp_sum(scores, k->max(scores, n), room, n);
    for (int64_t i = 0; i < moe->params->k; i++) {
        weights[i] = room[chosen[i]] / sum;
    }
}

static void normalize(float *weights, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += weights[i];
    }
    for (int64_t i = 0; i < n; i++) {
        weights[i] = sum == 0 ? 0 : weights[i] / sum;
    }
}

static void row_part(void *arg, int64_t row, int worker)
{
    const struct job *job = arg;
    const struct sc_moe *moe = job->moe;
    const struct sc_moe_params *p = moe->params;
    const int64_t n = moe->sizes.experts;
    const size_t bytes = sc_type_bytes(moe->type);
    char *room = job->room + 3 * row_bytes(moe) * (size_t)worker;
    float *second = (float *)(void *)(room + row_bytes(moe)), *third = (float *)(void *)(room + 2 * row_bytes(moe));
    const float *scores =
        sc_norm_widen(moe->kernels, moe->type, sc_const_at(moe->router, row * n, bytes), (float *)(void *)room, n);
    int32_t *chosen = job->routes->experts + row * p->k;
    float *weights = job->routes->weights + row * p->k;
    choose(moe, scores, chosen, third);
    if (moe->weights) {
        const float *given =
            sc_norm_widen(moe->kernels, moe->type, sc_const_at(moe->weights, row * n, bytes), second, n);
        for (int64_t i = 0; i < p->k; i++) {
            weights[i] = given[chosen[i]];
        }
    } else {
        (p->sparse_mixer ? mix_sparsely : weigh)(moe, scores, chosen, weights, third);
    }
    if (p->normalize) {
        normalize(weights, p->k);
    }
}

/* A counting sort: choices stay in order within an expert. */
static void sort_by_expert(const struct sc_moe *moe, const struct sc_moe_routes *routes)
{
    const int64_t n = moe->sizes.experts, choices = moe->sizes.rows * moe->params->k;
    int32_t *first = routes->first;
    memset(first, 0, (size_t)(n + 1) * sizeof *first);
    for (int64_t i = 0; i < choices; i++) {
        first[routes->experts[i]]++;
    }
    for (int64_t e = 0, end = 0; e <= n; e++) {
        end += first[e];
        first[e] = (int32_t)end; /* of the last expert before: the end of e, from which it is filled backwards */
    }
    for (int64_t i = choices - 1; i >= 0; i--) {
        routes->order[--first[routes->experts[i]]] = (int32_t)i;
    }
}

void sc_moe_route(const struct sc_moe *moe, const struct sc_moe_routes *routes, void *room)
{
    struct job job = {moe, routes, room};
    sc_team_for(moe->team, moe->sizes.rows, row_part, &job);
    sort_by_expert(moe, routes);
}
