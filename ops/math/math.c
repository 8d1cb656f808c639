/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/math/math.h"

static const struct sc_family_entry entries[] = {
    {"Where", sc_ops_math_where},
};

const struct sc_family sc_family_math = {"math", SC_LENGTH(entries), entries};
