/* SPDX-License-Identifier: Apache-2.0
 * An order as a line of blocks, for the slicing programme only. */
#ifndef SC_PARTITIONER_CUT_LINE_H
#define SC_PARTITIONER_CUT_LINE_H

#include "partitioner/cut_parts.h"

/* Something that starts or stops to count at block `at`. Lists of them by another block. */
struct sc_events {
    int *start; /* n_blocks + 1 */
    struct sc_event {
        int at;
        double amount;
    } * item;
};

/* Blocks of units, one after the other; cuts fall between blocks. The slice of blocks [i, j)
 *   computes  seconds[j] - seconds[i]
 *   receives  the arrivals of lists [0, i) with i <= at < j: each producer counts once, at the slice's first reader
 *   sends     outputs[i] to outputs[j - 1], less the closings of lists [i, ...) with at < j
 *   keeps     memory[j] - memory[i] and the shares of lists [0, i] with i <= at < j: each weight once */
struct sc_line {
    int n_blocks;
    double *seconds, *memory; /* of all blocks before; n_blocks + 1 */
    double *outputs; /* per block: to send what later blocks read */
    struct sc_events arrivals; /* by the last block before `at` that has the value: its producer or a reader */
    struct sc_events closings; /* by producer; at: the last reader */
    struct sc_events shares; /* by 1 + the last block before `at` that has the weight; 0: none before */
    int *block_of; /* per unit */
};

enum sc_status sc_line_build(
    const struct sc_units *units, const int *order, int max_places, struct sc_arena *arena, struct sc_line *line);

#endif
