/* SPDX-License-Identifier: Apache-2.0
 * Several models become one. */
#ifndef SC_PASSES_JOIN_H
#define SC_PASSES_JOIN_H

#include "model/model.h"

/* A model that becomes part of another one. */
struct sc_join_part {
    struct sc_model *model; /* its functions are nodes already */
    const char *prefix; /* put before the names of its values; "": they keep theirs */
    int n_outputs;
    const int *outputs; /* values of its graph that are outputs of the whole; what they do not need is left out */
    bool inner; /* its outputs are for later parts alone, and none of the whole's */
    const char *input; /* this input is fed by `from`, a name in the whole, which an earlier part made; NULL: none is */
    const char *from;
};

/* One graph of all parts, in their order; `path` is what messages call it, and its folder the model's. Dims of one name
 * are one dim. The parts belong to the model, which closes them with itself, or are closed here when this fails: with
 * SC_BAD_MODEL where two values have one name, or `from` is not there. */
enum sc_status sc_models_join(int n, struct sc_join_part *parts, const char *path, struct sc_model **model);

/* Weights of the main graph that have the same content, in one file or in several: same[w] is the first that is
 * equal to w, which may be w itself. Reads no more of weights that differ than a few bytes. same: [n_weights] of the
 * graph. */
void sc_weights_compare(const struct sc_model *model, int *same);

/* Who reads w reads same[w] from now on. SC_BAD_INPUT when same is not what sc_weights_compare can have made. */
enum sc_status sc_weights_share(struct sc_model *model, const int *same);

#endif
