/* SPDX-License-Identifier: Apache-2.0
 * Machines and shares in words. */
#include <string.h>

#include "machine/topology.h"

static double in_gib(int64_t bytes)
{
    return (double)bytes / 0x1p30;
}

const char *sc_machine_text(const struct sc_machine *machine, struct sc_arena *arena)
{
    int64_t bytes = 0;
    for (int d = 0; d < machine->n_domains; d++) {
        bytes += machine->domains[d].memory_bytes;
    }
    return sc_arena_printf(arena, "%d core%s, %d NUMA domain%s, %.1f GiB", machine->n_cores,
        machine->n_cores == 1 ? "" : "s", machine->n_domains, machine->n_domains == 1 ? "" : "s", in_gib(bytes));
}

/* "0-3,8": runs of CPUs in the order of the share. */
static char *cpus_text(const struct sc_share *share, struct sc_arena *arena)
{
    char *text = sc_arena_text(arena, "", 0);
    for (int i = 0; i < share->n_cpus && text;) {
        int last = i;
        while (last + 1 < share->n_cpus && share->cpus[last + 1] == share->cpus[last] + 1) {
            last++;
        }
        const char *comma = i > 0 ? "," : "";
        text = last > i ? sc_arena_printf(arena, "%s%s%d-%d", text, comma, share->cpus[i], share->cpus[last])
                        : sc_arena_printf(arena, "%s%s%d", text, comma, share->cpus[i]);
        i = last + 1;
    }
    return text;
}

const char *sc_share_text(const struct sc_share *share, struct sc_arena *arena)
{
    const char *cpus = cpus_text(share, arena);
    const char *where =
        share->numa_node < 0 ? "several NUMA domains" : sc_arena_printf(arena, "NUMA domain %d", share->numa_node);
    if (!cpus || !where) {
        return NULL;
    }
    return sc_arena_printf(arena, "%d core%s (CPU%s %s), %s, %.1f GiB%s", share->n_cpus, share->n_cpus == 1 ? "" : "s",
        share->n_cpus == 1 ? "" : "s", cpus, where, in_gib(share->memory_bytes),
        share->overlapped ? ", shared with other ranks" : "");
}
