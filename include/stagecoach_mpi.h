/* SPDX-License-Identifier: Apache-2.0
 * stagecoach.h for callers that have mpi.h: takes MPI_Comm. Inline, so that the library serves whichever MPI compiled
 * the caller, provided it is the one that the library was linked with. */
#ifndef STAGECOACH_MPI_H
#define STAGECOACH_MPI_H

#include <mpi.h>

#include "stagecoach.h"

static inline enum sc_status sc_pipeline_open_mpi(
    MPI_Comm communicator, const char *model, const struct sc_run_options *options, struct sc_pipeline **pipeline)
{
    return sc_pipeline_open((int)MPI_Comm_c2f(communicator), model, options, pipeline);
}

#endif
