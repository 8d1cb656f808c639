/* SPDX-License-Identifier: Apache-2.0
 * Which slot a request gets, as what it begins, and whether there are pages for all that it may come to. */
#include <string.h>

#include "decode/schedule_parts.h"

enum { LEAST_SHARED = 16 }; /* positions: fewer are computed as fast as their page is copied */

static bool is_idle(const struct sc_lane *lane)
{
    return !lane->request && lane->n_in_flight == 0;
}

int64_t sc_schedule_total(const struct sc_schedule *schedule, const struct sc_request *request)
{
    const int64_t context = schedule->decoder->options.context;
    const int64_t fed = request->n_predict > 1 ? request->n_predict - 1 : 0; /* the last token is not fed */
    return fed < context - request->n_prompt ? request->n_prompt + fed : context;
}

/* Positions that the slot's caches share with the prompt; its last token must run, for the logits after it. */
static int64_t common(const struct sc_lane *lane, const struct sc_request *request)
{
    const int64_t held = lane->n_sent < lane->n_alike ? lane->n_sent : lane->n_alike;
    const int64_t most = held < request->n_prompt - 1 ? held : request->n_prompt - 1;
    int64_t n = 0;
    while (n < most && lane->text[n] == request->prompt[n]) {
        n++;
    }
    return n;
}

/* Whether a request may begin as the first n positions of a slot. A state that cannot be taken apart goes on whole,
 * where it is, and only when it was put there to go on. */
static bool may_begin_as(const struct sc_schedule *schedule, const struct sc_lane *lane, int64_t n)
{
    return schedule->decoder->shares ? n >= (lane->held ? 1 : LEAST_SHARED)
                                     : lane->held && is_idle(lane) && n == lane->n_sent;
}

bool sc_schedule_has_source(const struct sc_request *request)
{
    return request->source.ids || request->source.features;
}

/* The slot that begins most like the request, or -1. */
static int find_alike(const struct sc_schedule *schedule, const struct sc_request *request, int64_t *n)
{
    int best = -1;
    *n = 0;
    if (request->fresh || request->tried ||
        sc_schedule_has_source(request)) { /* of a source of its own all is made anew */
        return best;
    }
    for (int s = 0; s < schedule->n_slots; s++) {
        const struct sc_lane *lane = &schedule->lanes[s];
        const int64_t alike = common(lane, request);
        const bool better =
            alike > *n || (alike == *n && best >= 0 && is_idle(lane) && !is_idle(&schedule->lanes[best]));
        if (better && may_begin_as(schedule, lane, alike)) {
            best = s;
            *n = alike;
        }
    }
    return best;
}

bool sc_schedule_goes_on(const struct sc_schedule *schedule, const struct sc_request *request)
{
    int64_t n;
    return find_alike(schedule, request, &n) >= 0;
}

/* The idle slot that was used longest ago, other than one; -1: none, or none that has pages. */
static int find_oldest(const struct sc_schedule *schedule, int other, bool with_pages)
{
    int best = -1;
    for (int s = 0; s < schedule->n_slots; s++) {
        const struct sc_lane *lane = &schedule->lanes[s];
        if (s != other && is_idle(lane) && (!with_pages || sc_pages_held(schedule->pages, s) > 0) &&
            (best < 0 || lane->used < schedule->lanes[best].used)) {
            best = s;
        }
    }
    return best;
}

/* Pages that nobody has, less those that running requests may still come to take. */
static int64_t n_available(const struct sc_schedule *schedule)
{
    int64_t n = sc_pages_n_free(schedule->pages);
    for (int s = 0; s < schedule->n_slots; s++) {
        const struct sc_lane *lane = &schedule->lanes[s];
        if (lane->request) {
            n -= sc_pages_wanted(schedule->pages, s, lane->n_sent, lane->n_total - lane->n_sent);
        }
    }
    return n;
}

static void drop(struct sc_schedule *schedule, int slot)
{
    sc_pages_drop(schedule->pages, slot);
    schedule->lanes[slot].n_sent = schedule->lanes[slot].n_text = 0;
    sc_slots_add(&schedule->dropped, slot);
}

/* Ended texts give way, the oldest first, until there are so many pages. */
static bool make_room(struct sc_schedule *schedule, int64_t wanted, int keeps)
{
    while (n_available(schedule) < wanted) {
        const int oldest = find_oldest(schedule, keeps, true);
        if (oldest < 0) {
            return false;
        }
        drop(schedule, oldest);
    }
    return true;
}

/* Where a request begins: in `slot`, with the first n positions of `from`, which may be the slot itself. */
struct place {
    int slot, from;
    int64_t n;
};

/* *fits: there are a slot and pages. */
static struct place find_place(struct sc_schedule *schedule, const struct sc_request *request, bool *fits)
{
    struct place place;
    const int64_t total = sc_schedule_total(schedule, request);
    place.from = find_alike(schedule, request, &place.n);
    if (place.from >= 0 && is_idle(&schedule->lanes[place.from])) { /* goes on there */
        place.slot = place.from;
        *fits = make_room(schedule, sc_pages_wanted(schedule->pages, place.slot, place.n, total - place.n), place.slot);
        if (*fits) {
            return place;
        }
        place.n = 0; /* it may hold pages of its old text that are not needed: begin without */
        place.from = -1;
    }
    place.slot = find_oldest(schedule, -1, false);
    *fits = false;
    if (place.slot >= 0) {
        drop(schedule, place.slot);
        const int64_t shared = place.from >= 0 ? place.n / SC_PAGE_ROWS : 0;
        *fits = make_room(schedule, sc_pages_for(total) - shared, place.slot);
    }
    return place;
}

enum sc_status sc_schedule_admit(struct sc_schedule *schedule, int *slot, struct sc_row *row)
{
    struct sc_request *request = schedule->first;
    bool fits = false;
    *slot = -1;
    if (!request) {
        return SC_OK;
    }
    const struct place place = find_place(schedule, request, &fits);
    if (!fits) {
        return SC_OK;
    }
    struct sc_lane *lane = &schedule->lanes[place.slot];
    schedule->first = request->next;
    schedule->last = schedule->first ? schedule->last : NULL;
    request->next = NULL;
    request->slot = place.slot;
    request->n_shared = place.n;
    schedule->counts.n_shared += place.n;
    for (int64_t i = 0; i < request->n_prompt; i++) {
        lane->text[i] = request->prompt[i];
    }
    lane->request = request;
    lane->n_text = request->n_prompt;
    lane->n_sent = place.n;
    lane->n_total = sc_schedule_total(schedule, request);
    lane->alone = lane->held = false;
    lane->encoded = place.n > 0; /* as what it goes on from was */
    lane->n_source = place.n > 0 ? lane->n_source : request->source.n;
    lane->used = ++schedule->n_begun;
    row->slot = place.slot;
    row->pos = place.n;
    row->shares = place.n > 0 && place.from != place.slot ? 1 + place.from : 0;
    *slot = place.slot;
    return SC_OK;
}

enum sc_status sc_schedule_follow(struct sc_schedule *schedule, const struct sc_row *row)
{
    if (row->shares > 0) {
        SC_TRY(sc_pages_share(schedule->pages, row->slot, row->shares - 1, row->pos));
    }
    if (row->pos == 0) {
        sc_pages_drop(schedule->pages, row->slot);
    }
    return sc_pages_write(schedule->pages, row->slot, row->pos, row->n_new);
}

const int64_t *sc_schedule_text(const struct sc_schedule *schedule, int slot, int64_t *n_text, int64_t *n_held)
{
    const struct sc_lane *lane = &schedule->lanes[slot];
    *n_text = lane->n_text;
    *n_held = lane->n_sent;
    return lane->text;
}

/* Slots that were given back since the last microbatch are given back now: what is loaded may need their pages. */
static enum sc_status drop_now(struct sc_schedule *schedule)
{
    for (int s = 0; s < schedule->n_slots; s++) {
        if (sc_slots_has(&schedule->dropped, s)) {
            SC_TRY(sc_session_state_drop(schedule->session, s));
        }
    }
    schedule->dropped = (struct sc_slots){0};
    return SC_OK;
}

enum sc_status sc_schedule_hold(struct sc_schedule *schedule, const struct sc_held_text *text, int *slot)
{
    const int64_t context = schedule->decoder->options.context;
    if (text->n > context || text->n_held > text->n) {
        return sc_fail(SC_LIMIT, "a text of %lld tokens is to be held, the context holds %lld", (long long)text->n,
            (long long)context);
    }
    const int idle = find_oldest(schedule, -1, false);
    if (idle < 0) {
        return sc_fail(SC_LIMIT, "no slot is idle that could hold another text");
    }
    drop(schedule, idle);
    if (!make_room(schedule, sc_pages_for(text->n_held), idle)) {
        return sc_fail(SC_LIMIT, "a text of %lld positions has no room among %lld pages of caches",
            (long long)text->n_held, (long long)schedule->n_pages);
    }
    SC_TRY(drop_now(schedule));
    SC_TRY(sc_pages_write(schedule->pages, idle, 0, text->n_held));
    struct sc_lane *lane = &schedule->lanes[idle];
    memcpy(lane->text, text->tokens, (size_t)text->n * sizeof *text->tokens);
    lane->n_text = text->n;
    lane->n_sent = lane->n_alike = text->n_held;
    lane->n_source = text->n_source;
    lane->held = true;
    lane->used = ++schedule->n_begun;
    *slot = idle;
    return SC_OK;
}

void sc_schedule_forget(struct sc_schedule *schedule, int slot)
{
    drop(schedule, slot);
}
