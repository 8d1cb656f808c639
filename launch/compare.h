/* SPDX-License-Identifier: Apache-2.0
 * Compares a value with the one that was recorded. */
#ifndef SC_LAUNCH_COMPARE_H
#define SC_LAUNCH_COMPARE_H

#include "base/error.h"
#include "tensor/value.h"

struct sc_tolerance {
    double relative, absolute;
};

/* Equal kind, type and dims; strings, integers and bools exactly, floats |a - r| <= absolute + relative * |r|, NaN
 * equal to NaN. SC_BAD_INPUT names `what` and the first element that differs, with both numbers. */
enum sc_status sc_compare_values(const char *what, const struct sc_value *value, const struct sc_value *reference,
    const struct sc_tolerance *tolerance);

#endif
