/* SPDX-License-Identifier: Apache-2.0
 * The stages of this rank and the edges between stages; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_STAGE_H
#define SC_RUNTIME_STAGE_H

#include "exec/frame.h"
#include "runtime/part.h"
#include "runtime/session.h"
#include "runtime/trace.h"

#define SC_EDGE_QUEUE 64 /* messages that wait at the consumer's end of an edge; a power of two */
#define SC_MAX_WINDOW 32
#define SC_PIPES 2 /* most plans that a session has at once */
#define SC_MAIL 8 /* messages about states that wait; a power of two, more than are ever asked at once */

/* One edge of the plan as this rank sees it. Messages of an edge arrive in order; those not yet used wait in the ring.
 */
struct sc_edge {
    const struct sc_plan_edge *plan;
    int index;
    int from_rank, to_rank;
    struct sc_link *in, *out; /* NULL when this rank is not the consumer, the producer */
    struct sc_received ring[SC_EDGE_QUEUE];
    unsigned head, count;
    /* the message at hand, opened */
    struct sc_wire_header header;
    struct sc_value *values; /* plan->n_values of them, or 1 for a tail's */
    struct sc_arena arena;
};

/* A message about a state: a question, or on rank 0 an answer. */
struct sc_mail {
    struct sc_link *link;
    struct sc_received received;
};

/* Where input i of a stage's program comes from. */
struct sc_stage_input {
    int edge; /* -1: a state pair */
    int value; /* which value of the edge; which pair of the store */
};

struct sc_giver;

/* What a stage runs of a part. */
struct sc_stage_part {
    struct sc_program *program;
    struct sc_frame *frame;
    int n_inputs;
    struct sc_stage_input *inputs;
    const struct sc_value **feeds; /* by input */
    int *out_values; /* for each out edge in turn, its values as outputs of the program; -1: not of this part */
    int n_pairs; /* that are new after it */
    int *pairs; /* of the store */
    int *pair_outputs; /* the same: which output of the program is the new state */
};

struct sc_stage {
    int index; /* in its plan */
    int number; /* in errors and traces, where stages of all plans have numbers of their own */
    int n_parts; /* 1: steps alone */
    struct sc_stage_part parts[SC_PARTS];
    _Atomic int part; /* that runs, or ran last: the watchdog may ask */
    int n_in, n_out;
    int *in, *out; /* edges */
    const struct sc_value **sent; /* values of the edge at hand */
    struct sc_state_store *store; /* of the pairs that its nodes join; NULL: none */
    int n_pairs; /* of the store */
    struct sc_giver *giver; /* of a stage of the prefill plan that has pairs; else NULL */
    int64_t next_seq;
    struct sc_stage_report done;
};

/* Edges in the order in which they leave a stage. */
struct sc_giver_order {
    int *edges, *steps; /* which, and after which step of the part's program; INT_MAX: when all are done */
};

/* Hands over what a stage of the prefill plan adds to its states. handover.c */
struct sc_giver {
    struct sc_session *session;
    struct sc_pipe *pipe;
    struct sc_stage *stage;
    int n; /* edges */
    struct sc_giver_order orders[SC_PARTS];
    int n_given; /* of the microbatch at hand */
    const struct sc_microbatch *microbatch;
    enum sc_part part; /* that it runs */
    struct sc_arena arena;
    struct sc_value *values; /* of the edge at hand */
    const struct sc_value **shown;
};

/* Puts what is handed over into the store of a stage of the main plan. handover.c */
struct sc_taker {
    struct sc_stage *stage; /* whose store it is */
    int number; /* as that of a stage */
    int n_in, *in, out; /* edges */
    bool *taken; /* by in: of the microbatch at hand */
    int n_taken;
    struct sc_microbatch microbatch;
    bool poisoned;
    struct sc_error error;
    int64_t next_seq;
};

/* Which value of which edge a graph output is; edge -1: none, as for states. */
struct sc_output_source {
    int edge, value;
};

/* A plan at work: its edges, this rank's stages of it, what is in flight. */
struct sc_pipe {
    struct sc_arena arena; /* of all of it, and of what is found out for it */
    struct sc_plan *plan;
    int first_stage, first_edge; /* what its stage 0 is called in errors and traces, its edge 0 on the wire */
    int n_edges;
    struct sc_plan_edge *plan_edges;
    struct sc_edge *edges;
    struct sc_output_source *sources; /* by graph output */
    int n_stages; /* of this rank */
    struct sc_stage *stages;
    int *store_pairs; /* by pair of options: index in its stage's store, -1 when another rank has it */
    int n_takers; /* of the prefill plan, on this rank */
    struct sc_taker *takers;
    int window; /* microbatches in flight */
    int64_t submitted, delivered; /* rank 0; elsewhere what it said when the plan came */
    bool holding; /* rank 0: the results delivered last are still shown */
};

struct sc_session {
    struct sc_world *world;
    struct sc_model *model;
    struct sc_session_options options;
    struct sc_arena arena;
    const struct sc_kernels *kernels;
    struct sc_machine *machine;
    struct sc_share share;
    int64_t *memory; /* rank 0: what each rank may use */
    struct sc_binding *binding; /* of the thread that opened the session, given back at the end; NULL: not known */
    struct sc_team *team;
    struct sc_activity activity;
    struct sc_trace trace;
    int n_loaded;
    struct sc_program **loaded; /* of this rank, in their order */
    int n_pipes;
    struct sc_pipe pipes[SC_PIPES]; /* the plan, then the prefill plan */
    int last_pipe; /* whose stage ran last */
    struct sc_fact *facts; /* by value at planning dims; rank 0 */
    bool *is_state; /* by value */
    int n_parts; /* enum sc_part */
    bool *in_part[SC_PARTS]; /* by value: the part reads or gives it */
    bool *given; /* by graph input: one with a default that callers may give */
    int8_t *modes; /* by graph input: 1 or -1 where it has chosen a branch, true or false */
    struct sc_value *defaults; /* by graph input, of those given; rank 0 */
    bool *streams; /* rank 0: by rank, whether its weights come from here */
    struct sc_weight_source source; /* where this rank's come from when it has no file */
    int *input_of; /* by value: which graph input it is, or -1 */
    struct sc_arena submit_arena;
    int64_t *symbol_sizes; /* by symbol of the model: its size in the microbatch being submitted */
    bool ended; /* other ranks: rank 0 said so */
    bool replans; /* rank 0 has another plan */
    struct sc_mail mail[SC_MAIL]; /* a ring */
    unsigned mail_head, n_mail;
    int64_t sent_bytes, sent_messages;
    int64_t slowest_ns; /* rank 0: of the microbatch delivered last */
    int64_t shown_ns; /* when options.show_tick was called last */
    struct sc_arena tail_arena;
    struct sc_error failed; /* of the microbatch at hand */
};

/* stage_build.c: edges, programs and states of this rank, from the plans. */
enum sc_status sc_session_build(struct sc_session *session);
void sc_stage_release(struct sc_stage *stage);

void sc_pipe_release(struct sc_pipe *pipe); /* with what waits on its edges */
void sc_stage_release_programs(struct sc_stage *stage); /* it keeps its states */

/* part.c: sets n_parts and in_part, once passes are done; what a microbatch runs. */
enum sc_status sc_session_find_parts(struct sc_session *session);
enum sc_part sc_session_part(const struct sc_session *session, const struct sc_microbatch *microbatch);

/* The stage of a plan that a pair of options lives on: where its new value is made; -1: nowhere. */
int sc_session_pair_stage(const struct sc_session *session, const struct sc_pipe *pipe, int pair);

/* This rank's stage of a plan; NULL: another rank has it. */
struct sc_stage *sc_pipe_stage(const struct sc_pipe *pipe, int stage);

/* session.c: from the plans to stages that can run. Collective. */
enum sc_status sc_session_lay_out(struct sc_session *session);

/* replan.c: follows rank 0 to another plan, before whose first microbatch no other is in flight. Collective. */
enum sc_status sc_session_follow_replan(struct sc_session *session);

/* state_remote.c: answers the oldest question about a state that waits here. */
enum sc_status sc_session_answer_state(struct sc_session *session);

/* flow.c, on rank 0: the plan whose oldest microbatch is through and not delivered yet; NULL: none is. */
struct sc_pipe *sc_session_arrived(struct sc_session *session);

/* flow.c: tells the other ranks that there is an end, or another plan, after what was submitted and delivered. */
enum sc_status sc_session_announce(struct sc_session *session, enum sc_wire_kind kind);

/* flow.c: sets input_of, and sources of each plan, once the edges are there. */
enum sc_status sc_session_find_ports(struct sc_session *session);

/* stage_run.c: sets failed, of a microbatch that has just failed here in the stage with this number. */
void sc_session_note_failure(struct sc_session *session, int number, int64_t seq);

/* stage_run.c: takes in what arrived and runs a stage that has all it needs. *did: something happened. */
enum sc_status sc_session_step(struct sc_session *session, bool *did);

/* A step, or a pause when nothing could be done; *idle counts the pauses since something was. */
enum sc_status sc_session_turn(struct sc_session *session, int64_t *idle);

/* sc_world_pause, which shows the watchdog that this rank waits for others. */
void sc_session_pause(struct sc_session *session, int64_t idle_calls);

/* Sends values, or the error as poison, along an edge. Goes on receiving while no buffer is free. Its arena and values
 * are for what comes in alone. */
enum sc_status sc_edge_send(struct sc_session *session, struct sc_edge *edge, const struct sc_microbatch *microbatch,
    const struct sc_value *const *values, int n_values, const struct sc_error *poison);

/* Opens the message at the head of an edge's ring into edge->values; a poison message sets session->failed and
 * *poisoned. */
enum sc_status sc_edge_open(struct sc_session *session, struct sc_edge *edge, bool *poisoned);
void sc_edge_pop(struct sc_edge *edge);

#endif
