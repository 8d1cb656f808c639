/* SPDX-License-Identifier: Apache-2.0
 * Small ONNX models from lines of text, for tests that need many of them. */
#ifndef SC_TESTS_MODEL_TEXT_H
#define SC_TESTS_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* One statement a line, words parted by spaces, '#' starts a comment:
 *
 *   ir N                              opset DOMAIN N       ("ai.onnx" for the standard domain)
 *   in NAME TYPE DIM...               out NAME [TYPE DIM...]   dims: numbers or names; TYPE: also seq:TYPE, opt:TYPE
 *   weight NAME TYPE DIM... [= V...]  values in turn, repeated as needed; without '=': a fixed wavy pattern;
 *                                     = @FILE: external data, the whole of that file
 *   node OP[@DOMAIN] IN,.. -> OUT,..  [ATTR=K:V]...  K: i f s, lists I F S, t TYPE:V,.. a
 *                                     tensor, g a graph by name; "-" for no inputs
 *   graph NAME ... end                a body, before the node that takes it
 *   function DOMAIN NAME IN,.. -> OUT,.. ... end
 *
 * Nothing is checked: a wrong text makes a wrong model, which is the point. */

/* malloc'd bytes of a ModelProto. NULL when the text is no text of this kind (then *line is its line). */
unsigned char *sc_test_model(const char *text, size_t *bytes, int *line);

#endif
