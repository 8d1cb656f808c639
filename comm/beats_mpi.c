/* SPDX-License-Identifier: Apache-2.0
 * Heartbeats over MPI, on a communicator of their own so that links never meet one. At most one is under way each way:
 * when the receiver is slow, beats are left out. */
#include <stdlib.h>

#include "base/clock.h"
#include "comm/mpi_job.h"
#include "comm/pulse_world.h"

#define BEAT_NS 100000000

struct sc_mpi_beats {
    MPI_Comm comm;
    int to, from; /* ranks; -1: none */
    struct sc_beat out, in;
    MPI_Request sending, receiving;
    int64_t next_ns;
    bool heard_all; /* the last beat has come */
};

static enum sc_status post_receive(struct sc_mpi_world *world)
{
    struct sc_mpi_beats *beats = world->beats;
    return sc_mpi_check(world,
        MPI_Irecv(&beats->in, sizeof beats->in, MPI_BYTE, beats->from, 1, beats->comm, &beats->receiving), "MPI_Irecv",
        beats->from);
}

static enum sc_status receive(struct sc_mpi_world *world)
{
    struct sc_mpi_beats *beats = world->beats;
    int done = 0;
    while (beats->from >= 0 && !beats->heard_all) {
        SC_TRY(sc_mpi_check(world, MPI_Test(&beats->receiving, &done, MPI_STATUS_IGNORE), "MPI_Test", beats->from));
        if (!done) {
            break;
        }
        sc_pulse_take(world->world.pulse, &beats->in);
        beats->heard_all = beats->in.gone;
        if (!beats->heard_all) {
            SC_TRY(post_receive(world));
        }
    }
    return SC_OK;
}

/* *sent is false when the last one is still under way. */
static enum sc_status send(struct sc_mpi_world *world, bool *sent)
{
    struct sc_mpi_beats *beats = world->beats;
    int done = 1;
    if (beats->to >= 0) {
        SC_TRY(sc_mpi_check(world, MPI_Test(&beats->sending, &done, MPI_STATUS_IGNORE), "MPI_Test", beats->to));
    }
    *sent = done;
    if (!done || beats->to < 0) {
        return SC_OK;
    }
    sc_pulse_mine(world->world.pulse, &beats->out);
    return sc_mpi_check(world,
        MPI_Isend(&beats->out, sizeof beats->out, MPI_BYTE, beats->to, 1, beats->comm, &beats->sending), "MPI_Isend",
        beats->to);
}

enum sc_status sc_mpi_beats_open(struct sc_mpi_world *world)
{
    const struct sc_world *base = &world->world;
    const int before = (base->rank + base->size - 1) % base->size, after = (base->rank + 1) % base->size;
    bool sent;
    struct sc_mpi_beats *beats = calloc(1, sizeof *beats);
    if (!beats) {
        return sc_fail(SC_NO_MEMORY, "out of memory for heartbeats");
    }
    beats->from = world->places[before] < 0 ? before : -1;
    beats->to = world->places[after] < 0 ? after : -1;
    beats->sending = MPI_REQUEST_NULL;
    beats->receiving = MPI_REQUEST_NULL;
    beats->next_ns = INT64_MAX; /* pauses make no turns yet */
    world->beats = beats;
    SC_TRY(sc_mpi_check(world, MPI_Comm_dup(world->comm, &beats->comm), "MPI_Comm_dup", -1));
    if (beats->from >= 0) {
        SC_TRY(post_receive(world));
    }
    SC_TRY(send(world, &sent));
    /* The first tells who it is and where, so that it can be named should no other come. */
    if (beats->from >= 0) {
        SC_TRY(sc_mpi_wait(world, &beats->receiving, "MPI_Irecv"));
        sc_pulse_take(base->pulse, &beats->in);
        SC_TRY(post_receive(world));
    }
    beats->next_ns = 0;
    return SC_OK;
}

enum sc_status sc_mpi_beats_turn(struct sc_mpi_world *world, bool now)
{
    struct sc_mpi_beats *beats = world->beats;
    const int64_t now_ns = sc_clock_ns();
    bool sent;
    if (!now && now_ns < beats->next_ns) {
        return SC_OK;
    }
    beats->next_ns = now_ns + BEAT_NS;
    SC_TRY(receive(world));
    return send(world, &sent);
}

enum sc_status sc_mpi_beats_finish(struct sc_mpi_world *world)
{
    struct sc_mpi_beats *beats = world->beats;
    if (!beats) {
        return SC_OK;
    }
    bool sent = false;
    beats->next_ns = INT64_MAX; /* pauses make no turns any more */
    for (int64_t idle = 0; !sent || (beats->from >= 0 && !beats->heard_all); idle++) {
        SC_TRY(receive(world));
        if (!sent) {
            SC_TRY(send(world, &sent)); /* the pulse says by now that this rank is gone */
        }
        sc_world_pause_polling(&world->world, idle);
    }
    return beats->to < 0 ? SC_OK : sc_mpi_wait(world, &beats->sending, "MPI_Isend");
}

void sc_mpi_beats_free(struct sc_mpi_world *world)
{
    struct sc_mpi_beats *beats = world->beats;
    world->beats = NULL;
    if (beats && !world->failed && beats->sending == MPI_REQUEST_NULL && beats->receiving == MPI_REQUEST_NULL) {
        (void)MPI_Comm_free(&beats->comm);
        free(beats);
    }
}
