/* SPDX-License-Identifier: Apache-2.0
 * Binding of the process, its threads and its memory to a share, and the check that it holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/topology.h"

static enum sc_status bind_cpus(const struct sc_machine *machine, hwloc_const_bitmap_t set, int flags, const char *what)
{
    if (hwloc_set_cpubind(machine->topology, set, flags)) {
        return sc_fail(SC_IO, "cannot bind %s to CPUs: %s", what, strerror(errno));
    }
    return SC_OK;
}

enum sc_status sc_machine_bind_process(const struct sc_machine *machine, const struct sc_share *share)
{
    if (machine->recorded) {
        return SC_OK;
    }
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) {
        return sc_fail(SC_NO_MEMORY, "hwloc: out of memory");
    }
    for (int i = 0; i < share->n_cpus; i++) {
        const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(machine->topology, (unsigned)share->cpus[i]);
        const hwloc_obj_t core = pu ? hwloc_get_ancestor_obj_by_type(machine->topology, HWLOC_OBJ_CORE, pu) : NULL;
        if (core || pu) {
            hwloc_bitmap_or(set, set, core ? core->cpuset : pu->cpuset);
        }
    }
    hwloc_bitmap_and(set, set, machine->allowed);
    const enum sc_status status = bind_cpus(machine, set, HWLOC_CPUBIND_PROCESS, "the process");
    hwloc_bitmap_free(set);
    return status;
}

enum sc_status sc_machine_bind_thread(const struct sc_machine *machine, const struct sc_share *share, int worker)
{
    if (machine->recorded || share->overlapped || share->n_cpus < 1) {
        return SC_OK;
    }
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) {
        return sc_fail(SC_NO_MEMORY, "hwloc: out of memory");
    }
    hwloc_bitmap_only(set, (unsigned)share->cpus[worker % share->n_cpus]);
    const enum sc_status status = bind_cpus(machine, set, HWLOC_CPUBIND_THREAD, "a thread");
    hwloc_bitmap_free(set);
    return status;
}

struct sc_binding {
    hwloc_bitmap_t cpus;
};

enum sc_status sc_machine_binding_keep(const struct sc_machine *machine, struct sc_binding **binding)
{
    struct sc_binding *kept = malloc(sizeof *kept);
    const hwloc_bitmap_t cpus = kept ? hwloc_bitmap_alloc() : NULL;
    if (!cpus) {
        free(kept);
        return sc_fail(SC_NO_MEMORY, "out of memory for a binding");
    }
    kept->cpus = cpus;
    if (!machine->recorded && hwloc_get_cpubind(machine->topology, cpus, HWLOC_CPUBIND_THREAD)) {
        hwloc_bitmap_free(cpus);
        free(kept);
        return sc_fail(SC_IO, "cannot find what a thread is bound to: %s", strerror(errno));
    }
    *binding = kept;
    return SC_OK;
}

void sc_machine_binding_restore(const struct sc_machine *machine, struct sc_binding *binding)
{
    if (!binding) {
        return;
    }
    if (!machine->recorded) {
        (void)hwloc_set_cpubind(machine->topology, binding->cpus, HWLOC_CPUBIND_THREAD);
    }
    hwloc_bitmap_free(binding->cpus);
    free(binding);
}

/* Not strict: a full domain gives pages of another one rather than none. */
enum sc_status sc_machine_bind_memory(const struct sc_machine *machine, const struct sc_share *share)
{
    if (machine->recorded || share->numa_node < 0 || machine->n_domains < 2) {
        return SC_OK;
    }
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) {
        return sc_fail(SC_NO_MEMORY, "hwloc: out of memory");
    }
    hwloc_bitmap_only(set, (unsigned)share->numa_node);
    const int failed =
        hwloc_set_membind(machine->topology, set, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
    const int error = errno;
    hwloc_bitmap_free(set);
    return failed ? sc_fail(SC_IO, "cannot bind memory to NUMA domain %d: %s", share->numa_node, strerror(error))
                  : SC_OK;
}

enum sc_status sc_machine_memory_is_local(
    const struct sc_machine *machine, const struct sc_share *share, const void *data, size_t bytes, bool *local)
{
    *local = true;
    if (machine->recorded || share->numa_node < 0 || machine->n_domains < 2 || !bytes) {
        return SC_OK;
    }
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) {
        return sc_fail(SC_NO_MEMORY, "hwloc: out of memory");
    }
    const int failed = hwloc_get_area_memlocation(machine->topology, data, bytes, set, HWLOC_MEMBIND_BYNODESET);
    const int error = errno;
    if (!failed) {
        hwloc_bitmap_clr(set, (unsigned)share->numa_node);
        *local = hwloc_bitmap_iszero(set);
    }
    hwloc_bitmap_free(set);
    return failed ? sc_fail(SC_IO, "cannot find where memory lies: %s", strerror(error)) : SC_OK;
}
