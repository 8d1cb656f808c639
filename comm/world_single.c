/* SPDX-License-Identifier: Apache-2.0
 * A job of one rank that never touches MPI: collectives are copies, the only link is the one to itself. */
#include "comm/world_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void free_world(struct sc_world *world)
{
    if (world->links[0]) {
        sc_link_self_free(world->links[0]);
    }
    sc_world_release(world);
    free(world);
}

static enum sc_status broadcast(struct sc_world *world, void *data, size_t bytes)
{
    (void)world;
    (void)data;
    (void)bytes;
    return SC_OK;
}

static enum sc_status gather(struct sc_world *world, const void *mine, size_t bytes, void *all)
{
    (void)world;
    if (bytes > 0) {
        memmove(all, mine, bytes);
    }
    return SC_OK;
}

static enum sc_status link_none(struct sc_world *world, int peer, struct sc_link **link)
{
    (void)world;
    (void)link;
    return sc_fail(SC_INTERNAL, "a job of one rank has no link to rank %d", peer);
}

static void progress(struct sc_world *world)
{
    (void)world;
}

static void abort_job(struct sc_world *world, int exit_code)
{
    (void)world;
    _exit(exit_code);
}

static const struct sc_world_table table = {.name = "single",
    .free = free_world,
    .broadcast = broadcast,
    .gather = gather,
    .link = link_none,
    .progress = progress,
    .abort = abort_job};

enum sc_status sc_world_open_single(struct sc_world **world)
{
    struct sc_world *made = malloc(sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the world");
    }
    const enum sc_status status = sc_world_init(made, &table, 0, 1);
    if (status != SC_OK) {
        free(made);
        return status;
    }
    *world = made;
    return SC_OK;
}
