/* SPDX-License-Identifier: Apache-2.0
 * Tensors are hashed as they would lie dense in memory. */
#include "launch/value_digest.h"

static uint64_t add_number(uint64_t digest, int64_t number)
{
    return sc_digest_bytes(digest, &number, sizeof number);
}

static uint64_t add_element(uint64_t digest, const struct sc_tensor *tensor, int64_t offset, size_t bytes)
{
    const char *element = (const char *)tensor->data + offset * (int64_t)bytes;
    if (tensor->type == SC_STRING) {
        const struct sc_string *string = (const struct sc_string *)(const void *)element;
        digest = add_number(digest, (int64_t)string->bytes);
        return sc_digest_bytes(digest, string->data, string->bytes);
    }
    return sc_digest_bytes(digest, element, bytes);
}

static uint64_t add_tensor(uint64_t digest, const struct sc_tensor *tensor)
{
    const size_t bytes = sc_type_bytes(tensor->type);
    digest = add_number(add_number(digest, tensor->type), tensor->rank);
    for (int i = 0; i < tensor->rank; i++) {
        digest = add_number(digest, tensor->dims[i]);
    }
    const int64_t n = sc_tensor_count(tensor);
    int64_t at[SC_MAX_RANK] = {0};
    int64_t offset = 0;
    for (int64_t e = 0; e < n; e++) {
        digest = add_element(digest, tensor, offset, bytes);
        for (int i = tensor->rank - 1; i >= 0; i--) {
            offset += tensor->strides[i];
            if (++at[i] < tensor->dims[i]) {
                break;
            }
            offset -= at[i] * tensor->strides[i];
            at[i] = 0;
        }
    }
    return digest;
}

uint64_t sc_digest_value(uint64_t digest, const struct sc_value *value)
{
    digest = add_number(digest, value->kind);
    switch (value->kind) {
    case SC_KIND_TENSOR:
        return add_tensor(digest, &value->u.tensor);
    case SC_KIND_SEQUENCE:
    case SC_KIND_MAP:
        digest = add_number(digest, value->u.sequence.n);
        for (int64_t i = 0; i < value->u.sequence.n; i++) {
            digest = sc_digest_value(digest, &value->u.sequence.items[i]);
        }
        return digest;
    case SC_KIND_OPTIONAL:
        digest = add_number(digest, value->u.optional.item != NULL);
        return value->u.optional.item ? sc_digest_value(digest, value->u.optional.item) : digest;
    case SC_KIND_STATE: /* never an output */
    case SC_KIND_NONE:
        break;
    }
    return digest;
}

uint64_t sc_digest_join(uint64_t digest, uint64_t next)
{
    return sc_digest_bytes(digest, &next, sizeof next);
}
