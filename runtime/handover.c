/* SPDX-License-Identifier: Apache-2.0
 * Caches leave a stage layer by layer, while the next layer is computed, and are put into their owner's store one by
 * one as they come. */
#include "runtime/handover.h"

#include <limits.h>
#include <string.h>

/* Edges of about so many layers together: each takes a buffer of a link for every microbatch in flight. */
#define SC_HANDOVER_EDGES 16

/* A pair and where it lives by either plan. */
struct moving {
    int pair, node; /* that makes its new value */
    int from, to; /* stages of the prefill and the main plan */
};

static bool comes_before(const struct moving *a, const struct moving *b)
{
    if (a->from != b->from) {
        return a->from < b->from;
    }
    return a->to != b->to ? a->to < b->to : a->node < b->node;
}

/* All pairs that some stage makes, by where they go from and to, then by layer. */
static int sort_pairs(const struct sc_session *session, const struct sc_pipe *pipe, struct moving *moving)
{
    const struct sc_graph *graph = session->model->graph;
    int n = 0;
    for (int p = 0; p < session->options.n_pairs; p++) {
        const struct moving one = {.pair = p,
            .node = graph->values[session->options.pairs[p].out].producer,
            .from = sc_session_pair_stage(session, pipe, p),
            .to = sc_session_pair_stage(session, &session->pipes[0], p)};
        if (one.from < 0 || one.to < 0) {
            continue;
        }
        int at = n++;
        for (; at > 0 && comes_before(&one, &moving[at - 1]); at--) {
            moving[at] = moving[at - 1];
        }
        moving[at] = one;
    }
    return n;
}

/* How many layers go by one edge. */
static int count_together(const struct moving *moving, int n)
{
    int n_layers = 0;
    for (int i = 0; i < n; i++) {
        n_layers += i == 0 || moving[i].node != moving[i - 1].node;
    }
    return (n_layers + SC_HANDOVER_EDGES - 1) / SC_HANDOVER_EDGES;
}

enum sc_status sc_handover_edges(struct sc_session *session, struct sc_pipe *pipe)
{
    const int n_pairs = session->options.n_pairs, n_stages = pipe->plan->n_stages;
    const int n_owners = session->pipes[0].plan->n_stages;
    struct moving *moving = sc_arena_array(&pipe->arena, (size_t)n_pairs, sizeof *moving);
    int *pairs = sc_arena_array(&pipe->arena, (size_t)n_pairs, sizeof *pairs);
    struct sc_plan_edge *edges =
        sc_arena_array(&pipe->arena, (size_t)(pipe->n_edges + n_pairs + n_owners), sizeof *edges);
    if (!moving || !pairs || !edges) {
        return SC_NO_MEMORY;
    }
    memcpy(edges, pipe->plan_edges, (size_t)pipe->n_edges * sizeof *edges);
    pipe->plan_edges = edges;
    const int n = sort_pairs(session, pipe, moving), together = count_together(moving, n);
    for (int i = 0, layers = 0; i < n; i++) {
        const struct moving *now = &moving[i], *before = i > 0 ? now - 1 : NULL;
        const bool parts = !before || before->from != now->from || before->to != now->to;
        const bool next = parts || before->node != now->node;
        if (parts || (next && layers == together)) {
            edges[pipe->n_edges++] =
                (struct sc_plan_edge){.from = now->from, .to = n_stages + now->to, .values = pairs + i};
            layers = 0;
        }
        layers += next;
        pairs[i] = now->pair;
        edges[pipe->n_edges - 1].n_values++;
    }
    return SC_OK;
}

/* Which output of the part a pair's new value is; -1: the part does not make it. */
static int output_of(const struct sc_pipe *pipe, const struct sc_stage_part *part, int pair)
{
    for (int i = 0; i < part->n_pairs; i++) {
        if (part->pairs[i] == pipe->store_pairs[pair]) {
            return part->pair_outputs[i];
        }
    }
    return -1;
}

/* The step of the part after which an edge can leave. A dense state is there only when the stage is through. */
static int ready_after(
    const struct sc_session *session, const struct sc_pipe *pipe, const struct sc_stage_part *part, int e)
{
    const struct sc_plan_edge *edge = &pipe->plan_edges[e];
    int last = 0;
    for (int v = 0; v < edge->n_values; v++) {
        const int output = output_of(pipe, part, edge->values[v]);
        const bool dense = session->options.pairs[edge->values[v]].kind == SC_STATE_DENSE;
        const int step = output >= 0 && !dense ? sc_program_output_step(part->program, output) : -1;
        last = output < 0 ? last : step < 0 ? INT_MAX : step > last ? step : last;
    }
    return last;
}

static enum sc_status make_giver(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage)
{
    const size_t n_pairs = (size_t)stage->n_pairs;
    struct sc_giver *giver = sc_arena_array(&pipe->arena, 1, sizeof *giver);
    struct sc_value *values = sc_arena_array(&pipe->arena, n_pairs, sizeof *values);
    const struct sc_value **shown = sc_arena_array(&pipe->arena, n_pairs, sizeof *shown);
    if (!giver || !values || !shown) {
        return SC_NO_MEMORY;
    }
    *giver = (struct sc_giver){.session = session, .pipe = pipe, .stage = stage, .values = values, .shown = shown};
    stage->giver = giver;
    return SC_OK;
}

enum sc_status sc_giver_make(
    struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage, enum sc_part part)
{
    const size_t n_edges = (size_t)pipe->n_edges;
    int *edges = sc_arena_array(&pipe->arena, n_edges, sizeof *edges);
    int *steps = sc_arena_array(&pipe->arena, n_edges, sizeof *steps);
    SC_TRY(edges && steps ? SC_OK : SC_NO_MEMORY);
    SC_TRY(stage->giver ? SC_OK : make_giver(session, pipe, stage));
    int n = 0;
    for (int e = 0; e < pipe->n_edges; e++) {
        const struct sc_plan_edge *edge = &pipe->plan_edges[e];
        if (edge->from != stage->index || edge->to < pipe->plan->n_stages) {
            continue;
        }
        const int step = ready_after(session, pipe, &stage->parts[part], e);
        int at = n++;
        for (; at > 0 && steps[at - 1] > step; at--) {
            steps[at] = steps[at - 1];
            edges[at] = edges[at - 1];
        }
        steps[at] = step;
        edges[at] = e;
    }
    stage->giver->n = n;
    stage->giver->orders[part] = (struct sc_giver_order){.edges = edges, .steps = steps};
    return SC_OK;
}

void sc_giver_begin(struct sc_giver *giver, const struct sc_microbatch *microbatch, enum sc_part part)
{
    giver->microbatch = microbatch;
    giver->part = part;
    giver->n_given = 0;
}

static struct sc_edge *next_edge(struct sc_giver *giver)
{
    return &giver->pipe->edges[giver->orders[giver->part].edges[giver->n_given++]];
}

/* What a step has made of a pair: pages are written to in place, a constant state is put into the store by hand. */
static enum sc_status give_pair(struct sc_giver *giver, int p, struct sc_value *value)
{
    const struct sc_stage_part *part = &giver->stage->parts[giver->part];
    const struct sc_row *row = &giver->microbatch->rows[0];
    const int pair = giver->pipe->store_pairs[p], output = output_of(giver->pipe, part, p);
    if (output >= 0 && giver->session->options.pairs[p].kind == SC_STATE_CONSTANT) {
        SC_TRY(sc_state_keep(giver->stage->store, pair, row, 1, sc_frame_output(part->frame, output)));
    }
    return sc_state_give(giver->stage->store, pair, row, &giver->arena, value);
}

/* Along the next edge. */
static enum sc_status give(struct sc_giver *giver)
{
    struct sc_edge *edge = next_edge(giver);
    sc_arena_reset(&giver->arena);
    for (int v = 0; v < edge->plan->n_values; v++) {
        SC_TRY(give_pair(giver, edge->plan->values[v], &giver->values[v]));
        giver->shown[v] = &giver->values[v];
    }
    return sc_edge_send(giver->session, edge, giver->microbatch, giver->shown, edge->plan->n_values, NULL);
}

enum sc_status sc_giver_on_step(void *arg, int step)
{
    struct sc_giver *giver = arg;
    struct sc_session *session = giver->session;
    const int *steps = giver->orders[giver->part].steps;
    if (giver->n_given == giver->n || steps[giver->n_given] > step) {
        return SC_OK;
    }
    const int number = giver->stage->number;
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_SEND, number, giver->microbatch->seq);
    while (giver->n_given < giver->n && steps[giver->n_given] <= step) {
        SC_TRY(give(giver));
    }
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_COMPUTE, number, giver->microbatch->seq);
    return SC_OK;
}

enum sc_status sc_giver_finish(struct sc_giver *giver, const struct sc_error *poison)
{
    while (giver->n_given < giver->n) {
        if (!poison) {
            SC_TRY(give(giver));
            continue;
        }
        SC_TRY(sc_edge_send(giver->session, next_edge(giver), giver->microbatch, NULL, 0, poison));
    }
    return SC_OK;
}

static enum sc_status make_taker(struct sc_pipe *pipe, struct sc_stage *stage)
{
    struct sc_taker *taker = &pipe->takers[pipe->n_takers];
    const int index = pipe->plan->n_stages + stage->index;
    *taker = (struct sc_taker){.stage = stage, .number = pipe->first_stage + index, .out = -1};
    taker->in = sc_arena_array(&pipe->arena, (size_t)pipe->n_edges, sizeof *taker->in);
    taker->taken = sc_arena_array(&pipe->arena, (size_t)pipe->n_edges, sizeof *taker->taken);
    if (!taker->in || !taker->taken) {
        return SC_NO_MEMORY;
    }
    for (int e = 0; e < pipe->n_edges; e++) {
        if (pipe->plan_edges[e].to == index) {
            taker->in[taker->n_in++] = e;
        } else if (pipe->plan_edges[e].from == index) {
            taker->out = e;
        }
    }
    pipe->n_takers += taker->out >= 0;
    return SC_OK;
}

enum sc_status sc_takers_make(struct sc_session *session, struct sc_pipe *pipe)
{
    const struct sc_pipe *owners = &session->pipes[0];
    pipe->takers = sc_arena_array(&pipe->arena, (size_t)owners->n_stages, sizeof *pipe->takers);
    if (!pipe->takers) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < owners->n_stages; s++) {
        SC_TRY(make_taker(pipe, &owners->stages[s]));
    }
    return SC_OK;
}

/* The first message of a microbatch says whose states it continues. */
static enum sc_status begin(struct sc_session *session, struct sc_taker *taker, const struct sc_edge *edge)
{
    const struct sc_wire_header *header = &edge->header;
    if (header->n_rows != 1) {
        return sc_fail(SC_PEER, "a microbatch of %d rows was handed over, want 1", header->n_rows);
    }
    taker->microbatch =
        (struct sc_microbatch){.seq = header->seq, .prefill = true, .dropped = header->dropped, .n_rows = 1};
    taker->microbatch.rows[0] = header->rows[0];
    sc_state_drop_all(taker->stage->store, &header->dropped);
    taker->poisoned = sc_state_begin(taker->stage->store, header->rows, 1) != SC_OK;
    if (taker->poisoned) {
        sc_session_note_failure(session, taker->number, header->seq);
        taker->error = session->failed;
    }
    return SC_OK;
}

static enum sc_status put(struct sc_session *session, struct sc_taker *taker, const struct sc_edge *edge)
{
    const int *store_pairs = session->pipes[0].store_pairs;
    for (int v = 0; v < edge->plan->n_values; v++) {
        const int pair = store_pairs[edge->plan->values[v]];
        SC_TRY(sc_state_take(taker->stage->store, pair, &taker->microbatch.rows[0], &edge->values[v]));
    }
    return SC_OK;
}

static enum sc_status take(struct sc_session *session, struct sc_pipe *pipe, struct sc_taker *taker, int i)
{
    struct sc_edge *edge = &pipe->edges[taker->in[i]];
    bool poisoned = false;
    SC_TRY(sc_edge_open(session, edge, &poisoned));
    if (edge->header.seq != taker->next_seq) {
        return sc_fail(SC_PEER, "edge %d brought microbatch %lld, want %lld", edge->index, (long long)edge->header.seq,
            (long long)taker->next_seq);
    }
    const struct sc_error error = session->failed;
    if (taker->n_taken == 0) {
        SC_TRY(begin(session, taker, edge));
    }
    if (!taker->poisoned && poisoned) {
        taker->poisoned = true;
        taker->error = error;
    } else if (!taker->poisoned && put(session, taker, edge) != SC_OK) {
        sc_session_note_failure(session, taker->number, taker->next_seq);
        taker->poisoned = true;
        taker->error = session->failed;
    }
    sc_edge_pop(edge);
    taker->taken[i] = true;
    taker->n_taken++;
    return SC_OK;
}

/* All of a microbatch has come: the caller hears of it. */
static enum sc_status end(struct sc_session *session, struct sc_pipe *pipe, struct sc_taker *taker)
{
    const struct sc_value nothing = {.kind = SC_KIND_NONE}, *const shown = &nothing;
    struct sc_state_store *store = taker->stage->store;
    for (int p = 0; p < taker->stage->n_pairs && taker->poisoned; p++) {
        sc_state_cut(store, p, taker->microbatch.rows, 1);
    }
    memset(taker->taken, 0, (size_t)taker->n_in * sizeof *taker->taken);
    taker->n_taken = 0;
    taker->next_seq++;
    return sc_edge_send(session, &pipe->edges[taker->out], &taker->microbatch, &shown, session->options.tail ? 1 : 0,
        taker->poisoned ? &taker->error : NULL);
}

/* One message of those that are due; *did: there was one. */
static enum sc_status step(struct sc_session *session, struct sc_pipe *pipe, struct sc_taker *taker, bool *did)
{
    int i = 0;
    while (i < taker->n_in && (taker->taken[i] || pipe->edges[taker->in[i]].count == 0)) {
        i++;
    }
    *did = i < taker->n_in;
    if (!*did) {
        return SC_OK;
    }
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_COMPUTE, taker->number, taker->next_seq);
    SC_TRY(take(session, pipe, taker, i));
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_SEND, taker->number, taker->next_seq);
    SC_TRY(taker->n_taken == taker->n_in ? end(session, pipe, taker) : SC_OK);
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_WAIT, -1, -1);
    return SC_OK;
}

enum sc_status sc_takers_step(struct sc_session *session, struct sc_pipe *pipe, bool *did)
{
    for (int t = 0; t < pipe->n_takers; t++) {
        bool more = true;
        while (more) {
            SC_TRY(step(session, pipe, &pipe->takers[t], &more));
            *did |= more;
        }
    }
    return SC_OK;
}
