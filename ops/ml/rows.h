/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_ML_ROWS_H
#define SC_OPS_ML_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_ml_encoders[];
extern const struct sc_op sc_ops_ml_features[];
extern const struct sc_op sc_ops_ml_linear[];
extern const struct sc_op sc_ops_ml_maps[];
extern const struct sc_op sc_ops_ml_svm[];
extern const struct sc_op sc_ops_ml_tree_classic[];
extern const struct sc_op sc_ops_ml_tree_ensemble[];

#endif
