/* SPDX-License-Identifier: Apache-2.0
 * Launchers leave the number of ranks in the environment. The first variable that is set decides: mpirun inside a Slurm
 * job inherits Slurm's as well. */
#include "comm/launcher.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        *launcher = (struct sc_launcher){
            .name = "a PMIx launcher", .variable = n_tasks > 0 ? "SLURM_STEP_NUM_TASKS" : "PMIX_RANK", .size = n_tasks};
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

/* In the order in which they count. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};

#define N_RANK_VARIABLES (sizeof rank_variables / sizeof *rank_variables)

int sc_world_launch_rank(void)
{
    for (size_t i = 0; i < N_RANK_VARIABLES; i++) {
        const char *text = getenv(rank_variables[i]);
        if (text && text[0] >= '0' && text[0] <= '9') {
            return (int)strtol(text, NULL, 10);
        }
    }
    return -1;
}

/* The rank that another process's environment says; -1: none. */
static int rank_of(const char *pid)
{
    char path[64], entry[512];
    size_t n = 0;
    int rank = -1;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *file = fopen(path, "r");
    for (int byte = 0; file && rank < 0 && (byte = getc(file)) != EOF;) {
        if (byte != 0) {
            entry[n < sizeof entry - 1 ? n++ : n] = (char)byte;
            continue;
        }
        entry[n] = '\0';
        n = 0;
        for (size_t i = 0; i < N_RANK_VARIABLES && rank < 0; i++) {
            const size_t length = strlen(rank_variables[i]);
            const bool named = strncmp(entry, rank_variables[i], length) == 0 && entry[length] == '=';
            rank = named ? (int)strtol(entry + length + 1, NULL, 10) : -1;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return rank;
}

/* Whether a process is stopped and has this parent. */
static bool is_stopped_child(const char *pid, long parent)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    text[n] = '\0';
    const char *name_end = strrchr(text, ')'); /* PID (NAME) STATE PARENT ... */
    if (!name_end || strlen(name_end) < 5) {
        return false;
    }
    return (name_end[2] == 'T' || name_end[2] == 't') && strtol(name_end + 4, NULL, 10) == parent;
}

bool sc_world_find_stopped(int *rank, long *pid)
{
    bool found = false;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && !found && (entry = readdir(processes)) != NULL;) {
        const char *name = entry->d_name;
        if (name[0] < '0' || name[0] > '9' || !is_stopped_child(name, (long)getppid())) {
            continue;
        }
        *rank = rank_of(name);
        *pid = strtol(name, NULL, 10);
        found = *rank >= 0;
    }
    if (processes) {
        (void)closedir(processes);
    }
    return found;
}
