/* SPDX-License-Identifier: Apache-2.0
 * Links over MPI, non-blocking throughout. Three tags carry data in the order of sending: WHOLE messages, or the SIZE
 * of one and its PIECEs. Credits bound what is on its way: eager sends complete at once, so MPI itself would let a fast
 * sender fill the receiver's memory. The receiver hands credits back by the half window, not one by one. */
#include "comm/mpi_job.h"

#include <stdlib.h>

enum tag { TAG_WHOLE = 1, TAG_SIZE, TAG_PIECE, TAG_CREDIT };

#define CREDIT_BATCH (SC_LINK_BUFFERS / 2)

struct sc_mpi_link {
    struct sc_link link; /* first: links are passed as struct sc_link */
    struct sc_mpi_world *world;
    struct sc_mpi_link *next;

    /* sending: waiting ──► flying ──► free; only the first waiting one may be partly posted (in pieces) */
    struct sc_pool out;
    struct sc_queue waiting, flying;
    MPI_Request out_requests[SC_LINK_BUFFERS]; /* by slot */
    uint64_t size_out; /* of the message that goes in pieces; 0: not announced */
    int credits; /* messages that may still be reserved */

    /* receiving: arriving ──► shown ──► free */
    struct sc_pool in;
    struct sc_queue arriving;
    MPI_Request in_requests[SC_LINK_BUFFERS]; /* by slot */
    struct sc_buffer *growing; /* comes in pieces; the last of `arriving` */
    int busy_tag; /* a SIZE, PIECE or CREDIT is under way: nothing else is looked for until it is there; 0: none */
    MPI_Request busy;
    int busy_bytes;
    uint64_t size_in;
    int32_t credit_in;

    int owed; /* given back, not told to the peer yet */
    int32_t credit_out;
    MPI_Request credit_request;
};

static enum sc_status check(struct sc_mpi_link *link, int result, const char *call)
{
    return result == MPI_SUCCESS ? SC_OK : sc_mpi_check(link->world, result, call, link->link.peer);
}

static enum sc_status test(struct sc_mpi_link *link, MPI_Request *request, bool *done)
{
    int flag = 0;
    SC_TRY(check(link, MPI_Test(request, &flag, MPI_STATUS_IGNORE), "MPI_Test"));
    *done = flag != 0;
    return SC_OK;
}

static enum sc_status post(struct sc_mpi_link *link, const void *data, size_t bytes, enum tag tag, MPI_Request *request)
{
    return check(link, MPI_Isend(data, (int)bytes, MPI_BYTE, link->link.peer, (int)tag, link->world->comm, request),
        "MPI_Isend");
}

/* Posts the next part of the first waiting message. *posted is false when its last part is still under way. */
static enum sc_status post_piece(struct sc_mpi_link *link, struct sc_buffer *buffer, bool *posted)
{
    MPI_Request *request = &link->out_requests[buffer->slot];
    SC_TRY(test(link, request, posted));
    if (!*posted) {
        return SC_OK;
    }
    if (link->size_out == 0) {
        link->size_out = buffer->bytes;
        return post(link, &link->size_out, sizeof link->size_out, TAG_SIZE, request);
    }
    const size_t left = buffer->bytes - buffer->ready_bytes;
    const size_t bytes = left < link->world->piece_bytes ? left : link->world->piece_bytes;
    SC_TRY(post(link, (char *)sc_buffer_data(buffer) + buffer->ready_bytes, bytes, TAG_PIECE, request));
    buffer->ready_bytes += bytes;
    return SC_OK;
}

static enum sc_status pump_sends(struct sc_mpi_link *link)
{
    bool done = true;
    while (link->waiting.first && done) {
        struct sc_buffer *buffer = link->waiting.first;
        if (buffer->bytes <= link->world->piece_bytes) {
            SC_TRY(post(link, sc_buffer_data(buffer), buffer->bytes, TAG_WHOLE, &link->out_requests[buffer->slot]));
            buffer->ready_bytes = buffer->bytes;
        } else {
            SC_TRY(post_piece(link, buffer, &done));
        }
        if (done && buffer->ready_bytes == buffer->bytes) {
            link->size_out = 0;
            sc_queue_add(&link->flying, sc_queue_take(&link->waiting));
        }
    }
    done = true;
    while (link->flying.first && done) {
        SC_TRY(test(link, &link->out_requests[link->flying.first->slot], &done));
        if (done) {
            sc_pool_give(sc_queue_take(&link->flying));
        }
    }
    SC_TRY(test(link, &link->credit_request, &done));
    if (link->owed >= CREDIT_BATCH && done) {
        link->credit_out = link->owed;
        link->owed = 0;
        SC_TRY(post(link, &link->credit_out, sizeof link->credit_out, TAG_CREDIT, &link->credit_request));
    }
    return SC_OK;
}

static enum sc_status refuse(struct sc_mpi_link *link, const char *what)
{
    (void)sc_fail(SC_PEER, "rank %d sent %s: are all ranks of one program?", link->link.peer, what);
    return sc_mpi_fail(link->world);
}

static enum sc_status take_buffer(struct sc_mpi_link *link, size_t bytes, struct sc_buffer **buffer)
{
    if (sc_pool_take(&link->in, bytes, buffer) != SC_OK) {
        return sc_mpi_fail(link->world);
    }
    link->in_requests[(*buffer)->slot] = MPI_REQUEST_NULL;
    sc_queue_add(&link->arriving, *buffer);
    return SC_OK;
}

/* The message of busy_tag is there. */
static enum sc_status finish(struct sc_mpi_link *link)
{
    const int tag = link->busy_tag;
    link->busy_tag = 0;
    if (tag == TAG_CREDIT) {
        if (link->credit_in < 1 || link->credit_in > SC_LINK_BUFFERS - link->credits) {
            return refuse(link, "more credits than it had messages");
        }
        link->credits += link->credit_in;
        return SC_OK;
    }
    if (tag == TAG_SIZE) {
        if (link->size_in == 0 || link->size_in > SIZE_MAX / 2) {
            return refuse(link, "a message of impossible size");
        }
        return take_buffer(link, (size_t)link->size_in, &link->growing);
    }
    link->growing->ready_bytes += (size_t)link->busy_bytes;
    if (link->growing->ready_bytes == link->growing->bytes) {
        link->growing = NULL;
    }
    return SC_OK;
}

/* Starts to receive a message that was found. */
static enum sc_status start(struct sc_mpi_link *link, MPI_Message *message, const MPI_Status *status)
{
    int bytes = 0;
    void *to = NULL;
    MPI_Request *request = &link->busy;
    SC_TRY(check(link, MPI_Get_count(status, MPI_BYTE, &bytes), "MPI_Get_count"));
    const int tag = status->MPI_TAG;
    if (bytes < 0 || (link->growing && tag != TAG_PIECE && tag != TAG_CREDIT)) {
        return refuse(link, "another message amid the pieces of one");
    }
    if (tag == TAG_WHOLE) {
        struct sc_buffer *buffer = NULL;
        SC_TRY(take_buffer(link, (size_t)bytes, &buffer));
        to = sc_buffer_data(buffer);
        request = &link->in_requests[buffer->slot];
    } else if (tag == TAG_CREDIT && bytes == (int)sizeof link->credit_in) {
        to = &link->credit_in;
    } else if (tag == TAG_SIZE && bytes == (int)sizeof link->size_in) {
        to = &link->size_in;
    } else if (tag == TAG_PIECE && link->growing && bytes > 0 &&
        (size_t)bytes <= link->growing->bytes - link->growing->ready_bytes) {
        to = (char *)sc_buffer_data(link->growing) + link->growing->ready_bytes;
    } else {
        return refuse(link, "a message of no known form");
    }
    SC_TRY(check(link, MPI_Imrecv(to, bytes, MPI_BYTE, message, request), "MPI_Imrecv"));
    if (tag != TAG_WHOLE) {
        link->busy_tag = tag;
        link->busy_bytes = bytes;
    }
    return SC_OK;
}

static enum sc_status pump_receives(struct sc_mpi_link *link)
{
    for (;;) {
        if (link->busy_tag) {
            bool done = false;
            SC_TRY(test(link, &link->busy, &done));
            if (!done) {
                return SC_OK;
            }
            SC_TRY(finish(link));
        }
        /* Without a free buffer data stays with MPI, but credits must come through: the peer may wait for ours. */
        const int tag = link->growing || !sc_pool_full(&link->in) ? MPI_ANY_TAG : (int)TAG_CREDIT;
        int found = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        SC_TRY(check(
            link, MPI_Improbe(link->link.peer, tag, link->world->comm, &found, &message, &status), "MPI_Improbe"));
        if (!found) {
            return SC_OK;
        }
        SC_TRY(start(link, &message, &status));
    }
}

static enum sc_status pump(struct sc_mpi_link *link)
{
    if (link->world->failed) {
        return sc_error_set(&link->world->error);
    }
    SC_TRY(pump_sends(link));
    return pump_receives(link);
}

static enum sc_status reserve(struct sc_link *base, size_t bytes, void **data)
{
    struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    struct sc_buffer *buffer = NULL;
    if (link->credits == 0 || sc_pool_full(&link->out) || link->world->failed) {
        SC_TRY(pump(link));
    }
    if (link->credits > 0) {
        SC_TRY(sc_pool_take(&link->out, bytes, &buffer));
    }
    if (buffer) {
        link->credits--;
        *data = sc_buffer_data(buffer);
    }
    return SC_OK;
}

static enum sc_status send(struct sc_link *base, void *data, size_t bytes)
{
    struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    struct sc_buffer *buffer = sc_buffer_of(data);
    buffer->bytes = bytes;
    link->out_requests[buffer->slot] = MPI_REQUEST_NULL;
    sc_queue_add(&link->waiting, buffer);
    return link->world->failed ? sc_error_set(&link->world->error) : pump_sends(link);
}

static enum sc_status poll(struct sc_link *base, struct sc_received *received)
{
    struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    bool done = false;
    SC_TRY(pump(link));
    struct sc_buffer *buffer = link->arriving.first;
    if (!buffer || buffer == link->growing) {
        return SC_OK;
    }
    SC_TRY(test(link, &link->in_requests[buffer->slot], &done));
    if (done) {
        (void)sc_queue_take(&link->arriving);
        *received = (struct sc_received){.data = sc_buffer_data(buffer), .bytes = buffer->bytes, .handle = buffer};
    }
    return SC_OK;
}

static void give_back(struct sc_link *base, struct sc_received *received)
{
    struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    sc_pool_give(received->handle);
    link->owed++;
    if (link->owed >= CREDIT_BATCH && !link->world->failed) {
        (void)pump_sends(link); /* an error is kept in the world, for the next call */
    }
}

static bool idle_link(struct sc_link *base)
{
    struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    if (link->waiting.first || link->flying.first) {
        (void)pump(link); /* an error is kept in the world, for the next call */
    }
    return !link->waiting.first && !link->flying.first;
}

static size_t count_bytes(struct sc_link *base)
{
    const struct sc_mpi_link *link = (struct sc_mpi_link *)base;
    return sc_pool_bytes(&link->out) + sc_pool_bytes(&link->in);
}

static const struct sc_link_table table = {.name = "mpi",
    .reserve = reserve,
    .send = send,
    .poll = poll,
    .give_back = give_back,
    .idle = idle_link,
    .bytes = count_bytes};

enum sc_status sc_mpi_link_create(struct sc_mpi_world *world, int peer, struct sc_link **link)
{
    struct sc_mpi_link *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a link");
    }
    made->link = (struct sc_link){.table = &table, .peer = peer};
    made->world = world;
    made->credits = SC_LINK_BUFFERS;
    made->busy = MPI_REQUEST_NULL;
    made->credit_request = MPI_REQUEST_NULL;
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        made->out_requests[i] = MPI_REQUEST_NULL;
        made->in_requests[i] = MPI_REQUEST_NULL;
    }
    made->next = world->links;
    world->links = made;
    *link = &made->link;
    return SC_OK;
}

enum sc_status sc_mpi_pump(struct sc_mpi_world *world)
{
    for (struct sc_mpi_link *link = world->links; link; link = link->next) {
        SC_TRY(pump(link));
    }
    return SC_OK;
}

bool sc_mpi_idle(struct sc_mpi_world *world)
{
    bool idle = true;
    for (struct sc_mpi_link *link = world->links; link; link = link->next) {
        idle = idle && !link->waiting.first && !link->flying.first && link->credit_request == MPI_REQUEST_NULL;
    }
    return idle;
}

/* True when MPI holds no memory of the link. */
static bool is_quiet(const struct sc_mpi_link *link)
{
    bool quiet = !link->busy_tag && link->credit_request == MPI_REQUEST_NULL;
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        quiet = quiet && link->out_requests[i] == MPI_REQUEST_NULL && link->in_requests[i] == MPI_REQUEST_NULL;
    }
    return quiet;
}

void sc_mpi_links_free(struct sc_mpi_world *world)
{
    while (world->links) {
        struct sc_mpi_link *link = world->links;
        world->links = link->next;
        if (is_quiet(link)) {
            sc_pool_release(&link->in);
            sc_pool_release(&link->out);
            free(link);
        }
    }
}
