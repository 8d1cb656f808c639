/* SPDX-License-Identifier: Apache-2.0
 * Between which numbers the elements lie that an operator makes element by element, rounding and overflow counted
 * in. */
#ifndef SC_PASSES_INTERVAL_H
#define SC_PASSES_INTERVAL_H

#include "model/model.h"

/* `same`: all elements are one number; which one need not be known. */
struct sc_interval {
    double least, most;
    bool same;
};

enum { SC_INTERVAL_MOST = 4 /* inputs */ };

/* The operator works element by element, draws nothing, and is one of those that sc_interval_of knows. */
bool sc_interval_knows(const struct sc_node *node);

/* What it makes of its inputs (NULL: absent) in elements of the type. Anything, where bounds would say nothing. */
struct sc_interval sc_interval_of(
    const struct sc_node *node, enum sc_type type, const struct sc_interval *const in[SC_INTERVAL_MOST]);

#endif
