/* SPDX-License-Identifier: Apache-2.0
 * Random plans for tests: a random topological order cut at random places, then single units sent to random stages
 * among those that keep every edge forward, which reaches partitions that are no slices of one order. */
#include "base/random.h"
#include "partitioner/cut_parts.h"

static int draw(uint64_t seed, uint64_t stream, int i, int n)
{
    const struct sc_random_key key = {seed, stream, 0};
    return (int)(sc_random_uniform(&key, (uint64_t)i) * n);
}

/* Every subset of n_cuts of the n - 1 places has the same chance (Knuth, selection sampling). */
static void cut_order(const int *order, int n, int n_stages, uint64_t seed, int *stage_of)
{
    int stage = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && draw(seed, 1, i, n - i) < n_stages - 1 - stage) {
            stage++;
        }
        stage_of[order[i]] = stage;
    }
}

static void scatter(const struct sc_units *units, int n_stages, uint64_t seed, int *n_units, int *stage_of)
{
    for (int u = 0; u < units->n; u++) {
        n_units[stage_of[u]]++;
    }
    for (int i = 0; i < units->n; i++) {
        const int u = draw(seed, 2, i, units->n);
        int low = 0, high = n_stages - 1;
        for (int e = units->preds.start[u]; e < units->preds.start[u + 1]; e++) {
            const int stage = stage_of[units->preds.item[e]];
            low = stage > low ? stage : low;
        }
        for (int e = units->succs.start[u]; e < units->succs.start[u + 1]; e++) {
            const int stage = stage_of[units->succs.item[e]];
            high = stage < high ? stage : high;
        }
        if (n_units[stage_of[u]] > 1) {
            n_units[stage_of[u]]--;
            stage_of[u] = low + draw(seed, 3, i, high - low + 1);
            n_units[stage_of[u]]++;
        }
    }
}

static enum sc_status random_cut(
    const struct sc_cut_problem *problem, uint64_t seed, struct sc_arena *arena, struct sc_cut_result *result)
{
    struct sc_units units = {0};
    SC_TRY(sc_units_build(problem, arena, &units));
    SC_TRY(sc_units_suffice(&units));
    const int K = problem->n_stages < units.n ? problem->n_stages : units.n;
    int *order = sc_arena_array(arena, (size_t)units.n, sizeof *order);
    int *stage_of = sc_arena_array(arena, (size_t)units.n, sizeof *stage_of);
    int *n_units = sc_arena_array(arena, (size_t)K, sizeof *n_units);
    double *busy = sc_arena_array(arena, (size_t)K, sizeof *busy);
    int64_t *memory = sc_arena_array(arena, (size_t)K, sizeof *memory);
    if (!order || !stage_of || !n_units || !busy || !memory) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_order_random(&units, seed, arena, order));
    cut_order(order, units.n, K, seed, stage_of);
    scatter(&units, K, seed, n_units, stage_of);
    SC_TRY(sc_units_load(&units, K, stage_of, busy, memory));
    SC_TRY(sc_units_bound(&units, &result->bound_seconds));
    result->n_stages = K;
    result->slowest_seconds = 0;
    for (int k = 0; k < K; k++) {
        result->slowest_seconds = busy[k] > result->slowest_seconds ? busy[k] : result->slowest_seconds;
    }
    for (int i = 0; i < problem->n_nodes; i++) {
        result->stage_of[i] = stage_of[units.unit_of[i]];
    }
    return SC_OK;
}

enum sc_status sc_cut_random(const struct sc_cut_problem *problem, uint64_t seed, struct sc_cut_result *result)
{
    struct sc_arena arena = {0};
    const enum sc_status status = random_cut(problem, seed, &arena, result);
    sc_arena_release(&arena);
    return status;
}
