/* SPDX-License-Identifier: Apache-2.0
 * Strided to dense copies. Dims that are walked as one are merged first; what remains is copied in contiguous runs,
 * filled where the inner dim repeats one element, or copied in tiles when the dim that is contiguous in the source is
 * not the inner one of the result (transposes). */
#include <stdlib.h>
#include <string.h>

#include "tensor/pack.h"
#include "tensor/tensor.h"

#define TILE 16

/* Merged dims; `to` strides are those of the dense result. All in elements. */
struct walk {
    int rank;
    int64_t dims[SC_MAX_RANK];
    int64_t from[SC_MAX_RANK];
    int64_t to[SC_MAX_RANK];
};

struct plane {
    int64_t rows, columns; /* columns: the inner dim of the result, contiguous there */
    int64_t from_row, from_column, to_row;
};

static void merge_dims(const struct sc_tensor *tensor, struct walk *walk)
{
    walk->rank = 0;
    for (int i = 0; i < tensor->rank; i++) {
        const int64_t dim = tensor->dims[i];
        const int64_t stride = tensor->strides[i];
        if (dim == 1) {
            continue;
        }
        const int last = walk->rank - 1;
        if (last >= 0 && walk->from[last] == stride * dim) {
            walk->dims[last] *= dim;
            walk->from[last] = stride;
        } else {
            walk->dims[walk->rank] = dim;
            walk->from[walk->rank] = stride;
            walk->rank++;
        }
    }
    if (walk->rank == 0) {
        walk->dims[0] = 1;
        walk->from[0] = 1;
        walk->rank = 1;
    }
    sc_dense_strides(walk->rank, walk->dims, walk->to);
}

/* Inlined once per width, so that the element copies are single moves. */
static inline __attribute__((always_inline)) void copy_plane(
    const struct plane *plane, const char *from, char *to, size_t width)
{
    const ptrdiff_t w = (ptrdiff_t)width;
    for (int64_t c0 = 0; c0 < plane->columns; c0 += TILE) {
        const int64_t c1 = c0 + TILE < plane->columns ? c0 + TILE : plane->columns;
        for (int64_t r = 0; r < plane->rows; r++) {
            const char *source = from + (r * plane->from_row + c0 * plane->from_column) * w;
            char *target = to + (r * plane->to_row + c0) * w;
            for (int64_t c = c0; c < c1; c++) {
                memcpy(target, source, width);
                target += w;
                source += plane->from_column * w;
            }
        }
    }
}

static void copy_plane_of_width(const struct plane *plane, const char *from, char *to, size_t width)
{
    switch (width) {
    case 1:
        copy_plane(plane, from, to, 1);
        break;
    case 2:
        copy_plane(plane, from, to, 2);
        break;
    case 4:
        copy_plane(plane, from, to, 4);
        break;
    case 8:
        copy_plane(plane, from, to, 8);
        break;
    default:
        copy_plane(plane, from, to, 16);
        break;
    }
}

/* The dim to tile against the inner one: that with the smallest stride in the source. */
static int pick_row_dim(const struct walk *walk)
{
    int best = walk->rank - 2;
    for (int i = walk->rank - 2; i >= 0; i--) {
        if (walk->from[i] != 0 && (walk->from[best] == 0 || llabs(walk->from[i]) < llabs(walk->from[best]))) {
            best = i;
        }
    }
    return best;
}

/* Inlined once per width, so that the copies become vectors. */
static inline __attribute__((always_inline)) void fill(char *to, const char *value, size_t width, int64_t n)
{
    char element[16];
    memcpy(element, value, width);
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * (ptrdiff_t)width, element, width);
    }
}

void sc_fill(void *to, const void *value, size_t bytes, int64_t n)
{
    switch (bytes) {
    case 1:
        fill(to, value, 1, n);
        break;
    case 2:
        fill(to, value, 2, n);
        break;
    case 4:
        fill(to, value, 4, n);
        break;
    case 8:
        fill(to, value, 8, n);
        break;
    default:
        fill(to, value, 16, n);
        break;
    }
}

/* Walks all dims but inner and row_dim (-1: none) and copies a plane, or a run, at each position. */
static void copy_walk(const struct walk *walk, int row_dim, const char *from, char *to, size_t width)
{
    const int inner = walk->rank - 1;
    const bool runs = row_dim < 0 && walk->from[inner] == 1, repeats = row_dim < 0 && walk->from[inner] == 0;
    const struct plane plane = {row_dim < 0 ? 1 : walk->dims[row_dim], walk->dims[inner],
        row_dim < 0 ? 0 : walk->from[row_dim], walk->from[inner], row_dim < 0 ? 0 : walk->to[row_dim]};
    const ptrdiff_t w = (ptrdiff_t)width;
    int64_t index[SC_MAX_RANK] = {0};
    int64_t from_at = 0, to_at = 0;
    for (;;) {
        if (runs) {
            memcpy(to + to_at * w, from + from_at * w, (size_t)plane.columns * width);
        } else if (repeats) {
            sc_fill(to + to_at * w, from + from_at * w, width, plane.columns);
        } else {
            copy_plane_of_width(&plane, from + from_at * w, to + to_at * w, width);
        }
        int i = inner - 1;
        for (; i >= 0; i--) {
            if (i == row_dim) {
                continue;
            }
            from_at += walk->from[i];
            to_at += walk->to[i];
            if (++index[i] < walk->dims[i]) {
                break;
            }
            from_at -= walk->from[i] * walk->dims[i];
            to_at -= walk->to[i] * walk->dims[i];
            index[i] = 0;
        }
        if (i < 0) {
            return;
        }
    }
}

void sc_tensor_copy_dense(const struct sc_tensor *from, void *to)
{
    const int64_t count = sc_tensor_count(from);
    const size_t width = sc_type_bytes(from->type);
    if (count == 0) {
        return;
    }
    if (from->storage == SC_STORAGE_PACKED) {
        sc_unpack(from->type, from->data, 0, count, to);
        return;
    }
    struct walk walk;
    merge_dims(from, &walk);
    const int64_t step = walk.from[walk.rank - 1];
    copy_walk(&walk, step == 0 || step == 1 || walk.rank < 2 ? -1 : pick_row_dim(&walk), from->data, to, width);
}
