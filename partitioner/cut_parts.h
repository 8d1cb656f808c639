/* SPDX-License-Identifier: Apache-2.0
 * The parts of the cut solvers, shared by cut_*.c only. */
#ifndef SC_PARTITIONER_CUT_PARTS_H
#define SC_PARTITIONER_CUT_PARTS_H

#include "partitioner/cut.h"

/* Lists of ints, one after the other: list i is item[start[i]] to item[start[i + 1] - 1]. */
struct sc_lists {
    int n;
    int *start, *item;
};

/* The problem with everything that must stay together joined to units. Units are numbered by their first node.
 * A producer is a node whose output some other unit reads; it keeps its own cost, since a unit may send several. */
struct sc_units {
    const struct sc_cut_problem *problem;
    int n;
    int *unit_of; /* per node */
    double *seconds;
    int64_t *memory;
    double total_seconds;
    struct sc_lists preds, succs; /* distinct units, ascending */
    int n_producers;
    int *producer_unit;
    double *producer_cost; /* to send or receive it once */
    struct sc_lists consumers; /* per producer: distinct other units, ascending */
    struct sc_lists produced; /* per unit: its producers */
    struct sc_lists consumed; /* per unit: the producers that it reads */
    int64_t *weight_bytes; /* weights that several units read */
    struct sc_lists users; /* per such weight: distinct units */
    struct sc_lists used; /* per unit: such weights */
};

/* Checks the problem and joins. Everything is in the arena. */
enum sc_status sc_units_build(const struct sc_cut_problem *problem, struct sc_arena *arena, struct sc_units *units);

/* For as many stages as are asked for; or fewer will do. */
enum sc_status sc_units_suffice(const struct sc_units *units);

/* Lists from n_pairs pairs (key[i], item[i]): by key, items ascending, doubles dropped, and pairs of a negative key. */
enum sc_status sc_lists_build(
    struct sc_arena *arena, int n, int n_pairs, const int *key, const int *item, struct sc_lists *lists);

enum sc_order_kind { SC_ORDER_FILE, SC_ORDER_DEPTH, SC_ORDER_LEVEL, SC_ORDER_LATE, SC_ORDER_LIVE, SC_ORDER_N };

/* order[position] = unit. */
enum sc_status sc_order_build(
    const struct sc_units *units, enum sc_order_kind kind, struct sc_arena *arena, int *order);

/* A uniformly chosen unit among those ready, each time. */
enum sc_status sc_order_random(const struct sc_units *units, uint64_t seed, struct sc_arena *arena, int *order);

enum sc_slice_goal {
    SC_SLICE_MAX, /* the slowest stage */
    SC_SLICE_SUM, /* all stages */
    SC_SLICE_SQUARES /* evenness: the sum of squares */
};

/* The goal's value for the stages before, with one more of so many seconds. */
double sc_slice_joined(enum sc_slice_goal goal, double before, double seconds);

/* Cuts the order into at most n_stages slices (exactly: exact) so that the goal is least, no stage is over cap_seconds
 * (0: no cap) and none over its memory limit. An order with more than max_places places to cut is thinned to the
 * cheapest of them (0: never). n_used is 0 when there is no such cut. */
struct sc_slice {
    enum sc_slice_goal goal;
    const int *order;
    int n_stages;
    bool exact;
    double cap_seconds;
    int max_places;
    double max_work; /* pairs of places times stages that may be looked at; 0: any number */
    /* set */
    int n_used; /* stages */
    double value; /* the goal's */
    bool gave_up; /* more work than that was expected */
    bool full; /* every place of the order could be cut */
};

/* stage_of (per unit) is set when n_used > 0. Fails with SC_NO_MEMORY only. */
enum sc_status sc_slice_solve(const struct sc_units *units, struct sc_slice *slice, int *stage_of);

/* The least memory limit under which the order can be cut into at most n_stages slices. */
enum sc_status sc_slice_memory(const struct sc_units *units, const int *order, int n_stages, int64_t *bytes);

/* Downsets: sets of units that hold all that their units read. Stages 0 to k of any partition are one, so a partition
 * is a chain of them. Numbered by size: 0 is empty, the last is everything. */
struct sc_downsets {
    int n; /* 0: there are more than asked for */
    size_t n_words; /* of a set */
    uint64_t *bits;
    int *start; /* n + 1; steps of set i: start[i] to start[i + 1] - 1 */
    int *unit, *next; /* per step: the unit that is added, the set that this gives */
};

enum sc_status sc_downsets_build(
    const struct sc_units *units, int max_sets, struct sc_arena *arena, struct sc_downsets *downsets);

/* As sc_slice_solve, but over all partitions: the value is the best there is. Order and places are not looked at;
 * max_work counts steps and readers, and is noticed on the way. */
enum sc_status sc_downsets_solve(
    const struct sc_units *units, const struct sc_downsets *downsets, struct sc_slice *slice, int *stage_of);

/* busy[stage] and memory[stage] of a partition of units. */
enum sc_status sc_units_load(
    const struct sc_units *units, int n_stages, const int *stage_of, double *busy, int64_t *memory);

/* Moves units between stages while that makes the slowest stage faster, or the partition more even (latency: the sum
 * smaller). Keeps every stage non-empty, every edge forward, and memory within limits. */
enum sc_status sc_units_improve(const struct sc_units *units, int n_stages, int *stage_of);

/* A proven bound of the slowest stage of any partition into at most n_stages. */
enum sc_status sc_units_bound(const struct sc_units *units, double *bound);

/* Whether the order is the only one: each unit reads its predecessor. */
bool sc_order_is_only(const struct sc_units *units, const int *order);

#endif
