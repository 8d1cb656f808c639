/* SPDX-License-Identifier: Apache-2.0
 * Compares a value with the one that was recorded. */
#ifndef SC_LAUNCH_COMPARE_H
#define SC_LAUNCH_COMPARE_H

#include "base/error.h"
#include "tensor/value.h"

struct sc_tolerance {
    double relative, absolute;
    double of_largest; /* absolute too, as a share of the tensor's largest finite magnitude */
    const char *reference; /* what messages call the reference; NULL: "recorded was" */
};

/* Equal kind, type and dims; strings, integers and bools exactly, floats |a - r| <= absolute + of_largest * max |r| +
 * relative * |r|, NaN equal to NaN. SC_BAD_INPUT names `what` and the first element that differs, with both numbers. */
enum sc_status sc_compare_values(const char *what, const struct sc_value *value, const struct sc_value *reference,
    const struct sc_tolerance *tolerance);

#endif
