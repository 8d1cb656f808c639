/* SPDX-License-Identifier: Apache-2.0
 * Models of one operator, drawn from the schema table. */
#ifndef SC_TESTS_OP_MODELS_H
#define SC_TESTS_OP_MODELS_H

#include <stddef.h>

#include "tests/hostile/mutate.h"

/* Text for sc_test_model: one operator that this program has, with inputs of allowed types, odd shapes and odd
 * attributes. Bodies and attributes that are tensors are left out. */
void sc_draw_op_model(struct sc_draw *draw, char *text, size_t bytes);

#endif
