/* SPDX-License-Identifier: Apache-2.0
 * Cast, CastLike and BitCast. Numbers are converted by tensor/convert.h; here are texts and the attribute forms. */
#include <ctype.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/number_text.h"
#include "ops/math/types.h"
#include "tensor/convert.h"

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
        uint64_t number;
        if (!sc_text_to_number(&texts[i], SC_F64, &number, 0)) {
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
    const struct sc_kernels *kernels;
    unsigned flags;
    char *text; /* numbers to strings: SC_NUMBER_TEXT_BYTES for each */
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
            const struct sc_string *text = (const struct sc_string *)(const void *)in + i;
            (void)sc_text_to_number(
                text, out_type, out + (size_t)i * out_bytes, job->flags); /* resolve has read them */
        }
    } else if (out_type == SC_STRING) {
        for (int64_t i = 0; i < n; i++) {
            struct sc_string *string = (struct sc_string *)(void *)out + i;
            *string = (struct sc_string){"", 0};
            if (job->text) {
                char *text = job->text + (size_t)(from + i) * SC_NUMBER_TEXT_BYTES;
                *string = (struct sc_string){text, (size_t)sc_number_to_text(in_type, in + (size_t)i * in_bytes, text)};
            }
        }
    } else if (out_type == SC_F32 && (in_type == SC_F16 || in_type == SC_BF16)) {
        sc_widen(job->kernels, in_type, in, (float *)(void *)out, n);
    } else if (in_type == SC_F32 && (out_type == SC_F16 || out_type == SC_BF16)) {
        sc_round_to(job->kernels, out_type, (const float *)(const void *)in, out, n);
    } else {
        sc_convert(in_type, in, out_type, out, n, job->flags);
    }
}

static void run_cast(const struct sc_call *call)
{
    const struct cast *p = call->params;
    struct job job = {
        .in = sc_call_in(call, 0), .out = sc_call_out(call, 0), .kernels = call->kernels, .flags = p->flags};
    job.n = sc_tensor_count(job.in);
    if (job.out->type == SC_STRING && job.in->type != SC_STRING && call->arena) {
        /* The only kernel that needs memory for what it gives; when there is none the strings are empty. */
        job.text = sc_arena_array(call->arena, (size_t)job.n, SC_NUMBER_TEXT_BYTES);
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
