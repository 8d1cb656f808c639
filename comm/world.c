/* SPDX-License-Identifier: Apache-2.0
 * What every kind of world does alike. Agreement is a gather of each rank's error and a broadcast of the chosen one. */
#include "comm/world_table.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/shared.h"
#include "comm/pulse_world.h"
#include "comm/wire.h"

#define SPIN_NS 50000
#define SPIN_MOST_NS 200000
#define SPIN_FAR_NS 50000000 /* where no bell wakes: a core that sleeps computes more slowly after it, by up to 5 % */
#define POLL_NS 500 /* between looks at MPI while spinning */
#define SLEEP_PART 32
#define SLEEP_PART_NEAR 256
#define SLEEP_NEAR 4
#define RHYTHM_NS 1000000 /* shorter waits tell nothing of the next long one */
#define SLEEP_LEAST_NS 1000
#define SLEEP_MOST_NS 1000000
#define SLEEP_BELL_NS 50000000 /* where a bell wakes: now and then, to show that this rank lives */

int sc_world_rank(const struct sc_world *world)
{
    return world->rank;
}

int sc_world_size(const struct sc_world *world)
{
    return world->size;
}

void sc_world_local(const struct sc_world *world, int *local_rank, int *n_local)
{
    *local_rank = world->local_rank;
    *n_local = world->n_local;
}

void sc_world_seat(const struct sc_world *world, int *seat, int *n_seats)
{
    const bool told = world->n_seats > world->n_local; /* ranks of other worlds are there too */
    *seat = told ? world->seat : world->local_rank;
    *n_seats = told ? world->n_seats : world->n_local;
}

enum sc_status sc_world_init(struct sc_world *world, const struct sc_world_table *table, int rank, int size)
{
    *world = (struct sc_world){.table = table, .rank = rank, .size = size, .n_local = 1};
    world->links = calloc((size_t)size, sizeof *world->links);
    world->errors = calloc((size_t)(rank == 0 ? size : 1), sizeof *world->errors);
    if (!world->links || !world->errors) {
        sc_world_release(world);
        return sc_fail(SC_NO_MEMORY, "out of memory for the links of %d ranks", size);
    }
    return SC_OK;
}

void sc_world_release(struct sc_world *world)
{
    sc_pulse_drop(world->pulse);
    world->pulse = NULL;
    free(world->links);
    free(world->errors);
    world->links = NULL;
    world->errors = NULL;
}

void sc_world_free(struct sc_world *world)
{
    if (world) {
        world->table->free(world);
    }
}

enum sc_status sc_world_broadcast(struct sc_world *world, void *data, size_t bytes)
{
    return world->table->broadcast(world, data, bytes);
}

enum sc_status sc_world_gather(struct sc_world *world, const void *mine, size_t bytes, void *all)
{
    return world->table->gather(world, mine, bytes, all);
}

/* This rank's part in an agreement: zeros when it is well. */
static void describe(const struct sc_world *world, enum sc_status mine, struct sc_error *error)
{
    memset(error, 0, sizeof *error);
    if (mine == SC_OK) {
        return;
    }
    const struct sc_error *last = sc_error_last();
    if (last->code == (int32_t)mine) {
        *error = *last;
    } else {
        *error = (struct sc_error){.code = (int32_t)mine, .stage = -1, .seq = -1};
        snprintf(error->text, sizeof error->text, "%s", sc_status_name(mine));
    }
    error->rank = world->rank;
    if (gethostname(error->host, sizeof error->host) != 0) {
        error->host[0] = '\0';
    }
    error->host[sizeof error->host - 1] = '\0';
}

enum sc_status sc_world_agree(struct sc_world *world, enum sc_status mine)
{
    struct sc_error error;
    describe(world, mine, &error);
    SC_TRY(sc_world_gather(world, &error, sizeof error, world->errors));
    if (world->rank == 0) {
        memset(&error, 0, sizeof error);
        for (int rank = 0; rank < world->size; rank++) {
            if (world->errors[rank].code != SC_OK) {
                error = world->errors[rank];
                error.rank = rank;
                break;
            }
        }
    }
    SC_TRY(sc_world_broadcast(world, &error, sizeof error));
    if (error.code == SC_OK) {
        return SC_OK;
    }
    sc_wire_error_check(&error);
    return sc_error_set(&error);
}

enum sc_status sc_world_link(struct sc_world *world, int peer, struct sc_link **link)
{
    assert(peer >= 0 && peer < world->size);
    if (!world->links[peer]) {
        struct sc_link *made = NULL;
        if (peer == world->rank) {
            SC_TRY(sc_link_self_create(peer, &made));
        } else {
            SC_TRY(world->table->link(world, peer, &made));
        }
        world->links[peer] = made;
    }
    *link = world->links[peer];
    return SC_OK;
}

size_t sc_world_link_bytes(const struct sc_world *world)
{
    size_t bytes = 0;
    for (int peer = 0; peer < world->size; peer++) {
        bytes += world->links[peer] ? sc_link_bytes(world->links[peer]) : 0;
    }
    return bytes;
}

void sc_world_progress(struct sc_world *world)
{
    world->table->progress(world);
}

/* True when the bell has rung since the last pause ended; waits for that until `until_ns`. */
static bool rang(const struct sc_world *world, int64_t until_ns)
{
    do {
        if (world->node && sc_shared_bell(world->node) != world->bell) {
            return true;
        }
    } while (sc_clock_ns() < until_ns);
    return false;
}

/* Without a bell a sleep is a small part of the time waited so far: a wait gets at most that much longer, and a long
 * one costs little. Around the moment at which the last long wait ended it is smaller: the steps of a text take equally
 * long, and what is waited for comes about then. */
static int64_t sleep_for(const struct sc_world *world, int64_t waited_ns)
{
    const int64_t off_ns = llabs(world->rhythm_ns - waited_ns) / SLEEP_NEAR, near_ns = waited_ns / SLEEP_PART_NEAR;
    const int64_t ns = off_ns > near_ns ? off_ns : near_ns, part_ns = waited_ns / SLEEP_PART;
    const int64_t most_ns = part_ns < SLEEP_MOST_NS ? part_ns : SLEEP_MOST_NS;
    return ns < most_ns ? ns : most_ns;
}

static void wait_long(struct sc_world *world, int64_t waited_ns, bool bell_tells_all)
{
    const int64_t ns = sleep_for(world, waited_ns);
    if (ns < SLEEP_LEAST_NS) {
        (void)sched_yield(); /* ranks that share a core get it first */
    } else if (!world->node) {
        sc_clock_sleep_ns(ns);
    } else {
        sc_shared_sleep(world->node, world->bell, bell_tells_all ? SLEEP_BELL_NS : ns);
    }
}

/* A wait tends to be as long as the one before. Two ranks that answer each other in less than a sleep and a waking take
 * would otherwise go on putting each other to sleep once one of them was late. */
static int64_t spin_for(const struct sc_world *world, bool bell_tells_all)
{
    if (!world->roomy) {
        return 0;
    }
    if (!bell_tells_all) {
        return SPIN_FAR_NS;
    }
    const int64_t twice_ns = world->waited_ns > SPIN_MOST_NS ? 0 : 2 * world->waited_ns;
    return twice_ns < SPIN_NS ? SPIN_NS : twice_ns < SPIN_MOST_NS ? twice_ns : SPIN_MOST_NS;
}

static void pause_for(struct sc_world *world, int64_t idle_calls, bool bell_tells_all)
{
    if (world->pulse && world->table->beat) {
        world->table->beat(world, false);
    }
    const int64_t now_ns = sc_clock_ns();
    if (idle_calls == 0) {
        world->idle_since_ns = now_ns;
        world->rhythm_ns = world->waited_ns > RHYTHM_NS ? world->waited_ns : world->rhythm_ns;
        world->spin_until_ns = now_ns + spin_for(world, bell_tells_all);
    }
    const int64_t spin_until_ns = world->spin_until_ns;
    if (rang(world, 0)) {
        world->bell = sc_shared_bell(world->node);
        return;
    }
    if (now_ns < spin_until_ns) {
        if (!rang(world, bell_tells_all ? spin_until_ns : now_ns + POLL_NS) && !bell_tells_all) {
            (void)sched_yield(); /* who has cores is told per host, and cores may be shared all the same */
        }
    } else {
        wait_long(world, now_ns - world->idle_since_ns, bell_tells_all);
    }
    world->bell = world->node ? sc_shared_bell(world->node) : 0;
    world->waited_ns = sc_clock_ns() - world->idle_since_ns;
}

void sc_world_pause(struct sc_world *world, int64_t idle_calls)
{
    pause_for(world, idle_calls, world->bell_tells_all);
}

void sc_world_pause_polling(struct sc_world *world, int64_t idle_calls)
{
    pause_for(world, idle_calls, false);
}

enum sc_status sc_world_watch(struct sc_world *world, struct sc_pulse **pulse)
{
    if (world->table->watch && !world->pulse) {
        SC_TRY(sc_world_agree(world, world->table->watch(world))); /* everybody has given a first sign of life */
    }
    *pulse = world->pulse ? sc_pulse_keep(world->pulse) : NULL;
    return SC_OK;
}

void sc_world_away(struct sc_world *world, bool away)
{
    if (world->pulse && world->table->beat) {
        sc_pulse_away(world->pulse, away);
        world->table->beat(world, true);
    }
}

_Noreturn void sc_world_abort(struct sc_world *world, int exit_code)
{
    world->table->abort(world, exit_code);
    _exit(exit_code);
}
