/* SPDX-License-Identifier: Apache-2.0
 * This node's CPUs and memory, and this rank's share of them. */
#ifndef SC_MACHINE_MACHINE_H
#define SC_MACHINE_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* The share of one local rank: whole NUMA domains first, then L3s, then cores. cpus are OS indices, one per worker
 * thread to be: the first allowed hardware thread of each core. */
struct sc_share {
    int n_cpus;
    int *cpus; /* in the arena given to sc_machine_share, ascending by place in the topology */
    int numa_node; /* OS index; -1 when the share spans several or the machine has none */
    int64_t memory_bytes; /* this rank's part of the memory that its domain has, or that control groups grant */
    bool overlapped; /* more local ranks than cores: CPUs are shared, threads are not bound */
};

struct sc_machine;

/* Finds the CPUs that the job may use and the topology around them. They are those of the control group, and of these
 * only what the launcher (the process that started this one) may use itself: so the binding of mpirun (one core per
 * rank) is seen through, while a taskset around mpirun is kept. Without a launcher give sc_machine_share keep, so that
 * a taskset around this program is kept too. xml: a recorded topology instead of this machine (tests), on which calls
 * that bind do nothing; NULL: here. A machine may be read by several threads. */
enum sc_status sc_machine_discover(const char *xml, struct sc_machine **machine);
void sc_machine_free(struct sc_machine *machine);

/* The least memory that a control group (version 1 or 2) over this process grants, in bytes; 0: none limits it.
 *   groups   where the groups of this process are listed; NULL: /proc/self/cgroup
 *   root     where their files are; NULL: /sys/fs/cgroup */
int64_t sc_machine_group_memory(const char *groups, const char *root);

/* Widens a binding handed down by a launcher (one core per rank) to the rank's share of the node. keep: the share is
 * the present binding of the calling thread. Ranks are spread over domains by the number of their cores; no rank spans
 * two domains (or two L3s of one) that could have them whole. SC_BAD_USAGE for a rank outside of [0, n_local). */
enum sc_status sc_machine_share(const struct sc_machine *machine, int local_rank, int n_local, bool keep,
    struct sc_arena *arena, struct sc_share *share);

/* Binding. Failures (containers may forbid it) are a warning's worth.
 *   process  all threads, present and to come, to the share's cores with all their hardware threads: call it first, for
 *            threads that nobody binds (watchdog) would else stay on the launcher's core
 *   memory   of the calling thread and the threads that it creates, to the share's domain as long as that has room;
 *            does nothing when the share has no single domain
 *   thread   the calling thread, to one CPU of the share (worker modulo n_cpus); does nothing when overlapped */
enum sc_status sc_machine_bind_process(const struct sc_machine *machine, const struct sc_share *share);
enum sc_status sc_machine_bind_memory(const struct sc_machine *machine, const struct sc_share *share);
enum sc_status sc_machine_bind_thread(const struct sc_machine *machine, const struct sc_share *share, int worker);

/* The CPUs of the calling thread, kept to be given back to it: binding a caller's thread is not for ever. */
struct sc_binding;
enum sc_status sc_machine_binding_keep(const struct sc_machine *machine, struct sc_binding **binding);
void sc_machine_binding_restore(const struct sc_machine *machine, struct sc_binding *binding); /* frees; safe on NULL */

/* Whether touched pages lie on the share's domain only. True when the share has no single domain. */
enum sc_status sc_machine_memory_is_local(
    const struct sc_machine *machine, const struct sc_share *share, const void *data, size_t bytes, bool *local);

/* "2 cores, 1 NUMA domain, 24.0 GiB": for reports; in the arena. */
const char *sc_machine_text(const struct sc_machine *machine, struct sc_arena *arena);

/* "4 cores (CPUs 0-3), NUMA domain 0, 12.0 GiB"; in the arena. */
const char *sc_share_text(const struct sc_share *share, struct sc_arena *arena);

#endif
