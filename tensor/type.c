/* SPDX-License-Identifier: Apache-2.0
 * One table of element types, indexed by the numbers of TensorProto.DataType. */
#include "tensor/type.h"

#include <string.h>

struct type_row {
    const char *name;
    size_t bytes;
    unsigned bits;
};

static const struct type_row type_rows[SC_N_TYPES] = {[SC_TYPE_NONE] = {"none", 0, 0},
#define X(name, number, text, bytes, bits) [number] = {text, bytes, bits},
    SC_TYPES(X)
#undef X
};

_Static_assert(SC_N_TYPES == 29, "types are numbered 1 to 28 without gaps");

bool sc_type_valid(int64_t number)
{
    return number > SC_TYPE_NONE && number < SC_N_TYPES;
}

static const struct type_row *row_of(enum sc_type type)
{
    return &type_rows[sc_type_valid((int64_t)type) ? type : SC_TYPE_NONE];
}

size_t sc_type_bytes(enum sc_type type)
{
    return row_of(type)->bytes;
}

unsigned sc_type_bits(enum sc_type type)
{
    return row_of(type)->bits;
}

const char *sc_type_name(enum sc_type type)
{
    return row_of(type)->name;
}

enum sc_type sc_type_find(const char *name, size_t length)
{
    for (int i = 1; i < SC_N_TYPES; i++) {
        if (strlen(type_rows[i].name) == length && memcmp(type_rows[i].name, name, length) == 0) {
            return (enum sc_type)i;
        }
    }
    return SC_TYPE_NONE;
}

bool sc_type_is_float(enum sc_type type)
{
    return type == SC_F16 || type == SC_BF16 || type == SC_F32 || type == SC_F64;
}

bool sc_type_is_narrow(enum sc_type type)
{
    return type >= SC_F8E4M3FN && type <= SC_F6E3M2;
}

bool sc_type_is_int(enum sc_type type)
{
    return (type >= SC_U8 && type <= SC_I64) || type == SC_U32 || type == SC_U64;
}
