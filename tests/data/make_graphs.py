#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tiny models of tests/data/graphs, with inputs and outputs as test_data_set_N/{input,output}_I.pb.

Expected outputs are numpy's: every model comes with a function that says in a few lines what it computes. Numbers are
small integers (as floats), so that answers are exact.  usage: make_graphs.py [FOLDER]
"""
import shutil

import attention_graphs
import function_graphs
import gradient_layers
import gradients
import masks
import pass_graphs
import run_graphs
import state_graphs
from graph_files import FOLDER, seed

if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for make in (run_graphs.late, run_graphs.computed_shape, run_graphs.views, run_graphs.in_place, run_graphs.nested_if,
                 run_graphs.sequences, pass_graphs.removable, pass_graphs.large_constant, run_graphs.outputs,
                 run_graphs.failing, run_graphs.skipping, state_graphs.pairs, function_graphs.functions,
                 function_graphs.bad_functions, attention_graphs.attentions, function_graphs.branches,
                 run_graphs.question_marks, state_graphs.captured_state, run_graphs.defaults, run_graphs.running_sum):
        make()
    seed(2)
    for make in (pass_graphs.conv_norm, pass_graphs.conv_norm_old, pass_graphs.shapes, run_graphs.broadcast_in_place,
                 state_graphs.failing_states):
        make()
    seed(3)
    attention_graphs.guards()
    seed(1)
    gradients.gradients()
    gradient_layers.layers()
    seed(3)
    masks.masks()
    seed(4)
    pass_graphs.recipes()
    pass_graphs.randoms()
    pass_graphs.narrow_cast()
    state_graphs.encoder_pair()
    state_graphs.many_nodes()
    state_graphs.mixed_rows()
    pass_graphs.position_biases()
