/* SPDX-License-Identifier: Apache-2.0
 * A piece is gathered into memory of its own: it overlaps its neighbours, and the last one may be filled up. */
#include "launch/pieces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/inputs.h"

#define DROP_BYTES ((size_t)1 << 20)

static const char *name_of(const struct sc_model *model, int input)
{
    return model->graph->values[model->graph->inputs[input]].name;
}

bool sc_axis_parse(const char *text, int *axis)
{
    char *end;
    const bool digits = *text == '-' ? text[1] >= '0' && text[1] <= '9' : *text >= '0' && *text <= '9';
    const long number = digits ? strtol(text, &end, 10) : 0;
    if (!digits || *end || number < -SC_MAX_RANK || number >= SC_MAX_RANK) {
        return false;
    }
    *axis = (int)number;
    return true;
}

bool sc_pieces_cuts(const struct sc_pieces *pieces, int input)
{
    for (int c = 0; c < pieces->n_cuts; c++) {
        if (pieces->cuts[c].input == input) {
            return true;
        }
    }
    return false;
}

static enum sc_status parse_cut(const struct sc_model *model, const char *item, struct sc_pieces *pieces)
{
    const char *axis = NULL;
    struct sc_cut *cut = &pieces->cuts[pieces->n_cuts];
    *cut = (struct sc_cut){.input = sc_inputs_find(model, item, &axis)};
    if (cut->input < 0 || !sc_axis_parse(axis, &cut->axis)) {
        return sc_fail(
            SC_BAD_USAGE, "option '--over': '%s' is not NAME=AXIS, an input of the model and its axis", item);
    }
    if (sc_pieces_cuts(pieces, cut->input)) {
        return sc_fail(SC_BAD_USAGE, "option '--over': input '%s' is given twice", name_of(model, cut->input));
    }
    pieces->n_cuts++;
    return SC_OK;
}

enum sc_status sc_pieces_parse(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_pieces *pieces)
{
    static const char *const others[] = {"window", "overlap", "rest", "join"};
    const char *const *items;
    const int n = sc_options_list(options, "over", &items);
    *pieces = (struct sc_pieces){.window = sc_options_int(options, "window"),
        .overlap = sc_options_int(options, "overlap"),
        .rest = (enum sc_rest)sc_options_choice(options, "rest"),
        .cuts = sc_arena_array(arena, (size_t)n + 1, sizeof *pieces->cuts)};
    if (!pieces->cuts) {
        return SC_NO_MEMORY;
    }
    for (size_t o = 0; n == 0 && o < sizeof others / sizeof *others; o++) {
        if (sc_options_given(options, others[o])) {
            return sc_fail(
                SC_BAD_USAGE, "option '--%s' is of an input that is cut: give --over NAME=AXIS too", others[o]);
        }
    }
    if (n > 0 && !sc_options_given(options, "window")) {
        return sc_fail(SC_BAD_USAGE, "option '--over' cuts an input into pieces: give their length, --window N, too");
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(parse_cut(model, items[i], pieces));
    }
    return SC_OK;
}

/* How many pieces there are of an input of this length. */
static enum sc_status count_pieces(struct sc_pieces *pieces, const char *name, int64_t length)
{
    if (pieces->n > 0) {
        return length == pieces->length
            ? SC_OK
            : sc_fail(SC_BAD_INPUT,
                  "input '%s' has %" PRId64 " elements along its axis, another that is cut has %" PRId64, name, length,
                  pieces->length);
    }
    const bool last = pieces->rest != SC_REST_DROP && length % pieces->window > 0;
    const int64_t n = length / pieces->window + last;
    if (n == 0) {
        return sc_fail(SC_BAD_INPUT,
            "input '%s' has %" PRId64 " elements along its axis, which is no piece of %" PRId64, name, length,
            pieces->window);
    }
    pieces->length = length;
    pieces->n = n;
    return SC_OK;
}

/* New elements of piece j. */
static int64_t count_new(const struct sc_pieces *pieces, int64_t j)
{
    const int64_t left = pieces->length - j * pieces->window;
    return pieces->rest == SC_REST_SHORT && left < pieces->window ? left : pieces->window;
}

static enum sc_status take(
    struct sc_pieces *pieces, struct sc_cut *cut, const char *name, struct sc_arena *arena, struct sc_value *value)
{
    const struct sc_tensor *tensor = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || tensor->type == SC_STRING || tensor->storage != SC_STORAGE_PLAIN) {
        return sc_fail(SC_UNSUPPORTED, "input '%s' is no tensor of numbers, which alone are cut", name);
    }
    const int axis = cut->axis < 0 ? cut->axis + tensor->rank : cut->axis;
    if (axis < 0 || axis >= tensor->rank) {
        return sc_fail(
            SC_BAD_INPUT, "input '%s' has rank %d, and no axis %d to cut along", name, tensor->rank, cut->axis);
    }
    int64_t dims[SC_MAX_RANK];
    SC_TRY(count_pieces(pieces, name, tensor->dims[axis]));
    memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof *dims);
    dims[axis] = pieces->overlap + count_new(pieces, 0);
    SC_TRY(sc_dims_check(name, tensor->type, tensor->rank, dims));
    cut->axis = axis;
    cut->whole = *tensor;
    cut->piece = value;
    return sc_tensor_new(arena, cut->whole.type, cut->whole.rank, dims, &value->u.tensor);
}

enum sc_status sc_pieces_take(struct sc_pieces *pieces, const struct sc_model *model, int input,
    const struct sc_file *file, struct sc_arena *arena, struct sc_value *value)
{
    for (int c = 0; c < pieces->n_cuts; c++) {
        if (pieces->cuts[c].input == input) {
            pieces->cuts[c].file = file && file->data ? file : NULL;
            return take(pieces, &pieces->cuts[c], name_of(model, input), arena, value);
        }
    }
    return SC_OK;
}

enum sc_status sc_pieces_check(const struct sc_pieces *pieces, const struct sc_model *model)
{
    for (int c = 0; c < pieces->n_cuts; c++) {
        if (!pieces->cuts[c].piece) {
            const char *name = name_of(model, pieces->cuts[c].input);
            return sc_fail(SC_BAD_USAGE, "option '--over': input '%s' is not given: give -i %s=FILE", name, name);
        }
    }
    return SC_OK;
}

/* Elements from `first` on along the axis, of which some are before the beginning or past the end. */
static void gather(const struct sc_cut *cut, int64_t first)
{
    const struct sc_tensor *whole = &cut->whole, *piece = &cut->piece->u.tensor;
    const int64_t outer = sc_dims_product(whole->dims, 0, cut->axis);
    const size_t inner = (size_t)sc_dims_product(whole->dims, cut->axis + 1, whole->rank) * sc_type_bytes(whole->type);
    const int64_t length = whole->dims[cut->axis], n = piece->dims[cut->axis];
    const int64_t from = first < 0 ? 0 : first, to = first + n < length ? first + n : length;
    if (from > first || to < first + n) {
        memset(piece->data, 0, sc_tensor_bytes(piece));
    }
    for (int64_t o = 0; o < outer && from < to; o++) {
        memcpy((char *)piece->data + (size_t)(o * n + from - first) * inner,
            (const char *)whole->data + (size_t)(o * length + from) * inner, (size_t)(to - from) * inner);
    }
}

/* What lies before the piece is no memory of this process any more, a good part of it at once. */
static void drop_read(struct sc_cut *cut, int64_t first)
{
    const struct sc_tensor *whole = &cut->whole;
    const int64_t outer = sc_dims_product(whole->dims, 0, cut->axis);
    const size_t inner = (size_t)sc_dims_product(whole->dims, cut->axis + 1, whole->rank) * sc_type_bytes(whole->type);
    const size_t read = first > 0 && outer == 1 ? (size_t)first * inner : 0;
    if (cut->file && read > cut->dropped_bytes + DROP_BYTES) {
        const size_t begin = (size_t)((const unsigned char *)whole->data - cut->file->data);
        sc_file_drop(cut->file, begin + cut->dropped_bytes, read - cut->dropped_bytes);
        cut->dropped_bytes = read;
    }
}

void sc_pieces_fill(struct sc_pieces *pieces, int64_t j)
{
    for (int c = 0; c < pieces->n_cuts; c++) {
        struct sc_cut *cut = &pieces->cuts[c];
        struct sc_tensor *piece = &cut->piece->u.tensor;
        void *data = piece->data;
        int64_t dims[SC_MAX_RANK];
        memcpy(dims, piece->dims, (size_t)piece->rank * sizeof *dims);
        dims[cut->axis] = pieces->overlap + count_new(pieces, j);
        sc_tensor_init(piece, piece->type, piece->rank, dims);
        piece->data = data;
        gather(cut, j * pieces->window - pieces->overlap);
        drop_read(cut, j * pieces->window - pieces->overlap);
    }
}
