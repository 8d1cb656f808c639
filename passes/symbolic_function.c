/* SPDX-License-Identifier: Apache-2.0
 * What operators make, element by element, of places and numbers alone is a function of those places: nothing is known
 * of it but that. A table that is looked up there adds a dim of its own.
 *
 *   key - query ── Abs ── Log ── Min ── Gather(table [buckets, heads]) ── a function of key - query, along heads */
#include <string.h>

#include "passes/interval.h"
#include "passes/symbolic_parts.h"

bool sc_symbolic_number(const struct sc_symbolics *s, const struct sc_symbolic *value, double *number)
{
    struct sc_form form;
    if (value->rank < 0 || value->also) {
        return false;
    }
    if (value->kind == SC_SYMBOLIC_CHOICE || value->kind == SC_SYMBOLIC_TEST) {
        const int holds = sc_form_holds(s, value->form, value->rank, value->dims);
        const bool test = value->kind == SC_SYMBOLIC_TEST;
        *number = test ? holds : holds ? value->yes : value->no;
        return holds >= 0;
    }
    if (!sc_symbolic_form(value, &form) || !sc_form_constant(&form) || !sc_size_constant(&form.base)) {
        return false;
    }
    *number = (double)form.base.constant;
    return true;
}

bool sc_form_along(const struct sc_form *form, const struct sc_form *of, int64_t *sign, int64_t *shift)
{
    for (*sign = 1; *sign >= -1; *sign -= 2) {
        struct sc_form rest;
        if (sc_form_add(form, of, -*sign, &rest) && sc_form_constant(&rest) && sc_size_constant(&rest.base)) {
            *shift = rest.base.constant;
            return true;
        }
    }
    return false;
}

bool sc_symbolic_is_function(const struct sc_symbolic *value)
{
    return value->rank >= 0 && value->kind >= SC_SYMBOLIC_FORM && !value->also && !sc_form_constant(value->form) &&
        (value->kind != SC_SYMBOLIC_SLOPES || value->slope < 0);
}

/* A weight, or what a Constant says: the same in every run. */
static bool is_table(const struct sc_symbolics *s, int value)
{
    while (value >= 0 && s->graph->values[value].place == SC_PLACE_NODE && s->graph->values[value].producer >= 0) {
        const struct sc_node *node = &s->graph->nodes[s->graph->values[value].producer];
        const bool reshaped = strcmp(node->op, "Reshape") == 0 && node->in[1] >= 0 &&
            s->graph->values[node->in[1]].place == SC_PLACE_INITIALIZER;
        if (node->domain[0] || (!reshaped && strcmp(node->op, "Transpose") != 0)) {
            return !node->domain[0] && strcmp(node->op, "Constant") == 0;
        }
        value = node->in[0];
    }
    return value >= 0 && s->graph->values[value].place == SC_PLACE_INITIALIZER;
}

bool sc_symbolic_looks_up(const struct sc_symbolics *s, const struct sc_node *node)
{
    int64_t axis;
    return strcmp(node->op, "Gather") == 0 && !node->domain[0] && node->n_in == 2 && is_table(s, node->in[0]) &&
        s->values[node->in[0]].rank == 2 && sc_size_constant(&s->values[node->in[0]].dims[0]) && node->in[1] >= 0 &&
        sc_node_int(node, "axis", 0, &axis) == SC_OK && (axis == 0 || axis == -2);
}

static enum sc_status look_up(struct sc_symbolics *s, const struct sc_node *node, struct sc_symbolic *out)
{
    const struct sc_symbolic *at = &s->values[node->in[1]];
    if (!sc_symbolic_is_function(at) || (at->kind == SC_SYMBOLIC_FUNCTION && at->slope >= 0) ||
        out->rank != at->rank + 1) {
        return SC_OK;
    }
    const struct sc_symbolic like = {.kind = SC_SYMBOLIC_FUNCTION, .form = at->form, .slope = at->rank};
    return sc_symbolic_set_like(s, out, &like);
}

enum sc_status sc_symbolic_function(struct sc_symbolics *s, const struct sc_node *node, struct sc_symbolic *out)
{
    if (sc_symbolic_looks_up(s, node)) {
        return look_up(s, node, out);
    }
    struct sc_form of = {{0}, {0}};
    struct sc_symbolic like = {.kind = SC_SYMBOLIC_FUNCTION, .form = &of, .slope = -1};
    bool any = false;
    double number;
    int64_t sign, shift;
    if (!sc_interval_knows(node)) {
        return SC_OK;
    }
    for (int i = 0; i < node->n_in; i++) {
        const struct sc_symbolic *in = sc_symbolic_in(s, node, i);
        struct sc_form form[2];
        if (!in || sc_symbolic_number(s, in, &number)) {
            continue;
        }
        if (!sc_symbolic_is_function(in) || in->rank > out->rank) {
            return SC_OK;
        }
        const struct sc_symbolic lifted = sc_symbolic_lifted(in, out->rank, form);
        const int slope = in->kind == SC_SYMBOLIC_FUNCTION && in->slope >= 0 ? lifted.slope : -1;
        if ((any && !sc_form_along(lifted.form, &of, &sign, &shift)) ||
            (slope >= 0 && like.slope >= 0 && slope != like.slope)) {
            return SC_OK;
        }
        of = any ? of : *lifted.form;
        like.slope = slope >= 0 ? slope : like.slope;
        any = true;
    }
    return any ? sc_symbolic_set_like(s, out, &like) : SC_OK;
}
