/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 asks, the rank that owns a state answers between two microbatches. */
#include <stdlib.h>
#include <string.h>

#include "runtime/parcel.h"
#include "runtime/stage.h"
#include "runtime/state_store.h"

enum { SHAPE, READ, WRITE, EXPECT, DROP };

/* Questions that are on their way at once: the next chunk is made while one travels. */
#define AHEAD 2

/* A question, and the answer to SHAPE and EXPECT; what is written follows it, what is read comes alone. */
struct question {
    int16_t what, plan; /* whose owner is asked */
    int32_t pair, slot, rank;
    int64_t type, at, n, length, dims[SC_MAX_RANK];
};

struct owned {
    struct sc_state_store *store;
    int index;
};

static enum sc_status find_owned(const struct sc_session *session, const struct question *question, struct owned *owned)
{
    const int pair = question->pair;
    const bool known =
        question->plan >= 0 && question->plan < session->n_pipes && pair >= 0 && pair < session->options.n_pairs;
    const struct sc_pipe *pipe = &session->pipes[known ? question->plan : 0];
    const struct sc_stage *here = sc_pipe_stage(pipe, known ? sc_session_pair_stage(session, pipe, pair) : -1);
    if (!here) {
        return sc_fail(SC_PEER, "state %d was asked for where it is not", pair);
    }
    *owned = (struct owned){.store = here->store, .index = pipe->store_pairs[pair]};
    return SC_OK;
}

static enum sc_status expect(const struct owned *owned, const struct question *question)
{
    struct sc_tensor shape;
    if (question->rank < 0 || question->rank > SC_MAX_RANK) {
        return sc_fail(SC_PEER, "a state of rank %d was announced", question->rank);
    }
    SC_TRY(sc_dims_check("a state", (enum sc_type)question->type, question->rank, question->dims));
    sc_tensor_init(&shape, (enum sc_type)question->type, question->rank, question->dims);
    return sc_state_expect(owned->store, owned->index, question->slot, question->length, &shape);
}

static enum sc_status tell_shape(const struct owned *owned, struct question *question)
{
    struct sc_tensor shape;
    SC_TRY(sc_state_shape(owned->store, owned->index, question->slot, &shape));
    question->length = sc_state_length(owned->store, owned->index, question->slot);
    question->type = shape.type;
    question->rank = shape.rank;
    memcpy(question->dims, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
    return SC_OK;
}

/* On the owner. `data` is what is written, or room of a parcel for what is read. */
static enum sc_status perform(struct sc_session *session, struct question *question, void *data)
{
    struct owned owned;
    SC_TRY(find_owned(session, question, &owned));
    switch (question->what) {
    case SHAPE:
        return tell_shape(&owned, question);
    case READ:
        return sc_state_read(owned.store, owned.index, question->slot, question->at, question->n, data);
    case WRITE:
        return sc_state_write(owned.store, owned.index, question->slot, question->at, question->n, data);
    case EXPECT:
        return expect(&owned, question);
    case DROP:
        SC_TRY(sc_state_check_slot(owned.store, question->slot));
        sc_state_drop(owned.store, question->slot);
        return SC_OK;
    default:
        return sc_fail(SC_PEER, "a question about states is none: %d", question->what);
    }
}

static size_t element_bytes(const struct sc_session *session, int pair)
{
    return sc_type_bytes(sc_state_type(&session->options.pairs[pair]));
}

static int64_t most_elements(const struct sc_session *session, int pair)
{
    return (int64_t)((SC_PARCEL_BYTES - sizeof(struct question)) / element_bytes(session, pair));
}

/* Bytes that belong to a question: written with it, or read by it. */
static enum sc_status count_bytes(const struct sc_session *session, const struct question *question, size_t *bytes)
{
    const bool known = question->pair >= 0 && question->pair < session->options.n_pairs;
    if (!known || question->n < 0 || question->n > most_elements(session, question->pair)) {
        return sc_fail(SC_PEER, "%lld elements of state %d were asked for", (long long)question->n, question->pair);
    }
    *bytes = (size_t)question->n * element_bytes(session, question->pair);
    return SC_OK;
}

/* room: of a parcel, where a question with its data is put together. */
static enum sc_status answer(struct sc_session *session, const struct sc_received *received, char *room)
{
    struct sc_wire_header header;
    struct sc_arena arena = {0};
    struct sc_value value = {0};
    struct question *question = (struct question *)(void *)room;
    size_t bytes = 0, written = 0;
    enum sc_status status = sc_wire_read(received->data, received->bytes, &header, &arena, 1, &value);
    const size_t size = status == SC_OK && value.kind == SC_KIND_TENSOR ? sc_tensor_bytes(&value.u.tensor) : 0;
    if (status == SC_OK && (size < sizeof *question || size > SC_PARCEL_BYTES)) {
        status = sc_fail(SC_PEER, "a question about states has %zu bytes", size);
    }
    if (status == SC_OK) {
        memcpy(room, value.u.tensor.data, size);
        status = count_bytes(session, question, &bytes);
        written = question->what == WRITE ? bytes : 0;
    }
    if (status == SC_OK && size != sizeof *question + written) {
        status = sc_fail(SC_PEER, "a question about states has %zu bytes", size);
    }
    status = status == SC_OK ? perform(session, question, room + sizeof *question) : status;
    sc_arena_release(&arena);
    if (status != SC_OK) {
        sc_wire_error_value(sc_error_last(), &value);
        return sc_parcel_send(session, 0, SC_WIRE_POISON, &value);
    }
    const bool read = question->what == READ;
    sc_wire_bytes_value(read ? room + sizeof *question : room, read ? bytes : sizeof *question, &value);
    return sc_parcel_send(session, 0, SC_WIRE_STATE, &value);
}

enum sc_status sc_session_answer_state(struct sc_session *session)
{
    struct sc_mail *mail = &session->mail[session->mail_head++ % SC_MAIL];
    session->n_mail--;
    char *room = malloc(SC_PARCEL_BYTES); /* aligned for any type */
    const enum sc_status status = room ? answer(session, &mail->received, room)
                                       : sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes", SC_PARCEL_BYTES);
    free(room);
    sc_link_give_back(mail->link, &mail->received);
    return status;
}

/* Rank 0 waits for the oldest answer. */
static enum sc_status take_answer(struct sc_session *session, int owner, void *to, size_t bytes)
{
    for (int64_t idle = 0; session->n_mail == 0;) {
        SC_TRY(sc_session_turn(session, &idle));
    }
    struct sc_mail *mail = &session->mail[session->mail_head++ % SC_MAIL];
    session->n_mail--;
    if (mail->link->peer != owner) {
        sc_link_give_back(mail->link, &mail->received);
        return sc_fail(SC_PEER, "rank %d answered a question to rank %d", mail->link->peer, owner);
    }
    return sc_parcel_open(session, owner, &mail->received, to, bytes);
}

/* The rank to ask; -1: no stage computes it. */
static int owner_of(const struct sc_session *session, const struct question *question)
{
    const struct sc_pipe *pipe = &session->pipes[question->plan];
    const int stage = sc_session_pair_stage(session, pipe, question->pair);
    return stage < 0 ? -1 : pipe->plan->stages[stage].ranks[0];
}

/* A question without data, and its answer in place of it. */
static enum sc_status ask(struct sc_session *session, struct question *question)
{
    struct sc_value value;
    const int owner = owner_of(session, question);
    if (owner < 0) {
        return SC_OK; /* it holds nothing */
    }
    if (owner == 0) {
        return perform(session, question, NULL);
    }
    sc_wire_bytes_value(question, sizeof *question, &value);
    SC_TRY(sc_parcel_send(session, owner, SC_WIRE_STATE, &value));
    return take_answer(session, owner, question, sizeof *question);
}

/* The owners by all plans. */
static enum sc_status ask_all(struct sc_session *session, const struct question *question)
{
    for (int p = 0; p < session->n_pipes; p++) {
        struct question one = *question;
        one.plan = (int16_t)p;
        SC_TRY(ask(session, &one));
    }
    return SC_OK;
}

/* One chunk on its way: with `from` to the owner. */
static enum sc_status send_chunk(
    struct sc_session *session, const struct question *question, const char *from, char *room)
{
    const size_t bytes = from ? (size_t)question->n * element_bytes(session, question->pair) : 0;
    struct sc_value value;
    memcpy(room, question, sizeof *question);
    if (bytes > 0) {
        memcpy(room + sizeof *question, from, bytes);
    }
    sc_wire_bytes_value(room, sizeof *question + bytes, &value);
    return sc_parcel_send(session, owner_of(session, question), SC_WIRE_STATE, &value);
}

/* Elements from or to a rank that is not this one; after a failure the answers that are due are still taken. */
static enum sc_status transfer(
    struct sc_session *session, const struct question *whole, char *to, const char *from, char *room)
{
    const size_t bytes = element_bytes(session, whole->pair);
    const int64_t most = most_elements(session, whole->pair);
    enum sc_status status = SC_OK;
    struct sc_error error = {0};
    for (int64_t sent = 0, done = 0; done < (status == SC_OK ? whole->n : sent);) {
        struct question question = *whole;
        if (status == SC_OK && sent < whole->n && sent - done < AHEAD * most) {
            question.at = whole->at + sent;
            question.n = whole->n - sent < most ? whole->n - sent : most;
            SC_TRY(send_chunk(session, &question, from ? from + (size_t)sent * bytes : NULL, room));
            sent += question.n;
            continue;
        }
        const int64_t n = sent - done < most ? sent - done : most;
        const enum sc_status taken = to
            ? take_answer(session, owner_of(session, whole), to + (size_t)done * bytes, (size_t)n * bytes)
            : take_answer(session, owner_of(session, whole), &question, sizeof question);
        if (taken != SC_OK && status == SC_OK) {
            status = taken;
            error = *sc_error_last();
        }
        done += n;
    }
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}

static enum sc_status refuse(const struct sc_session *session, int pair)
{
    const char *name = session->model->graph->values[session->options.pairs[pair].in].name;
    return sc_fail(SC_BAD_INPUT, "state '%s' is computed by no stage", name);
}

enum sc_status sc_session_state_read(struct sc_session *session, int pair, int slot, int64_t at, int64_t n, void *to)
{
    struct question question = {.what = READ, .pair = pair, .slot = slot, .at = at, .n = n};
    const int owner = owner_of(session, &question);
    if (owner <= 0) {
        return owner < 0 ? refuse(session, pair) : perform(session, &question, to);
    }
    char room[sizeof question];
    return transfer(session, &question, to, NULL, room);
}

/* To the owner by one of the plans. */
static enum sc_status write_state(struct sc_session *session, const struct question *question, const void *from)
{
    union {
        const void *in;
        void *out;
    } data = {.in = from}; /* perform only reads it */
    const int owner = owner_of(session, question);
    if (owner < 0) {
        return refuse(session, question->pair);
    }
    if (owner == 0) {
        struct question here = *question;
        return perform(session, &here, data.out);
    }
    char *room = malloc(SC_PARCEL_BYTES);
    if (!room) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes", SC_PARCEL_BYTES);
    }
    const enum sc_status status = transfer(session, question, NULL, from, room);
    free(room);
    return status;
}

enum sc_status sc_session_state_write(
    struct sc_session *session, int pair, int slot, int64_t at, int64_t n, const void *from)
{
    struct question question = {.what = WRITE, .pair = pair, .slot = slot, .at = at, .n = n};
    for (; question.plan < session->n_pipes; question.plan++) {
        SC_TRY(write_state(session, &question, from));
    }
    return SC_OK;
}

enum sc_status sc_session_state_shape(
    struct sc_session *session, int pair, int slot, struct sc_tensor *shape, int64_t *length)
{
    const struct sc_state_pair *empty = &session->options.pairs[pair];
    struct question question = {.what = SHAPE, .pair = pair, .slot = slot, .type = sc_state_type(empty)};
    SC_TRY(ask(session, &question));
    if (question.rank < 0 || question.rank > SC_MAX_RANK) {
        return sc_fail(SC_PEER, "rank %d has a state of rank %d", owner_of(session, &question), question.rank);
    }
    SC_TRY(sc_dims_check("a state", (enum sc_type)question.type, question.rank, question.dims));
    sc_tensor_init(shape, (enum sc_type)question.type, question.rank, question.dims);
    *length = question.length;
    return SC_OK;
}

enum sc_status sc_session_state_expect(
    struct sc_session *session, int pair, int slot, const struct sc_tensor *shape, int64_t length)
{
    struct question question = {
        .what = EXPECT, .pair = pair, .slot = slot, .type = shape->type, .rank = shape->rank, .length = length};
    memcpy(question.dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    return ask_all(session, &question);
}

enum sc_status sc_session_state_drop(struct sc_session *session, int slot)
{
    for (int pair = 0; pair < session->options.n_pairs; pair++) {
        struct question question = {.what = DROP, .pair = pair, .slot = slot};
        SC_TRY(ask_all(session, &question));
    }
    return SC_OK;
}
