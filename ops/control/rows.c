/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/control/rows.h"

static const struct sc_family_entry entries[] = {
    {"If", sc_ops_control_if},
};

const struct sc_family sc_family_control = {"control", SC_LENGTH(entries), entries};
