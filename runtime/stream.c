/* SPDX-License-Identifier: Apache-2.0
 * Requests and chunks are messages like others; a chunk that cannot be read comes as poison. */
#include "runtime/stream.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/parcel.h"
#include "runtime/stage.h"

#define CHUNKS_AHEAD 2

/* What a rank asks for; bytes is 0 when it wants no more. */
struct request {
    int64_t file;
    uint64_t offset, bytes;
};

enum sc_status sc_stream_find(struct sc_session *session)
{
    const int size = sc_world_size(session->world);
    const bool remote = session->model->remote;
    session->streams = sc_arena_array(&session->pipes[0].arena, (size_t)size, sizeof *session->streams);
    SC_TRY(sc_world_agree(session->world, session->streams ? SC_OK : SC_NO_MEMORY));
    return sc_world_gather(session->world, &remote, sizeof remote, session->streams);
}

/* Rank 0 at work. */
struct server {
    struct sc_session *session;
    void *chunk;
    int n_left; /* ranks that may still ask */
    int64_t all_bytes, done_bytes;
    enum sc_status status;
    struct sc_error error; /* of the first chunk that could not be read */
};

static enum sc_status read_chunk(const struct server *server, const struct request *request)
{
    const struct sc_model *model = server->session->model;
    if (!server->chunk) {
        return sc_fail(SC_NO_MEMORY, "out of memory: %zu bytes wanted for weights of other ranks", SC_PARCEL_BYTES);
    }
    if (request->bytes > SC_PARCEL_BYTES || request->file < 0 || request->file >= model->n_files) {
        return sc_fail(SC_PEER, "%llu bytes of file %lld were asked for", (unsigned long long)request->bytes,
            (long long)request->file);
    }
    return sc_file_read_part(
        model->file_names[request->file], &model->files[request->file], request->offset, server->chunk, request->bytes);
}

static enum sc_status answer(struct server *server, int peer, const struct request *request)
{
    struct sc_value value;
    const enum sc_status status = read_chunk(server, request);
    if (status == SC_OK) {
        server->done_bytes += (int64_t)request->bytes;
        sc_wire_bytes_value(server->chunk, request->bytes, &value);
        return sc_parcel_send(server->session, peer, SC_WIRE_DATA, &value);
    }
    if (server->status == SC_OK) {
        server->status = status;
        server->error = *sc_error_last();
    }
    sc_wire_error_value(sc_error_last(), &value);
    return sc_parcel_send(server->session, peer, SC_WIRE_POISON, &value);
}

/* Takes one request of a peer, when there is one. */
static enum sc_status serve_peer(struct server *server, int peer, bool *did)
{
    struct request request;
    struct sc_received received = {0};
    SC_TRY(sc_parcel_poll(server->session, peer, &received));
    if (!received.data) {
        return SC_OK;
    }
    *did = true;
    SC_TRY(sc_parcel_open(server->session, peer, &received, &request, sizeof request));
    if (request.bytes == 0) {
        server->session->streams[peer] = false;
        server->n_left--;
        return SC_OK;
    }
    return answer(server, peer, &request);
}

static void count(struct server *server)
{
    const struct sc_session *session = server->session;
    for (int peer = 1; peer < sc_world_size(session->world); peer++) {
        server->n_left += session->streams[peer];
    }
    for (int p = 0; p < session->n_pipes; p++) {
        const struct sc_plan *plan = session->pipes[p].plan;
        for (int s = 0; s < plan->n_stages; s++) {
            server->all_bytes += session->streams[plan->stages[s].ranks[0]] ? plan->stages[s].weight_bytes : 0;
        }
    }
}

enum sc_status sc_stream_serve(struct sc_session *session)
{
    struct server server = {.session = session};
    count(&server);
    server.chunk = server.n_left > 0 ? malloc(SC_PARCEL_BYTES) : NULL;
    enum sc_status status = SC_OK;
    for (int64_t idle = 0; server.n_left > 0 && status == SC_OK; idle++) {
        bool did = false;
        for (int peer = 1; peer < sc_world_size(session->world) && status == SC_OK; peer++) {
            status = session->streams[peer] ? serve_peer(&server, peer, &did) : SC_OK;
        }
        if (did && session->options.show_streaming) {
            session->options.show_streaming(session->options.show_arg, server.done_bytes, server.all_bytes);
        }
        idle = did ? -1 : idle;
        if (did) {
            sc_team_make_progress(session->team);
        } else {
            sc_session_pause(session, idle);
        }
    }
    free(server.chunk);
    SC_TRY(status); /* a link is broken */
    return server.status == SC_OK ? SC_OK : sc_error_set(&server.error);
}

static enum sc_status ask(struct sc_session *session, const struct request *request)
{
    struct sc_value value;
    sc_wire_bytes_value(request, sizeof *request, &value);
    return sc_parcel_send(session, 0, SC_WIRE_CONTROL, &value);
}

/* After a failure the chunks that were asked for still come: each is an error of its own and nobody's any more. */
static enum sc_status fetch(void *arg, int file, size_t offset, void *to, size_t bytes)
{
    struct sc_session *session = arg;
    enum sc_status status = SC_OK;
    struct sc_error error = {0};
    for (size_t asked = 0, got = 0; got < bytes && (status == SC_OK || got < asked);) {
        const size_t left = bytes - asked, n = left < SC_PARCEL_BYTES ? left : SC_PARCEL_BYTES;
        if (status == SC_OK && n > 0 && asked - got < CHUNKS_AHEAD * SC_PARCEL_BYTES) {
            const struct request request = {.file = file, .offset = offset + asked, .bytes = n};
            SC_TRY(ask(session, &request));
            asked += n;
            continue;
        }
        const size_t came = bytes - got < SC_PARCEL_BYTES ? bytes - got : SC_PARCEL_BYTES;
        const enum sc_status taken = sc_parcel_take(session, 0, (char *)to + got, came);
        if (taken != SC_OK && status == SC_OK) {
            status = taken;
            error = *sc_error_last();
        }
        got += came;
    }
    return status == SC_OK ? SC_OK : sc_error_set(&error);
}

void sc_stream_begin(struct sc_session *session)
{
    session->source = (struct sc_weight_source){.fetch = fetch, .arg = session};
    session->model->source = &session->source;
}

enum sc_status sc_stream_finish(struct sc_session *session)
{
    session->model->source = NULL;
    const struct request none = {.bytes = 0};
    return session->model->remote ? ask(session, &none) : SC_OK;
}
