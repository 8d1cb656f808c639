/* SPDX-License-Identifier: Apache-2.0
 * Turns an order of units into a line of blocks on which the cost of every slice can be had by adding. */
#include "partitioner/cut_line.h"

#include <stdlib.h>

static int compare_int(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* crossing[i]: what a cut before position i costs both sides. */
static enum sc_status crossing_costs(
    const struct sc_units *units, const int *order, struct sc_arena *arena, double *crossing)
{
    int *position = sc_arena_array(arena, (size_t)units->n, sizeof *position);
    if (!position) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < units->n; i++) {
        position[order[i]] = i;
    }
    for (int p = 0; p < units->n_producers; p++) {
        int last = 0;
        for (int e = units->consumers.start[p]; e < units->consumers.start[p + 1]; e++) {
            const int at = position[units->consumers.item[e]];
            last = at > last ? at : last;
        }
        crossing[position[units->producer_unit[p]] + 1] += units->producer_cost[p];
        crossing[last + 1] -= units->producer_cost[p];
    }
    for (int i = 1; i < units->n; i++) {
        crossing[i] += crossing[i - 1];
    }
    return SC_OK;
}

/* Buckets of equal weight (seconds, memory and units mixed); in each the cheapest place to cut is kept. */
static enum sc_status thin(
    const struct sc_units *units, const int *order, int max_places, struct sc_arena *arena, struct sc_line *line)
{
    double *crossing = sc_arena_array(arena, (size_t)units->n + 2, sizeof *crossing);
    if (!crossing) {
        return SC_NO_MEMORY;
    }
    SC_TRY(crossing_costs(units, order, arena, crossing));
    double memory = 0, before = 0;
    for (int i = 0; i < units->n; i++) {
        memory += (double)units->memory[i];
    }
    const double parts = 1 + (units->total_seconds > 0) + (memory > 0);
    int bucket = 0, best = 0;
    int *cut = sc_arena_array(arena, (size_t)units->n + 1, sizeof *cut);
    if (!cut) {
        return SC_NO_MEMORY;
    }
    for (int i = 1; i < units->n; i++) {
        const int unit = order[i - 1];
        before += 1.0 / units->n + (units->total_seconds > 0 ? units->seconds[unit] / units->total_seconds : 0) +
            (memory > 0 ? (double)units->memory[unit] / memory : 0);
        const int now = (int)(before / parts * max_places);
        if (best > 0 && now == bucket && crossing[i] >= crossing[best]) {
            continue;
        }
        if (best > 0 && now == bucket) {
            cut[best] = 0;
        }
        cut[i] = 1;
        best = i;
        bucket = now;
    }
    line->n_blocks = 1;
    for (int i = 0; i < units->n; i++) {
        line->n_blocks += cut[i];
        line->block_of[order[i]] = line->n_blocks - 1;
    }
    return SC_OK;
}

struct filed {
    int list;
    struct sc_event event;
};

struct filing {
    size_t n;
    struct filed *items;
};

static void file_event(struct filing *filing, int list, int at, double amount)
{
    filing->items[filing->n++] = (struct filed){list, {at, amount}};
}

static enum sc_status build_events(
    const struct filing *filing, int n_lists, struct sc_arena *arena, struct sc_events *events)
{
    events->start = sc_arena_array(arena, (size_t)n_lists + 2, sizeof(int));
    events->item = sc_arena_array(arena, filing->n, sizeof *events->item);
    if (!events->start || !events->item) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < filing->n; i++) {
        events->start[filing->items[i].list + 2]++;
    }
    for (int k = 0; k < n_lists; k++) {
        events->start[k + 2] += events->start[k + 1];
    }
    for (size_t i = 0; i < filing->n; i++) {
        events->item[events->start[filing->items[i].list + 1]++] = filing->items[i].event;
    }
    return SC_OK;
}

/* The distinct blocks of some units, ascending; returns their count. */
static int blocks_of(const struct sc_line *line, const int *units, int n, int *blocks)
{
    for (int i = 0; i < n; i++) {
        blocks[i] = line->block_of[units[i]];
    }
    qsort(blocks, (size_t)n, sizeof *blocks, compare_int);
    int to = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || blocks[i] != blocks[to - 1]) {
            blocks[to++] = blocks[i];
        }
    }
    return to;
}

static enum sc_status build_transfers(
    const struct sc_units *units, struct sc_arena *arena, int *blocks, struct sc_line *line)
{
    struct filing arrivals = {
        0, sc_arena_array(arena, (size_t)units->consumers.start[units->n_producers], sizeof(struct filed))};
    struct filing closings = {0, sc_arena_array(arena, (size_t)units->n_producers, sizeof(struct filed))};
    if (!arrivals.items || !closings.items) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < units->n_producers; p++) {
        const int from = units->consumers.start[p], home = line->block_of[units->producer_unit[p]];
        const int n = blocks_of(line, units->consumers.item + from, units->consumers.start[p + 1] - from, blocks);
        int before = home;
        for (int i = 0; i < n; i++) {
            if (blocks[i] != home) {
                file_event(&arrivals, before, blocks[i], units->producer_cost[p]);
                before = blocks[i];
            }
        }
        if (before != home) {
            line->outputs[home] += units->producer_cost[p];
            file_event(&closings, home, before, units->producer_cost[p]);
        }
    }
    SC_TRY(build_events(&arrivals, line->n_blocks, arena, &line->arrivals));
    return build_events(&closings, line->n_blocks, arena, &line->closings);
}

static enum sc_status build_shares(
    const struct sc_units *units, struct sc_arena *arena, int *blocks, struct sc_line *line)
{
    struct filing shares = {0, sc_arena_array(arena, (size_t)units->users.start[units->users.n], sizeof(struct filed))};
    if (!shares.items) {
        return SC_NO_MEMORY;
    }
    for (int w = 0; w < units->users.n; w++) {
        const int from = units->users.start[w];
        const int n = blocks_of(line, units->users.item + from, units->users.start[w + 1] - from, blocks);
        for (int i = 0; i < n && units->weight_bytes[w] > 0; i++) {
            file_event(&shares, i > 0 ? blocks[i - 1] + 1 : 0, blocks[i], (double)units->weight_bytes[w]);
        }
    }
    return build_events(&shares, line->n_blocks + 1, arena, &line->shares);
}

enum sc_status sc_line_build(
    const struct sc_units *units, const int *order, int max_places, struct sc_arena *arena, struct sc_line *line)
{
    *line = (struct sc_line){.n_blocks = units->n};
    line->block_of = sc_arena_array(arena, (size_t)units->n, sizeof *line->block_of);
    int *blocks = sc_arena_array(arena, (size_t)units->n, sizeof *blocks);
    if (!line->block_of || !blocks) {
        return SC_NO_MEMORY;
    }
    if (max_places > 0 && units->n - 1 > max_places) {
        SC_TRY(thin(units, order, max_places, arena, line));
    } else {
        for (int i = 0; i < units->n; i++) {
            line->block_of[order[i]] = i;
        }
    }
    const size_t n_ends = (size_t)line->n_blocks + 1;
    line->seconds = sc_arena_array(arena, n_ends, sizeof *line->seconds);
    line->memory = sc_arena_array(arena, n_ends, sizeof *line->memory);
    line->outputs = sc_arena_array(arena, n_ends, sizeof *line->outputs);
    if (!line->seconds || !line->memory || !line->outputs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < units->n; i++) {
        line->seconds[line->block_of[i] + 1] += units->seconds[i];
        line->memory[line->block_of[i] + 1] += (double)units->memory[i];
    }
    for (int b = 0; b < line->n_blocks; b++) {
        line->seconds[b + 1] += line->seconds[b];
        line->memory[b + 1] += line->memory[b];
    }
    SC_TRY(build_transfers(units, arena, blocks, line));
    return build_shares(units, arena, blocks, line);
}
