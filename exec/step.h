/* SPDX-License-Identifier: Apache-2.0
 * The inside of a program; for the files of exec/ alone. */
#ifndef SC_EXEC_STEP_H
#define SC_EXEC_STEP_H

#include "exec/frame.h"
#include "exec/program.h"
#include "ops/schema.h"

/* A body of a control-flow step, compiled. Its inputs are the body graph's own, then the values it captures. */
struct sc_body {
    const struct sc_graph *graph;
    struct sc_program *program;
    int n_captured;
    int *captured; /* slots of the enclosing program */
};

/* One node, ready to run. in[] and out[] are slots of the program, -1 where absent. */
struct sc_step {
    const struct sc_node *node;
    const struct sc_op *op;
    void *params;
    int n_in, n_out;
    int *in, *out;
    int choice;
    unsigned packed_inputs; /* bit i: input i */
    size_t packed_bytes;
    void *packed;
    int n_bodies;
    struct sc_body *bodies;
};

enum sc_slot_kind { SC_SLOT_STEP, SC_SLOT_INPUT, SC_SLOT_WEIGHT };

/* Slots number the values that this program touches; a value of the graph outside of it costs nothing here. */
struct sc_slot {
    enum sc_slot_kind kind;
    int value; /* index in graph->values; -1: a dense copy that compile inserted */
    int weight; /* index in graph->weights, SC_SLOT_WEIGHT */
    int step; /* producer, SC_SLOT_STEP */
    int last_use; /* last step that reads it, n_steps for outputs of the program, -1 for none */
    bool needed; /* a weight that some step reads other than as its packed input */
    bool strided; /* may reach its readers with strides: made by a view, or a view of one */
};

struct sc_program {
    struct sc_program_spec spec;
    struct sc_arena arena; /* what compile makes */
    struct sc_arena weights; /* copies and decoded weights, packed ones too */
    int n_slots, cap_slots;
    struct sc_slot *slots;
    int n_steps, cap_steps;
    struct sc_step *steps;
    int n_inputs, n_outputs;
    int *inputs, *outputs; /* slots */
    struct sc_value *constants; /* per slot: weights after load, SC_KIND_NONE for the others */
    int64_t own_bytes, mapped_bytes;
};

/* The internal operator that makes a strided tensor dense. */
extern const struct sc_op sc_op_dense;

enum sc_infer_way {
    SC_INFER_CHECK = 1, /* the types of inputs are held against the schema */
    SC_INFER_EVALUATE = 2 /* a pure step whose inputs are all known values and whose outputs are small is run, so that
                             the out facts hold known values too */
};

/* Facts of a step's outputs from those of its inputs. ways: of enum sc_infer_way; facts is by slot. */
enum sc_status sc_step_infer(const struct sc_program *program, const struct sc_step *step, struct sc_arena *arena,
    unsigned ways, struct sc_fact *facts);

/* Facts of slots that are weights: dims, and content when it is small. */
void sc_program_weight_facts(const struct sc_program *program, struct sc_fact *facts);

/* Fills a call's fields that come from the step; values, scratch and team are the caller's to set. */
void sc_step_call(const struct sc_program *program, const struct sc_step *step, struct sc_call *call);

const struct sc_body *sc_step_body(const struct sc_step *step, const struct sc_graph *graph);

/* Reads one value by index: its slot, made when new. For compile. */
enum sc_status sc_program_slot(struct sc_program *program, int value, int *slot_of_value, int *slot);

#endif
