/* SPDX-License-Identifier: Apache-2.0
 * Worlds on a communicator of the caller, who initialised MPI and goes on using it. */
#include "tests/mpi/link_cases.h"

#include <mpi.h>

/* Ranks 1 and 2 of three form a job; rank 0 stays outside. */
static void part_of_the_ranks(int rank)
{
    MPI_Comm part = MPI_COMM_NULL;
    struct sc_world *world = NULL;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &part) == MPI_SUCCESS);
    if (rank == 0) {
        return;
    }
    CHECK(sc_world_from_mpi((int)MPI_Comm_c2f(part), &world) == SC_OK);
    CHECK(sc_world_size(world) == 2 && sc_world_rank(world) == rank - 1);

    /* Messages of the caller on its own communicator do not meet ours. */
    int mine = rank, theirs = 0;
    MPI_Request request;
    CHECK(MPI_Isend(&mine, 1, MPI_INT, 2 - rank, 1, part, &request) == MPI_SUCCESS);
#define X(name) name(world);
    LINK_CASES(X)
#undef X
    CHECK(MPI_Recv(&theirs, 1, MPI_INT, 2 - rank, 1, part, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(theirs == 3 - rank);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);

    sc_world_free(world);
    CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
}

int main(void)
{
    int provided = 0, rank = 0, size = 0, finalized = 1;
    struct sc_world *world = NULL;
    CHECK(sc_world_from_mpi(0, &world) == SC_BAD_USAGE && !world); /* MPI is not there yet */
    CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size == 3);
    part_of_the_ranks(rank);

    CHECK(sc_world_open_mpi(&world) == SC_OK && sc_world_size(world) == 3);
    everybody(world);
    backpressure(world);
    sc_world_free(world);
    CHECK(MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized); /* it was not ours to finalise */
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(sc_world_open_mpi(&world) == SC_BAD_USAGE);
    return 0;
}
