/* SPDX-License-Identifier: Apache-2.0
 * `stagecoach launch`: this program on several ranks, by mpirun. */
#ifndef SC_LAUNCH_MPIRUN_H
#define SC_LAUNCH_MPIRUN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

enum sc_mpirun_kind {
    SC_MPIRUN_UNKNOWN, /* only -n is given to it */
    SC_MPIRUN_OPEN_MPI_4, /* and older */
    SC_MPIRUN_OPEN_MPI_5, /* and newer */
    SC_MPIRUN_HYDRA /* MPICH, Intel MPI, MVAPICH */
};

struct sc_mpirun_request {
    const char *mpirun; /* path, or a name to be found in PATH */
    int n_ranks;
    const char *hostfile; /* NULL: this host, or what a resource manager gives */
    bool managed; /* a resource manager (Slurm, PBS, LSF) knows the hosts and their slots */
    int progress; /* 1 or 0: what SC_TTY says; -1: look whether stderr is a terminal */
    const char *program; /* this program's path */
    const char *const *command; /* the command line of each rank, without the program */
    int n_command;
};

/* Which mpirun it is, by the output of `mpirun --version`. */
enum sc_mpirun_kind sc_mpirun_kind_of(const char *version);

/* The command line in `arena`, ended by NULL. Placement is left to stagecoach (no binding); this host may get more
 * ranks than cores; SC_TTY and SC_TTY_OUT of the environment reach rank 0 wherever it is. */
enum sc_status sc_mpirun_arguments(
    const struct sc_mpirun_request *request, enum sc_mpirun_kind kind, struct sc_arena *arena, char ***arguments);

/* Runs the job and waits for it. Ranks find SC_TTY=1 when somebody watches stderr, SC_TTY_OUT=1 when stdout is a
 * terminal, else 0.
 * Signals that this process gets reach mpirun.
 *   exit_code: mpirun's, or 128 + signal
 * Fails when mpirun is not there or cannot be started, and when stdout cannot be written: then the job was ended. */
enum sc_status sc_mpirun_run(const struct sc_mpirun_request *request, bool verbose, int *exit_code);

/* All of `stagecoach launch ...`: argv is the program's own. Prints what went wrong; returns the exit code. */
int sc_launch_main(int argc, char **argv);

#endif
