/* SPDX-License-Identifier: Apache-2.0
 * What a partition of units costs each stage, moves that make it better, and a bound that none can beat. */
#include <math.h>
#include <string.h>

#include "partitioner/cut_parts.h"

/* A partition with its costs kept up to date move by move. */
struct search {
    const struct sc_units *units;
    int n_stages;
    int *stage_of;
    double *busy, *saved; /* per stage */
    int64_t *memory;
    int *n_units;
    int *mark; /* per stage: == stamp when seen */
    int stamp;
    double work; /* list items looked at */
};

static double speed_of(const struct sc_units *units, int stage)
{
    return units->problem->speed ? units->problem->speed[stage] : 1;
}

static void add_producer(struct search *s, int p, double sign)
{
    const struct sc_lists *readers = &s->units->consumers;
    const int home = s->stage_of[s->units->producer_unit[p]];
    const double cost = sign * s->units->producer_cost[p];
    bool sends = false;
    s->stamp++;
    for (int e = readers->start[p]; e < readers->start[p + 1]; e++) {
        const int stage = s->stage_of[readers->item[e]];
        if (stage != home && s->mark[stage] != s->stamp) {
            s->mark[stage] = s->stamp;
            s->busy[stage] += cost;
            sends = true;
        }
    }
    s->busy[home] += sends ? cost : 0;
    s->work += readers->start[p + 1] - readers->start[p];
}

/* Bytes that a unit adds to a stage: its own and the weights that nobody else there reads. */
static int64_t added_memory(struct search *s, int unit, int stage)
{
    const struct sc_units *units = s->units;
    int64_t bytes = units->memory[unit];
    for (int e = units->used.start[unit]; e < units->used.start[unit + 1]; e++) {
        const int w = units->used.item[e];
        bool there = false;
        for (int r = units->users.start[w]; r < units->users.start[w + 1] && !there; r++) {
            there = units->users.item[r] != unit && s->stage_of[units->users.item[r]] == stage;
        }
        bytes += there ? 0 : units->weight_bytes[w];
        s->work += units->users.start[w + 1] - units->users.start[w];
    }
    return bytes;
}

static void add_transfers(struct search *s, int unit, double sign)
{
    for (int e = s->units->produced.start[unit]; e < s->units->produced.start[unit + 1]; e++) {
        add_producer(s, s->units->produced.item[e], sign);
    }
    for (int e = s->units->consumed.start[unit]; e < s->units->consumed.start[unit + 1]; e++) {
        add_producer(s, s->units->consumed.item[e], sign);
    }
}

static enum sc_status open_search(
    const struct sc_units *units, int n_stages, int *stage_of, struct sc_arena *arena, struct search *s)
{
    const size_t n = (size_t)n_stages;
    *s = (struct search){.units = units, .n_stages = n_stages, .stage_of = stage_of};
    s->busy = sc_arena_array(arena, n, sizeof *s->busy);
    s->saved = sc_arena_array(arena, n, sizeof *s->saved);
    s->memory = sc_arena_array(arena, n, sizeof *s->memory);
    s->n_units = sc_arena_array(arena, n, sizeof *s->n_units);
    s->mark = sc_arena_array(arena, n, sizeof *s->mark);
    return s->busy && s->saved && s->memory && s->n_units && s->mark ? SC_OK : SC_NO_MEMORY;
}

static void count_all(struct search *s)
{
    const struct sc_units *units = s->units;
    memset(s->busy, 0, (size_t)s->n_stages * sizeof *s->busy);
    memset(s->memory, 0, (size_t)s->n_stages * sizeof *s->memory);
    memset(s->n_units, 0, (size_t)s->n_stages * sizeof *s->n_units);
    for (int u = 0; u < units->n; u++) {
        const int stage = s->stage_of[u];
        s->busy[stage] += units->seconds[u] / speed_of(units, stage);
        s->memory[stage] += units->memory[u];
        s->n_units[stage]++;
    }
    for (int p = 0; p < units->n_producers; p++) {
        add_producer(s, p, 1);
    }
    for (int w = 0; w < units->users.n; w++) {
        s->stamp++;
        for (int e = units->users.start[w]; e < units->users.start[w + 1]; e++) {
            const int stage = s->stage_of[units->users.item[e]];
            s->memory[stage] += s->mark[stage] == s->stamp ? 0 : units->weight_bytes[w];
            s->mark[stage] = s->stamp;
        }
    }
}

enum sc_status sc_units_load(
    const struct sc_units *units, int n_stages, const int *stage_of, double *busy, int64_t *memory)
{
    struct sc_arena arena = {0};
    struct search s = {0};
    int *copy = sc_arena_array(&arena, (size_t)units->n, sizeof *copy);
    enum sc_status status = copy ? open_search(units, n_stages, copy, &arena, &s) : SC_NO_MEMORY;
    if (status == SC_OK) {
        memcpy(copy, stage_of, (size_t)units->n * sizeof *copy);
        count_all(&s);
        memcpy(busy, s.busy, (size_t)n_stages * sizeof *busy);
        memcpy(memory, s.memory, (size_t)n_stages * sizeof *memory);
    }
    sc_arena_release(&arena);
    return status;
}

/* Whether `now` is better than `before`: the slowest stage, then evenness; for latency the sum. */
static bool is_better(const struct search *s, const double *now, const double *before)
{
    double max[2] = {0, 0}, sum[2] = {0, 0}, squares[2] = {0, 0};
    for (int k = 0; k < s->n_stages; k++) {
        const double x[2] = {now[k], before[k]};
        for (int i = 0; i < 2; i++) {
            max[i] = x[i] > max[i] ? x[i] : max[i];
            sum[i] += x[i];
            squares[i] += x[i] * x[i];
        }
    }
    if (s->units->problem->latency) {
        return sum[0] < sum[1] * (1 - 1e-9);
    }
    if (max[0] > max[1] * (1 + 1e-12)) {
        return false;
    }
    return max[0] < max[1] * (1 - 1e-9) || squares[0] < squares[1] * (1 - 1e-9);
}

static bool try_move(struct search *s, int unit, int to)
{
    const int from = s->stage_of[unit];
    const int64_t more = added_memory(s, unit, to), less = added_memory(s, unit, from);
    const int64_t *limit = s->units->problem->memory_limit;
    if (limit && limit[to] > 0 && s->memory[to] + more > limit[to]) {
        return false;
    }
    memcpy(s->saved, s->busy, (size_t)s->n_stages * sizeof *s->busy);
    add_transfers(s, unit, -1);
    s->stage_of[unit] = to;
    add_transfers(s, unit, 1);
    s->busy[from] -= s->units->seconds[unit] / speed_of(s->units, from);
    s->busy[to] += s->units->seconds[unit] / speed_of(s->units, to);
    s->work += 4.0 * s->n_stages;
    if (!is_better(s, s->busy, s->saved)) {
        s->stage_of[unit] = from;
        memcpy(s->busy, s->saved, (size_t)s->n_stages * sizeof *s->busy);
        return false;
    }
    s->memory[from] -= less;
    s->memory[to] += more;
    s->n_units[from]--;
    s->n_units[to]++;
    return true;
}

/* Tries the stages that keep every edge forward: next door, and the ends of the range. */
static bool move_unit(struct search *s, int unit)
{
    const struct sc_units *units = s->units;
    const int from = s->stage_of[unit];
    int low = 0, high = s->n_stages - 1;
    for (int e = units->preds.start[unit]; e < units->preds.start[unit + 1]; e++) {
        const int stage = s->stage_of[units->preds.item[e]];
        low = stage > low ? stage : low;
    }
    for (int e = units->succs.start[unit]; e < units->succs.start[unit + 1]; e++) {
        const int stage = s->stage_of[units->succs.item[e]];
        high = stage < high ? stage : high;
    }
    if (low == high || s->n_units[from] == 1) {
        return false;
    }
    const int targets[4] = {high, low, from + 1, from - 1};
    for (int i = 0; i < 4; i++) {
        const bool again = i >= 2 && (targets[i] == high || targets[i] == low);
        if (targets[i] >= low && targets[i] <= high && targets[i] != from && !again && try_move(s, unit, targets[i])) {
            return true;
        }
    }
    return false;
}

enum sc_status sc_units_improve(const struct sc_units *units, int n_stages, int *stage_of)
{
    const double max_work = 1e8;
    struct sc_arena arena = {0};
    struct search s = {0};
    const enum sc_status status = open_search(units, n_stages, stage_of, &arena, &s);
    bool moved = status == SC_OK && n_stages > 1;
    for (int pass = 0; pass < 16 && moved && s.work < max_work; pass++) {
        moved = false;
        count_all(&s);
        for (int i = 0; i < units->n && s.work < max_work; i++) {
            moved |= move_unit(&s, pass % 2 ? i : units->n - 1 - i);
        }
    }
    sc_arena_release(&arena);
    return status;
}

/* What the stage of a unit spends on it at least: its seconds; for each unit that it reads, that unit too or receiving
 * from it; and for the output that costs most, sending it or having all its readers too. */
static double unit_bound(const struct sc_units *units, int unit, double *received, double max_speed)
{
    double bound = units->seconds[unit] / max_speed, sending = 0;
    for (int e = units->consumed.start[unit]; e < units->consumed.start[unit + 1]; e++) {
        received[units->producer_unit[units->consumed.item[e]]] += units->producer_cost[units->consumed.item[e]];
    }
    for (int e = units->preds.start[unit]; e < units->preds.start[unit + 1]; e++) {
        const int pred = units->preds.item[e];
        const double joined = units->seconds[pred] / max_speed;
        bound += joined < received[pred] ? joined : received[pred];
        received[pred] = 0;
    }
    for (int e = units->produced.start[unit]; e < units->produced.start[unit + 1]; e++) {
        const int p = units->produced.item[e];
        double joined = 0;
        for (int r = units->consumers.start[p]; r < units->consumers.start[p + 1]; r++) {
            joined += units->seconds[units->consumers.item[r]] / max_speed;
        }
        const double least = joined < units->producer_cost[p] ? joined : units->producer_cost[p];
        sending = least > sending ? least : sending;
    }
    return bound + sending;
}

enum sc_status sc_units_bound(const struct sc_units *units, double *bound)
{
    struct sc_arena arena = {0};
    double *received = sc_arena_array(&arena, (size_t)units->n, sizeof *received);
    if (!received) {
        return SC_NO_MEMORY;
    }
    double speeds = 0, max_speed = 0;
    for (int k = 0; k < units->problem->n_stages; k++) {
        const double speed = speed_of(units, k);
        speeds += speed;
        max_speed = speed > max_speed ? speed : max_speed;
    }
    double best = units->total_seconds / speeds;
    for (int u = 0; u < units->n; u++) {
        const double x = unit_bound(units, u, received, max_speed);
        best = x > best ? x : best;
    }
    sc_arena_release(&arena);
    *bound = best;
    return SC_OK;
}
