/* SPDX-License-Identifier: Apache-2.0
 * The ranks of a job: who there is, agreement, and links between pairs. */
#ifndef SC_COMM_WORLD_H
#define SC_COMM_WORLD_H

#include <stdbool.h>

#include "base/error.h"
#include "comm/link.h"
#include "comm/pulse.h"

/* One rank's view of the job. Kinds: over an MPI communicator, and in-process with ranks as threads (tests, thread
 * sanitizer). Collective calls (agree, broadcast, gather) are for start-up and shutdown; all ranks make them in the
 * same order; they sleep while they wait. Links carry everything else.
 *
 *   create ──► agree, broadcast ──► links ──► free          free is collective and safe on NULL; after an error it does
 * not wait
 */
struct sc_world;

int sc_world_rank(const struct sc_world *world);
int sc_world_size(const struct sc_world *world);

/* Duplicates the communicator (a Fortran handle: the public headers show no MPI type). Collective.
 * sc_world_open_mpi initialises MPI when nobody has (FUNNELED), takes MPI_COMM_WORLD, and finalises at free what it
 * initialised; it refuses when the environment says N ranks and MPI says 1, naming both. argv is not needed. */
enum sc_status sc_world_open_mpi(struct sc_world **world);
enum sc_status sc_world_from_mpi(int fortran_communicator, struct sc_world **world);

/* One rank without MPI (no MPI_Init): for plain `stagecoach run` without a launcher. */
enum sc_status sc_world_open_single(struct sc_world **world);

/* n ranks as threads of this process: worlds[n] are filled; each is used by one thread and freed there. */
enum sc_status sc_world_open_local(int n, struct sc_world **worlds);

/* True when the environment shows that a launcher (Open MPI, MPICH, Slurm PMI) started this process. */
bool sc_world_launched(void);

/* This process's rank as the launcher's environment says it, before MPI is started; -1: no launcher. */
int sc_world_launch_rank(void);

/* Looks for a rank of this job on this host that is stopped (SIGSTOP, a debugger), for the time when MPI can tell
 * nothing of it yet, or no more: another child of this process's parent, the launcher's daemon. False: there is none,
 * or ranks have other parents. */
bool sc_world_find_stopped(int *rank, long *pid);

/* Name and version of the MPI library, as "Open MPI v4.1.4"; needs no start of MPI. Returns buffer. */
char *sc_world_library(char *buffer, size_t bytes);

void sc_world_free(struct sc_world *world);

/* After a failure that the others do not know of: sc_world_free then waits for nobody. */
void sc_world_abandon(struct sc_world *world);

/* Every rank says how it fares (SC_OK or the code of sc_error_last()). Returns SC_OK when all are well; else all ranks
 * get the error of the lowest failing rank, with its rank and host set, as their own error. */
enum sc_status sc_world_agree(struct sc_world *world, enum sc_status mine);

/* Rank 0's bytes to all. Both sides know the size. */
enum sc_status sc_world_broadcast(struct sc_world *world, void *data, size_t bytes);

/* Everybody's `bytes` bytes to rank 0, in rank order; all is NULL elsewhere. */
enum sc_status sc_world_gather(struct sc_world *world, const void *mine, size_t bytes, void *all);

/* Local ranks: how many ranks share this host, and this rank's place among them. */
void sc_world_local(const struct sc_world *world, int *local_rank, int *n_local);

/* The same among all processes of the job on this host, also those outside of this world: who shares its CPUs. */
void sc_world_seat(const struct sc_world *world, int *seat, int *n_seats);

/* The link to a peer; the same one at every call; peer may be this rank. Owned by the world. */
enum sc_status sc_world_link(struct sc_world *world, int peer, struct sc_link **link);

/* Of the buffers of this rank's links. */
size_t sc_world_link_bytes(const struct sc_world *world);

/* Lets messages go on: called between parts of long kernels and in waiting loops. Never blocks. */
void sc_world_progress(struct sc_world *world);

/* For waiting loops: call while nothing happens, with the count of calls since something did (0: a new wait), then look
 * at every link again. Spins for tens of microseconds, or twice the last wait where that was short, unless ranks have
 * to share cores. Then sleeps: until a rank of this node sends something; where messages may come from elsewhere a
 * small part of the time waited so far, and at most a millisecond. */
void sc_world_pause(struct sc_world *world, int64_t idle_calls);

/* From now on ranks watch each other. Collective. *pulse is NULL where there are no other processes. */
enum sc_status sc_world_watch(struct sc_world *world, struct sc_pulse **pulse);

/* Worker 0 does something else for a while, such as writing to a terminal that may block: ranks of other nodes do not
 * take its silence for death. A watched rank is away until it says otherwise. */
void sc_world_away(struct sc_world *world, bool away);

/* Ends the job on all ranks, now: after an error that the others cannot know of. Prints nothing. Over MPI: MPI_Abort.
 */
_Noreturn void sc_world_abort(struct sc_world *world, int exit_code);

#endif
