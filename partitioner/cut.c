/* SPDX-License-Identifier: Apache-2.0
 * The solver: several orders, each sliced at coarse places first; the promising ones at every place, then evened out
 * and improved by moves. Caps on the slowest stage, from just over the bound upwards, keep the programme small. Where
 * the graph has few downsets, all partitions are searched with what was found as the cap. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "partitioner/cut_parts.h"

enum { COARSE_PLACES = 1024, SMALL_UNITS = 4096, MAX_DOWNSETS = 40000 };

static const double max_full_work = 4e8; /* about a second */
static const double max_downset_work = 1e8; /* about half a second */

struct found {
    int n_stages; /* 0: nothing */
    int *stage_of; /* per unit */
    double slowest, sum, squares;
};

struct solver {
    const struct sc_units *units;
    struct sc_arena *arena;
    int n_stages;
    bool exact, latency;
    double bound;
    int *orders[SC_ORDER_N];
    double coarse[SC_ORDER_N]; /* the goal's value at coarse places */
    int *trial; /* per unit */
    double *busy;
    int64_t *memory;
    struct found best;
};

static bool precedes(const struct solver *solver, const struct found *a, const struct found *b)
{
    if (!b->n_stages || !a->n_stages) {
        return a->n_stages > 0;
    }
    const double x = solver->latency ? a->sum : a->slowest, y = solver->latency ? b->sum : b->slowest;
    if (fabs(x - y) > 1e-9 * y) {
        return x < y;
    }
    return a->n_stages != b->n_stages ? a->n_stages < b->n_stages : a->squares < b->squares * (1 - 1e-9);
}

static enum sc_status measure(const struct solver *solver, struct found *found)
{
    SC_TRY(sc_units_load(solver->units, found->n_stages, found->stage_of, solver->busy, solver->memory));
    found->slowest = found->sum = found->squares = 0;
    for (int k = 0; k < found->n_stages; k++) {
        found->slowest = solver->busy[k] > found->slowest ? solver->busy[k] : found->slowest;
        found->sum += solver->busy[k];
        found->squares += solver->busy[k] * solver->busy[k];
    }
    return SC_OK;
}

/* Takes `found`, which is in the trial, when it is better than what is known. */
static enum sc_status keep(struct solver *solver, struct found *found)
{
    SC_TRY(measure(solver, found));
    if (precedes(solver, found, &solver->best)) {
        solver->trial = solver->best.stage_of;
        solver->best = *found;
    }
    return SC_OK;
}

/* Slices with rising caps; a cap that some slicing keeps under does not change the best. upper: a value known to be
 * reached, 0: none. */
static enum sc_status slice_order(const struct solver *solver, const int *order, int max_places, double max_work,
    double upper, struct sc_slice *slice)
{
    static const double over_bound[] = {1.02, 1.1, 1.3, 2, 4, 16, 0};
    for (size_t i = 0; i < sizeof over_bound / sizeof *over_bound; i++) {
        double cap = solver->latency ? 0 : solver->bound * over_bound[i];
        const bool last = cap == 0 || (upper > 0 && cap >= upper);
        cap = last ? upper * (1 + 1e-9) : cap;
        *slice = (struct sc_slice){.goal = solver->latency ? SC_SLICE_SUM : SC_SLICE_MAX,
            .order = order,
            .n_stages = solver->n_stages,
            .exact = solver->exact,
            .cap_seconds = solver->latency ? 0 : cap,
            .max_places = max_places,
            .max_work = max_work};
        SC_TRY(sc_slice_solve(solver->units, slice, solver->trial));
        if (slice->n_used || slice->gave_up || last) {
            break;
        }
    }
    return SC_OK;
}

/* Among partitions as good, the most even one. */
static enum sc_status even_out(const struct solver *solver, const struct sc_slice *from)
{
    struct sc_slice slice = *from;
    slice.goal = SC_SLICE_SQUARES;
    slice.n_stages = from->n_used;
    slice.exact = true;
    slice.cap_seconds = from->value * (1 + 1e-9);
    slice.max_work = max_full_work;
    return sc_slice_solve(solver->units, &slice, solver->trial);
}

static enum sc_status refine(struct solver *solver, const int *order)
{
    static const int places[] = {0, 16384, 4096};
    const double upper = solver->best.n_stages ? solver->best.slowest : 0;
    struct sc_slice slice = {0};
    bool done = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !done; i++) {
        SC_TRY(slice_order(solver, order, places[i], max_full_work, upper, &slice));
        done = !slice.gave_up;
    }
    if (!slice.n_used) {
        SC_TRY(slice_order(solver, order, COARSE_PLACES + 4 * solver->n_stages, 0, 0, &slice));
    }
    if (!slice.n_used) {
        return SC_OK;
    }
    if (!solver->latency && slice.value > 0) {
        SC_TRY(even_out(solver, &slice));
    }
    struct found found = {.n_stages = slice.n_used, .stage_of = solver->trial};
    SC_TRY(sc_units_improve(solver->units, found.n_stages, found.stage_of));
    SC_TRY(keep(solver, &found));
    if (slice.full && !solver->latency && sc_order_is_only(solver->units, order)) {
        solver->bound = solver->best.slowest;
    }
    return SC_OK;
}

static enum sc_status solve_orders(struct solver *solver)
{
    const struct sc_units *units = solver->units;
    int n_orders = SC_ORDER_N;
    for (int o = 0; o < n_orders; o++) {
        solver->orders[o] = sc_arena_array(solver->arena, (size_t)units->n, sizeof(int));
        if (!solver->orders[o]) {
            return SC_NO_MEMORY;
        }
        SC_TRY(sc_order_build(units, (enum sc_order_kind)o, solver->arena, solver->orders[o]));
        if (sc_order_is_only(units, solver->orders[o])) {
            n_orders = o + 1;
        }
        if (units->n <= SMALL_UNITS) {
            SC_TRY(refine(solver, solver->orders[o]));
            continue;
        }
        struct sc_slice slice = {0};
        SC_TRY(slice_order(solver, solver->orders[o], COARSE_PLACES + 4 * solver->n_stages, 0, 0, &slice));
        solver->coarse[o] = slice.value;
    }
    for (int round = 0; round < 2 && units->n > SMALL_UNITS; round++) {
        int best = 0;
        for (int o = 1; o < n_orders; o++) {
            best = solver->coarse[o] < solver->coarse[best] ? o : best;
        }
        if (isinf(solver->coarse[best]) && round > 0) {
            break;
        }
        SC_TRY(refine(solver, solver->orders[best]));
        solver->coarse[best] = INFINITY;
    }
    return SC_OK;
}

/* Searches all partitions, for nothing slower than what is known. */
static enum sc_status solve_downsets(struct solver *solver)
{
    const struct sc_units *units = solver->units;
    struct sc_downsets downsets = {0};
    const int max_sets = MAX_DOWNSETS / (1 + solver->n_stages / 64);
    if (units->n > SMALL_UNITS || (solver->best.n_stages && solver->best.slowest <= solver->bound)) {
        return SC_OK;
    }
    SC_TRY(sc_downsets_build(units, max_sets, solver->arena, &downsets));
    if (!downsets.n) {
        return SC_OK;
    }
    const double upper = solver->best.n_stages ? solver->best.slowest * (1 + 1e-9) : 0;
    struct sc_slice slice = {.goal = solver->latency ? SC_SLICE_SUM : SC_SLICE_MAX,
        .n_stages = solver->n_stages,
        .exact = solver->exact,
        .cap_seconds = solver->latency ? 0 : upper,
        .max_work = max_downset_work};
    SC_TRY(sc_downsets_solve(units, &downsets, &slice, solver->trial));
    if (!slice.n_used) {
        return SC_OK;
    }
    if (!solver->latency) {
        solver->bound = slice.value;
        struct sc_slice even = slice;
        even.goal = SC_SLICE_SQUARES;
        even.n_stages = slice.n_used;
        even.exact = true;
        even.cap_seconds = slice.value * (1 + 1e-9);
        SC_TRY(sc_downsets_solve(units, &downsets, &even, solver->trial)); /* gives up: the first one stays */
    }
    struct found found = {.n_stages = slice.n_used, .stage_of = solver->trial};
    return keep(solver, &found);
}

static enum sc_status nothing_fits(const struct solver *solver)
{
    int64_t least = INT64_MAX, limit = 0, lowest = INT64_MAX;
    char from[32] = "";
    for (int o = 0; o < SC_ORDER_N && solver->orders[o]; o++) {
        int64_t bytes = 0;
        SC_TRY(sc_slice_memory(solver->units, solver->orders[o], solver->n_stages, &bytes));
        least = bytes < least ? bytes : least;
    }
    for (int k = 0; k < solver->n_stages && solver->units->problem->memory_limit; k++) {
        const int64_t stage = solver->units->problem->memory_limit[k];
        limit = stage > limit ? stage : limit;
        lowest = stage < lowest ? stage : lowest;
    }
    if (lowest < limit) {
        snprintf(from, sizeof from, "%lld to ", (long long)lowest);
    }
    return sc_fail(SC_LIMIT,
        "no cut into %s%d stages fits into memory: the limit of a stage is %s%lld bytes, %lld bytes for each would do",
        solver->exact ? "" : "up to ", solver->n_stages, from, (long long)limit, (long long)least);
}

static enum sc_status solve(const struct sc_cut_problem *problem, struct sc_arena *arena, struct sc_cut_result *result)
{
    struct sc_units units = {0};
    SC_TRY(sc_units_build(problem, arena, &units));
    if (problem->exact_stages) {
        SC_TRY(sc_units_suffice(&units));
    }
    struct solver solver = {
        .units = &units, .arena = arena, .exact = problem->exact_stages, .latency = problem->latency};
    solver.n_stages = problem->n_stages < units.n ? problem->n_stages : units.n;
    solver.trial = sc_arena_array(arena, (size_t)units.n, sizeof *solver.trial);
    solver.best.stage_of = sc_arena_array(arena, (size_t)units.n, sizeof *solver.best.stage_of);
    solver.busy = sc_arena_array(arena, (size_t)solver.n_stages, sizeof *solver.busy);
    solver.memory = sc_arena_array(arena, (size_t)solver.n_stages, sizeof *solver.memory);
    if (!solver.trial || !solver.best.stage_of || !solver.busy || !solver.memory) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_units_bound(&units, &solver.bound));
    SC_TRY(solve_orders(&solver));
    SC_TRY(solve_downsets(&solver));
    if (!solver.best.n_stages) {
        return nothing_fits(&solver);
    }
    result->n_stages = solver.best.n_stages;
    result->slowest_seconds = solver.best.slowest;
    result->bound_seconds = solver.bound < solver.best.slowest ? solver.bound : solver.best.slowest;
    for (int i = 0; i < problem->n_nodes; i++) {
        result->stage_of[i] = solver.best.stage_of[units.unit_of[i]];
    }
    return SC_OK;
}

enum sc_status sc_cut_solve(const struct sc_cut_problem *problem, struct sc_cut_result *result)
{
    struct sc_arena arena = {0};
    const enum sc_status status = solve(problem, &arena, result);
    sc_arena_release(&arena);
    return status;
}

static enum sc_status measure_nodes(const struct sc_cut_problem *problem, const int *stage_of, struct sc_arena *arena,
    double *busy_seconds, int64_t *memory_bytes)
{
    struct sc_cut_node *nodes = sc_arena_array(arena, (size_t)problem->n_nodes, sizeof *nodes);
    if (!nodes) {
        return SC_NO_MEMORY;
    }
    memcpy(nodes, problem->nodes, (size_t)problem->n_nodes * sizeof *nodes);
    for (int i = 0; i < problem->n_nodes; i++) {
        nodes[i].group = -1;
        if (stage_of[i] < 0 || stage_of[i] >= problem->n_stages) {
            return sc_fail(SC_BAD_INPUT, "node %d is in stage %d of %d", i, stage_of[i], problem->n_stages);
        }
    }
    struct sc_cut_problem single = *problem;
    struct sc_units units = {0};
    single.nodes = nodes;
    SC_TRY(sc_units_build(&single, arena, &units)); /* one unit per node, in order */
    return sc_units_load(&units, problem->n_stages, stage_of, busy_seconds, memory_bytes);
}

enum sc_status sc_cut_measure(
    const struct sc_cut_problem *problem, const int *stage_of, double *busy_seconds, int64_t *memory_bytes)
{
    struct sc_arena arena = {0};
    const enum sc_status status = measure_nodes(problem, stage_of, &arena, busy_seconds, memory_bytes);
    sc_arena_release(&arena);
    return status;
}
