/* SPDX-License-Identifier: Apache-2.0
 * Ranks as threads. A collective is: rank 0 shows its memory, barrier, the others copy, barrier. Copies are made under
 * the job's lock, so that rank 0 can leave a broken collective without anybody still reading its memory. */
#include "comm/local.h"

#include <stdlib.h>
#include <string.h>

struct world_local {
    struct sc_world world; /* first: worlds are passed as struct sc_world */
    struct sc_job *job;
};

static struct sc_job *job_of(struct sc_world *world)
{
    return ((struct world_local *)world)->job;
}

enum sc_status sc_job_check(struct sc_job *job)
{
    const int failed = atomic_load(&job->failed);
    return failed ? sc_fail(SC_PEER, "rank %d has ended the job", failed - 1) : SC_OK;
}

static enum sc_status check_all_here(struct sc_job *job)
{
    SC_TRY(sc_job_check(job));
    return job->n_left ? sc_fail(SC_PEER, "%d of %d ranks have left the job", job->n_left, job->size) : SC_OK;
}

/* Holding the lock; gives it up while it waits. */
static enum sc_status barrier(struct sc_job *job)
{
    SC_TRY(check_all_here(job));
    const long mine = job->generation;
    job->n_arrived++;
    if (job->n_arrived == job->size) {
        job->n_arrived = 0;
        job->generation++;
        sc_lock_wake(job->lock);
        return SC_OK;
    }
    while (job->generation == mine) {
        SC_TRY(check_all_here(job));
        sc_lock_wait(job->lock);
    }
    return SC_OK;
}

static enum sc_status broadcast_locked(struct sc_world *world, struct sc_job *job, void *data, size_t bytes)
{
    if (world->rank == 0) {
        job->source = data;
        job->bytes = bytes;
    }
    SC_TRY(barrier(job));
    SC_TRY(check_all_here(job));
    if (job->bytes != bytes) {
        return sc_fail(SC_INTERNAL, "broadcast of %zu bytes where rank 0 has %zu", bytes, job->bytes);
    }
    if (world->rank != 0 && bytes > 0) {
        memcpy(data, job->source, bytes);
    }
    return barrier(job);
}

static enum sc_status broadcast(struct sc_world *world, void *data, size_t bytes)
{
    struct sc_job *job = job_of(world);
    sc_lock_enter(job->lock);
    const enum sc_status status = broadcast_locked(world, job, data, bytes);
    sc_lock_leave(job->lock);
    return status;
}

static enum sc_status gather_locked(
    struct sc_world *world, struct sc_job *job, const void *mine, size_t bytes, void *all)
{
    if (world->rank == 0) {
        job->target = all;
        job->bytes = bytes;
    }
    SC_TRY(barrier(job));
    SC_TRY(check_all_here(job));
    if (job->bytes != bytes) {
        return sc_fail(SC_INTERNAL, "gather of %zu bytes where rank 0 has %zu", bytes, job->bytes);
    }
    if (bytes > 0) {
        memmove(job->target + (size_t)world->rank * bytes, mine, bytes);
    }
    return barrier(job);
}

static enum sc_status gather(struct sc_world *world, const void *mine, size_t bytes, void *all)
{
    struct sc_job *job = job_of(world);
    sc_lock_enter(job->lock);
    const enum sc_status status = gather_locked(world, job, mine, bytes, all);
    sc_lock_leave(job->lock);
    return status;
}

static enum sc_status make_link(struct sc_world *world, int peer, struct sc_link **link)
{
    return sc_link_local_create(job_of(world), world->rank, peer, link);
}

static void progress(struct sc_world *world)
{
    (void)world; /* a sent message has arrived */
}

static void free_job(struct sc_job *job)
{
    for (int i = 0; job->mailboxes && i < job->size * job->size; i++) {
        sc_pool_release(&job->mailboxes[i].pool);
        sc_lock_free(job->mailboxes[i].lock);
    }
    free(job->mailboxes);
    free(job->left);
    sc_lock_free(job->lock);
    free(job);
}

static void free_world(struct sc_world *world)
{
    struct sc_job *job = job_of(world);
    for (int peer = 0; peer < world->size; peer++) {
        if (peer == world->rank && world->links[peer]) {
            sc_link_self_free(world->links[peer]);
        } else {
            free(world->links[peer]);
        }
    }
    sc_lock_enter(job->lock);
    atomic_store(&job->left[world->rank], true);
    job->n_left++;
    const bool last = --job->n_alive == 0;
    sc_lock_wake(job->lock);
    sc_lock_leave(job->lock);
    if (last) {
        free_job(job);
    }
    sc_world_release(world);
    free(world);
}

static void abort_job(struct sc_world *world, int exit_code)
{
    struct sc_job *job = job_of(world);
    (void)exit_code;
    sc_lock_enter(job->lock);
    atomic_store(&job->failed, world->rank + 1);
    sc_lock_wake(job->lock);
    sc_lock_leave(job->lock);
    free_world(world);
    sc_thread_exit();
}

static const struct sc_world_table table = {.name = "local",
    .free = free_world,
    .broadcast = broadcast,
    .gather = gather,
    .link = make_link,
    .progress = progress,
    .abort = abort_job};

static enum sc_status make_job(int n, struct sc_job **job)
{
    enum sc_status status = SC_NO_MEMORY;
    struct sc_job *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a job of %d ranks", n);
    }
    made->size = n;
    made->n_alive = n;
    made->mailboxes = calloc((size_t)n * (size_t)n, sizeof *made->mailboxes);
    made->left = calloc((size_t)n, sizeof *made->left);
    if (!made->mailboxes || !made->left) {
        status = sc_fail(SC_NO_MEMORY, "out of memory for a job of %d ranks", n);
        goto out;
    }
    status = sc_lock_create(&made->lock);
    for (int i = 0; status == SC_OK && i < n * n; i++) {
        status = sc_lock_create(&made->mailboxes[i].lock);
    }
out:
    if (status != SC_OK) {
        free_job(made);
        return status;
    }
    *job = made;
    return SC_OK;
}

enum sc_status sc_world_open_local(int n, struct sc_world **worlds)
{
    struct sc_job *job = NULL;
    struct world_local *made = NULL;
    enum sc_status status = SC_OK;
    int n_made = 0;
    if (n < 1 || n > 1024) {
        return sc_fail(SC_BAD_USAGE, "a local job has 1 to 1024 ranks, not %d", n);
    }
    SC_TRY(make_job(n, &job));
    for (n_made = 0; n_made < n; n_made++) {
        made = calloc(1, sizeof *made);
        if (!made) {
            status = sc_fail(SC_NO_MEMORY, "out of memory for a rank");
            break;
        }
        status = sc_world_init(&made->world, &table, n_made, n);
        if (status != SC_OK) {
            free(made);
            break;
        }
        made->world.local_rank = n_made;
        made->world.n_local = n;
        made->job = job;
        worlds[n_made] = &made->world;
    }
    if (status != SC_OK) {
        for (int i = 0; i < n_made; i++) {
            sc_world_release(worlds[i]);
            free(worlds[i]);
        }
        free_job(job);
    }
    return status;
}
