/* SPDX-License-Identifier: Apache-2.0
 * Operators that make, move and cut dims, with the elements where they are known. */
#include <string.h>

#include "passes/symbolic_parts.h"

/* Elements that are the same everywhere stay what they are under any move. */
static enum sc_status keep_constant(struct sc_symbolics *s, const struct sc_symbolic *in, struct sc_symbolic *out)
{
    struct sc_form form;
    if (in->kind == SC_SYMBOLIC_LIST && sc_symbolic_form(in, &form)) {
        if (out->rank <= 1 && in->n_list == 1) {
            return sc_symbolic_set_list(s, out, 1, in->list);
        }
        return SC_OK;
    }
    if (in->kind == SC_SYMBOLIC_ANY || in->kind == SC_SYMBOLIC_LIST || in->also || !sc_form_constant(in->form) ||
        (in->kind >= SC_SYMBOLIC_SLOPES && in->slope >= 0)) {
        return SC_OK;
    }
    return sc_symbolic_set_like(s, out, in);
}

/* Where each dim of the input goes: to[d], or -1 for dims of 1 that vanish. */
static enum sc_status move(struct sc_symbolics *s, const struct sc_symbolic *in, const int *to, struct sc_symbolic *out)
{
    if (in->kind == SC_SYMBOLIC_ANY) {
        return SC_OK;
    }
    if (in->kind == SC_SYMBOLIC_LIST) {
        return out->rank <= 1 ? sc_symbolic_set_list(s, out, in->n_list, in->list) : keep_constant(s, in, out);
    }
    struct sc_form form = {.base = in->form->base}, also = {.base = in->also ? in->also->base : in->form->base};
    for (int d = 0; d < in->rank; d++) {
        if (to[d] >= 0) {
            form.index[to[d]] = in->form->index[d];
            also.index[to[d]] = in->also ? in->also->index[d] : 0;
        }
    }
    struct sc_symbolic moved = *in;
    moved.form = &form;
    moved.also = in->also ? &also : NULL;
    moved.slope = in->kind >= SC_SYMBOLIC_SLOPES && in->slope >= 0 ? to[in->slope] : -1;
    return sc_symbolic_set_like(s, out, &moved);
}

/* Lists of whole numbers as forms, so that they can be moved into higher ranks. */
static struct sc_symbolic as_form(const struct sc_symbolic *in, struct sc_form *form)
{
    struct sc_symbolic made = *in;
    if (in->kind == SC_SYMBOLIC_LIST && sc_symbolic_form(in, form)) {
        made.kind = SC_SYMBOLIC_FORM;
        made.form = form;
    }
    return made;
}

/* What Squeeze takes away when it is not told; false: that depends on the sizes. */
static bool dims_of_one(const struct sc_symbolic *in, bool *is_axis)
{
    for (int d = 0; d < in->rank; d++) {
        if (!sc_size_constant(&in->dims[d])) {
            return false;
        }
        is_axis[d] = in->dims[d].constant == 1;
    }
    return true;
}

/* Axes of Unsqueeze, Squeeze and reductions: input 1 or, before it was one, the attribute. false: not known. */
static bool axes_of(struct sc_symbolics *s, const struct sc_node *node, int rank, bool *is_axis)
{
    int64_t axes[SC_SYMBOLIC_MOST];
    const int64_t *given = axes;
    int n;
    if (sc_symbolic_in(s, node, 1)) {
        if (!sc_symbolic_ints(sc_symbolic_in(s, node, 1), &n, axes)) {
            return false;
        }
    } else if (sc_node_ints(node, "axes", &n, &given) != SC_OK || n < 0) {
        return false;
    }
    memset(is_axis, 0, SC_SYMBOLIC_RANK * sizeof *is_axis);
    for (int i = 0; i < n; i++) {
        const int64_t axis = given[i] < 0 ? given[i] + rank : given[i];
        if (axis < 0 || axis >= rank || is_axis[axis]) {
            return false;
        }
        is_axis[axis] = true;
    }
    return true;
}

static int n_axes(struct sc_symbolics *s, const struct sc_node *node)
{
    int64_t axes[SC_SYMBOLIC_MOST];
    const int64_t *given;
    int n = 0;
    if (sc_symbolic_in(s, node, 1)) {
        return sc_symbolic_ints(sc_symbolic_in(s, node, 1), &n, axes) ? n : -1;
    }
    return sc_node_ints(node, "axes", &n, &given) == SC_OK ? n : -1;
}

static enum sc_status unsqueeze(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    bool is_new[SC_SYMBOLIC_RANK];
    const int n = n_axes(s, node);
    if (!in || in->rank < 0 || n < 0 || in->rank + n > SC_SYMBOLIC_RANK || !axes_of(s, node, in->rank + n, is_new)) {
        return SC_OK;
    }
    struct sc_size dims[SC_SYMBOLIC_RANK];
    int to[SC_SYMBOLIC_RANK];
    for (int d = 0, from = 0; d < in->rank + n; d++) {
        dims[d] = is_new[d] ? (struct sc_size){.constant = 1} : in->dims[from];
        if (!is_new[d]) {
            to[from++] = d;
        }
    }
    struct sc_form form;
    const struct sc_symbolic moved = in->rank + n > 1 ? as_form(in, &form) : *in;
    SC_TRY(sc_symbolic_set(s, out, in->rank + n, dims));
    return move(s, &moved, to, out);
}

static enum sc_status squeeze(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    bool gone[SC_SYMBOLIC_RANK];
    const bool told = sc_symbolic_in(s, node, 1) || sc_node_attribute(node, "axes");
    if (!in || in->rank < 0 || !(told ? axes_of(s, node, in->rank, gone) : dims_of_one(in, gone))) {
        return SC_OK;
    }
    struct sc_size dims[SC_SYMBOLIC_RANK];
    int to[SC_SYMBOLIC_RANK], rank = 0;
    for (int d = 0; d < in->rank; d++) {
        to[d] = gone[d] ? -1 : rank;
        if (!gone[d]) {
            dims[rank++] = in->dims[d];
        }
    }
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    return move(s, in, to, out);
}

static enum sc_status transpose(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    const int64_t *perm;
    int n;
    if (!in || in->rank < 0 || sc_node_ints(node, "perm", &n, &perm) != SC_OK || (n >= 0 && n != in->rank)) {
        return SC_OK;
    }
    struct sc_size dims[SC_SYMBOLIC_RANK];
    int to[SC_SYMBOLIC_RANK];
    for (int d = 0; d < in->rank; d++) {
        const int64_t from = n < 0 ? in->rank - 1 - d : perm[d];
        if (from < 0 || from >= in->rank) {
            return SC_OK;
        }
        dims[d] = in->dims[from];
        to[from] = d;
    }
    SC_TRY(sc_symbolic_set(s, out, in->rank, dims));
    return move(s, in, to, out);
}

static enum sc_status shape(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    int64_t start, end;
    if (!in || in->rank < 0 || sc_node_int(node, "start", 0, &start) != SC_OK ||
        sc_node_int(node, "end", in->rank, &end) != SC_OK) {
        return SC_OK;
    }
    start = start < 0 ? start + in->rank : start;
    end = end < 0 ? end + in->rank : end;
    start = start < 0 ? 0 : start > in->rank ? in->rank : start;
    end = end > in->rank ? in->rank : end < start ? start : end;
    const struct sc_size n = {.constant = end - start};
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    SC_TRY(sc_symbolic_set(s, out, 1, &n));
    return sc_symbolic_set_list(s, out, (int)n.constant, in->dims + start);
}

/* Places that are looked up in a table: a run in which one of them lay past its end would have failed. */
static void note_bound(struct sc_symbolics *s, const struct sc_symbolic *at, const struct sc_size *rows)
{
    struct sc_symbolic_bound bound = {.most = rows->constant};
    struct sc_form form;
    if (!sc_size_constant(rows) || s->n_bounds == SC_SYMBOLIC_BOUNDS || !sc_symbolic_form(at, &form)) {
        return;
    }
    bound.size = form.base;
    bound.size.constant++;
    for (int d = 0; d < at->rank; d++) {
        struct sc_size last = at->dims[d];
        last.constant--;
        if (form.index[d] < 0 || !sc_size_add(&bound.size, &last, form.index[d], &bound.size)) {
            return;
        }
    }
    bool counts = !sc_size_constant(&bound.size);
    for (int k = 0; k < SC_SYMBOLS; k++) {
        counts &= bound.size.symbol[k] == 0 || s->made[k].kind == SC_MADE_OF_NOTHING;
    }
    for (int b = 0; b < s->n_bounds; b++) {
        counts &= memcmp(&s->bounds[b], &bound, sizeof bound) != 0;
    }
    if (counts) {
        s->bounds[s->n_bounds++] = bound;
    }
}

static enum sc_status gather(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *data = sc_symbolic_in(s, node, 0), *at = sc_symbolic_in(s, node, 1);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    if (!data || !at || data->rank < 1 || at->rank < 0) {
        return SC_OK;
    }
    const int axis = sc_symbolic_axis(node, "axis", 0, data->rank);
    const int rank = data->rank - 1 + at->rank;
    struct sc_size dims[2 * SC_SYMBOLIC_RANK];
    if (axis < 0 || rank > SC_SYMBOLIC_RANK) {
        return SC_OK;
    }
    for (int d = 0; d < rank; d++) {
        dims[d] = d < axis ? data->dims[d] : d < axis + at->rank ? at->dims[d - axis] : data->dims[d - at->rank + 1];
    }
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    note_bound(s, at, &data->dims[axis]);
    int64_t indices[SC_SYMBOLIC_MOST];
    struct sc_size list[SC_SYMBOLIC_MOST], picked[SC_SYMBOLIC_MOST];
    int n, n_list;
    if (rank > 1 || !sc_symbolic_ints(at, &n, indices) || !sc_symbolic_list(data, &n_list, list)) {
        return keep_constant(s, data, out);
    }
    for (int i = 0; i < n; i++) {
        const int64_t index = indices[i] < 0 ? indices[i] + n_list : indices[i];
        if (index < 0 || index >= n_list) {
            return SC_OK;
        }
        picked[i] = list[index];
    }
    return sc_symbolic_set_list(s, out, n, picked);
}

/* Two blocks of one test side by side: the first is the same everywhere, and the second's form, carried on into the
 * first, holds there: zeros before a causal triangle are a causal mask of more keys. */
static enum sc_status join_blocks(
    struct sc_symbolics *s, const struct sc_symbolic *a, const struct sc_symbolic *b, int axis, struct sc_symbolic *out)
{
    const bool choices = a->kind == SC_SYMBOLIC_CHOICE && b->kind == SC_SYMBOLIC_CHOICE;
    if (!choices && (a->kind != SC_SYMBOLIC_TEST || b->kind != SC_SYMBOLIC_TEST)) {
        return SC_OK;
    }
    const int first = sc_form_holds(s, a->form, a->rank, a->dims);
    struct sc_form form = *b->form;
    if (first < 0 || b->also || !sc_size_add(&form.base, &a->dims[axis], -form.index[axis], &form.base)) {
        return SC_OK;
    }
    const int on = sc_form_holds(s, &form, a->rank, a->dims);
    const double value = first ? a->yes : a->no;
    if (on < 0 || (choices ? value != (on ? b->yes : b->no) : first != on)) {
        return SC_OK;
    }
    out->yes = b->yes;
    out->no = b->no;
    return sc_symbolic_set_form(s, out, b->kind, &form);
}

static enum sc_status concat(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *first = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    if (!first || first->rank < 1) {
        return SC_OK;
    }
    const int axis = sc_symbolic_axis(node, "axis", 0, first->rank);
    struct sc_size dims[SC_SYMBOLIC_RANK], list[SC_SYMBOLIC_MOST], part[SC_SYMBOLIC_MOST];
    int n = 0;
    bool listed = first->rank == 1;
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (int i = 0; i < node->n_in; i++) {
        const struct sc_symbolic *in = sc_symbolic_in(s, node, i);
        int n_part;
        if (axis < 0 || !in || in->rank != first->rank) {
            return SC_OK;
        }
        if (i > 0 && !sc_size_add(&dims[axis], &in->dims[axis], 1, &dims[axis])) {
            return SC_OK;
        }
        listed = listed && sc_symbolic_list(in, &n_part, part) && n + n_part <= SC_SYMBOLIC_MOST;
        for (int j = 0; listed && j < n_part; j++) {
            list[n++] = part[j];
        }
    }
    SC_TRY(sc_symbolic_set(s, out, first->rank, dims));
    if (listed) {
        return sc_symbolic_set_list(s, out, n, list);
    }
    return node->n_in == 2 ? join_blocks(s, first, sc_symbolic_in(s, node, 1), axis, out) : SC_OK;
}

/* false: not without a rest for every size. */
static bool divide(struct sc_size *size, int64_t by)
{
    bool whole = size->constant % by == 0;
    size->constant /= by;
    for (int k = 0; k < SC_SYMBOLS; k++) {
        whole &= size->symbol[k] % by == 0;
        size->symbol[k] /= by;
    }
    return whole;
}

/* One is a multiple of the other, so that where the first is 0 the second is. */
static bool vanish_together(const struct sc_size *a, const struct sc_size *b)
{
    int64_t x = 0, y = 0; /* a is x/y times b */
    for (int k = 0; k < SC_SYMBOLS && y == 0; k++) {
        x = a->symbol[k];
        y = b->symbol[k];
        if ((x == 0) != (y == 0)) {
            return false;
        }
    }
    const struct sc_size zero = {0};
    struct sc_size left, right;
    return y != 0 && sc_size_add(&zero, a, y, &left) && sc_size_add(&zero, b, x, &right) &&
        sc_size_equal(&left, &right);
}

/* Divides what is left of the input's elements among the target's one unknown dim: dims that both have cancel. */
static bool missing_dim(struct sc_symbolics *s, const struct sc_symbolic *in, int rank, const struct sc_size *dims,
    int missing, struct sc_size *dim)
{
    bool used[SC_SYMBOLIC_RANK] = {false};
    int64_t above = 1, below = 1;
    struct sc_size left = {.constant = 1};
    int n_left = 0;
    for (int d = 0; d < rank; d++) {
        bool met = d == missing;
        for (int e = 0; e < in->rank && !met; e++) {
            if (!used[e] && sc_size_equal(&in->dims[e], &dims[d])) {
                used[e] = met = true;
            }
        }
        if (!met && (!sc_size_constant(&dims[d]) || dims[d].constant < 1 || dims[d].constant > INT32_MAX)) {
            return false;
        }
        below *= met ? 1 : dims[d].constant;
        if (below > INT32_MAX) {
            return false;
        }
    }
    for (int e = 0; e < in->rank; e++) {
        if (used[e]) {
            continue;
        }
        if (!sc_size_constant(&in->dims[e])) {
            if (n_left++ && !sc_symbolics_product(s, &left, &in->dims[e], &left)) {
                return false;
            }
            left = n_left == 1 ? in->dims[e] : left;
        } else if (in->dims[e].constant < 1 || in->dims[e].constant > INT32_MAX ||
            (above *= in->dims[e].constant) > INT32_MAX) {
            return false;
        }
    }
    const struct sc_size zero = {0};
    return sc_size_add(&zero, &left, above, dim) && divide(dim, below);
}

static bool target_dims(
    struct sc_symbolics *s, const struct sc_symbolic *in, bool keeps_zero, int n, struct sc_size *dims)
{
    int missing = -1;
    for (int d = 0; d < n; d++) {
        if (sc_size_is(&dims[d], 0) && !keeps_zero) {
            if (d >= in->rank) {
                return false;
            }
            dims[d] = in->dims[d];
        } else if (sc_size_is(&dims[d], -1)) {
            if (missing >= 0) {
                return false;
            }
            missing = d;
        } else if (!keeps_zero && !sc_size_constant(&dims[d]) &&
            !(d < in->rank && vanish_together(&dims[d], &in->dims[d]))) {
            struct sc_size less = dims[d]; /* a 0 would stand for the dim of the input */
            less.constant--;
            if (!sc_size_not_negative(s, &less)) {
                return false;
            }
        }
    }
    return missing < 0 || missing_dim(s, in, n, dims, missing, &dims[missing]);
}

/* Only dims of 1 come or go: then the others keep their places in order. */
static bool same_but_ones(const struct sc_symbolic *in, const struct sc_symbolic *out, int *to)
{
    int e = 0;
    for (int d = 0; d < in->rank; d++) {
        to[d] = -1;
        if (sc_size_is(&in->dims[d], 1)) {
            continue;
        }
        while (e < out->rank && sc_size_is(&out->dims[e], 1)) {
            e++;
        }
        if (e == out->rank || !sc_size_equal(&in->dims[d], &out->dims[e])) {
            return false;
        }
        to[d] = e++;
    }
    while (e < out->rank && sc_size_is(&out->dims[e], 1)) {
        e++;
    }
    return e == out->rank;
}

static enum sc_status reshape_to(
    struct sc_symbolics *s, const struct sc_symbolic *in, int n, const struct sc_size *dims, struct sc_symbolic *out)
{
    int to[SC_SYMBOLIC_RANK];
    SC_TRY(sc_symbolic_set(s, out, n, dims));
    if (same_but_ones(in, out, to)) {
        struct sc_form form;
        const struct sc_symbolic moved = n > 1 ? as_form(in, &form) : *in;
        return move(s, &moved, to, out);
    }
    return keep_constant(s, in, out);
}

static enum sc_status reshape(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_size dims[SC_SYMBOLIC_MOST];
    int n;
    int64_t keeps_zero;
    if (!in || in->rank < 0 || !sc_symbolic_list(sc_symbolic_in(s, node, 1), &n, dims) || n > SC_SYMBOLIC_RANK ||
        sc_node_int(node, "allowzero", 0, &keeps_zero) != SC_OK || !target_dims(s, in, keeps_zero != 0, n, dims)) {
        return SC_OK;
    }
    return reshape_to(s, in, n, dims, sc_symbolic_out(s, node, 0));
}

static enum sc_status flatten(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    const struct sc_attribute *attribute = sc_node_attribute(node, "axis");
    int64_t axis = attribute && attribute->type == SC_ATTRIBUTE_INT ? attribute->u.i : 1;
    if (!in || in->rank < 0) {
        return SC_OK;
    }
    axis = axis < 0 ? axis + in->rank : axis;
    struct sc_size dims[2] = {{.constant = 1}, {.constant = 1}};
    for (int d = 0; d < in->rank; d++) {
        struct sc_size *into = &dims[d < axis ? 0 : 1];
        const struct sc_size zero = {0};
        const bool by_into = sc_size_constant(into); /* which of the two is the factor */
        const struct sc_size *factor = by_into ? into : &in->dims[d], *size = by_into ? &in->dims[d] : into;
        if (sc_size_constant(factor)
                ? factor->constant >= INT32_MAX || !sc_size_add(&zero, size, factor->constant, into)
                : !sc_symbolics_product(s, size, factor, into)) {
            return SC_OK;
        }
    }
    return reshape_to(s, in, 2, dims, sc_symbolic_out(s, node, 0));
}

static enum sc_status expand(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    struct sc_size list[SC_SYMBOLIC_MOST], dims[SC_SYMBOLIC_RANK];
    int n, rank;
    if (!in || in->rank < 0 || !sc_symbolic_list(sc_symbolic_in(s, node, 1), &n, list) ||
        !sc_symbolic_broadcast(s, &(struct sc_shape){in->rank, in->dims}, &(struct sc_shape){n, list}, &rank, dims)) {
        return SC_OK;
    }
    struct sc_form form[2], whole;
    const struct sc_symbolic from = as_form(in, &whole);
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    if (from.kind == SC_SYMBOLIC_ANY || from.kind == SC_SYMBOLIC_LIST) {
        return SC_OK;
    }
    const struct sc_symbolic lifted = sc_symbolic_lifted(&from, rank, form);
    return sc_symbolic_set_like(s, out, &lifted);
}

/* The sum of one whole number over dims of which at most one is no constant. */
static bool sum_of(const struct sc_symbolic *in, const bool *gone, struct sc_size *sum)
{
    const struct sc_size zero = {0};
    struct sc_form form;
    if (!sc_symbolic_form(in, &form) || !sc_form_constant(&form)) {
        return false;
    }
    *sum = form.base;
    for (int d = 0; d < in->rank; d++) {
        const bool by_sum = sc_size_constant(sum); /* which of the two is the factor */
        if (gone[d] &&
            ((!by_sum && !sc_size_constant(&in->dims[d])) ||
                !sc_size_add(&zero, by_sum ? &in->dims[d] : sum, by_sum ? sum->constant : in->dims[d].constant, sum))) {
            return false;
        }
    }
    return true;
}

static enum sc_status reduce(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    bool gone[SC_SYMBOLIC_RANK];
    int64_t keeps;
    if (!in || in->rank < 0 || sc_node_int(node, "keepdims", 1, &keeps) != SC_OK || n_axes(s, node) < 1 ||
        !axes_of(s, node, in->rank, gone)) {
        return SC_OK;
    }
    struct sc_size dims[SC_SYMBOLIC_RANK], sum;
    int rank = 0;
    for (int d = 0; d < in->rank; d++) {
        if (!gone[d] || keeps) {
            dims[rank++] = gone[d] ? (struct sc_size){.constant = 1} : in->dims[d];
        }
    }
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    if (strcmp(node->op, "ReduceSum") == 0 && sum_of(in, gone, &sum)) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_FORM, &(struct sc_form){.base = sum});
    }
    return SC_OK;
}

sc_symbolic_op sc_symbolic_shape_op(const char *name)
{
    static const struct {
        const char *name;
        sc_symbolic_op op;
    } table[] = {{"Shape", shape}, {"Gather", gather}, {"Concat", concat}, {"Reshape", reshape}, {"Flatten", flatten},
        {"Expand", expand}, {"Unsqueeze", unsqueeze}, {"Squeeze", squeeze}, {"Transpose", transpose},
        {"ReduceMean", reduce}, {"ReduceSum", reduce}, {"ReduceMax", reduce}, {"ReduceMin", reduce},
        {"ReduceProd", reduce}, {"ReduceL2", reduce}};
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        if (strcmp(table[k].name, name) == 0) {
            return table[k].op;
        }
    }
    return NULL;
}
