/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/training/rows.h"

static const struct sc_family_entry entries[] = {
    {"Adagrad", sc_ops_training_optimizers},
    {"Adam", sc_ops_training_optimizers},
    {"Gradient", sc_ops_training_gradient},
    {"Momentum", sc_ops_training_optimizers},
};

const struct sc_family sc_family_training = {"training", SC_LENGTH(entries), entries};
