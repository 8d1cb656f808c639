/* SPDX-License-Identifier: Apache-2.0
 * Sizes and forms, and the walk over the nodes. Whatever is not proven is unknown: a caller may take what is known for
 * granted, for every value of the symbols. */
#include "passes/symbolic.h"

#include <string.h>

#include "passes/symbolic_parts.h"

#define SC_LARGEST ((int64_t)1 << 40) /* so that no sum or product of a few overflows */

static bool in_range(int64_t x)
{
    return x > -SC_LARGEST && x < SC_LARGEST;
}

bool sc_size_safe(const struct sc_size *size)
{
    return in_range(size->constant);
}

bool sc_size_equal(const struct sc_size *a, const struct sc_size *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool sc_size_constant(const struct sc_size *size)
{
    for (int k = 0; k < SC_SYMBOLS; k++) {
        if (size->symbol[k] != 0) {
            return false;
        }
    }
    return true;
}

bool sc_size_is(const struct sc_size *size, int64_t constant)
{
    return size->constant == constant && sc_size_constant(size);
}

static bool add(int64_t a, int64_t b, int64_t factor, int64_t *sum)
{
    const int64_t most = SC_LARGEST / (factor < 0 ? 1 - factor : 1 + factor);
    *sum = 0;
    if (!in_range(a) || !in_range(factor) || b > most || b < -most) {
        return false;
    }
    *sum = a + b * factor;
    return in_range(*sum);
}

bool sc_size_add(const struct sc_size *a, const struct sc_size *b, int64_t factor, struct sc_size *sum)
{
    struct sc_size made;
    bool fits = add(a->constant, b->constant, factor, &made.constant);
    for (int k = 0; k < SC_SYMBOLS; k++) {
        fits = add(a->symbol[k], b->symbol[k], factor, &made.symbol[k]) && fits;
    }
    *sum = made;
    return fits;
}

bool sc_size_not_negative(const struct sc_symbolics *s, const struct sc_size *size)
{
    int64_t least = size->constant;
    for (int k = 0; k < SC_SYMBOLS; k++) {
        if (size->symbol[k] < 0 || !add(least, s->least[k], size->symbol[k], &least)) {
            return false;
        }
    }
    return least >= 0;
}

/* size is at least itself less what the bound has left. */
static bool bounded_by(const struct sc_symbolics *s, const struct sc_size *size, const struct sc_symbolic_bound *bound)
{
    struct sc_size least;
    return sc_size_add(size, &bound->size, 1, &least) && add(least.constant, -bound->most, 1, &least.constant) &&
        sc_size_not_negative(s, &least);
}

bool sc_size_bounded(struct sc_symbolics *s, const struct sc_size *size)
{
    struct sc_symbolic_bound both = {.size = {.symbol = {1, 1}}, .most = s->assumed};
    bool holds = sc_size_not_negative(s, size) || (s->assumed > 0 && bounded_by(s, size, &both));
    for (int b = 0; b < s->n_bounds && !holds; b++) {
        holds = bounded_by(s, size, &s->bounds[b]);
    }
    both.most = size->constant;
    if (!holds && s->may_assume && size->symbol[0] == -1 && size->constant > 0 && bounded_by(s, size, &both)) {
        s->assumed = s->assumed == 0 || size->constant < s->assumed ? size->constant : s->assumed;
        holds = true;
    }
    return holds;
}

bool sc_form_constant(const struct sc_form *form)
{
    for (int d = 0; d < SC_SYMBOLIC_RANK; d++) {
        if (form->index[d] != 0) {
            return false;
        }
    }
    return true;
}

/* The least (sign 1) or minus the greatest (sign -1) that the form gets to: each index is 0 or dim - 1 then. */
static bool extreme(const struct sc_form *form, int rank, const struct sc_size *dims, int sign, struct sc_size *least)
{
    const struct sc_size zero = {0};
    if (!sc_size_add(&zero, &form->base, sign, least)) {
        return false;
    }
    for (int d = 0; d < rank; d++) {
        const int64_t slope = form->index[d] * sign;
        struct sc_size last = dims[d];
        last.constant--;
        if (slope < 0 && !sc_size_add(least, &last, slope, least)) {
            return false;
        }
    }
    return true;
}

int sc_form_holds(const struct sc_symbolics *s, const struct sc_form *form, int rank, const struct sc_size *dims)
{
    struct sc_size least;
    if (extreme(form, rank, dims, 1, &least) && sc_size_not_negative(s, &least)) {
        return 1;
    }
    if (extreme(form, rank, dims, -1, &least)) {
        least.constant--; /* the greatest is below 0: minus it is at least 1 */
        return sc_size_not_negative(s, &least) ? 0 : -1;
    }
    return -1;
}

bool sc_form_add(const struct sc_form *a, const struct sc_form *b, int64_t factor, struct sc_form *sum)
{
    bool fits = sc_size_add(&a->base, &b->base, factor, &sum->base);
    for (int d = 0; d < SC_SYMBOLIC_RANK; d++) {
        fits = add(a->index[d], b->index[d], factor, &sum->index[d]) && fits;
    }
    return fits;
}

bool sc_form_invert(const struct sc_form *form, struct sc_form *inverse)
{
    const struct sc_form less_than_zero = {.base = {.constant = -1}};
    return sc_form_add(&less_than_zero, form, -1, inverse);
}

bool sc_form_implies(const struct sc_symbolics *s, const struct sc_form *a, const struct sc_form *b, int rank,
    const struct sc_size *dims)
{
    struct sc_form difference;
    return sc_form_holds(s, b, rank, dims) == 1 || sc_form_holds(s, a, rank, dims) == 0 ||
        (sc_form_add(b, a, -1, &difference) && sc_form_holds(s, &difference, rank, dims) == 1);
}

struct sc_symbolic *sc_symbolic_in(struct sc_symbolics *s, const struct sc_node *node, int i)
{
    return i < node->n_in && node->in[i] >= 0 ? &s->values[node->in[i]] : NULL;
}

struct sc_symbolic *sc_symbolic_out(struct sc_symbolics *s, const struct sc_node *node, int o)
{
    return o < node->n_out && node->out[o] >= 0 ? &s->values[node->out[o]] : NULL;
}

enum sc_status sc_symbolic_set(struct sc_symbolics *s, struct sc_symbolic *out, int rank, const struct sc_size *dims)
{
    if (!out || rank > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    struct sc_size *copy = sc_arena_array(s->arena, (size_t)rank, sizeof *copy);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    if (rank) {
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    }
    *out = (struct sc_symbolic){.rank = rank, .dims = copy};
    return SC_OK;
}

enum sc_status sc_symbolic_set_form(
    struct sc_symbolics *s, struct sc_symbolic *out, enum sc_symbolic_kind kind, const struct sc_form *form)
{
    if (!out || out->rank < 0) {
        return SC_OK;
    }
    struct sc_form *made = sc_arena_alloc(s->arena, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    *made = *form;
    for (int d = 0; d < SC_SYMBOLIC_RANK; d++) {
        if (d >= out->rank || sc_size_is(&out->dims[d], 1)) {
            made->index[d] = 0;
        }
    }
    if (kind == SC_SYMBOLIC_TEST || kind == SC_SYMBOLIC_CHOICE) {
        const int holds = sc_form_holds(s, made, out->rank, out->dims);
        if (holds >= 0) { /* in one form, so that equal tests look equal */
            *made = (struct sc_form){.base.constant = holds - 1};
        }
    }
    out->kind = kind;
    out->form = made;
    out->also = NULL;
    return SC_OK;
}

enum sc_status sc_symbolic_set_both(struct sc_symbolics *s, struct sc_symbolic *out, enum sc_symbolic_kind kind,
    const struct sc_form *form, const struct sc_form *also)
{
    SC_TRY(sc_symbolic_set_form(s, out, kind, form));
    if (!also || !out || out->rank < 0 || sc_form_holds(s, out->form, out->rank, out->dims) == 0) {
        return SC_OK;
    }
    const struct sc_form *first = out->form;
    const bool one_is_enough = sc_form_implies(s, also, first, out->rank, out->dims);
    if (!one_is_enough && sc_form_implies(s, first, also, out->rank, out->dims)) {
        return SC_OK;
    }
    SC_TRY(sc_symbolic_set_form(s, out, kind, also));
    if (!one_is_enough && sc_form_holds(s, out->form, out->rank, out->dims) < 0) {
        out->also = out->form;
        out->form = first;
    }
    return SC_OK;
}

enum sc_status sc_symbolic_set_like(struct sc_symbolics *s, struct sc_symbolic *out, const struct sc_symbolic *like)
{
    if (!out || out->rank < 0) {
        return SC_OK;
    }
    out->yes = like->yes;
    out->no = like->no;
    out->slope = like->slope;
    out->scale = like->scale;
    return sc_symbolic_set_both(s, out, like->kind, like->form, like->also);
}

enum sc_status sc_symbolic_set_list(struct sc_symbolics *s, struct sc_symbolic *out, int n, const struct sc_size *list)
{
    if (!out || out->rank < 0 || n > SC_SYMBOLIC_MOST) {
        return SC_OK;
    }
    out->list = sc_arena_array(s->arena, (size_t)n, sizeof *out->list);
    if (!out->list) {
        return SC_NO_MEMORY;
    }
    if (n) {
        memcpy(out->list, list, (size_t)n * sizeof *list);
    }
    out->kind = SC_SYMBOLIC_LIST;
    out->n_list = n;
    return SC_OK;
}

bool sc_symbolic_form(const struct sc_symbolic *value, struct sc_form *form)
{
    if (value && value->rank >= 0 && value->kind == SC_SYMBOLIC_FORM) {
        *form = *value->form;
        return true;
    }
    if (!value || value->rank < 0 || value->kind != SC_SYMBOLIC_LIST || value->n_list < 1) {
        return false;
    }
    for (int i = 1; i < value->n_list; i++) {
        if (!sc_size_equal(&value->list[i], &value->list[0])) {
            return false;
        }
    }
    *form = (struct sc_form){.base = value->list[0]};
    return true;
}

bool sc_symbolic_list(const struct sc_symbolic *value, int *n, struct sc_size *list)
{
    if (!value || value->rank < 0 || value->rank > 1) {
        return false;
    }
    if (value->kind == SC_SYMBOLIC_LIST) {
        *n = value->n_list;
        for (int i = 0; i < *n; i++) {
            list[i] = value->list[i];
        }
        return true;
    }
    const struct sc_size one = {.constant = 1};
    const struct sc_size *count = value->rank ? &value->dims[0] : &one;
    if (value->kind != SC_SYMBOLIC_FORM || !sc_size_constant(count) || count->constant > SC_SYMBOLIC_MOST) {
        return false;
    }
    *n = (int)count->constant;
    for (int i = 0; i < *n; i++) {
        list[i] = value->form->base;
        list[i].constant += i * value->form->index[0];
    }
    return true;
}

bool sc_symbolic_ints(const struct sc_symbolic *value, int *n, int64_t *ints)
{
    struct sc_size list[SC_SYMBOLIC_MOST];
    if (!sc_symbolic_list(value, n, list)) {
        return false;
    }
    for (int i = 0; i < *n; i++) {
        if (!sc_size_constant(&list[i])) {
            return false;
        }
        ints[i] = list[i].constant;
    }
    return true;
}

/* y is the lesser of x and something, which is at least 1: where it is not x, x is above 1, and so y differs. */
static bool is_less_of(const struct sc_symbolics *s, const struct sc_size *x, const struct sc_size *y)
{
    for (int k = 0; k < s->n_symbols; k++) {
        struct sc_size alone = {0};
        alone.symbol[k] = 1;
        if (s->made[k].kind == SC_MADE_LESSER && sc_size_equal(y, &alone)) {
            return sc_size_equal(&s->made[k].a, x);
        }
    }
    return false;
}

bool sc_symbolic_broadcast(
    const struct sc_symbolics *s, const struct sc_shape *a, const struct sc_shape *b, int *rank, struct sc_size *dims)
{
    const struct sc_size one = {.constant = 1};
    *rank = a->rank > b->rank ? a->rank : b->rank;
    if (a->rank < 0 || b->rank < 0 || *rank > SC_SYMBOLIC_RANK) {
        return false;
    }
    for (int d = 0; d < *rank; d++) {
        const int at_a = d - (*rank - a->rank), at_b = d - (*rank - b->rank);
        const struct sc_size *x = at_a < 0 ? &one : &a->dims[at_a], *y = at_b < 0 ? &one : &b->dims[at_b];
        if (sc_size_is(x, 1) || is_less_of(s, y, x)) {
            dims[d] = *y;
        } else if (sc_size_equal(x, y) || sc_size_is(y, 1) || is_less_of(s, x, y)) {
            dims[d] = *x;
        } else {
            return false;
        }
    }
    return true;
}

void sc_symbolic_lift(struct sc_form *form, int rank, const struct sc_size *dims, int to)
{
    struct sc_form lifted = {.base = form->base};
    for (int d = 0; d < rank; d++) {
        if (!sc_size_is(&dims[d], 1)) {
            lifted.index[d + to - rank] = form->index[d];
        }
    }
    *form = lifted;
}

struct sc_symbolic sc_symbolic_lifted(const struct sc_symbolic *value, int to, struct sc_form form[2])
{
    struct sc_symbolic lifted = *value;
    form[0] = *value->form;
    sc_symbolic_lift(&form[0], value->rank, value->dims, to);
    lifted.form = &form[0];
    if (value->also) {
        form[1] = *value->also;
        sc_symbolic_lift(&form[1], value->rank, value->dims, to);
        lifted.also = &form[1];
    }
    lifted.slope = value->slope < 0 ? -1 : value->slope + to - value->rank;
    return lifted;
}

int sc_symbolic_axis(const struct sc_node *node, const char *name, int64_t otherwise, int rank)
{
    const struct sc_attribute *attribute = sc_node_attribute(node, name);
    const int64_t axis = attribute && attribute->type == SC_ATTRIBUTE_INT ? attribute->u.i : otherwise;
    if (axis < -rank || axis >= rank) {
        return -1;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

/* A constant, or a value of which inference knows the dims. */
static enum sc_status from_fact(struct sc_symbolics *s, const struct sc_fact *fact, struct sc_symbolic *out)
{
    struct sc_size dims[SC_SYMBOLIC_RANK] = {{0}};
    const struct sc_tensor *known = fact->value;
    if (fact->kind != SC_KIND_TENSOR || fact->rank < 0 || fact->rank > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    for (int d = 0; d < fact->rank; d++) {
        if (!sc_symbolics_size(s, fact->dims[d], &dims[d])) {
            return SC_OK;
        }
    }
    SC_TRY(sc_symbolic_set(s, out, fact->rank, dims));
    return known ? sc_symbolic_of_constant(s, known, out) : SC_OK;
}

enum sc_status sc_symbolics_open(struct sc_symbolics *s)
{
    s->values = sc_arena_array(s->arena, (size_t)s->graph->n_values + 1, sizeof *s->values);
    if (!s->values) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < s->graph->n_values; v++) {
        s->values[v].rank = -1;
    }
    return SC_OK;
}

enum sc_status sc_symbolics_start(struct sc_symbolics *s)
{
    const struct sc_graph *graph = s->graph;
    for (int v = 0; v < graph->n_values; v++) {
        const bool named = s->model && graph->values[v].weight < 0;
        if (s->values[v].rank < 0 && (graph->values[v].place != SC_PLACE_INPUT || named)) {
            SC_TRY(from_fact(s, &s->facts[v], &s->values[v]));
        }
    }
    return SC_OK;
}

enum sc_status sc_symbolics_step(struct sc_symbolics *s, const struct sc_node *node)
{
    for (int o = 0; o < node->n_out; o++) {
        struct sc_symbolic *out = sc_symbolic_out(s, node, o);
        if (out && out->rank < 0) {
            SC_TRY(from_fact(s, &s->facts[node->out[o]], out));
        }
    }
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    if (node->dead || !out || out->kind != SC_SYMBOLIC_ANY) {
        return SC_OK;
    }
    if (node->domain[0]) {
        const bool microsoft = strcmp(node->domain, "com.microsoft") == 0;
        const sc_symbolic_op own = microsoft ? sc_symbolic_microsoft_op(node->op) : NULL;
        return own ? own(s, node) : SC_OK;
    }
    sc_symbolic_op op = sc_symbolic_element_op(node->op);
    op = op ? op : sc_symbolic_shape_op(node->op);
    op = op ? op : sc_symbolic_slice_op(node->op);
    op = op ? op : sc_symbolic_make_op(node->op);
    const struct sc_symbolic before = *out;
    SC_TRY(op ? op(s, node) : SC_OK);
    if (out->rank < 0) {
        *out = before;
    }
    return out->rank >= 0 && out->kind == SC_SYMBOLIC_ANY ? sc_symbolic_function(s, node, out) : SC_OK;
}

enum sc_status sc_symbolics_run(struct sc_symbolics *s)
{
    SC_TRY(sc_symbolics_start(s));
    for (int n = 0; n < s->graph->n_nodes; n++) {
        SC_TRY(sc_symbolics_step(s, &s->graph->nodes[n]));
    }
    return SC_OK;
}
