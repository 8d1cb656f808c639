/* SPDX-License-Identifier: Apache-2.0
 * The dynamic programme: best[k][j] = the best way to put the first j blocks of a line on the first k stages.
 * From each start i the end j is swept and the slice's cost kept by adding; a cap on the cost of a stage says which
 * places each stage can end at, and with a tight cap these are few. */
#include "partitioner/cut_line.h"

#include <math.h>

struct table {
    const struct sc_units *units;
    const struct sc_line *line;
    const struct sc_slice *slice;
    double cap; /* INFINITY: none */
    double max_limit; /* the largest memory limit; INFINITY: some stage has none */
    double max_speed;
    int *lo, *hi; /* per k: the range of ends */
    size_t *offset; /* per k: of its range in best and parent */
    double *best;
    int *parent;
    double *arriving, *closing, *sharing; /* per block, for the present start */
};

static double speed_of(const struct table *t, int stage)
{
    return t->units->problem->speed ? t->units->problem->speed[stage] : 1;
}

static double limit_of(const struct table *t, int stage)
{
    const int64_t *limits = t->units->problem->memory_limit;
    return limits && limits[stage] > 0 ? (double)limits[stage] : INFINITY;
}

/* The ends that k stages can reach and that the others can go on from, by seconds alone. */
static void find_ranges(struct table *t)
{
    const int K = t->slice->n_stages, n = t->line->n_blocks;
    double after = 0, before = 0;
    for (int k = 0; k < K; k++) {
        after += speed_of(t, k);
    }
    const double slack = 1e-9 * t->units->total_seconds;
    int lo = 0, hi = 0;
    for (int k = 0; k <= K; k++) {
        const double reach = isfinite(t->cap) ? before * t->cap + slack : INFINITY;
        const double rest = isfinite(t->cap) ? after * t->cap + slack : INFINITY;
        while (lo < n && t->line->seconds[n] - t->line->seconds[lo] > rest) {
            lo++;
        }
        while (hi < n && t->line->seconds[hi + 1] <= reach) {
            hi++;
        }
        const int last = t->slice->exact ? n - (K - k) : n;
        t->lo[k] = lo > k ? lo : k < n ? k : n;
        t->hi[k] = k == 0 ? 0 : hi < last ? hi : last;
        if (k < K) {
            before += speed_of(t, k);
            after = after > speed_of(t, k) ? after - speed_of(t, k) : 0;
        }
    }
    t->lo[K] = t->slice->exact ? n : t->lo[K];
}

/* Pairs of places times stages that the sweep will look at. */
static double expected_work(const struct table *t)
{
    const int K = t->slice->n_stages, n = t->line->n_blocks;
    double work = 0;
    int first = 0, last = 0, end = 0, full = 0;
    for (int i = 0; i < n; i++) {
        while (first < K && t->hi[first] < i) {
            first++;
        }
        while (last < K - 1 && t->lo[last + 1] <= i) {
            last++;
        }
        while (end < n && t->line->seconds[end + 1] - t->line->seconds[i] <= t->max_speed * t->cap) {
            end++;
        }
        full = full > i ? full : i;
        while (full < n && t->line->memory[full + 1] - t->line->memory[i] <= t->max_limit) {
            full++;
        }
        if (first <= last && t->lo[last] <= i) {
            int to = t->hi[last + 1] < end ? t->hi[last + 1] : end;
            to = to < full ? to : full;
            work += to > i ? (double)(to - i) * (last - first + 1) : 0;
        }
    }
    return work;
}

static void add_events(const struct sc_events *events, int list, double sign, double *sums)
{
    for (int e = events->start[list]; e < events->start[list + 1]; e++) {
        sums[events->item[e].at] += sign * events->item[e].amount;
    }
}

struct extent {
    double compute, transfer, memory;
};

/* Stage k + 1 as the slice from i to j. */
static void try_stage(struct table *t, int k, int i, int j, const struct extent *extent)
{
    const double before = t->best[t->offset[k] + (size_t)(i - t->lo[k])];
    const double seconds = extent->compute / speed_of(t, k) + extent->transfer;
    if (isinf(before) || seconds > t->cap || extent->memory > limit_of(t, k)) {
        return;
    }
    const double value = sc_slice_joined(t->slice->goal, before, seconds);
    const size_t at = t->offset[k + 1] + (size_t)(j - t->lo[k + 1]);
    if (value < t->best[at]) {
        t->best[at] = value;
        t->parent[at] = i;
    }
}

static void sweep(struct table *t, int i, int first, int last)
{
    struct extent extent = {0, 0, 0};
    const struct sc_line *line = t->line;
    for (int j = i + 1; j <= t->hi[last + 1]; j++) {
        extent.compute = line->seconds[j] - line->seconds[i];
        extent.transfer += t->arriving[j - 1] + line->outputs[j - 1] - t->closing[j - 1];
        extent.memory += line->memory[j] - line->memory[j - 1] + t->sharing[j - 1];
        if (extent.compute > t->max_speed * t->cap || extent.memory > t->max_limit) {
            break;
        }
        for (int k = first; k <= last; k++) {
            if (j >= t->lo[k + 1] && j <= t->hi[k + 1]) {
                try_stage(t, k, i, j, &extent);
            }
        }
    }
}

static void run(struct table *t)
{
    const int K = t->slice->n_stages, n = t->line->n_blocks;
    int first = 0, last = 0;
    t->best[0] = 0;
    add_events(&t->line->shares, 0, 1, t->sharing);
    for (int i = 0; i < n; i++) {
        if (i > 0) {
            add_events(&t->line->arrivals, i - 1, 1, t->arriving);
            add_events(&t->line->closings, i - 1, -1, t->closing);
            add_events(&t->line->shares, i, 1, t->sharing);
        }
        while (first < K && t->hi[first] < i) {
            first++;
        }
        while (last < K - 1 && t->lo[last + 1] <= i) {
            last++;
        }
        bool reached = false;
        for (int k = first; k <= last && !reached; k++) {
            reached = i >= t->lo[k] && i <= t->hi[k] && !isinf(t->best[t->offset[k] + (size_t)(i - t->lo[k])]);
        }
        if (reached) {
            sweep(t, i, first, last);
        }
    }
}

/* Ranges are empty where no stage can end; the levels of a start are then not one run of k, so that is checked
 * first. */
static bool ranges_are_open(const struct table *t)
{
    for (int k = 0; k <= t->slice->n_stages; k++) {
        if (t->lo[k] > t->hi[k]) {
            return false;
        }
    }
    return true;
}

static enum sc_status prepare(struct table *t, struct sc_arena *arena, bool *possible)
{
    const int K = t->slice->n_stages, n = t->line->n_blocks;
    t->lo = sc_arena_array(arena, (size_t)K + 1, sizeof *t->lo);
    t->hi = sc_arena_array(arena, (size_t)K + 1, sizeof *t->hi);
    t->offset = sc_arena_array(arena, (size_t)K + 2, sizeof *t->offset);
    t->arriving = sc_arena_array(arena, (size_t)n, sizeof *t->arriving);
    t->closing = sc_arena_array(arena, (size_t)n, sizeof *t->closing);
    t->sharing = sc_arena_array(arena, (size_t)n, sizeof *t->sharing);
    if (!t->lo || !t->hi || !t->offset || !t->arriving || !t->closing || !t->sharing) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k < K; k++) {
        t->max_speed = speed_of(t, k) > t->max_speed ? speed_of(t, k) : t->max_speed;
        t->max_limit = limit_of(t, k) > t->max_limit ? limit_of(t, k) : t->max_limit;
    }
    find_ranges(t);
    *possible = ranges_are_open(t);
    for (int k = 0; k <= K && *possible; k++) {
        t->offset[k + 1] = t->offset[k] + (size_t)(t->hi[k] - t->lo[k] + 1);
    }
    for (int b = 0; b < n; b++) {
        add_events(&t->line->closings, b, 1, t->closing);
    }
    return SC_OK;
}

static void read_back(struct table *t, struct sc_slice *slice, struct sc_arena *arena, int *stage_of)
{
    const int K = slice->n_stages, n = t->line->n_blocks;
    for (int k = slice->exact ? K : 1; k <= K; k++) {
        if (t->lo[k] <= n && t->hi[k] >= n) {
            const double value = t->best[t->offset[k] + (size_t)(n - t->lo[k])];
            const bool better = slice->n_used ? value < slice->value * (1 - 1e-9) : !isinf(value);
            slice->value = better ? value : slice->value;
            slice->n_used = better ? k : slice->n_used;
        }
    }
    if (!slice->n_used) {
        return;
    }
    int *stage_of_block = sc_arena_array(arena, (size_t)n, sizeof *stage_of_block);
    for (int k = slice->n_used, end = n; k > 0 && stage_of_block; k--) {
        const int from = t->parent[t->offset[k] + (size_t)(end - t->lo[k])];
        for (int b = from; b < end; b++) {
            stage_of_block[b] = k - 1;
        }
        end = from;
    }
    for (int u = 0; u < t->units->n && stage_of_block; u++) {
        stage_of[u] = stage_of_block[t->line->block_of[u]];
    }
    slice->n_used = stage_of_block ? slice->n_used : -1;
}

static enum sc_status solve(const struct sc_units *units, struct sc_arena *arena, struct sc_slice *slice, int *stage_of)
{
    struct sc_line line = {0};
    SC_TRY(sc_line_build(units, slice->order, slice->max_places, arena, &line));
    struct table t = {.units = units, .line = &line, .slice = slice};
    t.cap = slice->cap_seconds > 0 ? slice->cap_seconds : INFINITY;
    slice->full = line.n_blocks == units->n;
    bool possible = false;
    SC_TRY(prepare(&t, arena, &possible));
    if (!possible) {
        return SC_OK;
    }
    const size_t n_entries = t.offset[slice->n_stages + 1];
    slice->gave_up = slice->max_work > 0 && expected_work(&t) + (double)n_entries > slice->max_work;
    if (slice->gave_up) {
        return SC_OK;
    }
    t.best = sc_arena_array(arena, n_entries, sizeof *t.best);
    t.parent = sc_arena_array(arena, n_entries, sizeof *t.parent);
    if (!t.best || !t.parent) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n_entries; i++) {
        t.best[i] = INFINITY;
    }
    run(&t);
    read_back(&t, slice, arena, stage_of);
    return slice->n_used < 0 ? SC_NO_MEMORY : SC_OK;
}

double sc_slice_joined(enum sc_slice_goal goal, double before, double seconds)
{
    switch (goal) {
    case SC_SLICE_SUM:
        return before + seconds;
    case SC_SLICE_SQUARES:
        return before + seconds * seconds;
    default:
        return before > seconds ? before : seconds;
    }
}

enum sc_status sc_slice_solve(const struct sc_units *units, struct sc_slice *slice, int *stage_of)
{
    struct sc_arena arena = {0};
    slice->n_used = 0;
    slice->value = INFINITY;
    const enum sc_status status = solve(units, &arena, slice, stage_of);
    sc_arena_release(&arena);
    return status;
}

/* Packs the order into slices of at most `limit`; true when n_stages are enough. A slice's memory never grows by
 * starting later, so taking as much as fits is best. kept[w]: the last slice that has weight w. */
static bool packs(const struct sc_units *units, const int *order, int n_stages, int64_t limit, int *kept)
{
    int stage = 1;
    int64_t used = 0;
    for (int w = 0; w < units->users.n; w++) {
        kept[w] = 0;
    }
    for (int i = 0; i < units->n; i++) {
        for (int again = 0; again < 2; again++) {
            int64_t more = units->memory[order[i]];
            for (int e = units->used.start[order[i]]; e < units->used.start[order[i] + 1]; e++) {
                more += kept[units->used.item[e]] == stage ? 0 : units->weight_bytes[units->used.item[e]];
            }
            if (more <= limit - used) {
                used += more;
                break;
            }
            if (again || ++stage > n_stages) {
                return false;
            }
            used = 0;
        }
        for (int e = units->used.start[order[i]]; e < units->used.start[order[i] + 1]; e++) {
            kept[units->used.item[e]] = stage;
        }
    }
    return true;
}

enum sc_status sc_slice_memory(const struct sc_units *units, const int *order, int n_stages, int64_t *bytes)
{
    struct sc_arena arena = {0};
    int *kept = sc_arena_array(&arena, (size_t)units->users.n, sizeof *kept);
    if (!kept) {
        return SC_NO_MEMORY;
    }
    int64_t low = 0, high = 0;
    for (int i = 0; i < units->n; i++) {
        high += units->memory[i];
    }
    for (int w = 0; w < units->users.n; w++) {
        high += units->weight_bytes[w];
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (packs(units, order, n_stages, middle, kept)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    sc_arena_release(&arena);
    *bytes = low;
    return SC_OK;
}
