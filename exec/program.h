/* SPDX-License-Identifier: Apache-2.0
 * A compiled graph, or a stage of one: steps, weights, bodies. Constant once loaded; any number of frames run it. */
#ifndef SC_EXEC_PROGRAM_H
#define SC_EXEC_PROGRAM_H

#include "model/model.h"
#include "ops/op.h"

/* What to compile. Indices are of `graph`. Inputs are fed at every run; an initializer among them is overridden by the
 * caller. */
struct sc_program_spec {
    const struct sc_model *model;
    const struct sc_graph *graph; /* its values' facts were inferred (passes) */
    int n_nodes;
    const int *nodes; /* in topological order; NULL: every live node */
    int n_inputs;
    const int *inputs;
    int n_outputs;
    const int *outputs;
    const struct sc_kernels *kernels;
    bool blas; /* --gemm blas */
    uint64_t seed; /* of random operators without a seed attribute */
    int n_beside;
    struct sc_program *const
        *beside; /* loaded programs of the same graph that run as long as this one: weights that they
                                         have are used from there */
};

/* All of a model's graph: every live node, input and output. */
struct sc_program_spec sc_program_whole(const struct sc_model *model, const struct sc_kernels *kernels);

/* Life:   sc_program_compile ──► sc_program_load ──► frames run ──► sc_program_free
 *
 * compile looks operators up, reads attributes, chooses kernels, and touches no weight bytes.
 * load brings in the weights of this program alone, packs those that kernels want packed, and drops the file pages it
 * used. The graph, model and kernels are borrowed and must outlive the program. */
struct sc_program;

enum sc_status sc_program_compile(const struct sc_program_spec *spec, struct sc_program **program);
enum sc_status sc_program_load(struct sc_program *program, struct sc_team *team);
void sc_program_free(struct sc_program *program); /* safe on NULL */

/* Bytes of weights that load keeps in memory of its own, and of those it shows in place in the mapped file. */
void sc_program_weight_bytes(const struct sc_program *program, int64_t *own_bytes, int64_t *mapped_bytes);

int sc_program_n_steps(const struct sc_program *program);

/* The step that makes output i; -1: none does, it is an input or a weight. */
int sc_program_output_step(const struct sc_program *program, int i);

/* What messages call a step: its node's name, or else the name of its first output. */
const char *sc_program_step_name(const struct sc_program *program, int step);

#endif
