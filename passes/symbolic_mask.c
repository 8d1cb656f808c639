/* SPDX-License-Identifier: Apache-2.0
 * Booleans and floats: what tests of positions become as masks, and slopes as biases. */
#include <math.h>
#include <string.h>

#include "passes/symbolic_parts.h"

bool sc_symbolic_test(const struct sc_symbolic *value, int rank, struct sc_form form[2], const struct sc_form **also)
{
    *also = NULL;
    if (value->kind == SC_SYMBOLIC_TEST) {
        *also = sc_symbolic_lifted(value, rank, form).also;
        return true;
    }
    if (value->kind != SC_SYMBOLIC_LIST || !sc_symbolic_form(value, form) || !sc_size_constant(&form->base)) {
        return false;
    }
    form->base.constant--;
    return true;
}

/* Up to two of the forms that are not implied by another one. false: there are more. */
static bool all_of(const struct sc_symbolics *s, int n, const struct sc_form *const *forms, struct sc_symbolic *out,
    const struct sc_form *kept[2])
{
    int n_kept = 0;
    for (int i = 0; i < n; i++) {
        bool implied = false;
        for (int j = 0; j < n && !implied; j++) {
            implied = j != i && sc_form_implies(s, forms[j], forms[i], out->rank, out->dims) &&
                (j < i || !sc_form_implies(s, forms[i], forms[j], out->rank, out->dims));
        }
        if (!implied && n_kept == 2) {
            return false;
        }
        if (!implied) {
            kept[n_kept++] = forms[i];
        }
    }
    kept[1] = n_kept == 2 ? kept[1] : NULL;
    return true;
}

enum sc_status sc_symbolic_on_tests(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form x[2], y[2];
    const struct sc_form *x_also, *y_also, *kept[2];
    if (!sc_symbolic_test(a, out->rank, x, &x_also) || !sc_symbolic_test(b, out->rank, y, &y_also)) {
        return SC_OK;
    }
    if (does == SC_AND) {
        const struct sc_form *forms[4] = {x, y};
        int n = 2;
        forms[n] = x_also;
        n += x_also != NULL;
        forms[n] = y_also;
        n += y_also != NULL;
        return all_of(s, n, forms, out, kept) ? sc_symbolic_set_both(s, out, SC_SYMBOLIC_TEST, kept[0], kept[1])
                                              : SC_OK;
    }
    /* x implies y: then "or" is y */
    if (!y_also && sc_form_implies(s, x, y, out->rank, out->dims)) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, y);
    }
    return !x_also && sc_form_implies(s, y, x, out->rank, out->dims) ? sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, x)
                                                                     : SC_OK;
}

static double compute(enum sc_arithmetic does, double a, double b)
{
    const float x = (float)a, y = (float)b;
    switch (does) {
    case SC_ADD:
        return (double)(x + y);
    case SC_SUBTRACT:
        return (double)(x - y);
    case SC_MULTIPLY:
        return (double)(x * y);
    case SC_DIVIDE:
        return (double)(x / y);
    case SC_POWER:
        return (double)powf(x, y);
    case SC_LESS:
        return x < y;
    case SC_LESS_OR_EQUAL:
        return x <= y;
    case SC_GREATER:
        return x > y;
    case SC_GREATER_OR_EQUAL:
        return x >= y;
    default:
        return x == y;
    }
}

/* One number where the form holds, another one elsewhere: floats, or booleans. */
static enum sc_status set_choice(
    struct sc_symbolics *s, struct sc_symbolic *out, bool truth, const struct sc_symbolic *test, double yes, double no)
{
    struct sc_symbolic like = *test;
    const struct sc_form known = {.base.constant = truth && yes == 0 ? -1 : 0};
    if (yes == no) {
        like.form = &known;
        like.also = NULL;
    }
    if (!truth || yes == no) {
        like.kind = truth ? SC_SYMBOLIC_TEST : SC_SYMBOLIC_CHOICE;
        like.yes = yes;
        like.no = no;
        return sc_symbolic_set_like(s, out, &like);
    }
    if (yes != 0) {
        return sc_symbolic_set_both(s, out, SC_SYMBOLIC_TEST, test->form, test->also);
    }
    struct sc_form inverse;
    return test->also || !sc_form_invert(test->form, &inverse)
        ? SC_OK
        : sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &inverse);
}

/* The first's test holds nowhere but where the second's does: three kinds of places, two of which have to be alike. */
static enum sc_status on_nested(struct sc_symbolics *s, enum sc_arithmetic does, bool truth,
    const struct sc_symbolic *inner, const struct sc_symbolic *outer, bool turned, struct sc_symbolic *out)
{
    const double in[3] = {inner->yes, inner->no, inner->no}, on[3] = {outer->yes, outer->yes, outer->no};
    double made[3];
    for (int i = 0; i < 3; i++) {
        made[i] = turned ? compute(does, on[i], in[i]) : compute(does, in[i], on[i]);
    }
    if (made[1] == made[2]) {
        return set_choice(s, out, truth, inner, made[0], made[2]);
    }
    return made[0] == made[1] ? set_choice(s, out, truth, outer, made[0], made[2]) : SC_OK;
}

static bool same_test(const struct sc_symbolic *x, const struct sc_symbolic *y)
{
    return memcmp(x->form, y->form, sizeof *x->form) == 0 && !x->also == !y->also &&
        (!x->also || memcmp(x->also, y->also, sizeof *x->also) == 0);
}

static enum sc_status on_choices(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form forms[2][2];
    const struct sc_symbolic x = sc_symbolic_lifted(a, out->rank, forms[0]),
                             y = sc_symbolic_lifted(b, out->rank, forms[1]);
    const bool truth = does >= SC_LESS && does <= SC_EQUAL;
    const int x_holds = x.also ? -1 : sc_form_holds(s, x.form, out->rank, out->dims);
    const int y_holds = y.also ? -1 : sc_form_holds(s, y.form, out->rank, out->dims);
    if (x_holds >= 0 || y_holds >= 0 || same_test(&x, &y)) {
        const double yes = compute(does, x_holds == 0 ? a->no : a->yes, y_holds == 0 ? b->no : b->yes);
        const double no = compute(does, x_holds == 1 ? a->yes : a->no, y_holds == 1 ? b->yes : b->no);
        return set_choice(s, out, truth, x_holds < 0 ? &x : &y, yes, no);
    }
    if (!y.also && sc_form_implies(s, x.form, y.form, out->rank, out->dims)) {
        return on_nested(s, does, truth, &x, &y, false, out);
    }
    return !x.also && sc_form_implies(s, y.form, x.form, out->rank, out->dims)
        ? on_nested(s, does, truth, &y, &x, true, out)
        : SC_OK;
}

/* A number that is the same everywhere as slopes: one scale, times 1. */
static bool as_slopes(const struct sc_symbolics *s, const struct sc_symbolic *value, int rank, struct sc_form form[2],
    float *number, struct sc_symbolic *made)
{
    if (value->kind == SC_SYMBOLIC_SLOPES) {
        *made = sc_symbolic_lifted(value, rank, form);
        return true;
    }
    const int holds =
        value->kind != SC_SYMBOLIC_CHOICE || value->also ? -1 : sc_form_holds(s, value->form, value->rank, value->dims);
    *number = (float)(holds == 1 ? value->yes : value->no);
    form[0] = (struct sc_form){.base.constant = 1};
    *made = (struct sc_symbolic){.kind = SC_SYMBOLIC_SLOPES, .form = form, .slope = -1, .scale = number};
    return holds >= 0;
}

/* Products of scales: one factor does not depend on the place but for its scale. */
static enum sc_status multiply_slopes(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    const bool by_b = sc_form_constant(b->form) && sc_size_constant(&b->form->base);
    const bool by_a = sc_form_constant(a->form) && sc_size_constant(&a->form->base);
    const struct sc_symbolic *moving = by_b ? a : b, *factor = by_b ? b : a;
    if ((!by_b && (!by_a || does == SC_DIVIDE)) || (a->slope >= 0 && b->slope >= 0 && a->slope != b->slope)) {
        return SC_OK;
    }
    const int slope = a->slope >= 0 ? a->slope : b->slope;
    if (slope >= 0 && !sc_size_constant(&out->dims[slope])) {
        return SC_OK;
    }
    const int64_t n = slope < 0 ? 1 : out->dims[slope].constant;
    float *scale = sc_arena_array(s->arena, (size_t)n, sizeof *scale);
    if (!scale) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        const float x = moving->scale[moving->slope < 0 ? 0 : i];
        const float y = factor->scale[factor->slope < 0 ? 0 : i] * (float)factor->form->base.constant;
        scale[i] = does == SC_DIVIDE ? x / y : x * y;
    }
    struct sc_symbolic like = *moving;
    like.slope = slope;
    like.scale = scale;
    return sc_symbolic_set_like(s, out, &like);
}

static enum sc_status on_slopes(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form forms[2][2], sum;
    struct sc_symbolic x, y;
    float numbers[2];
    if (!as_slopes(s, a, out->rank, forms[0], &numbers[0], &x) ||
        !as_slopes(s, b, out->rank, forms[1], &numbers[1], &y)) {
        return SC_OK;
    }
    if (does == SC_MULTIPLY || does == SC_DIVIDE) {
        return multiply_slopes(s, does, &x, &y, out);
    }
    /* whole numbers, as floats: a scale of 1, or a number times 1 */
    struct sc_symbolic *const both[2] = {&x, &y};
    for (int i = 0; i < 2; i++) {
        const float scale = *both[i]->scale;
        if (both[i]->slope >= 0 || scale != floorf(scale) || fabsf(scale) > 0x1p24F ||
            !sc_form_add(&(struct sc_form){{0}, {0}}, both[i]->form, (int64_t)scale, &forms[i][0])) {
            return SC_OK;
        }
    }
    if ((does != SC_ADD && does != SC_SUBTRACT) || !sc_form_add(x.form, y.form, does == SC_ADD ? 1 : -1, &sum)) {
        return SC_OK;
    }
    return sc_symbolic_set_whole(s, out, &sum);
}

enum sc_status sc_symbolic_set_whole(struct sc_symbolics *s, struct sc_symbolic *out, const struct sc_form *form)
{
    static const float one = 1;
    const struct sc_symbolic like = {.kind = SC_SYMBOLIC_SLOPES, .form = form, .slope = -1, .scale = &one};
    return sc_symbolic_set_like(s, out, &like);
}

enum sc_status sc_symbolic_on_floats(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    if (a->kind == SC_SYMBOLIC_CHOICE && b->kind == SC_SYMBOLIC_CHOICE && does >= SC_ADD && does <= SC_EQUAL) {
        SC_TRY(on_choices(s, does, a, b, out));
    }
    const bool slopes = a->kind == SC_SYMBOLIC_SLOPES || b->kind == SC_SYMBOLIC_SLOPES;
    return slopes && out->kind == SC_SYMBOLIC_ANY && does <= SC_DIVIDE ? on_slopes(s, does, a, b, out) : SC_OK;
}

/* Where of two numbers that do not depend on the place, or where the test is known. */
static enum sc_status where_floats(struct sc_symbolics *s, const struct sc_symbolic *test, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form form[2], taken_form[2];
    struct sc_symbolic like = {.kind = SC_SYMBOLIC_CHOICE, .form = form};
    const struct sc_form *also;
    if (!sc_symbolic_test(test, out->rank, form, &also)) {
        return SC_OK;
    }
    const int holds = also ? -1 : sc_form_holds(s, form, out->rank, out->dims);
    const struct sc_symbolic *taken = holds ? a : b;
    if (holds >= 0 && taken->kind >= SC_SYMBOLIC_TEST) { /* one of the two, whatever it is */
        const struct sc_symbolic lifted = sc_symbolic_lifted(taken, out->rank, taken_form);
        return sc_symbolic_set_like(s, out, &lifted);
    }
    if (holds >= 0 || a->kind != SC_SYMBOLIC_CHOICE || b->kind != SC_SYMBOLIC_CHOICE) {
        return SC_OK;
    }
    const int a_holds = sc_form_holds(s, a->form, a->rank, a->dims);
    const int b_holds = sc_form_holds(s, b->form, b->rank, b->dims);
    if (a_holds < 0 || b_holds < 0) {
        return SC_OK;
    }
    like.also = also ? &form[1] : NULL;
    like.yes = a_holds ? a->yes : a->no;
    like.no = b_holds ? b->yes : b->no;
    return sc_symbolic_set_like(s, out, &like);
}

enum sc_status sc_symbolic_where(struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_symbolic *test = sc_symbolic_in(s, node, 0), *out = sc_symbolic_out(s, node, 0);
    struct sc_symbolic *a = sc_symbolic_in(s, node, 1), *b = sc_symbolic_in(s, node, 2);
    struct sc_size dims[SC_SYMBOLIC_RANK], all[SC_SYMBOLIC_RANK];
    int rank, rank_all;
    if (!test || !a || !b ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){a->rank, a->dims}, &(struct sc_shape){b->rank, b->dims}, &rank, dims) ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){test->rank, test->dims}, &(struct sc_shape){rank, dims}, &rank_all, all)) {
        return SC_OK;
    }
    SC_TRY(sc_symbolic_set(s, out, rank_all, all));
    SC_TRY(where_floats(s, test, a, b, out));
    struct sc_size x[SC_SYMBOLIC_MOST], y[SC_SYMBOLIC_MOST], z[SC_SYMBOLIC_MOST];
    int64_t flags[SC_SYMBOLIC_MOST];
    int n_flags, n_x, n_y;
    if (out->kind != SC_SYMBOLIC_ANY || rank_all > 1 || !sc_symbolic_ints(test, &n_flags, flags) ||
        !sc_symbolic_list(a, &n_x, x) || !sc_symbolic_list(b, &n_y, y)) {
        return SC_OK;
    }
    int n = n_flags > n_x ? n_flags : n_x;
    n = n_y > n ? n_y : n;
    for (int i = 0; i < n; i++) {
        z[i] = flags[n_flags == 1 ? 0 : i] ? x[n_x == 1 ? 0 : i] : y[n_y == 1 ? 0 : i];
    }
    return sc_symbolic_set_list(s, out, n, z);
}
