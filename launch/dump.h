/* SPDX-License-Identifier: Apache-2.0
 * A graph as a person can read it. */
#ifndef SC_LAUNCH_DUMP_H
#define SC_LAUNCH_DUMP_H

#include "model/model.h"

/* Prints the model's graph to stdout as it stands, one line a node, bodies and functions after what holds them:
 *
 *   y float[n, 4] = Clip(x, low, -) {axis = 1}    'name of the node'
 *
 * "-" is an input that is left out. Of weights it says type, dims, size and place; values of at most 16 elements are
 * shown. Characters of names that a terminal would obey come out as '?'. */
enum sc_status sc_dump(const struct sc_model *model);

#endif
