/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a weight, when someone asks: in place where the file has them as memory wants them, else a copy. */
#include <string.h>

#include "model/load.h"
#include "tensor/convert.h"
#include "tensor/pack.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian and mapped as they are: big-endian machines are not supported"
#endif

/* The struct's data is not const, since activations share it; nobody writes to weights (the mapping is read-only). */
static void *in_place(const unsigned char *data)
{
    return (void *)(uintptr_t)data;
}

size_t sc_weight_bytes(const struct sc_weight *weight)
{
    return (size_t)sc_tensor_count(&weight->shape) * sc_type_bytes(weight->shape.type);
}

static bool aligned(const unsigned char *data, enum sc_type type)
{
    const size_t bytes = sc_type_bytes(type);
    return (uintptr_t)data % (bytes > 8 ? 8 : bytes) == 0;
}

static void copy_raw(const struct sc_weight *weight, struct sc_tensor *tensor)
{
    const int64_t count = sc_tensor_count(tensor);
    sc_unpack(tensor->type, weight->raw, 0, count, tensor->data);
    if (tensor->type == SC_BOOL) { /* kernels count on 0 and 1 */
        unsigned char *flags = tensor->data;
        for (int64_t i = 0; i < count; i++) {
            flags[i] = flags[i] != 0;
        }
    }
}

/* n elements of `type`, each times the factor. */
static void scale(enum sc_type type, const char *from, double factor, char *to, int64_t n)
{
    double wide[256];
    const int64_t most = (int64_t)(sizeof wide / sizeof wide[0]);
    const int64_t bytes = (int64_t)sc_type_bytes(type);
    for (int64_t done = 0; done < n; done += most) {
        const int64_t m = n - done < most ? n - done : most;
        sc_convert(type, from + done * bytes, SC_F64, wide, m, 0);
        for (int64_t i = 0; i < m; i++) {
            wide[i] *= factor;
        }
        sc_convert(SC_F64, wide, type, to + done * bytes, m, 0);
    }
}

/* Of what is in this process. */
static enum sc_status read_plain(const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor)
{
    const enum sc_type type = weight->shape.type;
    struct sc_tensor made = weight->shape;
    if (made.data) {
        *tensor = made;
        return SC_OK;
    }
    if (weight->decoded) {
        made.data = weight->decoded;
    } else if (weight->raw && sc_type_bits(type) >= 8 && type != SC_BOOL && aligned(weight->raw, type)) {
        made.data = in_place(weight->raw);
    } else {
        SC_TRY(sc_tensor_new(arena, type, made.rank, made.dims, &made));
        if (weight->raw) {
            copy_raw(weight, &made);
        } else {
            sc_decode_values(weight->message, weight->message_bytes, type, sc_tensor_count(&made), made.data);
        }
    }
    *tensor = made;
    return SC_OK;
}

/* Bytes that serve as they are come into `arena`; others are only passing through. */
static enum sc_status fetch_and_decode(
    const struct sc_model *model, const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor)
{
    const enum sc_type type = weight->shape.type;
    const bool as_is = weight->raw && sc_type_bits(type) >= 8 && type != SC_BOOL;
    const unsigned char *from = weight->raw ? weight->raw : weight->message;
    const size_t bytes = weight->raw ? weight->raw_bytes : weight->message_bytes;
    struct sc_arena passing = {0};
    unsigned char *to = sc_arena_alloc(as_is ? arena : &passing, bytes);
    enum sc_status status = to ? SC_OK : SC_NO_MEMORY;
    if (status == SC_OK) {
        const size_t offset = (size_t)(from - model->files[weight->file].data);
        status = model->source->fetch(model->source->arg, weight->file, offset, to, bytes);
    }
    if (status == SC_OK) {
        struct sc_weight here = *weight;
        here.raw = weight->raw ? to : NULL;
        here.message = weight->raw ? NULL : to;
        status = read_plain(&here, arena, tensor);
    }
    sc_arena_release(&passing);
    return status;
}

/* model: NULL when everything is here. */
static enum sc_status read_content(
    const struct sc_model *model, const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor)
{
    if (!model || !model->remote || weight->shape.data || weight->decoded) {
        return read_plain(weight, arena, tensor);
    }
    if (!model->source) {
        return sc_fail(SC_INTERNAL, "'%s': a weight is wanted before there is a source of weights", model->path);
    }
    return fetch_and_decode(model, weight, arena, tensor);
}

static enum sc_status follow_recipe(
    const struct sc_model *model, const struct sc_recipe *recipe, struct sc_arena *arena, struct sc_tensor *tensor)
{
    struct sc_arena passing = {0};
    struct sc_tensor source, made;
    const struct sc_tensor *shape = &recipe->source.shape;
    SC_TRY(sc_tensor_new(arena, shape->type, shape->rank, shape->dims, &made));
    const enum sc_status status = read_content(model, &recipe->source, &passing, &source);
    if (status == SC_OK) {
        const int64_t entries = shape->dims[recipe->axis];
        const int64_t outer = sc_dims_product(shape->dims, 0, recipe->axis) * entries;
        const int64_t inner = sc_dims_product(shape->dims, recipe->axis + 1, shape->rank);
        const int64_t bytes = inner * (int64_t)sc_type_bytes(shape->type);
        for (int64_t i = 0; i < outer; i++) {
            scale(shape->type, (const char *)source.data + i * bytes, recipe->factors[i % entries],
                (char *)made.data + i * bytes, inner);
        }
        *tensor = made;
    }
    sc_arena_release(&passing);
    return status;
}

enum sc_status sc_weight_fetch(
    const struct sc_model *model, const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor)
{
    if (weight->recipe && weight->recipe->graph) {
        return sc_fail(SC_INTERNAL, "a weight that operators make is wanted outside a program");
    }
    return weight->recipe && !weight->shape.data ? follow_recipe(model, weight->recipe, arena, tensor)
                                                 : read_content(model, weight, arena, tensor);
}

enum sc_status sc_weight_tensor(const struct sc_weight *weight, struct sc_arena *arena, struct sc_tensor *tensor)
{
    return sc_weight_fetch(NULL, weight, arena, tensor);
}
