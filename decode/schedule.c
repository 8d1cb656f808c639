/* SPDX-License-Identifier: Apache-2.0
 * What goes into the pipeline next, and what becomes of what comes out. Results come in the order of microbatches, so a
 * ring of what is in flight is all that has to be remembered. */
#include "decode/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "decode/rules.h"
#include "decode/schedule_parts.h"

static enum sc_status make_lanes(struct sc_schedule *schedule)
{
    const size_t context = (size_t)schedule->decoder->options.context;
    const int64_t chunk = schedule->decoder->options.chunk;
    const size_t most = (size_t)(chunk > SC_WIRE_ROWS ? chunk : SC_WIRE_ROWS);
    schedule->lanes = calloc((size_t)schedule->n_slots, sizeof *schedule->lanes);
    schedule->tokens = calloc(most, sizeof *schedule->tokens);
    bool made = schedule->lanes && schedule->tokens;
    for (int s = 0; s < schedule->n_slots && made; s++) {
        schedule->lanes[s].text = calloc(context + 1, sizeof(int64_t));
        made = schedule->lanes[s].text != NULL;
    }
    return made ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for a schedule of %d slots", schedule->n_slots);
}

enum sc_status sc_schedule_create(struct sc_decoder *decoder, struct sc_schedule **out)
{
    struct sc_schedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a schedule");
    }
    const struct sc_session_options *options = &decoder->options.session;
    const int64_t slot_pages = sc_pages_for(decoder->options.context);
    schedule->decoder = decoder;
    schedule->session = decoder->session;
    schedule->split = sc_session_prefill_plan(decoder->session) != NULL;
    schedule->n_slots = options->n_slots > 1 ? options->n_slots : 1;
    schedule->n_pages = options->n_pages > 0 && options->n_pages < schedule->n_slots * slot_pages
        ? options->n_pages
        : schedule->n_slots * slot_pages;
    const struct sc_pages_options pages = {
        .n_slots = schedule->n_slots, .slot_pages = slot_pages, .n_pages = schedule->n_pages};
    enum sc_status status = sc_pages_create(&pages, &schedule->pages);
    status = status == SC_OK ? make_lanes(schedule) : status;
    if (status != SC_OK) {
        sc_schedule_free(schedule);
        return status;
    }
    *out = schedule;
    return SC_OK;
}

void sc_schedule_free(struct sc_schedule *schedule)
{
    if (!schedule) {
        return;
    }
    for (int s = 0; schedule->lanes && s < schedule->n_slots; s++) {
        free(schedule->lanes[s].text);
        free(schedule->lanes[s].seen);
    }
    sc_pages_free(schedule->pages);
    free(schedule->lanes);
    free(schedule->tokens);
    free(schedule);
}

static void enqueue(struct sc_schedule *schedule, struct sc_request *request)
{
    request->next = NULL;
    *(schedule->last ? &schedule->last->next : &schedule->first) = request;
    schedule->last = request;
}

static enum sc_status check_source(const struct sc_schedule *schedule, const struct sc_request *request)
{
    const struct sc_source_feeds *feeds = schedule->decoder->source;
    const bool reads = feeds && (sc_schedule_has_source(request) || !sc_schedule_goes_on(schedule, request));
    return reads ? sc_source_feeds_check(feeds, &request->source) : SC_OK;
}

enum sc_status sc_schedule_add(struct sc_schedule *schedule, struct sc_request *request)
{
    SC_TRY(sc_decoder_check_prompt(schedule->decoder, request->prompt, request->n_prompt));
    SC_TRY(sc_sample_check(&request->sample));
    SC_TRY(check_source(schedule, request));
    const int64_t wanted = sc_pages_for(sc_schedule_total(schedule, request));
    if (wanted > schedule->n_pages) {
        return sc_fail(SC_LIMIT, "a prompt of %lld tokens and %lld more take %lld pages of caches, there are %lld",
            (long long)request->n_prompt, (long long)request->n_predict, (long long)wanted,
            (long long)schedule->n_pages);
    }
    request->done = request->tried = false;
    request->stop = SC_STOP_LENGTH;
    request->n_made = request->n_shared = 0;
    request->begun_ns = request->encoded_ns = request->first_ns = request->ended_ns = 0;
    request->added_ns = sc_clock_ns();
    enqueue(schedule, request);
    schedule->n_open++;
    return SC_OK;
}

static void end(struct sc_schedule *schedule, struct sc_request *request, enum sc_stop stop)
{
    request->stop = stop;
    request->done = true;
    request->ended_ns = sc_clock_ns();
    schedule->n_open--;
    if (request->on_done) {
        request->on_done(request->arg, request);
    }
}

/* The request leaves its slot, whose text stays. */
static void leave(struct sc_schedule *schedule, struct sc_lane *lane, enum sc_stop stop)
{
    struct sc_request *request = lane->request;
    lane->request = NULL;
    end(schedule, request, stop);
}

static void fail(struct sc_schedule *schedule, struct sc_lane *lane, const struct sc_error *error)
{
    lane->request->error = *error;
    leave(schedule, lane, SC_STOP_ERROR);
}

void sc_schedule_cancel(struct sc_schedule *schedule, struct sc_request *request)
{
    struct sc_request *before = NULL;
    for (struct sc_request *waiting = schedule->first; waiting; before = waiting, waiting = waiting->next) {
        if (waiting == request) {
            *(before ? &before->next : &schedule->first) = request->next;
            schedule->last = schedule->last == request ? before : schedule->last;
            end(schedule, request, SC_STOP_CALLER);
            return;
        }
    }
    for (int s = 0; s < schedule->n_slots; s++) {
        if (schedule->lanes[s].request == request) {
            leave(schedule, &schedule->lanes[s], SC_STOP_CALLER);
            return;
        }
    }
}

static void write_note(const struct sc_request *request, bool draws, struct sc_row *row)
{
    const bool home = request->on_logits || sc_rules_ask(request, request->n_prompt + request->n_made);
    struct sc_row_note note = {.seed = request->sample.seed,
        .request = request->key,
        .temperature = request->sample.temperature,
        .top_p = request->sample.top_p,
        .min_p = request->sample.min_p,
        .top_k = (int32_t)(request->sample.top_k < INT32_MAX ? request->sample.top_k : INT32_MAX),
        .want = !draws ? SC_WANT_NOTHING
            : home     ? SC_WANT_LOGITS
                       : SC_WANT_TOKEN,
        .first = request->n_made == 0,
        .tempered = request->sample.tempered};
    memcpy(row->note, &note, sizeof note);
}

static int64_t n_in_flight(const struct sc_schedule *schedule)
{
    const struct sc_flights *flights = schedule->flights;
    return flights[0].sent - flights[0].received + flights[1].sent - flights[1].received;
}

/* The microbatch goes off. Its tokens are in schedule->tokens. What is wrong with it before it leaves is wrong with the
 * program: requests were checked when they were added. */
static enum sc_status send(struct sc_schedule *schedule, struct sc_microbatch *microbatch, bool step)
{
    const bool prefill = schedule->split && !step;
    struct sc_flights *flights = &schedule->flights[prefill];
    struct sc_flight *flight = &flights->ring[flights->sent % SC_MOST_FLIGHTS];
    *flight = (struct sc_flight){.step = step,
        .encodes = microbatch->rows[0].n_new == 0,
        .n_rows = microbatch->n_rows,
        .sent_ns = sc_clock_ns(),
        .token_ns = INT64_MAX};
    microbatch->prefill = prefill;
    if (prefill || !schedule->split) { /* given back for a prompt to come: on its way the news takes its caches' */
        microbatch->dropped = schedule->dropped;
        schedule->dropped = (struct sc_slots){0};
    }
    for (int r = 0; r < microbatch->n_rows; r++) {
        const struct sc_row *row = &microbatch->rows[r];
        struct sc_lane *lane = &schedule->lanes[row->slot];
        SC_TRY(sc_schedule_follow(schedule, row));
        flight->slots[r] = row->slot;
        flight->ends[r] = row->pos + row->n_new;
        flight->n_new += row->n_new;
        flight->token_ns = lane->token_ns < flight->token_ns ? lane->token_ns : flight->token_ns;
        lane->n_sent = flight->ends[r];
        lane->n_alike = prefill || !schedule->split ? lane->n_sent : lane->n_alike;
        lane->n_in_flight++;
    }
    const struct sc_lane *first = &schedule->lanes[microbatch->rows[0].slot];
    const struct sc_decoder *decoder = schedule->decoder;
    SC_TRY(sc_session_submit(schedule->session, microbatch,
        flight->encodes
            ? sc_source_feeds_make(decoder->source, &first->request->source)
            : sc_feeds_make(decoder->feeds, microbatch->rows, microbatch->n_rows, schedule->tokens, first->n_source)));
    flights->sent++;
    schedule->chunk_ns = step ? schedule->chunk_ns : flight->sent_ns;
    const int64_t in_flight = n_in_flight(schedule);
    struct sc_schedule_counts *counts = &schedule->counts;
    counts->most_in_flight = in_flight > counts->most_in_flight ? in_flight : counts->most_in_flight;
    return SC_OK;
}

/* The slot whose prompt is on its way in, or -1. At most one: the next begins when it is in. */
static int find_prefill(const struct sc_schedule *schedule)
{
    for (int s = 0; s < schedule->n_slots; s++) {
        if (schedule->lanes[s].request && !sc_lane_is_running(&schedule->lanes[s])) {
            return s;
        }
    }
    return -1;
}

static enum sc_status start_seen(struct sc_schedule *schedule, struct sc_lane *lane)
{
    const struct sc_request *request = lane->request;
    const size_t n = (size_t)schedule->decoder->n_vocabulary;
    if (request->sample.penalty == 0 || request->sample.penalty == 1) {
        return SC_OK;
    }
    lane->seen = lane->seen ? lane->seen : calloc(n, sizeof *lane->seen);
    if (!lane->seen) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %zu tokens that a text has", n);
    }
    memset(lane->seen, 0, n * sizeof *lane->seen);
    for (int64_t i = 0; i < request->n_prompt; i++) {
        lane->seen[request->prompt[i]] = true;
    }
    return SC_OK;
}

/* What an encoder reads goes before the prompt, as a row that adds no position. A request that has nothing to read was
 * to go on from a text that another one took in the meantime. */
static enum sc_status send_source(struct sc_schedule *schedule, struct sc_lane *lane, int slot)
{
    struct sc_microbatch microbatch = {.n_rows = 1, .rows = {{.slot = slot}}};
    const enum sc_status status = sc_source_feeds_check(schedule->decoder->source, &lane->request->source);
    if (status != SC_OK) {
        fail(schedule, lane, sc_error_last());
        return SC_OK;
    }
    lane->encoded = true;
    return send(schedule, &microbatch, false);
}

/* The next chunk of the prompt that is on its way, or the first of the request that waits longest. */
static enum sc_status send_chunk(struct sc_schedule *schedule, int n_running, bool *did)
{
    struct sc_microbatch microbatch = {.n_rows = 1};
    struct sc_row *row = &microbatch.rows[0];
    int slot = find_prefill(schedule);
    if (slot >= 0) {
        *row = (struct sc_row){.slot = slot, .pos = schedule->lanes[slot].n_sent};
    } else {
        SC_TRY(sc_schedule_admit(schedule, &slot, row));
        if (slot < 0) {
            return SC_OK;
        }
        SC_TRY(start_seen(schedule, &schedule->lanes[slot]));
        schedule->lanes[slot].request->begun_ns = sc_clock_ns();
    }
    struct sc_lane *lane = &schedule->lanes[slot];
    if (schedule->decoder->source && !lane->encoded) {
        *did = true;
        return send_source(schedule, lane, slot);
    }
    const int64_t left = lane->request->n_prompt - row->pos;
    row->n_new = (int32_t)sc_schedule_chunk_rows(schedule, left, n_running);
    memcpy(schedule->tokens, lane->text + row->pos, (size_t)row->n_new * sizeof *lane->text);
    row->ends = row->n_new == left;
    write_note(lane->request, row->ends && lane->request->n_predict > 0, row);
    lane->chunks_before = ++schedule->counts.n_chunks;
    *did = true;
    return send(schedule, &microbatch, false);
}

static void add_row(struct sc_schedule *schedule, int slot, struct sc_microbatch *microbatch)
{
    struct sc_lane *lane = &schedule->lanes[slot];
    struct sc_row *row = &microbatch->rows[microbatch->n_rows];
    struct sc_schedule_counts *counts = &schedule->counts;
    *row = (struct sc_row){.slot = slot, .n_new = 1, .pos = lane->n_sent};
    write_note(lane->request, true, row);
    schedule->tokens[microbatch->n_rows++] = lane->text[lane->n_sent];
    const int64_t between = counts->n_chunks - lane->chunks_before;
    counts->most_chunks_between = between > counts->most_chunks_between ? between : counts->most_chunks_between;
    lane->chunks_before = counts->n_chunks;
}

/* A row of each request that is ready, up to `most`, in turn. One that is to go alone does so first. */
static void choose_rows(struct sc_schedule *schedule, int most, struct sc_microbatch *microbatch)
{
    for (int s = 0; s < schedule->n_slots; s++) {
        if (sc_lane_is_ready(&schedule->lanes[s]) && schedule->lanes[s].alone) {
            add_row(schedule, s, microbatch);
            return;
        }
    }
    const int from = schedule->turn;
    for (int k = 0; k < schedule->n_slots && microbatch->n_rows < most; k++) {
        const int s = (from + k) % schedule->n_slots;
        if (sc_lane_is_ready(&schedule->lanes[s])) {
            add_row(schedule, s, microbatch);
            schedule->turn = s + 1;
        }
    }
}

static enum sc_status send_step(struct sc_schedule *schedule, int most, bool *did)
{
    struct sc_microbatch microbatch = {.n_rows = 0};
    choose_rows(schedule, most, &microbatch);
    if (microbatch.n_rows == 0) {
        return SC_OK;
    }
    schedule->counts.n_steps++;
    schedule->counts.n_rows += microbatch.n_rows;
    schedule->n_steps_in_flight++;
    *did = true;
    return send(schedule, &microbatch, true);
}

/* Another microbatch may be in flight by the plan, or by that of chunks. */
static bool has_room(const struct sc_schedule *schedule, bool prefill)
{
    const struct sc_flights *flights = &schedule->flights[prefill];
    const int64_t window =
        prefill ? sc_session_prefill_window(schedule->session) : sc_session_window(schedule->session);
    return flights->sent - flights->received < (window < SC_MOST_FLIGHTS ? window : SC_MOST_FLIGHTS);
}

/* Rows that do not go together have microbatches of their own. */
static int count_groups(struct sc_schedule *schedule, int n_running)
{
    if (!schedule->decoder->apart) {
        return n_running;
    }
    const struct sc_plan *plan = sc_session_plan(schedule->session); /* of now: a session may go on with another */
    const int n_groups = sc_groups_choose(&schedule->groups, n_running, plan->n_stages);
    const int least = (n_running + SC_WIRE_ROWS - 1) / SC_WIRE_ROWS;
    return n_groups > least ? n_groups : least;
}

/* Chunks and steps take turns: after a chunk every running request has its row before the next one. With a plan of
 * their own chunks hold nobody up. */
static enum sc_status send_next(struct sc_schedule *schedule, bool *did)
{
    int n_running = 0;
    bool held_up = false;
    for (int s = 0; s < schedule->n_slots; s++) {
        const struct sc_lane *lane = &schedule->lanes[s];
        n_running += sc_lane_is_running(lane);
        held_up |= sc_lane_is_running(lane) && lane->chunks_before != schedule->counts.n_chunks;
    }
    *did = false;
    if ((!held_up || schedule->split) && has_room(schedule, schedule->split)) {
        SC_TRY(send_chunk(schedule, n_running, did));
    }
    const int n_groups = count_groups(schedule, n_running);
    if (!*did && schedule->n_steps_in_flight < n_groups && has_room(schedule, false)) {
        SC_TRY(send_step(schedule, (n_running + n_groups - 1) / n_groups, did));
    }
    return SC_OK;
}

static bool is_eos(const struct sc_request *request, int64_t token)
{
    for (int e = 0; e < request->n_eos; e++) {
        if (request->eos[e] == token) {
            return true;
        }
    }
    return false;
}

/* The token that stands after position `end` - 1 of the text. */
static void take_token(struct sc_schedule *schedule, struct sc_lane *lane, int64_t end, int64_t token)
{
    struct sc_request *request = lane->request;
    token = request->forced ? request->forced[request->n_made] : token;
    token = request->last && request->n_made + 1 == request->n_predict ? *request->last : token;
    lane->token_ns = sc_clock_ns();
    request->first_ns = request->first_ns > 0 ? request->first_ns : lane->token_ns;
    if (is_eos(request, token)) {
        leave(schedule, lane, SC_STOP_EOS);
        return;
    }
    if (lane->seen && token >= 0 &&
        token < schedule->decoder->n_vocabulary) { /* a forced one may be any; its step fails */
        lane->seen[token] = true;
    }
    lane->text[lane->n_text++] = token;
    request->n_made++;
    const bool goes_on = !request->on_token || request->on_token(request->arg, token);
    if (lane->request != request) {
        return; /* cancelled while it was told */
    }
    if (!goes_on) {
        leave(schedule, lane, SC_STOP_CALLER);
    } else if (request->n_made >= request->n_predict) {
        leave(schedule, lane, SC_STOP_LENGTH);
    } else if (end == schedule->decoder->options.context) {
        leave(schedule, lane, SC_STOP_CONTEXT);
    }
}

/* A row of logits came home: drawn here. */
static enum sc_status draw_here(
    struct sc_schedule *schedule, const struct sc_lane *lane, int64_t end, const float *row, int64_t *token)
{
    struct sc_decoder *decoder = schedule->decoder;
    const struct sc_request *request = lane->request;
    if (request->on_logits) {
        request->on_logits(request->arg, row);
    }
    if (sc_rules_ask(request, lane->n_text)) {
        memcpy(decoder->row, row, (size_t)decoder->n_vocabulary * sizeof *row);
        sc_rules_apply(request, lane->text, lane->n_text, lane->seen, decoder->n_vocabulary, decoder->row);
        row = decoder->row;
    }
    row = request->n_among > 0 ? row : sc_suppress(decoder, request->n_made == 0, row);
    return sc_sample(decoder->sampler, &request->sample, row, request->key, (uint64_t)end, token);
}

static void take_row(struct sc_schedule *schedule, const struct sc_flight *flight, int r, const struct sc_value *result)
{
    struct sc_lane *lane = &schedule->lanes[flight->slots[r]];
    const struct sc_request *request = lane->request;
    const int64_t end = flight->ends[r];
    lane->alone = false;
    if (request && flight->encodes) {
        lane->request->encoded_ns = sc_clock_ns();
    }
    if (!request || end < request->n_prompt || flight->encodes) {
        return; /* cancelled, or more of its prompt is to come */
    }
    if (request->n_predict < 1) {
        lane->request->first_ns = sc_clock_ns();
        leave(schedule, lane, SC_STOP_LENGTH);
        return;
    }
    int64_t token = 0;
    enum sc_status status = SC_OK;
    if (!result || result->kind != SC_KIND_TENSOR) {
        status = sc_fail(SC_INTERNAL, "a step brought no token");
    } else if (result->u.tensor.type == SC_F32) {
        const float *logits = result->u.tensor.data;
        status = draw_here(schedule, lane, end, logits + r * schedule->decoder->n_vocabulary, &token);
    } else {
        token = sc_index_at(&result->u.tensor, r);
    }
    if (status == SC_OK) {
        take_token(schedule, lane, end, token);
    } else {
        fail(schedule, lane, sc_error_last());
    }
}

/* A request that began as another one's text, which then failed on the way, begins again by itself, before others. */
static void begin_again(struct sc_schedule *schedule, struct sc_lane *lane)
{
    struct sc_request *request = lane->request;
    lane->request = NULL;
    request->tried = true;
    request->next = schedule->first;
    schedule->first = request;
    schedule->last = schedule->last ? schedule->last : request;
}

/* Of several rows it is not known whose fault it was: each goes again by itself. */
static void fail_flight(struct sc_schedule *schedule, const struct sc_flight *flight, const struct sc_error *error)
{
    for (int r = 0; r < flight->n_rows; r++) {
        struct sc_lane *lane = &schedule->lanes[flight->slots[r]];
        if (flight->n_rows > 1 && lane->request) {
            lane->n_sent = flight->ends[r] - 1;
            lane->alone = true;
            continue;
        }
        const bool began_as_other = lane->request && lane->request->n_shared > 0 && lane->request->n_made == 0;
        if (began_as_other && !lane->request->tried && !schedule->decoder->source) {
            begin_again(schedule, lane);
        } else if (lane->request) {
            fail(schedule, lane, error);
        }
        lane->n_sent = 0; /* nobody is to begin as this */
    }
}

static enum sc_status receive(struct sc_schedule *schedule)
{
    const struct sc_value **results = schedule->decoder->results;
    bool prefill = false;
    const enum sc_status status = sc_session_next_of(schedule->session, &prefill, results);
    if (status == SC_PEER) {
        return SC_PEER;
    }
    struct sc_flights *flights = &schedule->flights[prefill];
    struct sc_flight *flight = &flights->ring[flights->received++ % SC_MOST_FLIGHTS];
    flight->back_ns = sc_clock_ns();
    schedule->n_steps_in_flight -= flight->step;
    for (int r = 0; r < flight->n_rows; r++) {
        schedule->lanes[flight->slots[r]].n_in_flight--;
    }
    if (status != SC_OK) {
        const struct sc_error error = *sc_error_last();
        fail_flight(schedule, flight, &error);
        return SC_OK;
    }
    schedule->chunk_ns = flight->step ? schedule->chunk_ns : flight->back_ns;
    if (flight->step && (flight->token_ns >= schedule->chunk_ns || schedule->split)) {
        sc_groups_note(&schedule->groups, flight->back_ns - flight->token_ns);
    }
    sc_schedule_note_time(schedule, flight);
    for (int r = 0; r < flight->n_rows; r++) {
        take_row(schedule, flight, r, results[0]);
    }
    return SC_OK;
}

enum sc_status sc_schedule_step(struct sc_schedule *schedule)
{
    for (bool did = true; did;) {
        SC_TRY(send_next(schedule, &did));
    }
    return n_in_flight(schedule) > 0 ? receive(schedule) : SC_OK;
}

enum sc_status sc_schedule_settle(struct sc_schedule *schedule)
{
    while (n_in_flight(schedule) > 0) {
        SC_TRY(receive(schedule));
    }
    return SC_OK;
}

int64_t sc_schedule_n_open(const struct sc_schedule *schedule)
{
    return schedule->n_open;
}

const struct sc_schedule_counts *sc_schedule_counts(const struct sc_schedule *schedule)
{
    return &schedule->counts;
}
