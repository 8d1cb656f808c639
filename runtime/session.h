/* SPDX-License-Identifier: Apache-2.0
 * A model cut over the ranks of a world, taking microbatches. */
#ifndef SC_RUNTIME_SESSION_H
#define SC_RUNTIME_SESSION_H

#include "base/activity.h"
#include "base/log.h"
#include "comm/world.h"
#include "machine/machine.h"
#include "partitioner/plan.h"
#include "runtime/state.h"
#include "runtime/watchdog.h"

struct sc_microbatch {
    int64_t seq; /* set by submit */
    bool prefill; /* set by the caller: goes by the prefill plan, in a session that has one */
    struct sc_slots dropped; /* whose states are given back before anything else */
    int64_t slowest_ns; /* set by stages: what the slowest of them so far computed for it */
    int n_rows; /* 0 for stateless models */
    struct sc_row rows[SC_WIRE_ROWS];
};

/* Runs on the rank that makes the graph's outputs, in place of sending them to rank 0: turns the outputs of one edge
 * into the one value that travels (a sampler: logits in, token ids out). `out` may use memory of `arena`, which lives
 * until the next call. */
typedef enum sc_status sc_tail_fn(void *arg, const struct sc_microbatch *microbatch, int n, const int *graph_values,
    const struct sc_value *const *values, struct sc_arena *arena, struct sc_value *out);

/* The same on every rank, but for what says "rank 0". Zeros are defaults. */
struct sc_session_options {
    int n_stages; /* 0: one a rank, or fewer where more are not worth having */
    bool fewer_stages; /* than n_stages where the graph has fewer nodes to cut between; without: an error */
    const char *plan_path; /* rank 0: read the plan from here; NULL: make one */
    const char *prefill_plan_path; /* rank 0, beside plan_path: see sc_session_prefill_plan; NULL: there is none */
    bool random_plan; /* a random convex plan by plan_seed */
    uint64_t plan_seed;
    int pin; /* every stage on this rank; -1: as the plan says */
    int n_threads; /* workers of this rank; 0: one per CPU of its share */
    bool keep_binding; /* --bind keep */
    bool blas;
    uint64_t seed;
    int64_t memory_bytes; /* limit of each rank; 0: its share of the machine */
    int n_slots; /* at least 1 when there are pairs, at most SC_WIRE_SLOTS */
    int64_t context; /* positions a slot may reach */
    int64_t past; /* positions that one is expected to hold, for planning; 0: half of the context */
    int64_t n_pages; /* of 64 positions, for all slots together; 0: enough for each to reach its context */
    int n_pairs;
    const struct sc_state_pair *pairs;
    const bool
        *given_inputs; /* rank 0: of each graph input, whether it is given although it has a default; NULL: none */
    const int8_t
        *modes; /* rank 0: of each graph input that is one boolean, 1 or -1 where every microbatch will give true
                            or false, so that an If on it becomes the branch that it takes; 0: either. NULL: all 0 */
    const char *override; /* rank 0: names of such inputs, commas between; NULL: none */
    /* Rank 0, for planning: of each graph input; NULL: declared ones, unknown dims as 1. And of a chunk of a prompt,
     * where those are of a step; NULL: none. */
    const struct sc_fact *input_facts, *chunk_facts;
    sc_tail_fn *tail; /* NULL: outputs go to rank 0 */
    void *tail_arg;
    int64_t trace_events; /* room for so many phases of each rank; 0: no trace */
    int64_t start_memory_bytes; /* of this rank: its peak before it opened the model; 0: taken when the session opens */
    void (*show_streaming)(
        void *arg, int64_t done_bytes, int64_t all_bytes); /* rank 0, weights for others; NULL: none */
    /* Rank 0, worker 0, ten times a second at most, while it loads, computes and waits; all_bytes: weights that it
     * loads, 0 once it has. NULL: none */
    void (*show_tick)(void *arg, int64_t done_bytes, int64_t all_bytes);
    void *show_arg;
    struct sc_watchdog *watchdog; /* watches the session while it is open; NULL: nobody does */
    struct sc_log log;
};

/* What a rank did, for the report at the end. */
struct sc_rank_report {
    int64_t busy_ns, wait_ns, send_ns;
    int64_t own_weight_bytes, mapped_weight_bytes, frame_bytes, state_bytes, link_bytes;
    int64_t grown_bytes; /* peak of this process's memory, less what it was at the start; 0: not known */
    int64_t sent_bytes, sent_messages;
    int64_t read_weight_bytes; /* packed ones, by all products that it ran */
    int64_t n_microbatches; /* that each of its stages has run; 0 without stages */
    int32_t n_threads, n_steps;
    char host[64];
};

/* Life, on every rank of the world together:
 *
 *   open ──► rank 0:  submit ... next ... (any number in flight up to sc_session_window) ──► close
 *       └──► others:  serve ─────────── returns when rank 0 closes ─────────────────────────► close
 *
 * open compares version, model and options among the ranks, agrees on the lowest instruction set, runs the passes,
 * makes or reads the plan on rank 0, and loads on each rank the weights of its own stages. When any rank fails there,
 * all fail, with that rank's error. A microbatch that fails comes out of `next` as an error, in its turn, and the
 * session goes on. Borrows world, model and options' pointers. */
struct sc_session;

/* What options.modes has for an input that is given this value: 0 for anything but one boolean, NULL too. */
int8_t sc_value_mode(const struct sc_value *value);

/* sc_model_open on every rank. Where only rank 0 can open the model (another rank has SC_IO: there is no such file on
 * its host), the others get its skeleton, and sc_session_open then brings the weights of their stages from rank 0.
 * Collective; all ranks succeed or fail together. */
enum sc_status sc_session_open_model(
    struct sc_world *world, const char *path, const struct sc_log *log, struct sc_model **model);

enum sc_status sc_session_open(struct sc_world *world, struct sc_model *model, const struct sc_session_options *options,
    struct sc_session **session);

/* What open has decided, for reports; on every rank. */
const struct sc_plan *sc_session_plan(const struct sc_session *session);

/* The plan by which microbatches go that say prefill; NULL: there is one plan for all. What such a microbatch, of one
 * row, adds to its slot's states goes to the ranks that own them by the other plan while the rest of it is computed; it
 * is delivered once that is there, and then the slot goes on by the other plan. The two never hold each other up but
 * where they share a rank, for one microbatch. */
const struct sc_plan *sc_session_prefill_plan(const struct sc_session *session);
int sc_session_n_stages(const struct sc_session *session); /* of both */

const struct sc_fact *sc_session_facts(
    const struct sc_session *session); /* of every value at planning dims; rank 0, else NULL */
const bool *sc_session_is_state(const struct sc_session *session); /* by value */

int sc_session_threads(const struct sc_session *session); /* workers of this rank */

/* Microbatches that may be in flight at once, by one of the plans. */
int sc_session_window(const struct sc_session *session);
int sc_session_prefill_window(const struct sc_session *session);

/* Rank 0. Microbatches that were submitted and not yet delivered. */
int64_t sc_session_in_flight(const struct sc_session *session);

/* Rank 0. inputs: one per graph input, NULL for states and for inputs that take their default. One with a default can
 * be given when the options said so; the others were made constants. Values are copied. Sets microbatch->seq. */
enum sc_status sc_session_submit(
    struct sc_session *session, struct sc_microbatch *microbatch, const struct sc_value *const *inputs);

/* Rank 0. Waits for the oldest microbatch in flight. outputs: one per graph output (NULL for states), or with a tail
 * outputs[0] alone. They are valid until the next call. A failed microbatch returns its error (code, rank, stage,
 * node). */
enum sc_status sc_session_next(struct sc_session *session, const struct sc_value **outputs);

/* The same with two plans: the oldest of either, whichever is through first. */
enum sc_status sc_session_next_of(struct sc_session *session, bool *prefill, const struct sc_value **outputs);

/* Rank 0. How long the slowest stage computed for the microbatch that was delivered last. A time: nothing that is
 * computed may depend on it. */
int64_t sc_session_slowest_ns(const struct sc_session *session);

/* Other ranks. Returns SC_OK when rank 0 closes the session. */
enum sc_status sc_session_serve(struct sc_session *session);

/* Rank 0, while no microbatch is in flight and the others serve: goes on with the plan in a file. The ranks load the
 * weights of their new stages, and what all slots hold moves to the ranks that own it now, straight from rank to rank;
 * results have the bits they would have had. A prefill plan stays, and hands over to the new owners from then on.
 * SC_BAD_INPUT, and everything is as before, when the plan is none for this model and world, SC_LIMIT when it needs
 * more memory of a rank than that has, with the caches that are still there while they move; after another failure,
 * which all ranks have, the session can only be closed. */
enum sc_status sc_session_replan(struct sc_session *session, const char *plan_path);

/* Rank 0: fails as sc_session_replan would refuse the plan. */
enum sc_status sc_session_check_plan(struct sc_session *session, const char *plan_path);

/* Rank 0, while the others serve and no microbatch of the slot is in flight. What a slot holds of a pair (an index of
 * options.pairs), wherever it lies: the dense tensor that the model's file declares, [1, heads, length, width] where it
 * is kept in pages, read and written in order, in pieces of any size; runtime/state.h says what it is where pages hold
 * other numbers than the model's. To write a slot: drop it, then for each pair expect, then write all elements. With a
 * prefill plan both plans' owners get what is written, so that a prompt may go on from it, and what is read is the
 * other plan's. Memory here does not grow with the state. Errors are those of runtime/state.h, and the session goes on
 * after them. */
enum sc_status sc_session_state_shape(
    struct sc_session *session, int pair, int slot, struct sc_tensor *shape, int64_t *length);
enum sc_status sc_session_state_read(struct sc_session *session, int pair, int slot, int64_t at, int64_t n, void *to);
enum sc_status sc_session_state_drop(struct sc_session *session, int slot);
enum sc_status sc_session_state_expect(
    struct sc_session *session, int pair, int slot, const struct sc_tensor *shape, int64_t length);
enum sc_status sc_session_state_write(
    struct sc_session *session, int pair, int slot, int64_t at, int64_t n, const void *from);

/* Every rank's report to rank 0 (reports[world size] there, NULL elsewhere); collective, after serve or the last next.
 */
enum sc_status sc_session_report(struct sc_session *session, struct sc_rank_report *reports);

/* What a stage did, of the plan that the session has now. */
struct sc_stage_report {
    int64_t busy_ns, n_microbatches;
    int64_t chunk_ns, n_chunks; /* of these, with several positions of a text: of its prompt */
};

/* Collective, as report: of every stage of the plan, then of the prefill plan, on rank 0 (others: NULL). */
enum sc_status sc_session_report_stages(struct sc_session *session, struct sc_stage_report *stages);

/* What every rank did when, to a file that Perfetto opens; collective, after report. Does nothing without
 * trace_events. */
enum sc_status sc_session_write_trace(struct sc_session *session, const char *path);

/* Rank 0: tells the others to stop serving. Called once, before report and close; collective with their serve. */
enum sc_status sc_session_finish(struct sc_session *session);

void sc_session_close(struct sc_session *session); /* safe on NULL */

/* Counters for tests: bytes of packed weights that this rank's stages have read so far; steps of this rank's stages
 * that wrote a tensor with this dim in their last run. */
int64_t sc_session_read_weight_bytes(const struct sc_session *session);
int sc_session_steps_writing_dim(const struct sc_session *session, int64_t dim);

#endif
