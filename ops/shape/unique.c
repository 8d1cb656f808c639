/* SPDX-License-Identifier: Apache-2.0
 * Unique: the places of slices are sorted by a stable sort, so that equal ones stand together in the order of their
 * occurrence. Single numbers become keys of 64 bits, which are sorted by their digits; other slices are merged. */
#include <math.h>
#include <string.h>

#include "ops/shape/element.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define TILE 256
#define DIGITS 8 /* bytes of a key */

struct params {
    bool flat; /* no axis: elements of the flattened input */
    int64_t axis, sorted;
};

static enum sc_status params_unique(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->flat = !sc_node_attribute(node, "axis");
    SC_TRY(sc_node_int(node, "sorted", 1, &p->sorted));
    return sc_node_int(node, "axis", 0, &p->axis);
}

static enum sc_status infer_unique(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    for (int i = 1; i < infer->n_out; i++) {
        sc_fact_of_rank(infer->out[i], SC_I64, 1);
    }
    return sc_infer_some(infer, p->flat, p->axis);
}

/* n slices: slice s holds elements [o][s][i] of [outer, n, inner]. */
struct slices {
    enum sc_type type;
    size_t bytes;
    const void *data;
    int64_t outer, n, inner;
};

static int compare(const struct slices *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->outer; o++) {
        for (int64_t i = 0; i < s->inner; i++) {
            const int result = sc_element_order(s->type, sc_const_at(s->data, (o * s->n + a) * s->inner + i, s->bytes),
                sc_const_at(s->data, (o * s->n + b) * s->inner + i, s->bytes));
            if (result) {
                return result;
            }
        }
    }
    return 0;
}

static void merge(const struct slices *s, const int64_t *from, int64_t *to, int64_t first, int64_t middle, int64_t end)
{
    int64_t a = first;
    int64_t b = middle;
    for (int64_t i = first; i < end; i++) {
        const bool left = a < middle && (b >= end || compare(s, from[a], from[b]) <= 0);
        to[i] = left ? from[a++] : from[b++];
    }
}

/* Sorts the numbers of slices; returns where they lie, one of the two arrays. */
static int64_t *sort(const struct slices *s, int64_t *list, int64_t *room)
{
    for (int64_t i = 0; i < s->n; i++) {
        list[i] = i;
    }
    for (int64_t width = 1; width < s->n; width *= 2) {
        for (int64_t first = 0; first < s->n; first += 2 * width) {
            const int64_t middle = first + width < s->n ? first + width : s->n;
            const int64_t end = first + 2 * width < s->n ? first + 2 * width : s->n;
            merge(s, list, room, first, middle, end);
        }
        int64_t *swap = list;
        list = room;
        room = swap;
    }
    return list;
}

/* Keys have the order of their numbers; zeros have one key, what is no number has one above all. */
struct keyed {
    uint64_t key;
    int64_t at;
};

static uint64_t key_of_double(double x)
{
    uint64_t bits;
    x = x == 0.0 ? 0.0 : x;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? UINT64_MAX : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Returns the smallest key. */
static uint64_t make_keys(const struct slices *s, struct keyed *list)
{
    const bool is_float = sc_type_is_float(s->type) || !(sc_type_is_int(s->type) || s->type == SC_BOOL);
    union {
        double f[TILE];
        uint64_t u[TILE];
    } tile;
    uint64_t least = UINT64_MAX;
    for (int64_t at = 0; at < s->n; at += TILE) {
        const int64_t n = s->n - at < TILE ? s->n - at : TILE;
        const enum sc_type hub = is_float ? SC_F64 : s->type == SC_U64 ? SC_U64 : SC_I64;
        sc_convert(s->type, sc_const_at(s->data, at, s->bytes), hub, &tile, n, 0);
        for (int64_t i = 0; i < n; i++) {
            const uint64_t whole = hub == SC_I64 ? tile.u[i] ^ (uint64_t)1 << 63 : tile.u[i];
            const uint64_t key = is_float ? key_of_double(tile.f[i]) : whole;
            list[at + i] = (struct keyed){key, at + i};
            least = key < least ? key : least;
        }
    }
    return least;
}

/* By one digit after the other, the lowest first; one that all share is passed over. Returns where they lie. */
static struct keyed *sort_keys(int64_t n, uint64_t least, struct keyed *list, struct keyed *room)
{
    int64_t counts[DIGITS][256] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        list[i].key -= least;
        for (int d = 0; d < DIGITS; d++) {
            counts[d][list[i].key >> 8 * d & 255]++;
        }
    }
    for (int d = 0; d < DIGITS; d++) {
        if (counts[d][list[0].key >> 8 * d & 255] == n) {
            continue;
        }
        int64_t next = 0;
        for (int k = 0; k < 256; k++) {
            const int64_t count = counts[d][k];
            counts[d][k] = next;
            next += count;
        }
        for (int64_t i = 0; i < n; i++) {
            room[counts[d][list[i].key >> 8 * d & 255]++] = list[i];
        }
        struct keyed *swap = list;
        list = room;
        room = swap;
    }
    return list;
}

/* Sorted places, and where a group begins among them. */
struct order {
    int64_t *places;
    bool *begins;
};

static enum sc_status order_numbers(const struct slices *s, struct sc_arena *arena, struct order *o)
{
    struct keyed *list = sc_arena_array(arena, (size_t)s->n * 2, sizeof *list);
    if (!list) {
        return SC_NO_MEMORY;
    }
    const uint64_t least = make_keys(s, list);
    const struct keyed *sorted = s->n > 0 ? sort_keys(s->n, least, list, list + s->n) : list;
    for (int64_t i = 0; i < s->n; i++) {
        o->places[i] = sorted[i].at;
        o->begins[i] = i == 0 || sorted[i - 1].key != sorted[i].key;
    }
    return SC_OK;
}

static enum sc_status order_slices(const struct slices *s, struct sc_arena *arena, struct order *o)
{
    if (s->outer == 1 && s->inner == 1 && sc_convertible(s->type)) {
        return order_numbers(s, arena, o);
    }
    int64_t *room = sc_arena_array(arena, (size_t)s->n, sizeof *room);
    if (!room) {
        return SC_NO_MEMORY;
    }
    const int64_t *sorted = sort(s, o->places, room);
    for (int64_t i = 0; i < s->n; i++) {
        o->begins[i] = i == 0 || compare(s, sorted[i - 1], sorted[i]) != 0;
    }
    if (sorted != o->places) {
        memcpy(o->places, sorted, (size_t)s->n * sizeof *sorted);
    }
    return SC_OK;
}

/* Results, one entry per group except inverse: one per slice. */
struct groups {
    int64_t n;
    int64_t *first, *inverse, *count;
};

/* Groups in sorted order; then, for sorted = 0, renumbered by first occurrence. */
static void find_groups(const struct slices *s, const struct order *o, bool by_value, int64_t *room, struct groups *g)
{
    g->n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (o->begins[i]) {
            g->first[g->n] = o->places[i];
            g->count[g->n++] = 0;
        }
        g->inverse[o->places[i]] = g->n - 1;
        g->count[g->n - 1]++;
    }
    if (by_value) {
        return;
    }
    int64_t *number = room; /* of a sorted group, by occurrence */
    int64_t *counts = room + s->n;
    memcpy(counts, g->count, (size_t)g->n * sizeof(*counts));
    int64_t next = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t group = g->inverse[i];
        if (g->first[group] == i) {
            number[group] = next++;
        }
        g->inverse[i] = number[group];
    }
    for (int64_t i = 0; i < g->n; i++) {
        g->count[number[i]] = counts[i];
    }
    next = 0;
    for (int64_t i = 0; i < s->n; i++) { /* slices come in order, so each group's first is met in its turn */
        if (g->inverse[i] == next) {
            g->first[next++] = i;
        }
    }
}

static enum sc_status put_list(const struct sc_call *call, int output, const int64_t *list, int64_t n)
{
    if (output >= call->n_out || !call->out[output]) {
        return SC_OK;
    }
    struct sc_value *out = call->out[output];
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, SC_I64, 1, &n, &out->u.tensor));
    if (n > 0) {
        memcpy(out->u.tensor.data, list, (size_t)n * sizeof(*list));
    }
    return SC_OK;
}

static enum sc_status put_slices(const struct sc_call *call, const struct slices *s, const struct groups *g, int axis)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_value *out = call->out[0];
    if (!out) {
        return SC_OK;
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, in->dims, sizeof(dims));
    dims[axis] = g->n;
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, s->type, p->flat ? 1 : in->rank, dims, &out->u.tensor));
    const size_t row = (size_t)s->inner * s->bytes;
    for (int64_t o = 0; o < s->outer && row > 0; o++) {
        for (int64_t i = 0; i < g->n; i++) {
            memcpy(
                sc_at(out->u.tensor.data, o * g->n + i, row), sc_const_at(s->data, o * s->n + g->first[i], row), row);
        }
    }
    return SC_OK;
}

static enum sc_status exec_unique(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct slices s = {.type = in->type, .bytes = sc_type_bytes(in->type), .data = in->data};
    int axis = 0;
    s.outer = 1;
    s.inner = 1;
    s.n = sc_tensor_count(in);
    if (!p->flat) {
        SC_TRY(sc_axis(call->graph, call->node, "axis", p->axis, in->rank, &axis));
        s.outer = sc_dims_product(in->dims, 0, axis);
        s.n = in->dims[axis];
        s.inner = sc_dims_product(in->dims, axis + 1, in->rank);
    }
    int64_t *lists = sc_arena_array(call->arena, (size_t)s.n * 6, sizeof *lists);
    bool *begins = sc_arena_array(call->arena, (size_t)s.n, sizeof *begins);
    if (!lists || !begins) {
        return SC_NO_MEMORY;
    }
    struct order o = {.places = lists, .begins = begins};
    struct groups g = {.first = lists + s.n, .inverse = lists + 2 * s.n, .count = lists + 3 * s.n};
    SC_TRY(order_slices(&s, call->arena, &o));
    find_groups(&s, &o, p->sorted != 0, lists + 4 * s.n, &g);
    SC_TRY(put_slices(call, &s, &g, axis));
    SC_TRY(put_list(call, 1, g.first, g.n));
    SC_TRY(put_list(call, 2, g.inverse, s.n));
    return put_list(call, 3, g.count, g.n);
}

#define UNIQUE(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "Unique", .since = (version), .params = params_unique, .infer = infer_unique,            \
        .exec = exec_unique                                                                                            \
    }

const struct sc_op sc_ops_shape_unique[] = {UNIQUE(11), UNIQUE(28), {.name = NULL}};
