/* SPDX-License-Identifier: Apache-2.0
 * Where the values of a frame lie in its block, for all of its layouts. For the files of exec/ alone. */
#ifndef SC_EXEC_PLACEMENT_H
#define SC_EXEC_PLACEMENT_H

#include "exec/layout.h"

#define SC_NOT_IN_BLOCK (-1)

/* Each value has room for the most bytes that any dims so far asked for, so dims that are not larger need no new
 * places, and kernels get the true ones. Room that was too small once is made a little larger than asked: growing
 * dims come to a few placements in each doubling.
 *
 *   zeros ──► sc_placement_open ──► sc_placement_fits, else _make, for each layout ──► sc_placement_release */
struct sc_placement {
    struct sc_arena arena;
    int64_t *offset; /* by slot: in the block, SC_NOT_IN_BLOCK for views, inputs, weights and unplanned values */
    int64_t *room; /* by slot: bytes that it may take there */
    bool *taken; /* by step: its first output has the place of its first input */
    int64_t block_bytes;
    int64_t number; /* of placements made */
    /* for sc_placement_make alone */
    int64_t *wanted; /* by slot: the most bytes so far, in whole lines */
    bool *apart; /* by step: some dims do not let it take its input's place */
    int *root; /* by slot: whose memory it shows */
    int *last; /* by root: last step that reads it through any slot */
    int *dies; /* by step + 1: head of the list of roots that die there */
    int *next; /* by root */
    struct sc_holes {
        int n;
        struct sc_hole {
            int64_t offset, bytes;
        } * hole;
        int64_t end; /* of the block so far */
    } holes;
};

enum sc_status sc_placement_open(const struct sc_program *program, struct sc_placement *placement);
void sc_placement_release(struct sc_placement *placement);

/* Every planned value of the layout has room where it lies, and in-place steps overwrite what they may. */
bool sc_placement_fits(
    const struct sc_program *program, const struct sc_placement *placement, const struct sc_layout *layout);

/* New places, with which this layout fits, and no less room than before. Takes no memory. */
void sc_placement_make(
    const struct sc_program *program, const struct sc_layout *layout, struct sc_placement *placement);

#endif
