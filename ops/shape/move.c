/* SPDX-License-Identifier: Apache-2.0
 * The strided copy behind the moving operators: axes that lie together are joined, then rows are copied whole. */
#include <string.h>

#include "ops/shape/shape.h"

enum { ROW_CHUNK = 1 << 16, PART_ELEMENTS = 1 << 16 };

/* Joined axes; the last one is the row. Items are (row, chunk of the row). */
struct job {
    struct sc_move move;
    int64_t row, row_to, row_from; /* elements and strides of a row */
    int64_t chunks, items, items_per_part;
};

static void join_axes(const struct sc_move *from, struct sc_move *to)
{
    *to = (struct sc_move){.bytes = from->bytes, .to = from->to, .from = from->from};
    for (int i = 0; i < from->rank; i++) {
        const int64_t dim = from->dims[i];
        if (dim == 1) {
            continue;
        }
        const int last = to->rank - 1;
        if (last >= 0 && to->to_strides[last] == from->to_strides[i] * dim &&
            to->from_strides[last] == from->from_strides[i] * dim) {
            to->dims[last] *= dim;
            to->to_strides[last] = from->to_strides[i];
            to->from_strides[last] = from->from_strides[i];
        } else {
            sc_move_axis(to, dim, from->to_strides[i], from->from_strides[i]);
        }
    }
    if (to->rank == 0) {
        sc_move_axis(to, 1, 1, 1);
    }
}

#define COPY_STRIDED(type)                                                                                             \
    do {                                                                                                               \
        type *restrict y = to;                                                                                         \
        const type *restrict x = from;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            y[i * to_stride] = x[i * from_stride];                                                                     \
        }                                                                                                              \
    } while (0)

static void copy_row(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n, size_t bytes)
{
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
    if (to_stride == 1 && from_stride == 0) {
        sc_fill(to, from, bytes, n);
        return;
    }
    switch (bytes) {
    case 1:
        COPY_STRIDED(uint8_t);
        break;
    case 2:
        COPY_STRIDED(uint16_t);
        break;
    case 4:
        COPY_STRIDED(uint32_t);
        break;
    case 8:
        COPY_STRIDED(uint64_t);
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(sc_at(to, i * to_stride, bytes), sc_const_at(from, i * from_stride, bytes), bytes);
        }
    }
}

static void move_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_move *move = &job->move;
    const int outer = move->rank - 1;
    const int64_t first = part * job->items_per_part;
    const int64_t end = first + job->items_per_part < job->items ? first + job->items_per_part : job->items;
    int64_t index[SC_MOVE_RANK] = {0};
    int64_t rest = first / job->chunks;
    int64_t to = 0;
    int64_t from = 0;
    for (int i = outer - 1; i >= 0; i--) {
        index[i] = rest % move->dims[i];
        rest /= move->dims[i];
        to += index[i] * move->to_strides[i];
        from += index[i] * move->from_strides[i];
    }
    int64_t chunk = first % job->chunks;
    for (int64_t item = first; item < end; item++) {
        const int64_t at = chunk * ROW_CHUNK;
        const int64_t n = job->row - at < ROW_CHUNK ? job->row - at : ROW_CHUNK;
        copy_row(sc_at(move->to, to + at * job->row_to, move->bytes), job->row_to,
            sc_const_at(move->from, from + at * job->row_from, move->bytes), job->row_from, n, move->bytes);
        if (++chunk < job->chunks) {
            continue;
        }
        chunk = 0;
        for (int i = outer - 1; i >= 0; i--) {
            to += move->to_strides[i];
            from += move->from_strides[i];
            if (++index[i] < move->dims[i]) {
                break;
            }
            index[i] = 0;
            to -= move->dims[i] * move->to_strides[i];
            from -= move->dims[i] * move->from_strides[i];
        }
    }
}

void sc_move_run(const struct sc_move *move, struct sc_team *team)
{
    for (int i = 0; i < move->rank; i++) {
        if (move->dims[i] == 0) {
            return;
        }
    }
    struct job job;
    join_axes(move, &job.move);
    const int last = job.move.rank - 1;
    job.row = job.move.dims[last];
    job.row_to = job.move.to_strides[last];
    job.row_from = job.move.from_strides[last];
    job.chunks = sc_parts(job.row, ROW_CHUNK);
    job.items = sc_dims_product(job.move.dims, 0, last) * job.chunks;
    const int64_t per_item = job.row < ROW_CHUNK ? job.row : ROW_CHUNK;
    job.items_per_part = PART_ELEMENTS / per_item > 0 ? PART_ELEMENTS / per_item : 1;
    const int64_t parts = sc_parts(job.items, job.items_per_part);
    if (parts == 1) {
        move_part(&job, 0, 0);
    } else {
        sc_team_for(team, parts, move_part, &job);
    }
}
