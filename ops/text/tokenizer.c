/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft's Tokenizer, which converters of text pipelines write: each string becomes a row of the pieces that
 * `tokenexp` matches, of what is left between matches of `separators`, or of its characters (one empty separator). */
#include <string.h>

#include "base/regex.h"
#include "base/unicode.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

struct params {
    bool mark; /* a row begins with 0x02 and ends with 0x03 */
    int64_t least; /* characters of a token */
    struct sc_string pad;
    struct sc_string expression; /* of tokens, when there are no separators */
    int n_separators;
    const struct sc_string *separators;
};

static enum sc_status params_tokenizer(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    int64_t mark;
    SC_TRY(sc_node_int(node, "mark", 0, &mark));
    SC_TRY(sc_node_int(node, "mincharnum", 0, &p->least));
    p->mark = mark != 0;
    const struct sc_attribute *pad = sc_node_attribute(node, "pad_value");
    const struct sc_attribute *separators = sc_node_attribute(node, "separators");
    const struct sc_attribute *expression = sc_node_attribute(node, "tokenexp");
    p->pad = pad ? pad->u.s : (struct sc_string){"", 0};
    p->n_separators = separators ? separators->n : 0;
    p->separators = separators ? separators->u.strings : NULL;
    p->expression = expression ? expression->u.s : (struct sc_string){"", 0};
    if (p->least < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mincharnum is %lld, want 1 or more", (long long)p->least);
    }
    if (p->n_separators == 0 && p->expression.bytes == 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there is neither 'separators' nor 'tokenexp'");
    }
    if (p->n_separators == 1 && p->separators[0].bytes == 0 && p->least > 1) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "mincharnum is %lld, but tokens are characters", (long long)p->least);
    }
    return SC_OK;
}

static enum sc_status infer_tokenizer(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, SC_STRING);
    if (x->rank < 0) {
        return SC_OK;
    }
    if (x->rank < 1 || x->rank > 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input is neither [C] nor [N, C]");
    }
    if (out) {
        sc_fact_of_rank(out, SC_STRING, x->rank + 1);
        memcpy(out->dims, x->dims, (size_t)x->rank * sizeof(*x->dims));
    }
    return SC_OK;
}

/* What rows are made of: tokens of one string after those of the one before. */
struct tokens {
    const struct sc_call *call;
    int64_t n, room;
    struct sc_string *all;
};

/* Tokens of fewer characters than asked for are dropped. */
static enum sc_status add(struct tokens *tokens, const char *data, size_t bytes)
{
    const struct params *p = tokens->call->params;
    int64_t characters = 0;
    for (size_t i = 0; i < bytes; i++) {
        characters += ((unsigned char)data[i] & 0xC0) != 0x80;
    }
    if (characters < p->least) {
        return SC_OK;
    }
    if (tokens->n == tokens->room) {
        struct sc_string *more = sc_arena_array(tokens->call->arena, 2 * (size_t)tokens->room + 64, sizeof(*more));
        if (!more) {
            return SC_NO_MEMORY;
        }
        if (tokens->n) {
            memcpy(more, tokens->all, (size_t)tokens->n * sizeof(*more));
        }
        tokens->all = more;
        tokens->room = 2 * tokens->room + 64;
    }
    char *copy = sc_arena_text(tokens->call->arena, data, bytes); /* the input may die first */
    if (!copy) {
        return SC_NO_MEMORY;
    }
    tokens->all[tokens->n++] = (struct sc_string){copy, bytes};
    return SC_OK;
}

static size_t character(const char *text)
{
    uint32_t code;
    return sc_utf8_decode(text, &code);
}

static enum sc_status add_characters(struct tokens *tokens, const struct sc_string *s)
{
    for (size_t at = 0, bytes; at < s->bytes; at += bytes) {
        bytes = character(s->data + at);
        SC_TRY(add(tokens, s->data + at, bytes));
    }
    return SC_OK;
}

/* The matches, or what is between them. An empty match takes the character behind it away. */
static enum sc_status add_pieces(struct tokens *tokens, struct sc_regex *regex, bool between, const struct sc_string *s)
{
    size_t at = 0;
    while (at < s->bytes) {
        bool found;
        size_t first = s->bytes, end = s->bytes;
        if (sc_regex_find_longest(regex, s->data, s->bytes, at, &found, &first, &end) != SC_OK) {
            return sc_node_fail(tokens->call->graph, tokens->call->node, sc_error_last()->code,
                "'%.*s' cannot be searched for tokens", (int)(s->bytes < 80 ? s->bytes : 80), s->data);
        }
        const size_t from = between ? at : first, to = between ? first : end;
        SC_TRY(add(tokens, s->data + from, to - from));
        at = end > first || end == s->bytes ? end : end + character(s->data + end);
    }
    return SC_OK;
}

/* Each separator cuts the pieces that the one before it left. */
static enum sc_status cut(struct tokens *tokens, struct sc_regex *const *regexes, const struct sc_string *s)
{
    const struct params *p = tokens->call->params;
    if (p->n_separators == 0) {
        return add_pieces(tokens, regexes[0], false, s);
    }
    const int64_t first = tokens->n;
    SC_TRY(add_pieces(tokens, regexes[0], true, s));
    for (int i = 1; i < p->n_separators; i++) {
        struct tokens next = {.call = tokens->call};
        for (int64_t t = first; t < tokens->n; t++) {
            SC_TRY(add_pieces(&next, regexes[i], true, &tokens->all[t]));
        }
        tokens->n = first;
        for (int64_t t = 0; t < next.n; t++) {
            SC_TRY(add(tokens, next.all[t].data, next.all[t].bytes));
        }
    }
    return SC_OK;
}

/* ends[i]: the tokens of the strings up to number i. */
static enum sc_status tokenize(
    const struct sc_call *call, struct sc_regex *const *regexes, struct tokens *tokens, int64_t *ends)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const bool characters = p->n_separators == 1 && p->separators[0].bytes == 0;
    for (int64_t i = 0, n = sc_tensor_count(x); i < n; i++) {
        const struct sc_string *s = (const struct sc_string *)x->data + i;
        if (s->bytes && sc_utf8_valid(s->data, s->bytes) != s->bytes) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "string %lld is not UTF-8", (long long)i);
        }
        SC_TRY(characters ? add_characters(tokens, s) : cut(tokens, regexes, s));
        ends[i] = tokens->n;
    }
    return SC_OK;
}

/* Rows are as long as the longest; where no string has a token they have none, marks or not. */
static enum sc_status write_rows(const struct sc_call *call, const struct tokens *tokens, const int64_t *ends)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int64_t n = sc_tensor_count(x);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = ends[i] - (i ? ends[i - 1] : 0);
        most = row > most ? row : most;
    }
    int64_t dims[3] = {x->dims[0], x->rank == 2 ? x->dims[1] : 0};
    dims[x->rank] = most ? most + (p->mark ? 2 : 0) : 0;
    struct sc_value *value = call->out[0];
    value->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, SC_STRING, x->rank + 1, dims, &value->u.tensor));
    for (int64_t i = 0; most && i < n; i++) {
        struct sc_string *to = (struct sc_string *)value->u.tensor.data + i * dims[x->rank], *end = to + dims[x->rank];
        if (p->mark) {
            *to++ = (struct sc_string){"\x02", 1};
        }
        for (int64_t t = i ? ends[i - 1] : 0; t < ends[i]; t++) {
            *to++ = tokens->all[t];
        }
        if (p->mark) {
            *to++ = (struct sc_string){"\x03", 1};
        }
        while (to < end) {
            *to++ = p->pad;
        }
    }
    return SC_OK;
}

static enum sc_status exec_tokenizer(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_string *patterns = p->n_separators ? p->separators : &p->expression;
    const int n_patterns = p->n_separators ? p->n_separators : 1;
    const int64_t n = sc_tensor_count(sc_call_in(call, 0));
    struct tokens tokens = {.call = call};
    int64_t *ends = sc_arena_array(call->arena, (size_t)n + 1, sizeof(*ends));
    struct sc_regex **regexes = sc_arena_array(call->arena, (size_t)n_patterns, sizeof(struct sc_regex *));
    if (!ends || !regexes) {
        return SC_NO_MEMORY;
    }
    memset(regexes, 0, (size_t)n_patterns * sizeof(struct sc_regex *));
    enum sc_status status = SC_OK;
    for (int i = 0; status == SC_OK && i < n_patterns; i++) {
        if (sc_regex_compile(patterns[i].data, patterns[i].bytes, SC_REGEX_PERL, &regexes[i]) != SC_OK) {
            status = sc_node_fail(call->graph, call->node, SC_BAD_MODEL, "'%.*s' is no regular expression",
                (int)(patterns[i].bytes < 80 ? patterns[i].bytes : 80), patterns[i].data);
        }
    }
    if (status == SC_OK) {
        status = tokenize(call, regexes, &tokens, ends);
    }
    for (int i = 0; i < n_patterns; i++) {
        sc_regex_free(regexes[i]);
    }
    if (status != SC_OK) {
        return status;
    }
    return write_rows(call, &tokens, ends);
}

const struct sc_op sc_ops_text_tokenizer[] = {
    {.domain = "com.microsoft",
        .name = "Tokenizer",
        .since = 1,
        .flags = SC_OP_PURE,
        .params = params_tokenizer,
        .infer = infer_tokenizer,
        .exec = exec_tokenizer},
    {.name = NULL},
};
