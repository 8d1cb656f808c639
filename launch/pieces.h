/* SPDX-License-Identifier: Apache-2.0
 * Inputs of `run` that are longer than the model takes at once, cut along an axis into pieces of one length. */
#ifndef SC_LAUNCH_PIECES_H
#define SC_LAUNCH_PIECES_H

#include "base/file.h"
#include "launch/options.h"
#include "model/model.h"

enum sc_rest { SC_REST_ZEROS, SC_REST_SHORT, SC_REST_DROP }; /* in the order of --rest */

/* One input that is cut. */
struct sc_cut {
    int input; /* of the graph */
    int axis; /* as it was said: negative ones count from the last */
    struct sc_tensor whole; /* data NULL: it was not taken yet */
    const struct sc_file *file; /* that holds its elements; NULL: they are in memory */
    size_t dropped_bytes; /* of them, from the first on, that are not kept in memory any more */
    struct sc_value *piece; /* what the model is given, of `length` along the axis but at the end */
};

/* parse ──► take (each input that is read) ──► check ──► fill (piece 0, 1, ...)
 * Zeros: nothing is cut. A piece has `overlap` elements of what came before, zeros where nothing did, then `window` new
 * ones. Piece j is the same whatever was filled before. */
struct sc_pieces {
    int n_cuts;
    struct sc_cut *cuts; /* in the arena, as the pieces are */
    int64_t window, overlap;
    enum sc_rest rest;
    int64_t length; /* of every cut input along its axis */
    int64_t n; /* pieces, once an input was taken */
};

/* --over, --window, --overlap and --rest; SC_BAD_USAGE names what is wrong. */
enum sc_status sc_pieces_parse(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_pieces *pieces);

bool sc_pieces_cuts(const struct sc_pieces *pieces, int input);

/* An input was read. If it is one to cut, its value becomes room for a piece. file: that its elements stay in, data
 * NULL: none. SC_BAD_INPUT for one that has no such axis, nothing along it, or another length than the others. */
enum sc_status sc_pieces_take(struct sc_pieces *pieces, const struct sc_model *model, int input,
    const struct sc_file *file, struct sc_arena *arena, struct sc_value *value);

/* SC_BAD_USAGE when an input that is to be cut was not read. */
enum sc_status sc_pieces_check(const struct sc_pieces *pieces, const struct sc_model *model);

/* The inputs become those of piece j. What a file has before them will not be read again. */
void sc_pieces_fill(struct sc_pieces *pieces, int64_t j);

/* "NAME=AXIS" behind the name: a whole number of an axis that a tensor can have. */
bool sc_axis_parse(const char *text, int *axis);

#endif
