/* SPDX-License-Identifier: Apache-2.0
 * Messages come in, stages run in the order of microbatches, results go out. A microbatch that failed travels on as
 * poison along the same edges, so that every stage sees every number once. */
#include <string.h>
#include <unistd.h>

#include "base/int64.h"
#include "runtime/handover.h"

static struct sc_received *edge_head(struct sc_edge *edge)
{
    return &edge->ring[edge->head % SC_EDGE_QUEUE];
}

void sc_edge_pop(struct sc_edge *edge)
{
    sc_link_give_back(edge->in, edge_head(edge));
    edge->head++;
    edge->count--;
}

/* Questions about states for an owner, answers for rank 0, which has asked for them. */
static enum sc_status keep_mail(struct sc_session *session, struct sc_link *link, struct sc_received *received)
{
    if (session->n_mail == SC_MAIL || (link->peer != 0 && sc_world_rank(session->world) != 0)) {
        sc_link_give_back(link, received);
        return sc_fail(SC_PEER, "rank %d sent a message about states that nobody asked for", link->peer);
    }
    session->mail[(session->mail_head + session->n_mail++) % SC_MAIL] = (struct sc_mail){link, *received};
    return SC_OK;
}

/* By its number on the wire; NULL: there is none. */
static struct sc_edge *find_edge(struct sc_session *session, int edge)
{
    for (int p = 0; p < session->n_pipes; p++) {
        const struct sc_pipe *pipe = &session->pipes[p];
        if (edge >= pipe->first_edge && edge < pipe->first_edge + pipe->n_edges) {
            return &pipe->edges[edge - pipe->first_edge];
        }
    }
    return NULL;
}

/* Takes one message off a link and puts it where it belongs. */
static enum sc_status route(struct sc_session *session, struct sc_link *link, struct sc_received *received)
{
    struct sc_wire_header header;
    if (sc_wire_peek(received->data, received->bytes, &header) != SC_OK) {
        return sc_fail(SC_PEER, "rank %d sent a message of %zu bytes", link->peer, received->bytes);
    }
    if (link->peer == 0 && (header.kind == SC_WIRE_END || header.kind == SC_WIRE_CONTROL)) {
        session->ended = header.kind == SC_WIRE_END;
        session->replans = !session->ended;
        sc_link_give_back(link, received);
        return SC_OK;
    }
    if (header.edge == -1 && (header.kind == SC_WIRE_STATE || header.kind == SC_WIRE_POISON)) {
        return keep_mail(session, link, received);
    }
    struct sc_edge *edge = find_edge(session, header.edge);
    if (!edge || edge->in != link || edge->count == SC_EDGE_QUEUE) {
        sc_link_give_back(link, received);
        return sc_fail(SC_PEER, "rank %d sent a message for edge %d, which it does not have or which is full",
            link->peer, header.edge);
    }
    edge->ring[(edge->head + edge->count) % SC_EDGE_QUEUE] = *received;
    edge->count++;
    return SC_OK;
}

static enum sc_status receive(struct sc_session *session, bool *did)
{
    const int size = sc_world_size(session->world);
    for (int peer = 0; peer < size; peer++) {
        struct sc_link *link;
        SC_TRY(sc_world_link(session->world, peer, &link));
        for (;;) {
            struct sc_received received = {0};
            SC_TRY(sc_link_poll(link, &received));
            if (!received.data) {
                break;
            }
            if (link->n_held > SC_LINK_BUFFERS / 2) { /* of a plan with many edges between two ranks */
                SC_TRY(sc_link_move_out(link, &received));
            }
            SC_TRY(route(session, link, &received));
            *did = true;
        }
    }
    return SC_OK;
}

enum sc_status sc_edge_send(struct sc_session *session, struct sc_edge *edge, const struct sc_microbatch *microbatch,
    const struct sc_value *const *values, int n_values, const struct sc_error *poison)
{
    struct sc_value body;
    const struct sc_value *const poisoned = &body;
    if (poison) {
        sc_wire_error_value(poison, &body);
        values = &poisoned;
        n_values = 1;
    }
    struct sc_wire_header header = {.kind = poison ? SC_WIRE_POISON : SC_WIRE_DATA,
        .edge = edge->index,
        .seq = microbatch->seq,
        .n_rows = microbatch->n_rows,
        .slowest_ns = microbatch->slowest_ns,
        .dropped = microbatch->dropped};
    memcpy(header.rows, microbatch->rows, (size_t)microbatch->n_rows * sizeof *header.rows);
    const size_t bytes = sc_wire_bytes(microbatch->n_rows, values, n_values);
    if (bytes == 0) {
        return sc_fail(SC_INTERNAL, "a value of edge %d cannot travel", edge->index);
    }
    void *buffer = NULL;
    for (int64_t idle = 0; !buffer; idle++) {
        bool did = false;
        SC_TRY(sc_link_reserve(edge->out, bytes, &buffer));
        if (!buffer) {
            SC_TRY(receive(session, &did));
            idle = did ? 0 : idle;
            sc_session_pause(session, idle);
        }
    }
    sc_wire_write(&header, values, n_values, buffer);
    session->sent_bytes += (int64_t)bytes;
    session->sent_messages++;
    return sc_link_send(edge->out, buffer, bytes);
}

enum sc_status sc_edge_open(struct sc_session *session, struct sc_edge *edge, bool *poisoned)
{
    const struct sc_received *head = edge_head(edge);
    sc_arena_reset(&edge->arena);
    const int wanted = session->options.tail && edge->plan->to < 0 ? 1 : edge->plan->n_values;
    const int most = wanted > 0 ? wanted : 1;
    SC_TRY(sc_wire_read(head->data, head->bytes, &edge->header, &edge->arena, most, edge->values));
    if (edge->header.kind == SC_WIRE_POISON && edge->header.n_values == 1) {
        *poisoned = true;
        return sc_wire_read_error(&edge->values[0], &session->failed);
    }
    if (edge->header.n_values != wanted) {
        return sc_fail(
            SC_PEER, "a message on edge %d has %d values, want %d", edge->index, edge->header.n_values, wanted);
    }
    return SC_OK;
}

static bool stage_ready(const struct sc_pipe *pipe, const struct sc_stage *stage)
{
    for (int i = 0; i < stage->n_in; i++) {
        if (pipe->edges[stage->in[i]].count == 0) {
            return false;
        }
    }
    return true;
}

/* Opens one message of each edge; all must be of the microbatch that is next. */
static enum sc_status open_inputs(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage,
    struct sc_microbatch *microbatch, bool *poisoned)
{
    for (int i = 0; i < stage->n_in; i++) {
        struct sc_edge *edge = &pipe->edges[stage->in[i]];
        SC_TRY(sc_edge_open(session, edge, poisoned));
        if (edge->header.seq != stage->next_seq) {
            return sc_fail(SC_PEER, "edge %d brought microbatch %lld, want %lld", edge->index,
                (long long)edge->header.seq, (long long)stage->next_seq);
        }
        microbatch->seq = edge->header.seq;
        microbatch->n_rows = edge->header.n_rows;
        microbatch->dropped = edge->header.dropped;
        microbatch->slowest_ns = sc_max64(microbatch->slowest_ns, edge->header.slowest_ns);
        memcpy(microbatch->rows, edge->header.rows, (size_t)edge->header.n_rows * sizeof *microbatch->rows);
    }
    return SC_OK;
}

/* What may fail for one microbatch alone. */
static enum sc_status compute(struct sc_pipe *pipe, const struct sc_stage *stage, const struct sc_stage_part *part,
    const struct sc_microbatch *microbatch)
{
    if (stage->store) {
        SC_TRY(sc_state_begin(stage->store, microbatch->rows, microbatch->n_rows));
    }
    for (int i = 0; i < part->n_inputs; i++) {
        const struct sc_stage_input *input = &part->inputs[i];
        if (input->edge >= 0) {
            part->feeds[i] = &pipe->edges[input->edge].values[input->value];
        } else {
            SC_TRY(sc_state_feed(stage->store, input->value, microbatch->rows, microbatch->n_rows, &part->feeds[i]));
        }
    }
    SC_TRY(sc_frame_run(part->frame, part->feeds, microbatch->seq));
    for (int p = 0; p < part->n_pairs; p++) {
        SC_TRY(sc_state_keep(stage->store, part->pairs[p], microbatch->rows, microbatch->n_rows,
            sc_frame_output(part->frame, part->pair_outputs[p])));
    }
    return SC_OK;
}

void sc_session_note_failure(struct sc_session *session, int number, int64_t seq)
{
    session->failed = *sc_error_last();
    session->failed.rank = sc_world_rank(session->world);
    session->failed.stage = number;
    session->failed.seq = seq;
    if (gethostname(session->failed.host, sizeof session->failed.host - 1) != 0) {
        session->failed.host[0] = '\0';
    }
}

/* The outputs of the graph that leave here, by way of the tail when there is one. */
static enum sc_status send_tail(struct sc_session *session, struct sc_edge *edge, const struct sc_stage *stage,
    const struct sc_microbatch *microbatch, const struct sc_value *const *values)
{
    struct sc_value out = {.kind = SC_KIND_NONE};
    const struct sc_value *const sent = &out;
    sc_arena_reset(&session->tail_arena);
    const enum sc_status status = session->options.tail(session->options.tail_arg, microbatch, edge->plan->n_values,
        edge->plan->values, values, &session->tail_arena, &out);
    if (status != SC_OK) {
        sc_session_note_failure(session, stage->number, microbatch->seq);
        return sc_edge_send(session, edge, microbatch, NULL, 0, &session->failed);
    }
    return sc_edge_send(session, edge, microbatch, &sent, 1, NULL);
}

static enum sc_status send_outputs(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage,
    const struct sc_microbatch *microbatch, bool poisoned)
{
    static const struct sc_value none = {.kind = SC_KIND_NONE};
    const struct sc_stage_part *part = &stage->parts[sc_session_part(session, microbatch)];
    const int *output = part->out_values;
    for (int o = 0; o < stage->n_out; o++) {
        struct sc_edge *edge = &pipe->edges[stage->out[o]];
        const int n = edge->plan->n_values;
        if (poisoned) {
            SC_TRY(sc_edge_send(session, edge, microbatch, NULL, 0, &session->failed));
            continue;
        }
        const struct sc_value **values = stage->sent;
        for (int i = 0; i < n; i++, output++) {
            values[i] = *output < 0 ? &none : sc_frame_output(part->frame, *output);
        }
        if (edge->plan->to < 0 && session->options.tail) {
            SC_TRY(send_tail(session, edge, stage, microbatch, values));
        } else {
            SC_TRY(sc_edge_send(session, edge, microbatch, values, n, NULL));
        }
    }
    return SC_OK;
}

static int64_t busy_ns(const struct sc_session *session)
{
    return atomic_load_explicit(&session->activity.phase_ns[SC_PHASE_COMPUTE], memory_order_relaxed);
}

static void count_done(struct sc_stage_report *done, const struct sc_microbatch *microbatch, int64_t ns)
{
    bool chunk = false;
    for (int r = 0; r < microbatch->n_rows; r++) {
        chunk |= microbatch->rows[r].n_new > 1;
    }
    done->busy_ns += ns;
    done->n_microbatches++;
    done->chunk_ns += chunk ? ns : 0;
    done->n_chunks += chunk;
}

static enum sc_status run_stage(struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage)
{
    struct sc_microbatch microbatch = {.seq = stage->next_seq};
    bool poisoned = false;
    SC_TRY(open_inputs(session, pipe, stage, &microbatch, &poisoned));
    const enum sc_part runs = sc_session_part(session, &microbatch);
    const struct sc_stage_part *part = &stage->parts[runs];
    atomic_store_explicit(&stage->part, (int)runs, memory_order_relaxed);
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_COMPUTE, stage->number, microbatch.seq);
    const int64_t before_ns = busy_ns(session);
    if (stage->store) {
        sc_state_drop_all(stage->store, &microbatch.dropped); /* whatever becomes of the microbatch */
    }
    if (stage->giver) {
        sc_giver_begin(stage->giver, &microbatch, runs);
    }
    if (!poisoned && compute(pipe, stage, part, &microbatch) != SC_OK) {
        (void)sc_fail_in("'%s'", session->model->path); /* as errors before anything runs begin */
        sc_session_note_failure(session, stage->number, microbatch.seq);
        poisoned = true;
    }
    for (int p = 0; p < part->n_pairs && poisoned; p++) {
        sc_state_cut(stage->store, part->pairs[p], microbatch.rows, microbatch.n_rows);
    }
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_SEND, stage->number, microbatch.seq);
    const int64_t took_ns = busy_ns(session) - before_ns;
    microbatch.slowest_ns = sc_max64(microbatch.slowest_ns, took_ns);
    count_done(&stage->done, &microbatch, took_ns);
    SC_TRY(stage->giver ? sc_giver_finish(stage->giver, poisoned ? &session->failed : NULL) : SC_OK);
    SC_TRY(send_outputs(session, pipe, stage, &microbatch, poisoned));
    for (int i = 0; i < stage->n_in; i++) {
        sc_edge_pop(&pipe->edges[stage->in[i]]);
    }
    stage->next_seq++;
    sc_trace_enter(&session->trace, &session->activity, SC_PHASE_WAIT, -1, -1);
    return SC_OK;
}

static enum sc_status step_pipe(struct sc_session *session, struct sc_pipe *pipe, bool *did)
{
    for (int s = pipe->n_stages - 1; s >= 0; s--) { /* later stages first: they free what earlier ones wait for */
        if (stage_ready(pipe, &pipe->stages[s])) {
            *did = true;
            return run_stage(session, pipe, &pipe->stages[s]);
        }
    }
    return SC_OK;
}

enum sc_status sc_session_step(struct sc_session *session, bool *did)
{
    bool came = false;
    *did = false;
    SC_TRY(receive(session, &came));
    if (came && sc_session_arrived(session)) { /* seen before a stage runs, which may take long: more can be sent */
        *did = true;
        return SC_OK;
    }
    if (session->n_mail > 0 && sc_world_rank(session->world) != 0) {
        *did = true;
        return sc_session_answer_state(session);
    }
    for (int p = 1; p < session->n_pipes; p++) { /* soon done, however busy the rank is */
        SC_TRY(sc_takers_step(session, &session->pipes[p], &came));
    }
    const int last = session->last_pipe; /* plans that share a rank take turns there */
    for (int p = 1; p <= session->n_pipes && !*did; p++) {
        session->last_pipe = (last + p) % session->n_pipes;
        SC_TRY(step_pipe(session, &session->pipes[session->last_pipe], did));
    }
    *did |= came;
    return SC_OK;
}

enum sc_status sc_session_turn(struct sc_session *session, int64_t *idle)
{
    bool did;
    SC_TRY(sc_session_step(session, &did));
    if (did) {
        *idle = 0;
    } else {
        sc_session_pause(session, (*idle)++);
    }
    return SC_OK;
}
