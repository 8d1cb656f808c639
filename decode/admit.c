/* SPDX-License-Identifier: Apache-2.0
 * Which slot a request gets, as what it begins, and whether there are pages for all that it may come to. */
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
    const int64_t most = lane->n_sent < request->n_prompt - 1 ? lane->n_sent : request->n_prompt - 1;
    int64_t n = 0;
    while (n < most && lane->text[n] == request->prompt[n]) {
        n++;
    }
    return n;
}

/* The slot that begins most like the request, or -1. */
static int find_alike(const struct sc_schedule *schedule, const struct sc_request *request, int64_t *n)
{
    int best = -1;
    *n = 0;
    for (int s = 0; s < schedule->n_slots && schedule->decoder->shares && !request->fresh && !request->tried; s++) {
        const int64_t alike = common(&schedule->lanes[s], request);
        const bool better = alike > *n ||
            (alike == *n && best >= 0 && is_idle(&schedule->lanes[s]) && !is_idle(&schedule->lanes[best]));
        if (alike >= LEAST_SHARED && better) {
            best = s;
            *n = alike;
        }
    }
    return best;
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
    schedule->dropped |= (uint64_t)1 << slot;
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
    request->n_shared = place.n;
    schedule->counts.n_shared += place.n;
    for (int64_t i = 0; i < request->n_prompt; i++) {
        lane->text[i] = request->prompt[i];
    }
    lane->request = request;
    lane->n_text = request->n_prompt;
    lane->n_sent = place.n;
    lane->n_total = sc_schedule_total(schedule, request);
    lane->alone = false;
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
