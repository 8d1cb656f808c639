/* SPDX-License-Identifier: Apache-2.0
 * What the masks of a decomposed attention hide: proven from what is known of their elements for every size. What is not
 * proven stays a mask. */
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
    struct sc_form causal = {.index = {0, 0, 1, -1}}, sum;
    if (match->k.past >= 0) {
        causal.base = known(f, match->k.past)->dims[2];
    }
    if (sc_size_is(&known(f, match->q)->dims[2], 1)) { /* then the query's index is always 0 */
        causal.index[2] = 0;
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

/* Each dim is 1 or that of the scores, the keys' the same. */
static bool spreads(const struct sc_attention_finder *f, int value)
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

/* A slope per head: it grows along the keys. What it adds to all of a query's scores alike changes nothing. */
static enum sc_status settle_slopes(struct sc_attention_finder *f, int value, double factor, bool *settled)
{
    struct sc_attention_match *match = f->match;
    const struct sc_symbolic *bias = known(f, value);
    const int lift = 4 - bias->rank;
    *settled = false;
    if (bias->kind != SC_SYMBOLIC_SLOPES || lift < 0 || lift > 3 || match->slopes ||
        f->s->facts[match->q].type != SC_F32 || (bias->slope >= 0 && bias->slope + lift != 1) || !spreads(f, value)) {
        return SC_OK;
    }
    for (int d = 0; d + 1 < bias->rank; d++) {
        if (bias->form->index[d] != 0 && d + lift != 2) {
            return SC_OK;
        }
    }
    match->n_slopes = (int)f->dims[1].constant;
    match->slopes = sc_arena_array(f->s->arena, (size_t)match->n_slopes, sizeof *match->slopes);
    if (!match->slopes) {
        return SC_NO_MEMORY;
    }
    for (int h = 0; h < match->n_slopes; h++) {
        match->slopes[h] =
            (float)((double)bias->scale[bias->slope < 0 ? 0 : h] * (double)bias->form->index[bias->rank - 1] * factor);
    }
    *settled = true;
    return SC_OK;
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
        if (!spreads(f, where->in[0]) || f->s->facts[where->out[0]].type != f->s->facts[match->q].type) {
            return false;
        }
        match->hiding[match->n_tests] = turned ? 1 : 2;
        match->tests[match->n_tests++] = f->tests[t];
    }
    return true;
}

enum sc_status sc_attention_settle_masks(struct sc_attention_finder *f, bool *fits)
{
    struct sc_attention_match *match = f->match;
    *fits = false;
    for (int m = 0; m < f->n_masks; m++) {
        bool settled;
        SC_TRY(settle_slopes(f, f->masks[m], f->factors[m], &settled));
        if (settled || is_proven(f, f->masks[m], f->factors[m])) {
            continue;
        }
        if (f->factors[m] != 1 || !spreads(f, f->masks[m]) ||
            f->s->facts[f->masks[m]].type != f->s->facts[match->q].type) {
            return SC_OK;
        }
        match->masks[match->n_masks++] = f->masks[m];
    }
    *fits = settle_wheres(f);
    return SC_OK;
}
