/* SPDX-License-Identifier: Apache-2.0
 * Order and sums of single elements, for operators that search, sort and scatter. */
#ifndef SC_OPS_SHAPE_ELEMENT_H
#define SC_OPS_SHAPE_ELEMENT_H

#include "tensor/type.h"

/* Below 0, 0 or above 0. NaN is above all and equal to itself, as in numpy's sort; zeros are equal; complex numbers by
 * real part first; strings by their bytes. */
int sc_element_order(enum sc_type type, const void *a, const void *b);

/* False for zero, "" and false. */
bool sc_element_is_set(enum sc_type type, const void *element);

enum sc_reduction { SC_REDUCTION_NONE, SC_REDUCTION_ADD, SC_REDUCTION_MUL, SC_REDUCTION_MAX, SC_REDUCTION_MIN };

/* Whether sc_element_combine knows the reduction for the type. */
bool sc_element_combinable(enum sc_type type, enum sc_reduction reduction);

/* to[i] = to[i] (reduction) from[i]: integers wrap, booleans are 0 and 1, 16-bit floats round each result. Complex
 * numbers have no maximum and no minimum. */
void sc_element_combine(enum sc_type type, enum sc_reduction reduction, void *to, const void *from, int64_t n);

#endif
