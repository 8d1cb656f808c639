/* SPDX-License-Identifier: Apache-2.0
 * What the masks of a decomposed attention hide: proven from what is known of their elements for every size. What is
 * not proven stays a mask. */
#include <string.h>

#include "passes/attention_parts.h"

double sc_attention_hidden(enum sc_type type)
{
    return type == SC_F16 ? -6e4 : -1e30;
}

static const struct sc_symbolic *known(const struct sc_attention_finder *f, int value)
{
    return &f->s->values[value];
}

struct sc_form sc_attention_distance(const struct sc_attention_finder *f)
{
    const struct sc_form zero = {.base = {0}};
    struct sc_form distance = {.index = {0, 0, -1, 1}};
    if (f->match->k.past >= 0) {
        (void)sc_size_add(&zero.base, &known(f, f->match->k.past)->dims[2], -1, &distance.base);
    }
    if (sc_size_is(&known(f, f->match->q)->dims[2], 1)) { /* then the query's index is always 0 */
        distance.index[2] = 0;
    }
    return distance;
}

/* Over [batch, heads, query, key]: holds everywhere; or for keys that are not later; or for those within a window. */
static bool settle_form(struct sc_attention_finder *f, const struct sc_form *form, int rank, const struct sc_size *dims)
{
    struct sc_attention_match *match = f->match;
    if (sc_form_holds(f->s, form, rank, dims) == 1) {
        return true;
    }
    if (rank > 4) {
        return false;
    }
    struct sc_form lifted = {.base = form->base};
    for (int d = 0; d < rank; d++) {
        lifted.index[d + 4 - rank] = form->index[d];
    }
    const struct sc_form zero = {.base = {0}}, distance = sc_attention_distance(f);
    struct sc_form causal, sum;
    if (!sc_form_add(&zero, &distance, -1, &causal)) {
        return false;
    }
    if (memcmp(&causal, &lifted, sizeof causal) == 0) {
        match->causal = true;
        return true;
    }
    /* key - position + window >= 0: together with position - key it is the window */
    if (!sc_form_add(&causal, &lifted, 1, &sum) || !sc_form_constant(&sum) || !sc_size_constant(&sum.base) ||
        sum.base.constant < 0) {
        return false;
    }
    const int64_t window = sum.base.constant;
    match->left_window = match->left_window < 0 || window < match->left_window ? window : match->left_window;
    return true;
}

/* A test that has to hold for a score to count. */
static bool settle_test(struct sc_attention_finder *f, const struct sc_symbolic *test, bool turned)
{
    struct sc_form inverse;
    if (!turned) {
        return settle_form(f, test->form, test->rank, test->dims) &&
            (!test->also || settle_form(f, test->also, test->rank, test->dims));
    }
    return !test->also && sc_form_invert(test->form, &inverse) && settle_form(f, &inverse, test->rank, test->dims);
}

/* It adds nothing; or it adds nothing where a test holds, and hides elsewhere. */
static bool is_proven(struct sc_attention_finder *f, int value, double factor)
{
    const struct sc_symbolic *mask = known(f, value);
    const double hidden = sc_attention_hidden(f->s->facts[value].type);
    if (mask->rank < 0 || mask->kind != SC_SYMBOLIC_CHOICE) {
        return false;
    }
    if (mask->yes == 0 && mask->no == 0) {
        return true;
    }
    return factor > 0 &&
        ((mask->yes == 0 && mask->no * factor <= hidden && settle_test(f, mask, false)) ||
            (mask->no == 0 && mask->yes * factor <= hidden && settle_test(f, mask, true)));
}

bool sc_attention_spreads(const struct sc_attention_finder *f, int value)
{
    const struct sc_symbolic *mask = known(f, value);
    if (mask->rank < 1 || mask->rank > 4) {
        return false;
    }
    for (int d = 0; d < mask->rank; d++) {
        const bool keys = d == mask->rank - 1;
        if (!sc_size_equal(&mask->dims[d], &f->dims[d + 4 - mask->rank]) && (keys || !sc_size_is(&mask->dims[d], 1))) {
            return false;
        }
    }
    return true;
}

static bool settle_wheres(struct sc_attention_finder *f)
{
    struct sc_attention_match *match = f->match;
    for (int t = 0; t < f->n_tests; t++) {
        const struct sc_node *where = &f->graph->nodes[f->tests[t]];
        const struct sc_symbolic *test = known(f, where->in[0]);
        double number;
        const bool turned = !sc_attention_number(f, where->in[2], &number); /* Where(test, hidden, scores) */
        if (test->rank >= 0 && test->kind == SC_SYMBOLIC_TEST && settle_test(f, test, turned)) {
            continue;
        }
        if (!sc_attention_spreads(f, where->in[0]) || f->s->facts[where->out[0]].type != f->s->facts[match->q].type) {
            return false;
        }
        match->hiding[match->n_tests] = turned ? 1 : 2;
        match->tests[match->n_tests++] = f->tests[t];
    }
    return true;
}

static enum sc_status settle_rule(struct sc_attention_finder *f, int value, double factor, bool *settled)
{
    *settled = is_proven(f, value, factor);
    return *settled ? SC_OK : sc_attention_settle_slopes(f, value, factor, settled);
}

/* Takes away a part of a sum that is a rule, or depends on the distance. */
static enum sc_status settle_part(struct sc_attention_finder *f, double factor, int *value, bool *settled)
{
    const struct sc_node *add = sc_attention_maker(f, *value, "Add");
    *settled = false;
    for (int i = 0; add && i < 2 && !*settled; i++) {
        if (sc_attention_spreads(f, add->in[1 - i])) {
            SC_TRY(settle_rule(f, add->in[i], factor, settled));
            SC_TRY(*settled ? SC_OK : sc_attention_settle_table(f, add->in[i], factor, settled));
            *value = *settled ? add->in[1 - i] : *value;
        }
    }
    return SC_OK;
}

/* What is added to the scores. *rest: what stays of it; -1: nothing does. */
static enum sc_status settle_mask(struct sc_attention_finder *f, int value, double factor, int *rest)
{
    bool settled = false;
    *rest = value;
    for (bool again = true; again;) {
        SC_TRY(settle_rule(f, *rest, factor, &settled));
        again = false;
        SC_TRY(settled ? SC_OK : settle_part(f, factor, rest, &again));
    }
    SC_TRY(settled ? SC_OK : sc_attention_settle_table(f, *rest, factor, &settled));
    *rest = settled ? -1 : *rest;
    return SC_OK;
}

enum sc_status sc_attention_settle_masks(struct sc_attention_finder *f, bool *fits)
{
    struct sc_attention_match *match = f->match;
    *fits = false;
    for (int m = 0; m < f->n_masks; m++) {
        int rest;
        SC_TRY(settle_mask(f, f->masks[m], f->factors[m], &rest));
        if (rest < 0) {
            continue;
        }
        if (f->factors[m] != 1 || !sc_attention_spreads(f, rest) ||
            f->s->facts[rest].type != f->s->facts[match->q].type) {
            return SC_OK;
        }
        match->masks[match->n_masks++] = rest;
    }
    *fits = settle_wheres(f);
    return SC_OK;
}
