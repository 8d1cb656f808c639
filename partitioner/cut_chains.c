/* SPDX-License-Identifier: Apache-2.0
 * The dynamic programme over chains of downsets: best[k][B] = the best way to put downset B on the first k stages. From
 * each A all larger sets are walked step by step, and what the stage B - A costs is kept by adding. With few downsets
 * this finds the best of all partitions. */
#include <math.h>
#include <string.h>

#include "partitioner/cut_parts.h"

struct extent {
    double compute, transfer;
    int64_t memory;
};

struct chains {
    const struct sc_units *units;
    const struct sc_downsets *sets;
    struct sc_slice *slice;
    double cap, max_speed, max_limit;
    double *after; /* per k: seconds that stages k and later can take under the cap */
    double *done; /* per set: its units' seconds */
    double *best; /* [n_stages + 1][n sets] */
    int *parent;
    struct extent *extent; /* per set: of the stage from the present A to it */
    int *seen; /* per set: 1 + A */
    int *queue;
    double work;
};

static double speed_of(const struct chains *c, int stage)
{
    return c->units->problem->speed ? c->units->problem->speed[stage] : 1;
}

static double limit_of(const struct chains *c, int stage)
{
    const int64_t *limits = c->units->problem->memory_limit;
    return limits && limits[stage] > 0 ? (double)limits[stage] : INFINITY;
}

static const uint64_t *bits_of(const struct chains *c, int set)
{
    return c->sets->bits + (size_t)set * c->sets->n_words;
}

static bool has(const uint64_t *bits, int unit)
{
    return bits[unit / 64] >> (unit % 64) & 1;
}

/* Whether a unit of the list other than `unit` is in the stage B - A. */
static bool any_in(
    struct chains *c, const struct sc_lists *lists, int list, int unit, const uint64_t *a, const uint64_t *b)
{
    for (int e = lists->start[list]; e < lists->start[list + 1]; e++) {
        c->work++;
        if (lists->item[e] != unit && has(b, lists->item[e]) && !has(a, lists->item[e])) {
            return true;
        }
    }
    return false;
}

/* Whether all of the list but `unit` are in B. */
static bool all_in(struct chains *c, const struct sc_lists *lists, int list, int unit, const uint64_t *b)
{
    for (int e = lists->start[list]; e < lists->start[list + 1]; e++) {
        c->work++;
        if (lists->item[e] != unit && !has(b, lists->item[e])) {
            return false;
        }
    }
    return true;
}

/* The extent of a stage from A to B with one unit more. */
static struct extent extended(struct chains *c, struct extent extent, int unit, const uint64_t *a, const uint64_t *b)
{
    const struct sc_units *units = c->units;
    extent.compute += units->seconds[unit];
    extent.memory += units->memory[unit];
    for (int e = units->used.start[unit]; e < units->used.start[unit + 1]; e++) {
        const int w = units->used.item[e];
        extent.memory += any_in(c, &units->users, w, unit, a, b) ? 0 : units->weight_bytes[w];
    }
    for (int e = units->consumed.start[unit]; e < units->consumed.start[unit + 1]; e++) {
        const int p = units->consumed.item[e];
        if (!has(a, units->producer_unit[p])) { /* made in the stage: sent as long as someone outside reads it */
            extent.transfer -= all_in(c, &units->consumers, p, unit, b) ? units->producer_cost[p] : 0;
        } else if (!any_in(c, &units->consumers, p, unit, a, b)) {
            extent.transfer += units->producer_cost[p];
        }
    }
    for (int e = units->produced.start[unit]; e < units->produced.start[unit + 1]; e++) {
        extent.transfer += units->producer_cost[units->produced.item[e]];
    }
    return extent;
}

static void try_stages(struct chains *c, int a, int b)
{
    const size_t n = (size_t)c->sets->n;
    const double rest = c->done[c->sets->n - 1] - c->done[b];
    for (int k = 0; k < c->slice->n_stages; k++) {
        const double before = c->best[(size_t)k * n + (size_t)a];
        const double seconds = c->extent[b].compute / speed_of(c, k) + c->extent[b].transfer;
        if (isinf(before) || seconds > c->cap || (double)c->extent[b].memory > limit_of(c, k) ||
            rest > c->after[k + 1]) {
            continue;
        }
        const double value = sc_slice_joined(c->slice->goal, before, seconds);
        const size_t at = (size_t)(k + 1) * n + (size_t)b;
        if (value < c->best[at]) {
            c->best[at] = value;
            c->parent[at] = a;
        }
    }
}

/* All sets that contain A, as far as one stage reaches. */
static void walk(struct chains *c, int a)
{
    int n_queued = 1;
    c->queue[0] = a;
    c->seen[a] = a + 1;
    c->extent[a] = (struct extent){0, 0, 0};
    for (int at = 0; at < n_queued; at++) {
        const int from = c->queue[at];
        for (int s = c->sets->start[from]; s < c->sets->start[from + 1]; s++) {
            const int b = c->sets->next[s];
            c->work++;
            if (c->seen[b] == a + 1) {
                continue;
            }
            c->seen[b] = a + 1;
            const double compute = c->extent[from].compute + c->units->seconds[c->sets->unit[s]];
            if (compute > c->max_speed * c->cap) {
                continue;
            }
            c->extent[b] = extended(c, c->extent[from], c->sets->unit[s], bits_of(c, a), bits_of(c, from));
            if ((double)c->extent[b].memory <= c->max_limit) {
                try_stages(c, a, b);
                c->queue[n_queued++] = b;
            }
        }
    }
}

static bool is_reached(const struct chains *c, int set)
{
    for (int k = 0; k < c->slice->n_stages; k++) {
        if (!isinf(c->best[(size_t)k * (size_t)c->sets->n + (size_t)set])) {
            return true;
        }
    }
    return false;
}

static enum sc_status prepare(struct chains *c, struct sc_arena *arena)
{
    const size_t n = (size_t)c->sets->n, n_levels = (size_t)c->slice->n_stages + 1;
    c->after = sc_arena_array(arena, n_levels, sizeof *c->after);
    c->done = sc_arena_array(arena, n, sizeof *c->done);
    c->best = sc_arena_array(arena, n * n_levels, sizeof *c->best);
    c->parent = sc_arena_array(arena, n * n_levels, sizeof *c->parent);
    c->extent = sc_arena_array(arena, n, sizeof *c->extent);
    c->seen = sc_arena_array(arena, n, sizeof *c->seen);
    c->queue = sc_arena_array(arena, n, sizeof *c->queue);
    if (!c->after || !c->done || !c->best || !c->parent || !c->extent || !c->seen || !c->queue) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n * n_levels; i++) {
        c->best[i] = INFINITY;
    }
    c->best[0] = 0;
    for (int set = 0; set < c->sets->n; set++) {
        for (int s = c->sets->start[set]; s < c->sets->start[set + 1]; s++) {
            c->done[c->sets->next[s]] = c->done[set] + c->units->seconds[c->sets->unit[s]];
        }
    }
    const double slack = 1e-9 * c->units->total_seconds;
    double speeds = 0;
    for (int k = c->slice->n_stages; k >= 0; k--) {
        c->after[k] = isfinite(c->cap) ? speeds * c->cap + slack : INFINITY;
        speeds += k > 0 ? speed_of(c, k - 1) : 0;
    }
    for (int k = 0; k < c->slice->n_stages; k++) {
        c->max_speed = speed_of(c, k) > c->max_speed ? speed_of(c, k) : c->max_speed;
        c->max_limit = limit_of(c, k) > c->max_limit ? limit_of(c, k) : c->max_limit;
    }
    return SC_OK;
}

static void read_back(const struct chains *c, int *stage_of)
{
    struct sc_slice *slice = c->slice;
    const size_t n = (size_t)c->sets->n;
    for (int k = slice->exact ? slice->n_stages : 1; k <= slice->n_stages; k++) {
        const double value = c->best[(size_t)k * n + n - 1];
        if (slice->n_used ? value < slice->value * (1 - 1e-9) : !isinf(value)) {
            slice->value = value;
            slice->n_used = k;
        }
    }
    for (int k = slice->n_used, set = c->sets->n - 1; k > 0; k--) {
        const int from = c->parent[(size_t)k * n + (size_t)set];
        for (int u = 0; u < c->units->n; u++) {
            if (has(bits_of(c, set), u) && !has(bits_of(c, from), u)) {
                stage_of[u] = k - 1;
            }
        }
        set = from;
    }
}

enum sc_status sc_downsets_solve(
    const struct sc_units *units, const struct sc_downsets *downsets, struct sc_slice *slice, int *stage_of)
{
    struct sc_arena arena = {0};
    struct chains c = {.units = units, .sets = downsets, .slice = slice};
    c.cap = slice->cap_seconds > 0 ? slice->cap_seconds : INFINITY;
    slice->n_used = 0;
    slice->value = INFINITY;
    slice->full = true;
    slice->gave_up = false;
    const enum sc_status status = prepare(&c, &arena);
    if (status == SC_OK) {
        for (int a = 0; a < downsets->n - 1 && !slice->gave_up; a++) {
            if (is_reached(&c, a)) {
                walk(&c, a);
            }
            slice->gave_up = slice->max_work > 0 && c.work > slice->max_work;
        }
        if (!slice->gave_up) {
            read_back(&c, stage_of);
        }
    }
    sc_arena_release(&arena);
    return status;
}
