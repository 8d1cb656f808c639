/* SPDX-License-Identifier: Apache-2.0
 * Cast, CastLike and BitCast. Numbers are converted by tensor/convert.h; here are texts and the attribute forms. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"
#include "tensor/convert.h"

#define NUMBER_TEXT 400 /* longest text that is read as a number; the largest double has 309 digits */
#define TEXT_BYTES 32 /* room for any number we write */

struct cast {
    enum sc_type to; /* SC_TYPE_NONE: that of input 1 */
    unsigned flags;
};

static enum sc_status read_flags(const struct sc_graph *graph, const struct sc_node *node, unsigned *flags)
{
    int64_t saturate;
    const char *mode;
    SC_TRY(sc_node_int(node, "saturate", 1, &saturate));
    SC_TRY(sc_node_text(node, "round_mode", "up", &mode));
    *flags = saturate ? SC_CONVERT_SATURATE : 0;
    if (strcmp(mode, "down") == 0) {
        *flags |= SC_CONVERT_ROUND_DOWN;
    } else if (strcmp(mode, "nearest") == 0) {
        *flags |= SC_CONVERT_ROUND_NEAREST;
    } else if (strcmp(mode, "up") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "round_mode is '%s', want up, down or nearest", mode);
    }
    return SC_OK;
}

static enum sc_status new_params(struct sc_arena *arena, enum sc_type to, unsigned flags, void **params)
{
    struct cast *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    *p = (struct cast){to, flags};
    *params = p;
    return SC_OK;
}

static enum sc_status read_to(const struct sc_graph *graph, const struct sc_node *node, enum sc_type *to)
{
    int64_t number;
    SC_TRY(sc_node_int(node, "to", 0, &number));
    if (!sc_type_valid(number) || number == SC_TYPE_NONE) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "to is %lld, which is no element type", (long long)number);
    }
    *to = (enum sc_type)number;
    return SC_OK;
}

static enum sc_status params_cast(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    enum sc_type to;
    unsigned flags;
    SC_TRY(read_to(graph, node, &to));
    SC_TRY(read_flags(graph, node, &flags));
    if (to != SC_STRING && !sc_convertible(to)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "to is %s, which cannot be cast to", sc_type_name(to));
    }
    return new_params(arena, to, flags, params);
}

/* Version 1 names the type: "FLOAT". */
static enum sc_status params_cast_1(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    const char *name;
    char lower[32];
    SC_TRY(sc_node_text(node, "to", "", &name));
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++) {
        lower[n] = (char)tolower((unsigned char)name[n]);
    }
    const enum sc_type to = sc_type_find(lower, n);
    if (name[n] || !sc_convertible(to)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "to is '%s', which is no element type to cast to", name);
    }
    return new_params(arena, to, SC_CONVERT_SATURATE, params);
}

static enum sc_status params_cast_like(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    unsigned flags;
    SC_TRY(read_flags(graph, node, &flags));
    return new_params(arena, SC_TYPE_NONE, flags, params);
}

static enum sc_status params_bit_cast(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    enum sc_type to;
    SC_TRY(read_to(graph, node, &to));
    return new_params(arena, to, 0, params);
}

static enum sc_status infer_cast(struct sc_infer *infer)
{
    const struct cast *p = infer->params;
    sc_infer_shape_of(infer, 0, sc_infer_in(infer, 0), p->to ? p->to : sc_infer_type(infer, 1));
    return SC_OK;
}

static enum sc_status infer_bit_cast(struct sc_infer *infer)
{
    const struct cast *p = infer->params;
    const enum sc_type from = sc_infer_type(infer, 0);
    if (from && (p->to == SC_STRING || from == SC_STRING || sc_type_bits(from) != sc_type_bits(p->to))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s and %s do not have the same width",
            sc_type_name(from), sc_type_name(p->to));
    }
    sc_infer_shape_of(infer, 0, sc_infer_in(infer, 0), p->to);
    return SC_OK;
}

/* A text as a number of one of three types: an integer where it is one that fits, else a double. */
struct number {
    enum sc_type type;
    union {
        int64_t i;
        uint64_t u;
        double real;
    } is;
};

/* False when it is no number. */
static bool read_number(const struct sc_string *text, struct number *number)
{
    char buffer[NUMBER_TEXT];
    if (text->bytes == 0 || text->bytes >= sizeof buffer || memchr(text->data, 0, text->bytes)) {
        return false;
    }
    memcpy(buffer, text->data, text->bytes);
    buffer[text->bytes] = 0;
    char *end;
    errno = 0;
    number->type = SC_I64;
    number->is.i = strtoll(buffer, &end, 10);
    if (*end == 0 && errno == ERANGE && number->is.i > 0) {
        errno = 0;
        number->type = SC_U64;
        number->is.u = strtoull(buffer, &end, 10);
    }
    if (*end == 0 && errno == 0 && !(number->is.u == 0 && buffer[0] == '-')) { /* -0 has its sign in a double */
        return true;
    }
    number->type = SC_F64;
    number->is.real = strtod(buffer, &end); /* knows inf and nan in any case */
    return *end == 0;
}

/* A text has no bytes of its own kind to go through sc_convert: it goes by way of a number. */
static void convert_text(const struct sc_string *text, enum sc_type to, void *out, unsigned flags)
{
    struct number number;
    if (!read_number(text, &number)) {
        number = (struct number){.type = SC_F64, .is.real = NAN}; /* cannot be: resolve has read them all */
    }
    sc_convert(number.type, &number.is, to, out, 1, flags);
}

/* Shortest digits that read back as the same element, positional between 1e-4 and 1e16, like numpy's str. */
static int write_real(enum sc_type type, const void *element, char *text)
{
    double value, back;
    sc_convert(type, element, SC_F64, &value, 1, 0);
    if (isnan(value)) {
        return snprintf(text, TEXT_BYTES, "NaN");
    }
    if (isinf(value)) {
        return snprintf(text, TEXT_BYTES, value > 0 ? "INF" : "-INF");
    }
    int digits = 1;
    for (; digits < 17; digits++) {
        _Alignas(8) char narrow[8];
        snprintf(text, TEXT_BYTES, "%.*e", digits - 1, value);
        back = strtod(text, NULL);
        sc_convert(SC_F64, &back, type, narrow, 1, SC_CONVERT_SATURATE);
        if (memcmp(narrow, element, sc_type_bytes(type)) == 0) {
            break;
        }
    }
    const double size = fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e16)) {
        return snprintf(text, TEXT_BYTES, "%.*e", digits - 1, value);
    }
    const int exponent = size == 0 ? 0 : (int)floor(log10(size));
    int places = digits - 1 - exponent;
    return snprintf(text, TEXT_BYTES, "%.*f", places < 1 ? 1 : places, value);
}

static int write_number(enum sc_type type, const void *element, char *text)
{
    if (type == SC_U64) {
        return snprintf(text, TEXT_BYTES, "%llu", (unsigned long long)*(const uint64_t *)element);
    }
    const bool whole =
        sc_type_is_int(type) || type == SC_BOOL || type == SC_U4 || type == SC_I4 || type == SC_U2 || type == SC_I2;
    if (!whole) {
        return write_real(type, element, text);
    }
    int64_t value;
    sc_convert(type, element, SC_I64, &value, 1, 0);
    return snprintf(text, TEXT_BYTES, "%lld", (long long)value);
}

static enum sc_status resolve_cast(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *out = sc_call_out(call, 0);
    if (in->type != SC_STRING || out->type == SC_STRING) {
        return SC_OK;
    }
    const struct sc_string *texts = in->data;
    const int64_t n = sc_tensor_count(in);
    for (int64_t i = 0; i < n; i++) {
        struct number number;
        if (!read_number(&texts[i], &number)) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "'%.*s' is not a number",
                texts[i].bytes > 40 ? 40 : (int)texts[i].bytes, texts[i].data);
        }
    }
    return SC_OK;
}

struct job {
    const struct sc_tensor *in;
    struct sc_tensor *out;
    int64_t n;
    unsigned flags;
    char *text; /* numbers to strings: TEXT_BYTES for each */
};

static void cast_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t from = part * SC_BROADCAST_PART;
    const int64_t n = job->n - from < SC_BROADCAST_PART ? job->n - from : SC_BROADCAST_PART;
    const enum sc_type in_type = job->in->type, out_type = job->out->type;
    const size_t in_bytes = sc_type_bytes(in_type), out_bytes = sc_type_bytes(out_type);
    const char *in = (const char *)job->in->data + (size_t)from * in_bytes;
    char *out = (char *)job->out->data + (size_t)from * out_bytes;
    if (in_type == out_type) {
        if (in != out) {
            memcpy(out, in, (size_t)n * in_bytes);
        }
    } else if (in_type == SC_STRING) {
        for (int64_t i = 0; i < n; i++) {
            convert_text(
                (const struct sc_string *)(const void *)in + i, out_type, out + (size_t)i * out_bytes, job->flags);
        }
    } else if (out_type == SC_STRING) {
        for (int64_t i = 0; i < n; i++) {
            struct sc_string *string = (struct sc_string *)(void *)out + i;
            *string = (struct sc_string){"", 0};
            if (job->text) {
                char *text = job->text + (size_t)(from + i) * TEXT_BYTES;
                *string = (struct sc_string){text, (size_t)write_number(in_type, in + (size_t)i * in_bytes, text)};
            }
        }
    } else {
        sc_convert(in_type, in, out_type, out, n, job->flags);
    }
}

static void run_cast(const struct sc_call *call)
{
    const struct cast *p = call->params;
    struct job job = {.in = sc_call_in(call, 0), .out = sc_call_out(call, 0), .flags = p->flags};
    job.n = sc_tensor_count(job.in);
    if (job.out->type == SC_STRING && job.in->type != SC_STRING && call->arena) {
        /* The only kernel that needs memory for what it gives; when there is none the strings are empty. */
        job.text = sc_arena_array(call->arena, (size_t)job.n, TEXT_BYTES);
    }
    sc_team_for(call->team, (job.n + SC_BROADCAST_PART - 1) / SC_BROADCAST_PART, cast_part, &job);
}

/* The same bits; only the types narrower than a byte differ in how their byte is filled up. */
static void run_bit_cast(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_tensor_bytes(in);
    if (out->data != in->data) {
        memcpy(out->data, in->data, bytes);
    }
    const unsigned bits = sc_type_bits(out->type);
    if (bits < 8) {
        uint8_t *codes = out->data;
        const unsigned sign = out->type == SC_I4 || out->type == SC_I2 ? 1u << (bits - 1) : 0;
        for (size_t i = 0; i < bytes; i++) {
            codes[i] = (uint8_t)(((codes[i] & ((1u << bits) - 1)) ^ sign) - sign);
        }
    }
}

#define ROW(op, version, how)                                                                                          \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE, .params = how, \
        .infer = infer_cast, .resolve = resolve_cast, .run = run_cast                                                  \
    }

const struct sc_op sc_ops_math_cast[] = {
    ROW("Cast", 1, params_cast_1),
    ROW("Cast", 6, params_cast),
    ROW("Cast", 9, params_cast),
    ROW("Cast", 13, params_cast),
    ROW("Cast", 19, params_cast),
    ROW("Cast", 21, params_cast),
    ROW("Cast", 23, params_cast),
    ROW("Cast", 24, params_cast),
    ROW("Cast", 25, params_cast),
    ROW("Cast", 28, params_cast),
    ROW("CastLike", 15, params_cast_like),
    ROW("CastLike", 19, params_cast_like),
    ROW("CastLike", 21, params_cast_like),
    ROW("CastLike", 23, params_cast_like),
    ROW("CastLike", 24, params_cast_like),
    ROW("CastLike", 25, params_cast_like),
    {.domain = "",
        .name = "BitCast",
        .since = 26,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,
        .params = params_bit_cast,
        .infer = infer_bit_cast,
        .run = run_bit_cast},
    {.name = NULL},
};
