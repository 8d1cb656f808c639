/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/control/rows.h"

static const struct sc_family_entry entries[] = {
    {"ConcatFromSequence", sc_ops_control_sequence},
    {"If", sc_ops_control_if},
    {"Loop", sc_ops_control_loop},
    {"Optional", sc_ops_control_optional},
    {"OptionalGetElement", sc_ops_control_optional},
    {"OptionalHasElement", sc_ops_control_optional},
    {"Scan", sc_ops_control_scan},
    {"SequenceAt", sc_ops_control_sequence},
    {"SequenceConstruct", sc_ops_control_sequence},
    {"SequenceEmpty", sc_ops_control_sequence},
    {"SequenceErase", sc_ops_control_sequence},
    {"SequenceInsert", sc_ops_control_sequence},
    {"SequenceLength", sc_ops_control_sequence},
    {"SequenceMap", sc_ops_control_optional},
    {"SplitToSequence", sc_ops_control_sequence},
};

const struct sc_family sc_family_control = {"control", SC_LENGTH(entries), entries};
