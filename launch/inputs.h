/* SPDX-License-Identifier: Apache-2.0
 * Graph inputs from the command line: files, sizes of named dims, random tensors. */
#ifndef SC_LAUNCH_INPUTS_H
#define SC_LAUNCH_INPUTS_H

#include "base/file.h"
#include "launch/options.h"
#include "launch/pieces.h"
#include "model/model.h"
#include "runtime/session.h"

struct sc_input_request {
    int n_items;
    const char *const *items; /* "NAME=FILE" */
    int n_dims;
    const char *const *dims; /* as sc_dims_add reads them */
    bool random; /* inputs that are not given are made */
    uint64_t seed;
    int64_t rate; /* samples a second of .wav files; 0: as the file has them */
    int n_left; /* graph inputs whose .npy files are left mapped, beside those that are cut */
    const int *left;
    struct sc_pieces *pieces; /* which inputs are cut; NULL: none */
    int n_states; /* that begin as zeros where no file is given */
    const struct sc_state_pair *states; /* with the dims of those that hold nothing yet */
};

/* By graph input: the value, NULL for those that take their default and optional ones; whether there is one; its mode,
 * for the session; the fact, for planning. */
struct sc_inputs {
    const struct sc_value **values;
    bool *given;
    int8_t *modes;
    struct sc_fact *facts;
    struct sc_file *files; /* that hold elements, of inputs that the request wants left there; zeros for the others */
    int n_files; /* room for so many */
};

void sc_inputs_release(struct sc_inputs *inputs); /* the files; safe on zeros */

/* Which of the values an item "NAME=REST" is of, the longest name first, as names may contain '='; and the rest. -1:
 * none. */
int sc_item_find(const struct sc_graph *graph, int n_values, const int *values, const char *item, const char **rest);

/* The graph input of an item "NAME=FILE", and the file; -1: none. */
int sc_inputs_find(const struct sc_model *model, const char *item, const char **path);

/* The inputs that a session is opened for. */
void sc_inputs_options(const struct sc_inputs *inputs, struct sc_session_options *options);

/* What -i, -d and, where the command has it, --random say. */
struct sc_input_request sc_input_request_of(const struct sc_options *options);

/* Reads files (.npy, .pb or .wav), holds them against what the graph declares, and makes the rest where that is asked
 * for: floats uniform in [-1, 1), integers and bools 0 or 1 (valid as ids and as masks), element j of input i by (seed,
 * i, j) alone. SC_BAD_USAGE for a malformed item and for an open dim of an input to make, SC_BAD_INPUT for an unknown
 * or missing name and a value that does not fit, SC_UNSUPPORTED for an input that cannot be made. All in the arena. */
enum sc_status sc_inputs_make(const struct sc_model *model, const struct sc_input_request *request,
    struct sc_arena *arena, struct sc_inputs *inputs);

#endif
