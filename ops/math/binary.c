/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators of two inputs. One table of functions per operator, by element type; the versions before 7 (and
 * PRelu) broadcast one way, with B's axes at a given axis of A. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/one_way.h"
#include "ops/math/types.h"

#define BODY "ops/math/binary.inc.h"
#include "ops/math/each_number.inc.h"

#define KERNEL(name)                                                                                                   \
    static void name##_F32(void *arg, const struct sc_span *span)                                                      \
    {                                                                                                                  \
        const struct sc_span_arg *a = arg;                                                                             \
        a->kernels->binary[SC_BINARY_##name](                                                                          \
            span->in[0], (int)span->step[0], span->in[1], (int)span->step[1], span->out, span->n);                     \
    }
KERNEL(add)
KERNEL(sub)
KERNEL(mul)
KERNEL(div)
#undef KERNEL

/* Booleans are bytes that hold 0 or 1. */
static void equal_STRING(void *arg, const struct sc_span *span)
{
    (void)arg;
    const struct sc_string *a = span->in[0], *b = span->in[1];
    uint8_t *y = span->out;
    for (int64_t i = 0; i < span->n; i++, a += span->step[0], b += span->step[1]) {
        y[i] = a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
    }
}

static const struct sc_span_table tables[] = {
#define ARITHMETIC(name)                                                                                               \
    {                                                                                                                  \
        {                                                                                                              \
            SC_ON_NUMBERS(name)                                                                                        \
        }                                                                                                              \
    }
    ARITHMETIC(add),
    ARITHMETIC(sub),
    ARITHMETIC(mul),
    ARITHMETIC(div),
    ARITHMETIC(mod),
    ARITHMETIC(fmod),
    ARITHMETIC(prelu),
#undef ARITHMETIC
    {{SC_ON_NUMBERS(equal), [SC_BOOL] = equal_U8, [SC_STRING] = equal_STRING}},
    {{SC_ON_NUMBERS(less)}},
    {{SC_ON_NUMBERS(greater)}},
    {{SC_ON_NUMBERS(less_equal)}},
    {{SC_ON_NUMBERS(greater_equal)}},
    {{SC_ON_INTS(and), [SC_BOOL] = and_U8}},
    {{SC_ON_INTS(or), [SC_BOOL] = or_U8}},
    {{SC_ON_INTS(xor), [SC_BOOL] = xor_U8}},
    {{SC_ON_INTS(shl)}},
    {{SC_ON_INTS(shr)}},
};

enum function {
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    FMOD,
    PRELU,
    EQUAL,
    LESS,
    GREATER,
    LESS_EQUAL,
    GREATER_EQUAL,
    AND,
    OR,
    XOR,
    SHIFT_LEFT,
    SHIFT_RIGHT
};

struct binary {
    enum function function;
    struct sc_one_way one_way;
};

/* PRelu: the slope broadcasts one way; before version 7 a list of slopes is one per channel (axis 1). */
static struct sc_one_way layout(const struct sc_node *node, const struct binary *p, int x_rank, int slope_rank)
{
    struct sc_one_way one_way = p->one_way;
    if (p->function == PRELU) {
        one_way = (struct sc_one_way){.on = true, .axis = 1};
        one_way.suffix = node->version >= 7 || slope_rank != 1 || x_rank < 2;
    }
    return one_way;
}

static enum sc_status infer_binary(struct sc_infer *infer, enum sc_type type)
{
    const struct binary *p = infer->params;
    const struct sc_fact *a = sc_infer_in(infer, 0), *b = sc_infer_in(infer, 1);
    SC_TRY(sc_elementwise_check(infer, &tables[p->function], sc_infer_type(infer, 0)));
    const struct sc_one_way one_way = layout(infer->node, p, a ? a->rank : -1, b ? b->rank : -1);
    return sc_one_way_infer(infer, &one_way, type);
}

static enum sc_status infer_arithmetic(struct sc_infer *infer)
{
    return infer_binary(infer, sc_infer_type(infer, 0));
}

/* Before version 28 floats must have fmod. */
static enum sc_status infer_mod(struct sc_infer *infer)
{
    const struct binary *p = infer->params;
    if (p->function == MOD && infer->node->version < 28 && sc_type_is_float(sc_infer_type(infer, 0))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "fmod is 0, want 1 for floats");
    }
    return infer_arithmetic(infer);
}

static enum sc_status infer_logic(struct sc_infer *infer)
{
    return infer_binary(infer, SC_BOOL);
}

static void run_binary(const struct sc_call *call)
{
    const struct binary *p = call->params;
    const struct sc_tensor *a = sc_call_in(call, 0);
    const struct sc_one_way one_way = layout(call->node, p, a->rank, sc_call_in(call, 1)->rank);
    const struct sc_tensor b = sc_one_way_view(call, &one_way);
    const struct sc_tensor *in[2] = {a, &b};
    sc_elementwise(call, &tables[p->function], a->type, 2, in, NULL);
}

static enum sc_status new_params(struct sc_arena *arena, enum function function, struct binary **params)
{
    *params = sc_arena_alloc(arena, sizeof **params);
    if (!*params) {
        return SC_NO_MEMORY;
    }
    (*params)->function = function;
    return SC_OK;
}

/* Versions 1 and 6: broadcast = 1 allows B to be smaller, its axes standing at `axis` of A; else it has A's shape. */
static enum sc_status one_way_params(
    const struct sc_node *node, struct sc_arena *arena, enum function function, void **params)
{
    struct binary *p;
    SC_TRY(new_params(arena, function, &p));
    SC_TRY(sc_one_way_read(node, &p->one_way));
    *params = p;
    return SC_OK;
}

#define PARAMS(name, function)                                                                                         \
    static enum sc_status params_##name(                                                                               \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        (void)graph, (void)node;                                                                                       \
        struct binary *p;                                                                                              \
        SC_TRY(new_params(arena, function, &p));                                                                       \
        *params = p;                                                                                                   \
        return SC_OK;                                                                                                  \
    }
#define OLD_PARAMS(name, function)                                                                                     \
    static enum sc_status old_params_##name(                                                                           \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        return one_way_params(node, arena, function, params);                                                          \
    }
#define BOTH_PARAMS(name, function)                                                                                    \
    PARAMS(name, function)                                                                                             \
    OLD_PARAMS(name, function)
BOTH_PARAMS(add, ADD)
BOTH_PARAMS(sub, SUB)
BOTH_PARAMS(mul, MUL)
BOTH_PARAMS(div, DIV)
BOTH_PARAMS(equal, EQUAL)
BOTH_PARAMS(less, LESS)
BOTH_PARAMS(greater, GREATER)
BOTH_PARAMS(and, AND)
BOTH_PARAMS(or, OR)
BOTH_PARAMS(xor, XOR)
PARAMS(prelu, PRELU)
PARAMS(less_equal, LESS_EQUAL)
PARAMS(greater_equal, GREATER_EQUAL)
#undef PARAMS
#undef OLD_PARAMS
#undef BOTH_PARAMS

static enum sc_status params_mod(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    struct binary *p;
    int64_t truncate;
    SC_TRY(sc_node_int(node, "fmod", 0, &truncate));
    SC_TRY(new_params(arena, truncate ? FMOD : MOD, &p));
    *params = p;
    return SC_OK;
}

static enum sc_status params_shift(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    struct binary *p;
    const char *direction;
    SC_TRY(sc_node_text(node, "direction", "", &direction));
    const bool left = strcmp(direction, "LEFT") == 0;
    if (!left && strcmp(direction, "RIGHT") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "direction is '%s', want LEFT or RIGHT", direction);
    }
    SC_TRY(new_params(arena, left ? SHIFT_LEFT : SHIFT_RIGHT, &p));
    *params = p;
    return SC_OK;
}

#define ROW(op, version, how, inference, flag)                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | (flag), .params = how,         \
        .infer = inference, .run = run_binary                                                                          \
    }
#define NEW(op, version, name) ROW(op, version, params_##name, infer_arithmetic, SC_OP_IN_PLACE)
#define OLD(op, version, name) ROW(op, version, old_params_##name, infer_arithmetic, SC_OP_IN_PLACE)
#define ARITHMETIC(op, name) OLD(op, 1, name), OLD(op, 6, name), NEW(op, 7, name), NEW(op, 13, name), NEW(op, 14, name)
#define COMPARE(op, version, name) ROW(op, version, params_##name, infer_logic, 0)
#define OLD_COMPARE(op, version, name) ROW(op, version, old_params_##name, infer_logic, 0)

const struct sc_op sc_ops_math_binary[] = {
    ARITHMETIC("Add", add),
    ARITHMETIC("Sub", sub),
    ARITHMETIC("Mul", mul),
    ARITHMETIC("Div", div),
    ROW("Mod", 10, params_mod, infer_mod, SC_OP_IN_PLACE),
    ROW("Mod", 13, params_mod, infer_mod, SC_OP_IN_PLACE),
    ROW("Mod", 28, params_mod, infer_mod, SC_OP_IN_PLACE),
    ROW("PRelu", 1, params_prelu, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("PRelu", 6, params_prelu, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("PRelu", 7, params_prelu, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("PRelu", 9, params_prelu, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("PRelu", 16, params_prelu, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("BitShift", 11, params_shift, infer_arithmetic, SC_OP_IN_PLACE),
    ROW("BitShift", 28, params_shift, infer_arithmetic, SC_OP_IN_PLACE),
    NEW("BitwiseAnd", 18, and),
    NEW("BitwiseOr", 18, or),
    NEW("BitwiseXor", 18, xor),
    ROW("And", 1, old_params_and, infer_logic, SC_OP_IN_PLACE),
    ROW("And", 7, params_and, infer_logic, SC_OP_IN_PLACE),
    ROW("Or", 1, old_params_or, infer_logic, SC_OP_IN_PLACE),
    ROW("Or", 7, params_or, infer_logic, SC_OP_IN_PLACE),
    ROW("Xor", 1, old_params_xor, infer_logic, SC_OP_IN_PLACE),
    ROW("Xor", 7, params_xor, infer_logic, SC_OP_IN_PLACE),
    OLD_COMPARE("Equal", 1, equal),
    COMPARE("Equal", 7, equal),
    COMPARE("Equal", 11, equal),
    COMPARE("Equal", 13, equal),
    COMPARE("Equal", 19, equal),
    OLD_COMPARE("Less", 1, less),
    COMPARE("Less", 7, less),
    COMPARE("Less", 9, less),
    COMPARE("Less", 13, less),
    OLD_COMPARE("Greater", 1, greater),
    COMPARE("Greater", 7, greater),
    COMPARE("Greater", 9, greater),
    COMPARE("Greater", 13, greater),
    COMPARE("LessOrEqual", 12, less_equal),
    COMPARE("LessOrEqual", 16, less_equal),
    COMPARE("GreaterOrEqual", 12, greater_equal),
    COMPARE("GreaterOrEqual", 16, greater_equal),
    {.name = NULL},
};
