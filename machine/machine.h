/* SPDX-License-Identifier: Apache-2.0
 * This node's CPUs and memory, and this rank's share of them. */
#ifndef SC_MACHINE_MACHINE_H
#define SC_MACHINE_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* The share of one local rank: whole NUMA domains first, then L3s, then cores. cpus are OS indices, one per worker
 * thread to be. */
struct sc_share {
    int n_cpus;
    int *cpus; /* in the arena given to sc_machine_share */
    int numa_node; /* OS index; -1 when the share spans several or the machine has none */
    int64_t memory_bytes; /* this rank's part of the memory that its domain has */
    bool overlapped; /* more local ranks than cores: CPUs are shared, threads are not bound */
};

struct sc_machine;

/* The allowed CPUs of this process and the topology around them. xml: a recorded topology instead of this machine's
 * (tests); NULL: here. */
enum sc_status sc_machine_discover(const char *xml, struct sc_machine **machine);
void sc_machine_free(struct sc_machine *machine);

/* Widens a binding handed down by a launcher (one core per rank) to the rank's share of the node, unless keep. */
enum sc_status sc_machine_share(const struct sc_machine *machine, int local_rank, int n_local, bool keep,
    struct sc_arena *arena, struct sc_share *share);

/* Binds the calling thread to one CPU of the share (worker modulo n_cpus). Does nothing when overlapped. Failure is a
 * warning's worth. */
enum sc_status sc_machine_bind_thread(const struct sc_machine *machine, const struct sc_share *share, int worker);

/* "2 cores, 1 NUMA domain, 24 GiB": for reports; in the arena. */
const char *sc_machine_text(const struct sc_machine *machine, struct sc_arena *arena);

#endif
