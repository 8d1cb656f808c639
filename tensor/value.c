/* SPDX-License-Identifier: Apache-2.0
 * Deep copies of values. */
#include "tensor/value.h"

/* Sequences of optionals of sequences: deeper ones do not occur, and recursion has to end. */
#define MAX_DEPTH 8

static enum sc_status copy_strings(struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct sc_string *strings = tensor->data;
    const int64_t count = sc_tensor_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        strings[i].data = sc_arena_text(arena, strings[i].data ? strings[i].data : "", strings[i].bytes);
        if (!strings[i].data) {
            return SC_NO_MEMORY;
        }
    }
    return SC_OK;
}

static enum sc_status copy_tensor(struct sc_arena *arena, const struct sc_tensor *from, struct sc_tensor *to)
{
    struct sc_tensor copy;
    SC_TRY(sc_tensor_new(arena, from->type, from->rank, from->dims, &copy));
    sc_tensor_copy_dense(from, copy.data);
    if (copy.type == SC_STRING) {
        SC_TRY(copy_strings(arena, &copy));
    }
    *to = copy;
    return SC_OK;
}

static enum sc_status copy_value(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to, int depth);

static enum sc_status copy_sequence(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to, int depth)
{
    struct sc_value copy = *from;
    copy.u.sequence.items = sc_arena_array(arena, (size_t)from->u.sequence.n, sizeof *copy.u.sequence.items);
    if (!copy.u.sequence.items) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < from->u.sequence.n; i++) {
        SC_TRY(copy_value(arena, &from->u.sequence.items[i], &copy.u.sequence.items[i], depth + 1));
    }
    *to = copy;
    return SC_OK;
}

static enum sc_status copy_optional(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to, int depth)
{
    struct sc_value copy = *from;
    if (from->u.optional.item) {
        struct sc_value *item = sc_arena_alloc(arena, sizeof *item);
        if (!item) {
            return SC_NO_MEMORY;
        }
        SC_TRY(copy_value(arena, from->u.optional.item, item, depth + 1));
        copy.u.optional.item = item;
    }
    *to = copy;
    return SC_OK;
}

static enum sc_status copy_value(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to, int depth)
{
    if (depth > MAX_DEPTH) {
        return sc_fail(SC_LIMIT, "a value is nested more than %d deep", MAX_DEPTH);
    }
    switch (from->kind) {
    case SC_KIND_TENSOR:
        to->kind = SC_KIND_TENSOR;
        return copy_tensor(arena, &from->u.tensor, &to->u.tensor);
    case SC_KIND_SEQUENCE:
    case SC_KIND_MAP:
        return copy_sequence(arena, from, to, depth);
    case SC_KIND_OPTIONAL:
        return copy_optional(arena, from, to, depth);
    case SC_KIND_STATE:
        return sc_fail(SC_INTERNAL, "a state value cannot be copied");
    case SC_KIND_NONE:
        break;
    }
    *to = (struct sc_value){.kind = SC_KIND_NONE};
    return SC_OK;
}

enum sc_status sc_value_copy(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to)
{
    struct sc_value copy = {.kind = SC_KIND_NONE};
    SC_TRY(copy_value(arena, from, &copy, 0));
    *to = copy;
    return SC_OK;
}
