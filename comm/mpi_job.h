/* SPDX-License-Identifier: Apache-2.0
 * The job over MPI; for world_mpi.c and link_mpi.c, the only files that see MPI. */
#ifndef SC_COMM_MPI_JOB_H
#define SC_COMM_MPI_JOB_H

#include <mpi.h>

#include "comm/pool.h"
#include "comm/world_table.h"

struct sc_mpi_link;
struct sc_mpi_beats;

struct sc_mpi_world {
    struct sc_world world; /* first: worlds are passed as struct sc_world */
    MPI_Comm comm; /* a duplicate of our own */
    bool finalizes; /* we initialised MPI */
    bool failed; /* `error` says why; every later call returns it, and free does not wait */
    struct sc_error error;
    size_t piece_bytes;
    int64_t progress_ns; /* when sc_world_progress last looked */
    struct sc_mpi_link *links; /* those that exist over MPI */
    int *places; /* by rank: its number on this node when memory is shared with it, else -1 */
    struct sc_mpi_beats *beats; /* heartbeats from and to other nodes; NULL: none */
};

/* SC_OK for MPI_SUCCESS. Else fails with the name of the call and MPI's text, and marks the world as failed.
 *   peer: -1 when the call has none */
enum sc_status sc_mpi_check(struct sc_mpi_world *world, int result, const char *call, int peer);

/* Marks the world as failed with the error of this thread; returns its code. */
enum sc_status sc_mpi_fail(struct sc_mpi_world *world);

enum sc_status sc_mpi_link_create(struct sc_mpi_world *world, int peer, struct sc_link **link);

/* Drives sends and receives of every link. */
enum sc_status sc_mpi_pump(struct sc_mpi_world *world);
bool sc_mpi_idle(struct sc_mpi_world *world);

/* Frees every link but those whose memory MPI may still read or write (after a failure): these are lost. */
void sc_mpi_links_free(struct sc_mpi_world *world);

/* Waits for one request, sleeping. */
enum sc_status sc_mpi_wait(struct sc_mpi_world *world, MPI_Request *request, const char *call);

/* beats_mpi.c: heartbeats from the rank before this one and to the rank after it, where they are on other nodes; the
 * world has a pulse. open and finish are collective; finish comes when no rank has anything else to do. */
enum sc_status sc_mpi_beats_open(struct sc_mpi_world *world);
enum sc_status sc_mpi_beats_turn(struct sc_mpi_world *world, bool now);
enum sc_status sc_mpi_beats_finish(struct sc_mpi_world *world);
void sc_mpi_beats_free(struct sc_mpi_world *world); /* after a failure MPI may still use the memory: it is lost */

#endif
