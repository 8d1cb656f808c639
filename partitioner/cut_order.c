/* SPDX-License-Identifier: Apache-2.0
 * Topological orders of units. Slicing an order gives convex stages; which order decides how good the slices can be. */
#include "partitioner/cut_parts.h"

#include <string.h>

#include "base/random.h"

/* A heap of units by (key, unit), smallest first. */
struct heap {
    int n;
    int *unit;
    double *key; /* by unit */
};

static bool comes_before(const struct heap *heap, int a, int b)
{
    return heap->key[a] < heap->key[b] || (heap->key[a] == heap->key[b] && a < b);
}

static void heap_push(struct heap *heap, int unit)
{
    int at = heap->n++;
    while (at > 0 && comes_before(heap, unit, heap->unit[(at - 1) / 2])) {
        heap->unit[at] = heap->unit[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->unit[at] = unit;
}

static int heap_pop(struct heap *heap)
{
    const int top = heap->unit[0], last = heap->unit[--heap->n];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= heap->n) {
            break;
        }
        if (child + 1 < heap->n && comes_before(heap, heap->unit[child + 1], heap->unit[child])) {
            child++;
        }
        if (!comes_before(heap, heap->unit[child], last)) {
            break;
        }
        heap->unit[at] = heap->unit[child];
        at = child;
    }
    heap->unit[at] = last;
    return top;
}

/* Kahn's algorithm with a heap, along `out` edges. */
static enum sc_status by_key(
    const struct sc_lists *in, const struct sc_lists *out, double *key, struct sc_arena *arena, int *order)
{
    const int n = in->n;
    int *waits = sc_arena_array(arena, (size_t)n, sizeof *waits);
    struct heap heap = {0, sc_arena_array(arena, (size_t)n, sizeof(int)), key};
    if (!waits || !heap.unit) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        waits[i] = in->start[i + 1] - in->start[i];
        if (!waits[i]) {
            heap_push(&heap, i);
        }
    }
    for (int at = 0; heap.n > 0; at++) {
        const int unit = order[at] = heap_pop(&heap);
        for (int e = out->start[unit]; e < out->start[unit + 1]; e++) {
            if (!--waits[out->item[e]]) {
                heap_push(&heap, out->item[e]);
            }
        }
    }
    return SC_OK;
}

/* Key: the number of edges on the longest path from a source. */
static enum sc_status by_level(const struct sc_units *units, double *key, struct sc_arena *arena, int *order)
{
    SC_TRY(by_key(&units->preds, &units->succs, key, arena, order));
    for (int at = 0; at < units->n; at++) {
        const int unit = order[at];
        for (int e = units->preds.start[unit]; e < units->preds.start[unit + 1]; e++) {
            const double level = key[units->preds.item[e]] + 1;
            key[unit] = level > key[unit] ? level : key[unit];
        }
    }
    return by_key(&units->preds, &units->succs, key, arena, order);
}

/* From the last sink backwards, the highest unit first: everything stands as late as it can. */
static enum sc_status latest(const struct sc_units *units, double *key, struct sc_arena *arena, int *order)
{
    const int n = units->n;
    for (int i = 0; i < n; i++) {
        key[i] = -i;
    }
    SC_TRY(by_key(&units->succs, &units->preds, key, arena, order));
    for (int i = 0; i < n / 2; i++) {
        const int other = order[n - 1 - i];
        order[n - 1 - i] = order[i];
        order[i] = other;
    }
    return SC_OK;
}

/* Depth first: a unit is placed once all that it reads is, following what was placed last. */
static enum sc_status by_depth(const struct sc_units *units, struct sc_arena *arena, int *order)
{
    const int n = units->n;
    int *waits = sc_arena_array(arena, (size_t)n, sizeof *waits);
    int *stack = sc_arena_array(arena, (size_t)n, sizeof *stack);
    if (!waits || !stack) {
        return SC_NO_MEMORY;
    }
    int n_stack = 0;
    for (int i = n - 1; i >= 0; i--) {
        waits[i] = units->preds.start[i + 1] - units->preds.start[i];
        if (!waits[i]) {
            stack[n_stack++] = i;
        }
    }
    for (int at = 0; n_stack > 0; at++) {
        const int unit = order[at] = stack[--n_stack];
        for (int e = units->succs.start[unit + 1] - 1; e >= units->succs.start[unit]; e--) {
            if (!--waits[units->succs.item[e]]) {
                stack[n_stack++] = units->succs.item[e];
            }
        }
    }
    return SC_OK;
}

/* Next the ready unit that adds the least to what would cross a cut: its own outputs come, inputs that it reads last
 * go. The key is settled when the unit becomes ready, except for inputs whose other readers are placed later. */
static enum sc_status by_live(const struct sc_units *units, double *key, struct sc_arena *arena, int *order)
{
    const int n = units->n;
    int *waits = sc_arena_array(arena, (size_t)n, sizeof *waits);
    int *readers = sc_arena_array(arena, (size_t)units->n_producers, sizeof *readers);
    struct heap heap = {0, sc_arena_array(arena, (size_t)n, sizeof(int)), key};
    if (!waits || !readers || !heap.unit) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < units->n_producers; p++) {
        readers[p] = units->consumers.start[p + 1] - units->consumers.start[p];
        key[units->producer_unit[p]] += units->producer_cost[p];
    }
    for (int i = 0; i < n; i++) {
        waits[i] = units->preds.start[i + 1] - units->preds.start[i];
        if (!waits[i]) {
            heap_push(&heap, i);
        }
    }
    for (int at = 0; heap.n > 0; at++) {
        const int unit = order[at] = heap_pop(&heap);
        for (int e = units->consumed.start[unit]; e < units->consumed.start[unit + 1]; e++) {
            readers[units->consumed.item[e]]--;
        }
        for (int e = units->succs.start[unit]; e < units->succs.start[unit + 1]; e++) {
            const int next = units->succs.item[e];
            if (--waits[next]) {
                continue;
            }
            for (int c = units->consumed.start[next]; c < units->consumed.start[next + 1]; c++) {
                const int p = units->consumed.item[c];
                key[next] -= units->producer_cost[p] / readers[p];
            }
            heap_push(&heap, next);
        }
    }
    return SC_OK;
}

enum sc_status sc_order_build(const struct sc_units *units, enum sc_order_kind kind, struct sc_arena *arena, int *order)
{
    double *key = sc_arena_array(arena, (size_t)units->n, sizeof *key);
    if (!key) {
        return SC_NO_MEMORY;
    }
    switch (kind) {
    case SC_ORDER_DEPTH:
        return by_depth(units, arena, order);
    case SC_ORDER_LEVEL:
        return by_level(units, key, arena, order);
    case SC_ORDER_LATE:
        return latest(units, key, arena, order);
    case SC_ORDER_LIVE:
        return by_live(units, key, arena, order);
    default:
        return by_key(&units->preds, &units->succs, key, arena, order);
    }
}

enum sc_status sc_order_random(const struct sc_units *units, uint64_t seed, struct sc_arena *arena, int *order)
{
    const int n = units->n;
    const struct sc_random_key draw = {seed, 0, 0};
    int *waits = sc_arena_array(arena, (size_t)n, sizeof *waits);
    int *ready = sc_arena_array(arena, (size_t)n, sizeof *ready);
    if (!waits || !ready) {
        return SC_NO_MEMORY;
    }
    int n_ready = 0;
    for (int i = 0; i < n; i++) {
        waits[i] = units->preds.start[i + 1] - units->preds.start[i];
        if (!waits[i]) {
            ready[n_ready++] = i;
        }
    }
    for (int at = 0; n_ready > 0; at++) {
        const int pick = (int)(sc_random_uniform(&draw, (uint64_t)at) * n_ready);
        const int unit = order[at] = ready[pick];
        ready[pick] = ready[--n_ready];
        for (int e = units->succs.start[unit]; e < units->succs.start[unit + 1]; e++) {
            if (!--waits[units->succs.item[e]]) {
                ready[n_ready++] = units->succs.item[e];
            }
        }
    }
    return SC_OK;
}

bool sc_order_is_only(const struct sc_units *units, const int *order)
{
    for (int at = 1; at < units->n; at++) {
        bool reads = false;
        for (int e = units->preds.start[order[at]]; e < units->preds.start[order[at] + 1] && !reads; e++) {
            reads = units->preds.item[e] == order[at - 1];
        }
        if (!reads) {
            return false;
        }
    }
    return true;
}
