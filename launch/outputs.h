/* SPDX-License-Identifier: Apache-2.0
 * A folder that gets all files of a run or none. */
#ifndef SC_LAUNCH_OUTPUTS_H
#define SC_LAUNCH_OUTPUTS_H

#include <stdbool.h>

#include "launch/npy.h"
#include "model/graph.h"

enum sc_output_format { SC_OUTPUT_AUTO, SC_OUTPUT_NPY, SC_OUTPUT_PB }; /* AUTO: .npy where it can hold the value */

/* open ──► (compute) ──► add, add, ... ──► commit ──► release
 * Files are written to a folder inside the folder, and move to their names together; a link there stays one, and what
 * it leads to is written. Without a commit that succeeded, release leaves the folder as it was before open. */
struct sc_outputs {
    struct sc_arena arena;
    const char *folder;
    const char *passing; /* where files wait; NULL: nothing was written yet */
    bool made; /* the folder was not there before */
    bool committed;
    int n, capacity;
    struct sc_output_file *files;
    struct sc_map taken; /* paths that outputs have -> which */
};

/* Fails with SC_IO unless `folder` is, or has now become, a folder that files can be made in. */
enum sc_status sc_outputs_open(const char *folder, struct sc_outputs *outputs);

/* SC_UNSUPPORTED when a value of this kind and type, of an output of the model, has no such form. */
enum sc_status sc_outputs_check(const char *name, enum sc_kind kind, enum sc_type type, enum sc_output_format format);

/* Writes NAME.npy or NAME.pb, with what a file name cannot hold replaced; two names never become one. */
enum sc_status sc_outputs_add(
    struct sc_outputs *outputs, const char *name, const struct sc_value *value, enum sc_output_format format);

/* NAME.npy of a tensor whose elements come piece by piece (launch/npy.h). */
enum sc_status sc_outputs_add_pieces(
    struct sc_outputs *outputs, const char *name, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg);

/* NAME.npy of a tensor whose elements come in C order, of which it is not known how many (launch/npy.h). Zeros:
 * none. */
struct sc_growing_output {
    const char *from, *to; /* where it waits, and its name; of the outputs' arena */
    struct sc_npy_growing npy;
};

enum sc_status sc_outputs_begin(
    struct sc_outputs *outputs, const char *name, const struct sc_tensor *shape, struct sc_growing_output *growing);
enum sc_status sc_outputs_append(struct sc_growing_output *growing, const struct sc_tensor *tensor);
enum sc_status sc_outputs_end(struct sc_growing_output *growing, const struct sc_tensor *shape);

/* After the end: its elements are put in another order, in which `read` brings them from the file `from`, which stays
 * what it was while it is open. */
enum sc_status sc_outputs_reorder(
    struct sc_growing_output *growing, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg);
void sc_outputs_abandon(struct sc_growing_output *growing); /* safe on zeros and after the end */

enum sc_status sc_outputs_commit(struct sc_outputs *outputs);
void sc_outputs_release(struct sc_outputs *outputs); /* safe on zeros */

#endif
