/* SPDX-License-Identifier: Apache-2.0
 * Links between the threads of one process: two mailboxes, one each way. A buffer passes from sender to receiver and
 * back through the mailbox's lock, never copied. */
#include "comm/local.h"

#include <stdlib.h>

struct link_local {
    struct sc_link link; /* first: links are passed as struct sc_link */
    struct sc_job *job;
    struct sc_mailbox *out, *in;
};

static enum sc_status reserve(struct sc_link *link, size_t bytes, void **data)
{
    struct link_local *local = (struct link_local *)link;
    struct sc_buffer *buffer = NULL;
    SC_TRY(sc_job_check(local->job));
    if (atomic_load(&local->job->left[link->peer])) {
        return sc_fail(SC_PEER, "rank %d has left the job", link->peer);
    }
    sc_lock_enter(local->out->lock);
    const enum sc_status status = sc_pool_take(&local->out->pool, bytes, &buffer);
    sc_lock_leave(local->out->lock);
    *data = buffer ? sc_buffer_data(buffer) : NULL;
    return status;
}

static enum sc_status send(struct sc_link *link, void *data, size_t bytes)
{
    struct link_local *local = (struct link_local *)link;
    struct sc_buffer *buffer = sc_buffer_of(data);
    sc_lock_enter(local->out->lock);
    buffer->bytes = bytes;
    sc_queue_add(&local->out->sent, buffer);
    sc_lock_leave(local->out->lock);
    return sc_job_check(local->job);
}

static enum sc_status poll(struct sc_link *link, struct sc_received *received)
{
    struct link_local *local = (struct link_local *)link;
    SC_TRY(sc_job_check(local->job));
    /* Asked before the look at the queue: what a peer sent before it left is seen. */
    const bool left = atomic_load(&local->job->left[link->peer]);
    sc_lock_enter(local->in->lock);
    struct sc_buffer *buffer = sc_queue_take(&local->in->sent);
    sc_lock_leave(local->in->lock);
    if (buffer) {
        *received = (struct sc_received){.data = sc_buffer_data(buffer), .bytes = buffer->bytes, .handle = buffer};
        return SC_OK;
    }
    return left ? sc_fail(SC_PEER, "rank %d has left the job", link->peer) : SC_OK;
}

static void give_back(struct sc_link *link, struct sc_received *received)
{
    struct link_local *local = (struct link_local *)link;
    sc_lock_enter(local->in->lock);
    sc_pool_give(received->handle);
    sc_lock_leave(local->in->lock);
}

static bool idle(struct sc_link *link)
{
    (void)link;
    return true; /* a sent message is in the peer's mailbox, which outlives this rank */
}

static size_t count_bytes(struct sc_link *link)
{
    const struct link_local *local = (struct link_local *)link;
    sc_lock_enter(local->out->lock);
    const size_t bytes = sc_pool_bytes(&local->out->pool);
    sc_lock_leave(local->out->lock);
    return bytes;
}

static const struct sc_link_table table = {.name = "local",
    .reserve = reserve,
    .send = send,
    .poll = poll,
    .give_back = give_back,
    .idle = idle,
    .bytes = count_bytes};

enum sc_status sc_link_local_create(struct sc_job *job, int rank, int peer, struct sc_link **link)
{
    struct link_local *local = malloc(sizeof *local);
    if (!local) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a link");
    }
    *local = (struct link_local){.link = {.table = &table, .peer = peer},
        .job = job,
        .out = &job->mailboxes[rank * job->size + peer],
        .in = &job->mailboxes[peer * job->size + rank]};
    *link = &local->link;
    return SC_OK;
}
