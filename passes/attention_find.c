/* SPDX-License-Identifier: Apache-2.0
 * Recognises attention backwards from its second product. Every step is proven from symbolic dims; what is not known is
 * no match. */
#include <math.h>
#include <string.h>

#include "passes/attention_parts.h"

enum { MOST_STEPS = 16, DEPTH = 8 };

const struct sc_node *sc_attention_maker(const struct sc_attention_finder *f, int value, const char *op)
{
    const struct sc_graph_value *v = value < 0 ? NULL : &f->graph->values[value];
    if (!v || v->place != SC_PLACE_NODE || v->producer < 0) {
        return NULL;
    }
    const struct sc_node *node = &f->graph->nodes[v->producer];
    return !node->dead && !node->domain[0] && v->output == 0 && (!op || strcmp(node->op, op) == 0) ? node : NULL;
}

static const struct sc_symbolic *known(const struct sc_attention_finder *f, int value)
{
    return &f->s->values[value];
}

/* The number that every element of the value is. */
bool sc_attention_number(const struct sc_attention_finder *f, int value, double *number)
{
    const struct sc_symbolic *x = value < 0 ? NULL : known(f, value);
    return x && x->kind == SC_SYMBOLIC_CHOICE && sc_symbolic_number(f->s, x, number);
}

/* Of three dims (batch and heads are one) or four. */
static bool has_rows(const struct sc_attention_finder *f, int value)
{
    return known(f, value)->rank == 3 || known(f, value)->rank == 4;
}

/* The first two dims are put together, or taken apart again. */
static bool is_fold(const struct sc_symbolic *four, const struct sc_symbolic *three)
{
    struct sc_size both;
    const struct sc_size zero = {0};
    return four->rank == 4 && three->rank == 3 && sc_size_constant(&four->dims[1]) &&
        sc_size_add(&zero, &four->dims[0], four->dims[1].constant, &both) && sc_size_equal(&both, &three->dims[0]) &&
        sc_size_equal(&four->dims[2], &three->dims[1]) && sc_size_equal(&four->dims[3], &three->dims[2]);
}

static bool peel_fold(const struct sc_attention_finder *f, int *value)
{
    const struct sc_node *reshape = sc_attention_maker(f, *value, "Reshape");
    if (!reshape ||
        (!is_fold(known(f, reshape->in[0]), known(f, *value)) &&
            !is_fold(known(f, *value), known(f, reshape->in[0])))) {
        return false;
    }
    *value = reshape->in[0];
    return true;
}

/* A Mul or Div of x by one number: x and the factor. */
static bool peel_factor(const struct sc_attention_finder *f, int *value, double *factor)
{
    double number;
    const struct sc_node *node = sc_attention_maker(f, *value, "Mul");
    for (int i = 0; node && i < 2; i++) {
        if (sc_attention_number(f, node->in[i], &number) && has_rows(f, node->in[1 - i]) &&
            known(f, node->in[i])->rank <= known(f, node->in[1 - i])->rank && isfinite(number)) {
            *factor *= number;
            *value = node->in[1 - i];
            return true;
        }
    }
    node = sc_attention_maker(f, *value, "Div");
    if (node && sc_attention_number(f, node->in[1], &number) && number != 0 && isfinite(number) &&
        has_rows(f, node->in[0])) {
        *factor /= number;
        *value = node->in[0];
        return true;
    }
    return false;
}

/* Casts to the same type, or between types in which Attention rounds less; dropouts that do nothing. */
static bool peel_nothing(const struct sc_attention_finder *f, int *value, bool between_floats)
{
    const struct sc_node *node = sc_attention_maker(f, *value, NULL);
    if (!node) {
        return false;
    }
    const enum sc_type from = f->s->facts[node->in[0]].type, to = f->s->facts[node->out[0]].type;
    const bool floats = between_floats && sc_type_is_float(from) && sc_type_is_float(to);
    const bool cast = strcmp(node->op, "Cast") == 0 && (from == to || floats);
    if (cast || strcmp(node->op, "Identity") == 0 || (strcmp(node->op, "Dropout") == 0 && node->n_in == 1)) {
        *value = node->in[0];
        return true;
    }
    return false;
}

static bool same_dims(const struct sc_size *a, const struct sc_size *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Equal(ReduceMax(mask) over keys, -inf): the mask, or -1. */
static int guarded_mask(const struct sc_attention_finder *f, int test)
{
    const struct sc_node *equal = sc_attention_maker(f, test, "Equal");
    const struct sc_node *most = equal ? sc_attention_maker(f, equal->in[0], "ReduceMax") : NULL;
    double least;
    if (!most || !sc_attention_number(f, equal->in[1], &least) || least != -INFINITY) {
        return -1;
    }
    const struct sc_symbolic *in = known(f, most->in[0]), *out = known(f, most->out[0]);
    const bool over_keys = in->rank > 0 && out->rank == in->rank && same_dims(in->dims, out->dims, in->rank - 1) &&
        sc_size_is(&out->dims[in->rank - 1], 1);
    return over_keys ? most->in[0] : -1;
}

/* Where(IsNaN(x), 0, x), or Where(the mask hides the row, 0, x): rows that see nothing become 0, as in Attention. */
static bool peel_guard(struct sc_attention_finder *f, int *value)
{
    const struct sc_node *where = sc_attention_maker(f, *value, "Where");
    const struct sc_node *test = where ? sc_attention_maker(f, where->in[0], "IsNaN") : NULL;
    double zero;
    if (!where || !sc_attention_number(f, where->in[1], &zero) || zero != 0) {
        return false;
    }
    const int guard = test ? -1 : guarded_mask(f, where->in[0]);
    if (test ? test->in[0] != where->in[2] : guard < 0 || f->guard >= 0) {
        return false;
    }
    f->guard = test ? f->guard : guard;
    *value = where->in[2];
    return true;
}

/* A guard against rows of a mask that is not this attention's would be another computation. */
static bool guard_is_ours(const struct sc_attention_finder *f)
{
    bool ours = f->guard < 0;
    for (int m = 0; m < f->n_masks; m++) {
        ours |= f->masks[m] == f->guard;
    }
    return ours;
}

/* The value is scores: a product, scaled and masked. Bounded depth. */
static bool leads_to_product(const struct sc_attention_finder *f, int value, int depth)
{
    const struct sc_node *node = sc_attention_maker(f, value, NULL);
    double number;
    if (!node || depth == 0 || !has_rows(f, value)) {
        return false;
    }
    if (strcmp(node->op, "MatMul") == 0) {
        return true;
    }
    if (strcmp(node->op, "Add") == 0 || strcmp(node->op, "Mul") == 0) {
        return leads_to_product(f, node->in[0], depth - 1) || leads_to_product(f, node->in[1], depth - 1);
    }
    if (strcmp(node->op, "Tanh") == 0) {
        return leads_to_product(f, node->in[0], depth - 1);
    }
    if (strcmp(node->op, "Where") == 0) {
        return (sc_attention_number(f, node->in[2], &number) && leads_to_product(f, node->in[1], depth - 1)) ||
            (sc_attention_number(f, node->in[1], &number) && leads_to_product(f, node->in[2], depth - 1));
    }
    return (strcmp(node->op, "Div") == 0 || strcmp(node->op, "Cast") == 0 || strcmp(node->op, "Reshape") == 0) &&
        leads_to_product(f, node->in[0], depth - 1);
}

/* Add(scores, mask), Where(test, scores, hidden): none of them below a cap. */
static bool peel_mask(struct sc_attention_finder *f, int *value)
{
    const struct sc_node *add = sc_attention_maker(f, *value, "Add");
    const struct sc_node *where = sc_attention_maker(f, *value, "Where");
    double number;
    if (f->match->softcap > 0) {
        return false;
    }
    if (add && f->n_masks < SC_ATTENTION_MASKS) {
        const int scores = leads_to_product(f, add->in[0], DEPTH) ? 0 : leads_to_product(f, add->in[1], DEPTH) ? 1 : -1;
        if (scores < 0) {
            return false;
        }
        f->factors[f->n_masks] = f->match->scale;
        f->masks[f->n_masks++] = add->in[1 - scores];
        *value = add->in[scores];
        return true;
    }
    if (where && f->n_tests < SC_ATTENTION_MASKS && f->match->scale > 0) {
        const int hiding = sc_attention_number(f, where->in[2], &number) ? 2
            : sc_attention_number(f, where->in[1], &number)              ? 1
                                                                         : -1;
        if (hiding < 0 || !(number * f->match->scale <= sc_attention_hidden(f->s->facts[*value].type))) {
            return false;
        }
        f->tests[f->n_tests++] = f->graph->values[*value].producer;
        *value = where->in[3 - hiding];
        return true;
    }
    return false;
}

/* c·tanh(x·a) caps x·a·c at c. */
static bool peel_cap(struct sc_attention_finder *f, int *value)
{
    double cap = 1;
    int inner = *value;
    if (f->match->softcap > 0 || f->match->scale != 1 || !peel_factor(f, &inner, &cap) || !(cap > 0)) {
        return false;
    }
    const struct sc_node *tanh = sc_attention_maker(f, inner, "Tanh");
    if (!tanh) {
        return false;
    }
    f->match->softcap = cap;
    f->match->scale = cap;
    *value = tanh->in[0];
    return true;
}

/* Down to the product; false: something else is on the way. */
static bool peel_scores(struct sc_attention_finder *f, int *value)
{
    for (int step = 0; step < MOST_STEPS; step++) {
        if (sc_attention_maker(f, *value, "MatMul")) {
            return true;
        }
        if (!peel_cap(f, value) && !peel_factor(f, value, &f->match->scale) && !peel_nothing(f, value, true) &&
            !peel_fold(f, value) && !peel_mask(f, value)) {
            return false;
        }
    }
    return false;
}

/* repeat_kv: each head several times in a row, [b, h, t, w] → [b, h, 1, t, w] → [b, h, g, t, w] → [b, h g, t, w]. */
static bool peel_repeat(const struct sc_attention_finder *f, int *value)
{
    const struct sc_node *reshape = sc_attention_maker(f, *value, "Reshape");
    const struct sc_node *expand = reshape ? sc_attention_maker(f, reshape->in[0], "Expand") : NULL;
    const struct sc_node *unsqueeze = expand ? sc_attention_maker(f, expand->in[0], "Unsqueeze") : NULL;
    if (!unsqueeze) {
        return false;
    }
    const struct sc_symbolic *from = known(f, unsqueeze->in[0]), *one = known(f, unsqueeze->out[0]);
    const struct sc_symbolic *many = known(f, expand->out[0]), *to = known(f, reshape->out[0]);
    if (from->rank != 4 || one->rank != 5 || many->rank != 5 || to->rank != 4) {
        return false;
    }
    const struct sc_size *repeats = &many->dims[2], *heads = &from->dims[1];
    const bool counted = sc_size_constant(repeats) && sc_size_constant(heads) && repeats->constant < INT32_MAX &&
        heads->constant < INT32_MAX && sc_size_is(&to->dims[1], repeats->constant * heads->constant);
    /* the new axis is the third: dims of one are told apart by what stands on both sides */
    const bool inserted = same_dims(one->dims, from->dims, 2) && sc_size_is(&one->dims[2], 1) &&
        same_dims(one->dims + 3, from->dims + 2, 2) && same_dims(many->dims, from->dims, 2) &&
        same_dims(many->dims + 3, from->dims + 2, 2);
    if (!counted || !inserted || !sc_size_equal(&to->dims[0], &from->dims[0]) ||
        !same_dims(to->dims + 2, from->dims + 2, 2)) {
        return false;
    }
    *value = unsqueeze->in[0];
    return true;
}

/* Concat(past, new) along positions, from an input of the graph to an output. */
static void find_past(const struct sc_attention_finder *f, struct sc_attention_rows *rows)
{
    const struct sc_node *concat = sc_attention_maker(f, rows->value, "Concat");
    const struct sc_symbolic *joined = known(f, rows->value);
    int64_t axis;
    if (!concat || concat->n_in != 2 || joined->rank != 4 || sc_node_int(concat, "axis", 0, &axis) != SC_OK ||
        (axis != 2 && axis != -2)) {
        return;
    }
    const struct sc_graph_value *past = &f->graph->values[concat->in[0]];
    int present = -1;
    for (int o = 0; o < f->graph->n_outputs; o++) {
        int value = f->graph->outputs[o];
        if (value == rows->value || (present < 0 && peel_nothing(f, &value, false) && value == rows->value)) {
            present = f->graph->outputs[o];
        }
    }
    if (past->place == SC_PLACE_INPUT && past->weight < 0 && present >= 0 && concat->in[1] != concat->in[0]) {
        rows->past = concat->in[0];
        rows->present = present;
        rows->renamed = present == rows->value ? -1 : f->graph->values[present].producer;
        rows->concat = f->graph->values[rows->value].producer;
        rows->value = concat->in[1];
    }
}

/* The last two dims change places: 1; K itself is [batch, rows, heads, width]: 2; else 0. */
static int transposition(const struct sc_node *node)
{
    static const int64_t swap[4] = {0, 1, 3, 2}, turn[4] = {0, 2, 3, 1}, swap_last[3] = {0, 2, 1};
    const int64_t *perm;
    int n;
    if (sc_node_ints(node, "perm", &n, &perm) != SC_OK || (n != 4 && n != 3)) {
        return 0;
    }
    if (n == 3) {
        return memcmp(perm, swap_last, sizeof swap_last) == 0;
    }
    return memcmp(perm, swap, sizeof swap) == 0 ? 1 : memcmp(perm, turn, sizeof turn) == 0 ? 2 : 0;
}

static bool find_keys(struct sc_attention_finder *f, int value)
{
    struct sc_attention_rows *k = &f->match->k;
    bool swapped = false;
    for (int step = 0; step < MOST_STEPS; step++) {
        const struct sc_node *transpose = sc_attention_maker(f, value, "Transpose");
        if (peel_factor(f, &value, &f->match->scale) || peel_nothing(f, &value, false) || peel_fold(f, &value)) {
            continue;
        }
        if (!swapped && transpose && transposition(transpose)) {
            k->turned = transposition(transpose) == 2;
            value = transpose->in[0];
            swapped = true;
            continue;
        }
        if (!swapped || k->turned || !peel_repeat(f, &value)) {
            break;
        }
    }
    k->value = value;
    if (swapped && !k->turned) {
        find_past(f, k);
    }
    return swapped;
}

static void find_values(struct sc_attention_finder *f, int value)
{
    while (peel_nothing(f, &value, false) || peel_fold(f, &value)) { }
    (void)peel_repeat(f, &value);
    f->match->v.value = value;
    find_past(f, &f->match->v);
}

/* What is left out without a past of both would be wrong with one: keys and values go together. */
static void settle_past(const struct sc_attention_finder *f, struct sc_attention_match *match)
{
    if ((match->k.past < 0) == (match->v.past < 0)) {
        return;
    }
    struct sc_attention_rows *rows = match->k.past < 0 ? &match->v : &match->k;
    rows->value = f->graph->nodes[rows->concat].out[0];
    rows->past = rows->present = rows->concat = rows->renamed = -1;
}

/* Heads, widths, rows and batch as Attention wants them. */
static bool sizes_fit(struct sc_attention_finder *f)
{
    const struct sc_attention_match *m = f->match;
    const struct sc_symbolic *q = known(f, m->q), *k = known(f, m->k.value), *v = known(f, m->v.value);
    if (q->rank != 4 || k->rank != 4 || v->rank != 4) {
        return false;
    }
    const struct sc_symbolic *scores = known(f, f->graph->nodes[m->scores].out[0]);
    const struct sc_size dims[4] = {q->dims[0], q->dims[1], q->dims[2], scores->dims[scores->rank - 1]};
    const struct sc_size y[4] = {q->dims[0], q->dims[1], q->dims[2], v->dims[3]};
    memcpy(f->dims, dims, sizeof dims);
    if (!same_dims(known(f, f->graph->nodes[m->final].out[0])->dims, y, 4)) {
        return false;
    }
    const int heads = m->k.turned ? 2 : 1, rows = m->k.turned ? 1 : 2;
    const struct sc_size *q_heads = &q->dims[1], *k_heads = &k->dims[heads];
    const enum sc_type type = f->s->facts[m->q].type;
    return sc_size_equal(&q->dims[0], &k->dims[0]) && sc_size_equal(&q->dims[0], &v->dims[0]) &&
        sc_size_constant(q_heads) && sc_size_constant(k_heads) && sc_size_equal(k_heads, &v->dims[1]) &&
        k_heads->constant > 0 && q_heads->constant % k_heads->constant == 0 &&
        sc_size_equal(&q->dims[3], &k->dims[3]) && sc_size_constant(&q->dims[3]) && sc_size_constant(&v->dims[3]) &&
        sc_size_equal(&k->dims[rows], &v->dims[2]) && sc_type_is_float(type) && type == f->s->facts[m->k.value].type &&
        type == f->s->facts[m->v.value].type;
}

static bool along_keys(const struct sc_node *softmax, int rank)
{
    int64_t axis;
    const int64_t otherwise = softmax->version < 13 ? 1 : -1;
    return sc_node_int(softmax, "axis", otherwise, &axis) == SC_OK && (axis == -1 || axis == rank - 1);
}

/* The second product: `final` itself, with four dims, or of three what `final` makes four of. */
static int find_product(const struct sc_attention_finder *f, int final)
{
    const struct sc_node *node = &f->graph->nodes[final];
    int value = node->out[0];
    if (strcmp(node->op, "Reshape") == 0 && (known(f, value)->rank != 4 || !peel_fold(f, &value))) {
        return -1;
    }
    const bool fits = known(f, value)->rank == (value == node->out[0] ? 4 : 3);
    return fits && sc_attention_maker(f, value, "MatMul") ? f->graph->values[value].producer : -1;
}

enum sc_status sc_attention_find(const struct sc_symbolics *s, struct sc_attention_recipe **recipes, int final,
    struct sc_attention_match *match, bool *found)
{
    *found = false;
    const struct sc_graph *graph = s->graph;
    struct sc_attention_finder f = {.s = s, .graph = graph, .match = match, .guard = -1, .recipes = recipes};
    *match = (struct sc_attention_match){.final = final, .left_window = -1, .scale = 1};
    match->k = match->v =
        (struct sc_attention_rows){.value = -1, .past = -1, .present = -1, .concat = -1, .renamed = -1};
    match->product = find_product(&f, final);
    if (match->product < 0) {
        return SC_OK;
    }
    const struct sc_node *product = &graph->nodes[match->product];
    int value = product->in[0];
    while (peel_nothing(&f, &value, true) || peel_guard(&f, &value) || peel_fold(&f, &value)) { }
    const struct sc_node *softmax = sc_attention_maker(&f, value, "Softmax");
    if (!softmax || !has_rows(&f, value) || !along_keys(softmax, known(&f, value)->rank)) {
        return SC_OK;
    }
    match->softmax = graph->values[value].producer;
    value = softmax->in[0];
    if (!peel_scores(&f, &value)) {
        return SC_OK;
    }
    match->scores = graph->values[value].producer;
    match->q = graph->nodes[match->scores].in[0];
    while (
        peel_factor(&f, &match->q, &match->scale) || peel_nothing(&f, &match->q, false) || peel_fold(&f, &match->q)) { }
    if (!find_keys(&f, graph->nodes[match->scores].in[1])) {
        return SC_OK;
    }
    find_values(&f, product->in[1]);
    settle_past(&f, match);
    return guard_is_ours(&f) && match->scale > 0 && isfinite(match->scale) && sizes_fit(&f)
        ? sc_attention_settle_masks(&f, found)
        : SC_OK;
}
