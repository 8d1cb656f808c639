/* SPDX-License-Identifier: Apache-2.0
 * Many texts at once over one decoder. */
#ifndef SC_DECODE_SCHEDULE_H
#define SC_DECODE_SCHEDULE_H

#include "decode/decoder.h"
#include "decode/request.h"

/* On rank 0. Life: create ──► add, cancel, step in any order ──► free, before the session is finished.
 *
 * Requests wait in the order in which they came. The first of them begins when there is a slot, and pages of caches for
 * all that it may become on every rank (ranks have the same number of pages); until then the others behind it wait too.
 * It begins as a slot whose text begins alike, running or ended. Its prompt goes in chunks that follow one another
 * through the stages; then it takes part in steps, in which one microbatch carries a row each of many requests.
 *
 * Running requests are cut in groups, one up to as many as there are stages: decode/groups.h finds how many. Between
 * two steps of a request at most one chunk of somebody's prompt goes in: that bounds how long it is held up, in tokens;
 * with max_tbt_ns in time, as far as times are as they were. A prompt has at least one token in every chunk, and what
 * an encoder reads goes whole. Prompts come in one after the other, in the order of their requests. */
struct sc_schedule;

enum sc_status sc_schedule_create(struct sc_decoder *decoder, struct sc_schedule **schedule);
void sc_schedule_free(struct sc_schedule *schedule); /* safe on NULL; requests that are not done stay so */

/* Refuses what could never run, and says why: a prompt that is empty or too long, a token out of range, options of
 * sampling, more pages than there are. The request is then as before. */
enum sc_status sc_schedule_add(struct sc_schedule *schedule, struct sc_request *request);

/* The request is done, with SC_STOP_CALLER, before this returns. Nothing happens to one that is done. */
void sc_schedule_cancel(struct sc_schedule *schedule, struct sc_request *request);

/* Sends what can be sent, and waits for one microbatch. A request that fails is done, with its error; the others go on.
 * Fails with SC_PEER, when the job is lost, and for want of memory. */
enum sc_status sc_schedule_step(struct sc_schedule *schedule);

/* Waits for all that is in flight and sends nothing. Each slot's caches then hold the same positions on every rank: the
 * moment to save or move them. */
enum sc_status sc_schedule_settle(struct sc_schedule *schedule);

/* What a slot holds, once nothing is in flight: the tokens of its text (the schedule's, until the next step), the last
 * of which may have been drawn and not yet fed, and the positions in its caches. */
const int64_t *sc_schedule_text(const struct sc_schedule *schedule, int slot, int64_t *n_text, int64_t *n_held);

/* A text whose states come from elsewhere. */
struct sc_held_text {
    const int64_t *tokens;
    int64_t n, n_held; /* the states hold so many of them */
    int64_t n_source; /* positions that an encoder had for it; 0: none */
};

/* Once nothing is in flight: an idle slot is to hold a text. The caller puts its states there (sc_session_state_expect
 * and write; nobody else has dropped or taken pages there), or forgets the slot. A request whose prompt begins with it,
 * and that has no source of its own, then begins as it. SC_LIMIT when no slot is idle, or pages or context have no
 * room. */
enum sc_status sc_schedule_hold(struct sc_schedule *schedule, const struct sc_held_text *text, int *slot);
void sc_schedule_forget(struct sc_schedule *schedule, int slot);

int64_t sc_schedule_n_open(const struct sc_schedule *schedule); /* requests that are not done */

struct sc_schedule_counts {
    int64_t n_chunks, n_steps; /* microbatches of prompts; of one new token a row */
    int64_t n_rows; /* of steps */
    int64_t most_in_flight; /* microbatches at once */
    int64_t n_shared; /* positions of prompts that were there already */
    int64_t most_chunks_between; /* chunks sent between two rows of one request */
};

const struct sc_schedule_counts *sc_schedule_counts(const struct sc_schedule *schedule);

#endif
