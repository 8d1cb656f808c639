/* SPDX-License-Identifier: Apache-2.0
 * Launchers leave the number of ranks in the environment. The first variable that is set decides: mpirun inside a Slurm
 * job inherits Slurm's as well. */
#include "comm/launcher.h"

#include <stdlib.h>

#include "comm/world.h"

static const struct sc_launcher known[] = {
    {.name = "Open MPI", .variable = "OMPI_COMM_WORLD_SIZE"},
    {.name = "MPICH or Intel MPI (PMI)", .variable = "PMI_SIZE"},
    {.name = "MVAPICH", .variable = "MV2_COMM_WORLD_SIZE"},
};

/* The number that a variable holds; -1 for none. */
static int place_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end = NULL;
    if (!text || text[0] < '0' || text[0] > '9') {
        return -1;
    }
    const long number = strtol(text, &end, 10);
    return *end == '\0' && number < 1 << 24 ? (int)number : -1;
}

/* The positive number that a variable holds; 0 for none. */
static int number_of(const char *variable)
{
    const int number = place_of(variable);
    return number > 0 ? number : 0;
}

bool sc_launcher_find(struct sc_launcher *launcher)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int size = number_of(known[i].variable);
        if (size > 0) {
            *launcher = known[i];
            launcher->size = size;
            return true;
        }
    }
    /* srun sets these for each step, but an interactive shell is a step too: only several tasks are a launch. */
    const int n_tasks = number_of("SLURM_STEP_NUM_TASKS");
    if (getenv("PMIX_RANK")) {
        *launcher = (struct sc_launcher){.name = "a PMIx launcher", .variable = "PMIX_RANK", .size = n_tasks};
        return true;
    }
    if (n_tasks > 1 && getenv("SLURM_PROCID")) {
        *launcher = (struct sc_launcher){.name = "Slurm", .variable = "SLURM_STEP_NUM_TASKS", .size = n_tasks};
        return true;
    }
    return false;
}

bool sc_launcher_seat(int *seat, int *n_seats)
{
    static const char *const variables[][2] = {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const int place = place_of(variables[i][0]), n = number_of(variables[i][1]);
        if (place >= 0 && place < n) {
            *seat = place;
            *n_seats = n;
            return true;
        }
    }
    return false;
}

bool sc_world_launched(void)
{
    struct sc_launcher launcher;
    return sc_launcher_find(&launcher);
}

int sc_world_launch_rank(void)
{
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text && text[0] >= '0' && text[0] <= '9') {
            return (int)strtol(text, NULL, 10);
        }
    }
    return -1;
}
