/* SPDX-License-Identifier: Apache-2.0
 * The inside of a schedule, for schedule.c, admit.c and chunk.c. */
#ifndef SC_DECODE_SCHEDULE_PARTS_H
#define SC_DECODE_SCHEDULE_PARTS_H

#include "base/clock.h"
#include "decode/decoder_parts.h"
#include "decode/groups.h"
#include "decode/pace.h"
#include "decode/schedule.h"
#include "runtime/pages.h"

enum { SC_MOST_FLIGHTS = SC_PACE_FLIGHTS };

/* A slot is idle (no request; its text stays, for others to begin alike), or has a request; a request that ends may
 * leave microbatches in flight behind it, until whose return the slot cannot be used. */
struct sc_lane {
    struct sc_request *request;
    int64_t *text; /* [context + 1]: prompt, then what was made */
    int64_t n_text;
    int64_t n_sent; /* positions that were sent, and so are in the caches by the time anything later arrives */
    int64_t
        n_alike; /* at most: positions that another may begin with. What is made after a prompt that has a plan of its
                        own is not where prompts are read */
    int64_t n_total; /* positions that it may come to */
    bool encoded; /* its source was sent to the encoder, or what that made is there */
    int64_t n_source; /* positions that the encoder has for it */
    int n_in_flight; /* microbatches */
    bool alone; /* the microbatch with its next row failed: whose fault it was is to be seen */
    bool held; /* no request made its text: it was put here for one to come */
    bool *seen; /* [vocabulary]: tokens of the text, for a penalty; NULL until one is asked for */
    int64_t used; /* when it got its last request, by a counter */
    int64_t token_ns; /* when its last token came */
    int64_t chunks_before; /* counts.n_chunks when its last row, or the last of its prompt, was sent */
};

/* A microbatch in flight. */
struct sc_flight {
    bool step; /* one new token a row */
    bool encodes; /* the source of its row: no token comes of it */
    int n_rows;
    int64_t n_new; /* positions of its rows together */
    int64_t sent_ns, back_ns;
    int64_t token_ns; /* of a step: the first of the times when its rows had their last token */
    int32_t slots[SC_WIRE_ROWS];
    int64_t ends[SC_WIRE_ROWS]; /* position after the row's last */
};

/* Microbatches in flight by one plan, of which results come in order. */
struct sc_flights {
    struct sc_flight ring[SC_MOST_FLIGHTS];
    int64_t sent, received;
};

struct sc_schedule {
    struct sc_decoder *decoder;
    struct sc_session *session;
    int n_slots;
    struct sc_lane *lanes; /* by slot */
    struct sc_pages *pages; /* as every rank's, once all that was sent has arrived there */
    int64_t n_pages;
    struct sc_slots dropped; /* slots that were given back since the last microbatch */
    struct sc_request *first, *last; /* that wait */
    int64_t n_open, n_begun;
    bool split; /* chunks of prompts go by a plan of their own */
    struct sc_flights flights[2]; /* by the plan; of chunks, by theirs */
    int n_steps_in_flight;
    int turn; /* slot that is looked at first for a step */
    int64_t *tokens; /* of the microbatch being made */
    int64_t chunk_ns; /* when a chunk was last sent, or came back */
    struct sc_groups groups;
    struct sc_pace pace;
    struct sc_schedule_counts counts;
};

/* Its prompt is in, and it goes on token by token; it could go on now. */
static inline bool sc_lane_is_running(const struct sc_lane *lane)
{
    return lane->request && lane->n_sent >= lane->request->n_prompt;
}

static inline bool sc_lane_is_ready(const struct sc_lane *lane)
{
    return sc_lane_is_running(lane) && lane->n_in_flight == 0 && lane->n_sent < lane->n_text;
}

/* chunk.c: rows of the next chunk of a prompt of which so many are left, while n_running others go on token by
 * token. */
int64_t sc_schedule_chunk_rows(const struct sc_schedule *schedule, int64_t left, int n_running);

/* chunk.c: the microbatch that was delivered last is this one. */
void sc_schedule_note_time(struct sc_schedule *schedule, const struct sc_flight *flight);

/* admit.c: begins the first request that waits. *slot: whose it is now, -1: it has to wait. row says where the slot
 * begins. */
enum sc_status sc_schedule_admit(struct sc_schedule *schedule, int *slot, struct sc_row *row);

/* The request has something for the encoder; else it goes on from a text that a slot holds. */
bool sc_schedule_has_source(const struct sc_request *request);

/* A slot holds a text that the request could go on from now. */
bool sc_schedule_goes_on(const struct sc_schedule *schedule, const struct sc_request *request);

/* Pages that a request of so many positions takes in all. */
int64_t sc_schedule_total(const struct sc_schedule *schedule, const struct sc_request *request);

/* The table of pages follows a row that is sent. */
enum sc_status sc_schedule_follow(struct sc_schedule *schedule, const struct sc_row *row);

#endif
