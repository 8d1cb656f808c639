/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_TRAINING_ROWS_H
#define SC_OPS_TRAINING_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_training_gradient[];
extern const struct sc_op sc_ops_training_optimizers[];

#endif
