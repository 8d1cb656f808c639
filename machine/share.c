/* SPDX-License-Identifier: Apache-2.0
 * Ranks are dealt to domains, then to the L3s of a domain, then to the cores of an L3. At each level either there are
 * at least as many ranks as parts, and every part has its own ranks; or fewer, and every rank has whole parts. */
#include <string.h>

#include "machine/topology.h"

/* Cores [first, first + n) to share among ranks [0, n_ranks); the part of `rank` becomes the new range. */
struct range {
    int first, n;
    int rank, n_ranks;
};

/* Whether two neighbouring cores are of one part: of one domain, or of one L3. */
static bool same_part(const struct sc_machine *machine, bool by_domain, int a, int b)
{
    const struct sc_core *x = &machine->cores[a], *y = &machine->cores[b];
    return x->domain == y->domain && (by_domain || x->cache == y->cache);
}

/* The end of the part that begins at core `first`. */
static int part_end(const struct sc_machine *machine, bool by_domain, int first, int end)
{
    int at = first + 1;
    while (at < end && same_part(machine, by_domain, first, at)) {
        at++;
    }
    return at;
}

static int count_parts(const struct sc_machine *machine, bool by_domain, const struct range *range)
{
    const int end = range->first + range->n;
    int n = 0;
    for (int at = range->first; at < end; at = part_end(machine, by_domain, at, end)) {
        n++;
    }
    return n;
}

/* Each rank gets a run of whole parts. */
static void take_parts(const struct sc_machine *machine, bool by_domain, int n_parts, struct range *range)
{
    const int from = (int)((int64_t)range->rank * n_parts / range->n_ranks);
    const int to = (int)((int64_t)(range->rank + 1) * n_parts / range->n_ranks);
    const int end = range->first + range->n;
    int at = range->first, first = at, last = at;
    for (int part = 0; part < to; part++) {
        first = part == from ? at : first;
        at = last = part_end(machine, by_domain, at, end);
    }
    *range = (struct range){first, last - first, 0, 1};
}

/* Ranks go one by one to the part with the most cores for each rank (D'Hondt), so none has more ranks than cores while
 * others have room. */
static void deal_ranks(
    const struct sc_machine *machine, bool by_domain, const struct range *range, int *size, int *counts)
{
    const int end = range->first + range->n;
    int n = 0;
    for (int at = range->first; at < end; n++) {
        const int next = part_end(machine, by_domain, at, end);
        size[n] = next - at;
        counts[n] = 0;
        at = next;
    }
    for (int r = 0; r < range->n_ranks; r++) {
        int best = 0;
        for (int i = 1; i < n; i++) {
            const int64_t ours = (int64_t)size[i] * (counts[best] + 1), theirs = (int64_t)size[best] * (counts[i] + 1);
            best = ours > theirs ? i : best;
        }
        counts[best]++;
    }
}

/* Each part gets ranks of its own; goes into the part of our rank. */
static enum sc_status enter_part(
    const struct sc_machine *machine, bool by_domain, int n_parts, struct sc_arena *arena, struct range *range)
{
    int *size = sc_arena_array(arena, (size_t)n_parts, sizeof *size);
    int *counts = sc_arena_array(arena, (size_t)n_parts, sizeof *counts);
    if (!size || !counts) {
        return SC_NO_MEMORY;
    }
    deal_ranks(machine, by_domain, range, size, counts);
    int part = 0, first = range->first, rank = range->rank;
    while (rank >= counts[part]) {
        rank -= counts[part];
        first += size[part];
        part++;
    }
    *range = (struct range){first, size[part], rank, counts[part]};
    return SC_OK;
}

static enum sc_status narrow(
    const struct sc_machine *machine, bool by_domain, struct sc_arena *arena, struct range *range)
{
    const int n_parts = count_parts(machine, by_domain, range);
    if (range->n_ranks >= n_parts) {
        return enter_part(machine, by_domain, n_parts, arena, range);
    }
    take_parts(machine, by_domain, n_parts, range);
    return SC_OK;
}

static void set_numa(
    const struct sc_machine *machine, const struct range *range, int64_t n_sharing, struct sc_share *share)
{
    const int first = machine->cores[range->first].domain;
    const int last = machine->cores[range->first + range->n - 1].domain;
    share->numa_node = first == last ? machine->domains[first].os_index : -1;
    share->memory_bytes = 0;
    for (int d = first; d <= last; d++) {
        share->memory_bytes += machine->domains[d].memory_bytes;
    }
    share->memory_bytes /= n_sharing;
}

static enum sc_status list_cpus(
    const struct sc_machine *machine, const struct range *range, struct sc_arena *arena, struct sc_share *share)
{
    share->cpus = sc_arena_array(arena, (size_t)range->n, sizeof *share->cpus);
    if (!share->cpus) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < range->n; i++) {
        share->cpus[i] = machine->cores[range->first + i].cpu;
    }
    share->n_cpus = range->n;
    return SC_OK;
}

/* The present binding, one CPU per core of it. Ranks on the node are taken to have as much memory each. */
static enum sc_status keep_binding(
    const struct sc_machine *machine, int n_local, struct sc_arena *arena, struct sc_share *share)
{
    hwloc_bitmap_t bound = hwloc_bitmap_dup(machine->allowed), part = hwloc_bitmap_alloc();
    share->cpus = sc_arena_array(arena, (size_t)machine->n_cores, sizeof *share->cpus);
    if (!bound || !part || !share->cpus) {
        hwloc_bitmap_free(bound);
        hwloc_bitmap_free(part);
        return sc_fail(SC_NO_MEMORY, "out of memory for the present binding");
    }
    if (!machine->recorded && hwloc_get_cpubind(machine->topology, bound, HWLOC_CPUBIND_THREAD)) {
        hwloc_bitmap_copy(bound, machine->allowed);
    }
    int first = -1, last = -1;
    for (int i = 0; i < machine->n_cores; i++) {
        const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(machine->topology, (unsigned)machine->cores[i].cpu);
        const hwloc_obj_t core = pu ? hwloc_get_ancestor_obj_by_type(machine->topology, HWLOC_OBJ_CORE, pu) : NULL;
        if (!pu || hwloc_bitmap_and(part, core ? core->cpuset : pu->cpuset, bound) || hwloc_bitmap_iszero(part)) {
            continue;
        }
        share->cpus[share->n_cpus++] = hwloc_bitmap_first(part);
        first = first < 0 ? i : first;
        last = i;
    }
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(part);
    if (first < 0) {
        return sc_fail(SC_BAD_USAGE, "this process is bound to no CPU that it may use");
    }
    const struct range range = {first, last - first + 1, 0, 1};
    set_numa(machine, &range, 1, share);
    share->memory_bytes = share->memory_bytes / n_local;
    return SC_OK;
}

enum sc_status sc_machine_share(const struct sc_machine *machine, int local_rank, int n_local, bool keep,
    struct sc_arena *arena, struct sc_share *share)
{
    struct sc_share made = {0};
    if (local_rank < 0 || local_rank >= n_local) {
        return sc_fail(SC_BAD_USAGE, "rank %d of %d on this node", local_rank, n_local);
    }
    struct range range = {0, machine->n_cores, local_rank, n_local};
    if (keep) {
        SC_TRY(keep_binding(machine, n_local, arena, &made));
        *share = made;
        return SC_OK;
    }
    made.overlapped = n_local > machine->n_cores;
    int64_t n_sharing = n_local;
    if (!made.overlapped) {
        SC_TRY(narrow(machine, true, arena, &range));
        n_sharing = range.n_ranks;
        SC_TRY(narrow(machine, false, arena, &range));
        const int from = (int)((int64_t)range.rank * range.n / range.n_ranks);
        const int to = (int)((int64_t)(range.rank + 1) * range.n / range.n_ranks);
        range = (struct range){range.first + from, to - from, 0, 1};
    }
    set_numa(machine, &range, n_sharing, &made);
    SC_TRY(list_cpus(machine, &range, arena, &made));
    *share = made;
    return SC_OK;
}
