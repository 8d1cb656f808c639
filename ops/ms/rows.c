/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/ms/rows.h"

static const struct sc_family_entry entries[] = {
    {"EmbedLayerNormalization", sc_ops_ms_skip_norm},
    {"GroupQueryAttention", sc_ops_ms_group_query},
    {"SimplifiedLayerNormalization", sc_ops_ms_skip_norm},
    {"SkipLayerNormalization", sc_ops_ms_skip_norm},
    {"SkipSimplifiedLayerNormalization", sc_ops_ms_skip_norm},
};

const struct sc_family sc_family_ms = {"ms", SC_LENGTH(entries), entries};
