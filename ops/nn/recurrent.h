/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU and LSTM between their two files: recurrent.c (what they are) and recurrent_run.c (what they do). */
#ifndef SC_OPS_NN_RECURRENT_H
#define SC_OPS_NN_RECURRENT_H

#include "ops/op.h"

enum sc_cell { SC_CELL_RNN, SC_CELL_GRU, SC_CELL_LSTM };

/* X(name, its alpha and beta when the node gives none) */
#define SC_ACTIVATIONS(X)                                                                                              \
    X(Affine, 1.0F, 0.0F)                                                                                              \
    X(Relu, 0.0F, 0.0F)                                                                                                \
    X(LeakyRelu, 0.01F, 0.0F)                                                                                          \
    X(ThresholdedRelu, 1.0F, 0.0F)                                                                                     \
    X(Tanh, 0.0F, 0.0F)                                                                                                \
    X(ScaledTanh, 1.0F, 1.0F)                                                                                          \
    X(HardSigmoid, 0.2F, 0.5F)                                                                                         \
    X(Sigmoid, 0.0F, 0.0F)                                                                                             \
    X(Elu, 1.0F, 0.0F)                                                                                                 \
    X(Softsign, 0.0F, 0.0F)                                                                                            \
    X(Softplus, 0.0F, 0.0F)

enum sc_activation_kind {
#define X(name, alpha, beta) SC_ACTIVATION_##name,
    SC_ACTIVATIONS(X)
#undef X
        SC_ACTIVATION_N
};

struct sc_activation {
    enum sc_activation_kind kind;
    float alpha, beta;
};

enum sc_recurrent_input { SC_RNN_X, SC_RNN_W, SC_RNN_R, SC_RNN_B, SC_RNN_LENGTHS, SC_RNN_H, SC_RNN_C, SC_RNN_P };

struct sc_recurrent_params {
    enum sc_cell cell;
    int gates, directions;
    bool reverse; /* the first direction runs backwards */
    bool batch_first, reset_last, input_forget; /* layout, linear_before_reset */
    int64_t hidden; /* hidden_size; 0: not given */
    float clip; /* 0: none */
    struct sc_activation f[2][3]; /* per direction: f, g, h of the clause */
};

struct sc_recurrent_sizes {
    int64_t steps, batch, input, hidden;
};

/* Constant W and R of f32 are packed once, when the node is loaded; others in scratch, at every run. */
enum sc_status sc_recurrent_prepare(struct sc_prepare *prepare);
void sc_recurrent_pack(const struct sc_pack *pack);

size_t sc_recurrent_scratch(const struct sc_call *call);
void sc_recurrent_run(const struct sc_call *call);

#endif
