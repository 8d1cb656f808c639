/* SPDX-License-Identifier: Apache-2.0
 * Slice: bounds that are sizes themselves, and the lesser of two where it is not known which is. */
#include <string.h>

#include "passes/symbolic_parts.h"

#define FAR (INT64_C(1) << 39) /* past every size */

/* A bound of Slice within [0, dim]; false when it is not known which. */
static bool settle_bound(
    struct sc_symbolics *s, const struct sc_size *given, const struct sc_size *dim, struct sc_size *bound)
{
    const struct sc_size zero = {0};
    struct sc_size at = *given, room;
    if (sc_size_constant(given) && (given->constant >= FAR || given->constant <= -FAR)) {
        *bound = given->constant > 0 ? *dim : zero;
        return true;
    }
    if (!(sc_size_constant(dim) ? sc_size_bounded(s, &at) : sc_size_not_negative(s, &at))) {
        at.constant++;
        struct sc_size negative;
        if (!sc_size_add(&zero, &at, -1, &negative) || !sc_size_not_negative(s, &negative) ||
            !sc_size_add(dim, given, 1, &at)) {
            return false;
        }
        if (!sc_size_not_negative(s, &at)) { /* far before the start */
            if (!sc_size_add(&zero, &at, -1, &negative) || !sc_size_not_negative(s, &negative)) {
                return false;
            }
            at = zero;
        }
    }
    if (!sc_size_add(dim, &at, -1, &room)) {
        return false;
    }
    if (sc_size_constant(dim) ? sc_size_bounded(s, &room) : sc_size_not_negative(s, &room)) {
        *bound = at;
        return true;
    }
    *bound = *dim;
    if (sc_size_add(&at, dim, -1, &room) && sc_size_not_negative(s, &room)) {
        return true;
    }
    return sc_symbolics_lesser(s, &at, dim, bound);
}

/* starts (1) or ends (2) of Slice; numbers past every size stand for the end. */
static bool slice_bounds(struct sc_symbolics *s, const struct sc_node *node, int i, int *n, struct sc_size *list)
{
    if (node->n_in <= i || node->in[i] < 0) {
        return false;
    }
    if (sc_symbolic_list(&s->values[node->in[i]], n, list)) {
        return true;
    }
    const struct sc_tensor *known = s->facts[node->in[i]].value;
    if (!known || (known->type != SC_I64 && known->type != SC_I32) || known->rank != 1 ||
        known->dims[0] > SC_SYMBOLIC_MOST) {
        return false;
    }
    *n = (int)known->dims[0];
    for (int k = 0; k < *n; k++) {
        const int64_t x = sc_index_at(known, k);
        list[k] = (struct sc_size){.constant = x > INT32_MAX ? FAR : x < -INT32_MAX ? -FAR : x};
    }
    return true;
}

static enum sc_status cut(struct sc_symbolics *s, const struct sc_symbolic *in, const struct sc_size *starts,
    const struct sc_size *dims, struct sc_symbolic *out)
{
    SC_TRY(sc_symbolic_set(s, out, in->rank, dims));
    if (in->kind == SC_SYMBOLIC_LIST) {
        if (in->rank == 1 && sc_size_constant(&starts[0]) && sc_size_constant(&dims[0]) && starts[0].constant >= 0 &&
            starts[0].constant + dims[0].constant <= in->n_list) {
            return sc_symbolic_set_list(s, out, (int)dims[0].constant, in->list + starts[0].constant);
        }
        return SC_OK;
    }
    if (in->kind == SC_SYMBOLIC_ANY) {
        return SC_OK;
    }
    struct sc_form form[2];
    struct sc_symbolic from = sc_symbolic_lifted(in, in->rank, form);
    for (int d = 0; d < in->rank; d++) {
        if (!sc_size_add(&form[0].base, &starts[d], form[0].index[d], &form[0].base) ||
            (from.also && !sc_size_add(&form[1].base, &starts[d], form[1].index[d], &form[1].base))) {
            return SC_OK;
        }
    }
    const bool whole = in->kind < SC_SYMBOLIC_SLOPES || in->slope < 0 ||
        (sc_size_is(&starts[in->slope], 0) && sc_size_equal(&dims[in->slope], &in->dims[in->slope]));
    return whole ? sc_symbolic_set_like(s, out, &from) : SC_OK;
}

static enum sc_status slice(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_size begin[SC_SYMBOLIC_MOST], end[SC_SYMBOLIC_MOST];
    struct sc_size starts[SC_SYMBOLIC_RANK] = {{0}}, dims[SC_SYMBOLIC_RANK];
    int64_t axes[SC_SYMBOLIC_MOST], steps[SC_SYMBOLIC_MOST];
    int n, n_end, n_axis = -1, n_step = -1;
    if (!in || in->rank < 0 || !slice_bounds(s, node, 1, &n, begin) || !slice_bounds(s, node, 2, &n_end, end) ||
        n != n_end || (sc_symbolic_in(s, node, 3) && !sc_symbolic_ints(sc_symbolic_in(s, node, 3), &n_axis, axes)) ||
        (sc_symbolic_in(s, node, 4) && !sc_symbolic_ints(sc_symbolic_in(s, node, 4), &n_step, steps)) ||
        (n_axis >= 0 && n_axis != n) || (n_step >= 0 && n_step != n)) {
        return SC_OK;
    }
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    bool steps_over = false;
    for (int i = 0; i < n; i++) {
        int64_t axis = n_axis < 0 ? i : axes[i];
        axis = axis < 0 ? axis + in->rank : axis;
        struct sc_size stop;
        if (axis < 0 || axis >= in->rank || (n_step >= 0 && steps[i] < 1) ||
            !settle_bound(s, &begin[i], &in->dims[axis], &starts[axis]) ||
            !settle_bound(s, &end[i], &in->dims[axis], &stop) || !sc_size_add(&stop, &starts[axis], -1, &dims[axis]) ||
            !sc_size_not_negative(s, &dims[axis])) {
            return SC_OK;
        }
        if (n_step >= 0 && steps[i] > 1) {
            if (!sc_size_constant(&dims[axis])) {
                return SC_OK;
            }
            steps_over = true;
            dims[axis].constant = (dims[axis].constant + steps[i] - 1) / steps[i];
        }
    }
    if (steps_over) {
        return sc_symbolic_set(s, sc_symbolic_out(s, node, 0), in->rank, dims);
    }
    return cut(s, in, starts, dims, sc_symbolic_out(s, node, 0));
}

sc_symbolic_op sc_symbolic_slice_op(const char *name)
{
    return strcmp(name, "Slice") == 0 ? slice : NULL;
}
