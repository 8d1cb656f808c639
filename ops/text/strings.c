/* SPDX-License-Identifier: Apache-2.0
 * StringConcat, StringSplit, StringNormalizer, RegexFullMatch. New bytes live in the call's arena; what is only cut out
 * of an input is copied too, since the input may die first. */
#include <stdio.h>
#include <string.h>

#include "base/regex.h"
#include "base/unicode.h"
#include "ops/broadcast.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

static enum sc_status check_utf8(const struct sc_call *call, const struct sc_string *s)
{
    return s->bytes == 0 || sc_utf8_valid(s->data, s->bytes) == s->bytes
        ? SC_OK
        : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a string is not UTF-8");
}

static enum sc_status keep(struct sc_arena *arena, const char *data, size_t bytes, struct sc_string *to)
{
    to->data = sc_arena_text(arena, bytes ? data : "", bytes);
    to->bytes = bytes;
    return to->data ? SC_OK : SC_NO_MEMORY;
}

static enum sc_status new_output(
    const struct sc_call *call, int output, enum sc_type type, int rank, const int64_t *dims)
{
    struct sc_value *value = call->out[output];
    value->kind = SC_KIND_TENSOR;
    return sc_tensor_new(call->arena, type, rank, dims, &value->u.tensor);
}

static enum sc_status exec_concat(const struct sc_call *call)
{
    struct sc_fact facts[2], shape;
    const struct sc_fact *in[2] = {&facts[0], &facts[1]};
    sc_fact_of(&facts[0], call->in[0]);
    sc_fact_of(&facts[1], call->in[1]);
    sc_fact_init(&shape);
    SC_TRY(sc_broadcast_facts(call->graph, call->node, 2, in, &shape));
    SC_TRY(new_output(call, 0, SC_STRING, shape.rank, shape.dims));
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t n = sc_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        const struct sc_string *parts[2];
        for (int p = 0; p < 2; p++) {
            const struct sc_tensor *t = sc_call_in(call, p);
            int64_t rest = i;
            int64_t at = 0;
            for (int d = out->rank - 1; d >= 0; d--) {
                const int axis = d - (out->rank - t->rank);
                at += axis >= 0 && t->dims[axis] != 1 ? rest % out->dims[d] * t->strides[axis] : 0;
                rest /= out->dims[d];
            }
            parts[p] = (const struct sc_string *)t->data + at;
        }
        char *text = sc_arena_alloc(call->arena, parts[0]->bytes + parts[1]->bytes + 1);
        if (!text) {
            return SC_NO_MEMORY;
        }
        for (int p = 0; p < 2; p++) {
            if (parts[p]->bytes) {
                memcpy(text + (p ? parts[0]->bytes : 0), parts[p]->data, parts[p]->bytes);
            }
        }
        ((struct sc_string *)out->data)[i] = (struct sc_string){text, parts[0]->bytes + parts[1]->bytes};
    }
    return SC_OK;
}

struct split_params {
    struct sc_string delimiter; /* empty: white space */
    int64_t most; /* splits; -1: any number */
};

static enum sc_status read_string(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, struct sc_string *text)
{
    const struct sc_attribute *a = sc_node_attribute(node, name);
    *text = (struct sc_string){"", 0};
    if (a && a->type != SC_ATTRIBUTE_STRING) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute '%s' is not a string", name);
    }
    if (a) {
        *text = a->u.s;
    }
    return SC_OK;
}

static enum sc_status params_split(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct split_params), params));
    struct split_params *p = *params;
    SC_TRY(read_string(graph, node, "delimiter", &p->delimiter));
    return sc_node_int(node, "maxsplit", -1, &p->most);
}

static enum sc_status infer_split(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    sc_fact_of_type(sc_infer_out(infer, 0), SC_STRING);
    if (x->rank >= 0 && x->rank < SC_MAX_RANK && sc_infer_out(infer, 0)) {
        sc_fact_of_rank(infer->out[0], SC_STRING, x->rank + 1);
        memcpy(infer->out[0]->dims, x->dims, (size_t)x->rank * sizeof(*x->dims));
    }
    sc_infer_shape_of(infer, 1, x, SC_I64);
    return SC_OK;
}

/* The next white space or other character; returns its bytes. */
static size_t next_char(const struct sc_string *s, size_t at, bool *space)
{
    uint32_t code;
    const size_t bytes = sc_utf8_decode(s->data + at, &code);
    *space = sc_unicode_is_space(code);
    return bytes;
}

/* Part number `part` begins at *at, which is moved on; false when there is none. As Python's str.split. */
static bool next_word(const struct sc_string *s, size_t *at, bool last, struct sc_string *part)
{
    bool space = true;
    size_t first = *at;
    while (first < s->bytes) {
        const size_t bytes = next_char(s, first, &space);
        if (!space) {
            break;
        }
        first += bytes;
    }
    if (first == s->bytes) {
        return false;
    }
    size_t end = last ? s->bytes : first;
    while (end < s->bytes) {
        const size_t bytes = next_char(s, end, &space);
        if (space) {
            break;
        }
        end += bytes;
    }
    *part = (struct sc_string){s->data + first, end - first};
    *at = end;
    return true;
}

static bool next_piece(
    const struct sc_string *s, const struct sc_string *delimiter, size_t *at, bool last, struct sc_string *part)
{
    if (*at > s->bytes) {
        return false;
    }
    size_t end = *at;
    bool found = false;
    while (!last && !found && end + delimiter->bytes <= s->bytes) {
        found = memcmp(s->data + end, delimiter->data, delimiter->bytes) == 0;
        end += found ? 0 : 1;
    }
    end = found ? end : s->bytes;
    *part = (struct sc_string){s->data + *at, end - *at};
    *at = found ? end + delimiter->bytes : s->bytes + 1;
    return true;
}

/* Number of parts; they are written to `to` when it is not NULL. */
static enum sc_status split_string(
    const struct sc_call *call, const struct sc_string *s, struct sc_string *to, int64_t *n)
{
    const struct split_params *p = call->params;
    size_t at = 0;
    struct sc_string part;
    *n = 0;
    for (;;) {
        const bool last = p->most >= 0 && *n == p->most;
        const bool more =
            p->delimiter.bytes ? next_piece(s, &p->delimiter, &at, last, &part) : next_word(s, &at, last, &part);
        if (!more) {
            return SC_OK;
        }
        if (to) {
            SC_TRY(keep(call->arena, part.data, part.bytes, &to[*n]));
        }
        ++*n;
    }
}

static enum sc_status exec_split(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    const struct sc_string *strings = x->data;
    const int64_t count = sc_tensor_count(x);
    if (x->rank >= SC_MAX_RANK) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT, "the result's rank is over %d", SC_MAX_RANK);
    }
    int64_t *numbers = sc_arena_array(call->arena, (size_t)count, sizeof(*numbers));
    if (!numbers) {
        return SC_NO_MEMORY;
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
    dims[x->rank] = 0;
    for (int64_t i = 0; i < count; i++) {
        SC_TRY(check_utf8(call, &strings[i]));
        SC_TRY(split_string(call, &strings[i], NULL, &numbers[i]));
        dims[x->rank] = numbers[i] > dims[x->rank] ? numbers[i] : dims[x->rank];
    }
    if (sc_dims_check("the result", SC_STRING, x->rank + 1, dims) != SC_OK) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT, "the result is too large");
    }
    SC_TRY(new_output(call, 0, SC_STRING, x->rank + 1, dims));
    struct sc_string *to = sc_call_out(call, 0)->data;
    for (int64_t i = 0; i < count * dims[x->rank]; i++) {
        to[i] = (struct sc_string){"", 0};
    }
    for (int64_t i = 0; i < count; i++) {
        SC_TRY(split_string(call, &strings[i], to + i * dims[x->rank], &numbers[i]));
    }
    if (call->n_out > 1 && call->out[1]) {
        SC_TRY(new_output(call, 1, SC_I64, x->rank, x->dims));
        if (count > 0) {
            memcpy(sc_call_out(call, 1)->data, numbers, (size_t)count * sizeof(*numbers));
        }
    }
    return SC_OK;
}

static enum sc_status params_regex(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_string), params));
    return read_string(graph, node, "pattern", *params);
}

static enum sc_status infer_regex(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    sc_infer_shape_of(infer, 0, infer->in[0], SC_BOOL);
    return SC_OK;
}

static enum sc_status match_all(const struct sc_call *call, struct sc_regex *regex)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    unsigned char *y = sc_call_out(call, 0)->data;
    for (int64_t i = 0, n = sc_tensor_count(x); i < n; i++) {
        const struct sc_string *s = (const struct sc_string *)x->data + i;
        bool matches;
        if (sc_regex_matches(regex, s->bytes ? s->data : "", s->bytes, &matches) != SC_OK) {
            return sc_node_fail(
                call->graph, call->node, sc_error_last()->code, "string %lld cannot be matched", (long long)i);
        }
        y[i] = matches;
    }
    return SC_OK;
}

static enum sc_status exec_regex(const struct sc_call *call)
{
    const struct sc_string *pattern = call->params;
    struct sc_regex *regex = NULL;
    if (sc_regex_compile(pattern->data, pattern->bytes, SC_REGEX_PERL, &regex) != SC_OK) {
        char why[160];
        snprintf(why, sizeof why, "%s", sc_error_last()->text);
        return sc_node_fail(call->graph, call->node, SC_BAD_MODEL, "'pattern' is no regular expression: %s", why);
    }
    const struct sc_tensor *x = sc_call_in(call, 0);
    enum sc_status status = new_output(call, 0, SC_BOOL, x->rank, x->dims);
    if (status == SC_OK) {
        status = match_all(call, regex);
    }
    sc_regex_free(regex);
    return status;
}

enum action { NONE, LOWER, UPPER };

struct normal_params {
    enum action action;
    bool sensitive;
    int n_stops;
    const struct sc_string *stops;
};

static enum sc_status params_normal(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct normal_params), params));
    struct normal_params *p = *params;
    const char *action;
    int64_t sensitive;
    SC_TRY(sc_node_text(node, "case_change_action", "NONE", &action));
    SC_TRY(sc_node_int(node, "is_case_sensitive", 0, &sensitive));
    p->sensitive = sensitive != 0;
    p->action = strcmp(action, "LOWER") == 0 ? LOWER : strcmp(action, "UPPER") == 0 ? UPPER : NONE;
    if (p->action == NONE && strcmp(action, "NONE") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "case_change_action is '%s', want NONE, LOWER or UPPER", action);
    }
    const struct sc_attribute *stops = sc_node_attribute(node, "stopwords");
    if (stops && stops->type != SC_ATTRIBUTE_STRINGS) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute 'stopwords' is not a list of strings");
    }
    p->n_stops = stops ? stops->n : 0;
    p->stops = stops ? stops->u.strings : NULL;
    return SC_OK;
}

static enum sc_status infer_normal(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    if (x->rank >= 0 && (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] >= 0 && x->dims[0] != 1))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input is neither [C] nor [1, C]");
    }
    if (x->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), SC_STRING);
    } else {
        sc_fact_of_rank(sc_infer_out(infer, 0), SC_STRING, x->rank);
        if (x->rank == 2 && sc_infer_out(infer, 0)) {
            infer->out[0]->dims[0] = 1;
        }
    }
    return SC_OK;
}

static enum sc_status lower(const struct sc_call *call, const struct sc_string *s, struct sc_string *to)
{
    char *text;
    SC_TRY(check_utf8(call, s));
    SC_TRY(sc_unicode_lower(s->bytes ? s->data : "", s->bytes, call->arena, &text, &to->bytes));
    to->data = text;
    return SC_OK;
}

static bool same(const struct sc_string *a, const struct sc_string *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

/* stops: as the attribute has them, or in lower case where case does not matter. */
static enum sc_status is_stop(
    const struct sc_call *call, const struct sc_string *s, const struct sc_string *stops, bool *stop)
{
    const struct normal_params *p = call->params;
    struct sc_string word = *s;
    *stop = false;
    if (!p->sensitive) {
        SC_TRY(lower(call, s, &word));
    }
    for (int i = 0; i < p->n_stops; i++) {
        *stop = *stop || same(&word, &stops[i]);
    }
    return SC_OK;
}

static enum sc_status change_case(const struct sc_call *call, const struct sc_string *s, struct sc_string *to)
{
    const struct normal_params *p = call->params;
    if (p->action == LOWER) {
        return lower(call, s, to);
    }
    if (p->action == NONE) {
        return keep(call->arena, s->data, s->bytes, to);
    }
    char *text;
    SC_TRY(check_utf8(call, s));
    SC_TRY(sc_unicode_upper(s->bytes ? s->data : "", s->bytes, call->arena, &text, &to->bytes));
    to->data = text;
    return SC_OK;
}

static enum sc_status exec_normal(const struct sc_call *call)
{
    const struct normal_params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int64_t n = sc_tensor_count(x);
    struct sc_string *kept = sc_arena_array(call->arena, (size_t)n + 1, sizeof(*kept));
    struct sc_string *stops = sc_arena_array(call->arena, (size_t)p->n_stops, sizeof(*stops));
    if (!kept || !stops) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < p->n_stops; i++) {
        stops[i] = p->stops[i];
        if (!p->sensitive) {
            SC_TRY(lower(call, &p->stops[i], &stops[i]));
        }
    }
    int64_t n_kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct sc_string *s = (const struct sc_string *)x->data + i;
        bool stop;
        SC_TRY(is_stop(call, s, stops, &stop));
        if (!stop) {
            SC_TRY(change_case(call, s, &kept[n_kept++]));
        }
    }
    if (n_kept == 0) { /* one empty string stands for nothing */
        kept[n_kept++] = (struct sc_string){"", 0};
    }
    const int64_t dims[2] = {x->rank == 2 ? 1 : n_kept, n_kept};
    SC_TRY(new_output(call, 0, SC_STRING, x->rank, dims));
    memcpy(sc_call_out(call, 0)->data, kept, (size_t)n_kept * sizeof(*kept));
    return SC_OK;
}

const struct sc_op sc_ops_text_strings[] = {
    SC_EXEC_ROW(StringConcat, 20, NULL, sc_infer_broadcast, exec_concat),
    SC_EXEC_ROW(StringSplit, 20, params_split, infer_split, exec_split),
    SC_EXEC_ROW(RegexFullMatch, 20, params_regex, infer_regex, exec_regex),
    SC_EXEC_ROW(StringNormalizer, 10, params_normal, infer_normal, exec_normal),
    {.name = NULL},
};
