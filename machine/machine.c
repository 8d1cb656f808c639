/* SPDX-License-Identifier: Apache-2.0
 * Discovery: which cores the job may use, and to which NUMA domain and L3 each belongs. */
#include "machine/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sc_machine_free(struct sc_machine *machine)
{
    if (!machine) {
        return;
    }
    if (machine->topology) {
        hwloc_topology_destroy(machine->topology);
    }
    hwloc_bitmap_free(machine->allowed);
    sc_arena_release(&machine->arena);
    free(machine);
}

static enum sc_status load_topology(const char *xml, struct sc_machine *machine)
{
    if (hwloc_topology_init(&machine->topology)) {
        machine->topology = NULL;
        return sc_fail(SC_NO_MEMORY, "hwloc: no topology could be made");
    }
    if (xml && hwloc_topology_set_xml(machine->topology, xml)) {
        return sc_fail(SC_IO, "hwloc: cannot read the topology '%s': %s", xml, strerror(errno));
    }
    if (hwloc_topology_load(machine->topology)) {
        return xml ? sc_fail(SC_BAD_INPUT, "hwloc: '%s' is not a topology", xml)
                   : sc_fail(SC_IO, "hwloc: cannot discover this machine: %s", strerror(errno));
    }
    machine->recorded = !hwloc_topology_is_thissystem(machine->topology);
    return SC_OK;
}

/* Whether the process that started this one is a launcher of MPI ranks, by its name. */
static bool parent_is_launcher(void)
{
    static const char *const names[] = {"mpi", "orte", "prte", "hydra", "pmi", "slurm", "srun"};
    char path[40], name[24] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    FILE *file = fopen(path, "r");
    if (file) {
        const bool read = fgets(name, sizeof name, file) != NULL;
        name[0] = read ? name[0] : '\0';
        (void)fclose(file); /* nothing was written */
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strncmp(name, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

/* A launcher binds its ranks, not itself: what it may run on is the job's part of the machine. A parent bound as we are
 * that is no launcher is taken for a script around the rank, which says nothing. */
static enum sc_status find_allowed(struct sc_machine *machine)
{
    machine->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(machine->topology));
    hwloc_bitmap_t ours = hwloc_bitmap_alloc(), parents = hwloc_bitmap_alloc();
    if (!machine->allowed || !ours || !parents) {
        hwloc_bitmap_free(ours);
        hwloc_bitmap_free(parents);
        return sc_fail(SC_NO_MEMORY, "hwloc: out of memory");
    }
    hwloc_bitmap_and(machine->allowed, machine->allowed, hwloc_topology_get_topology_cpuset(machine->topology));
    const bool known = !machine->recorded && !hwloc_get_cpubind(machine->topology, ours, HWLOC_CPUBIND_THREAD) &&
        !hwloc_get_proc_cpubind(machine->topology, getppid(), parents, 0);
    const bool wider = known && hwloc_bitmap_isincluded(ours, parents) && !hwloc_bitmap_isequal(ours, parents);
    if (known && hwloc_bitmap_intersects(machine->allowed, parents) && (wider || parent_is_launcher())) {
        hwloc_bitmap_and(machine->allowed, machine->allowed, parents);
    }
    hwloc_bitmap_free(ours);
    hwloc_bitmap_free(parents);
    return SC_OK;
}

/* The NUMA node of a core: where several are (fast and large memory), the large one. */
static hwloc_obj_t node_of(hwloc_topology_t topology, hwloc_obj_t core)
{
    hwloc_obj_t best = NULL;
    for (hwloc_obj_t node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, NULL); node;
         node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) {
        const bool local = core->nodeset && hwloc_bitmap_isset(core->nodeset, node->os_index);
        if (local && (!best || node->attr->numanode.local_memory > best->attr->numanode.local_memory)) {
            best = node;
        }
    }
    return best;
}

static int domain_of(struct sc_machine *machine, hwloc_obj_t core)
{
    const hwloc_obj_t node = node_of(machine->topology, core);
    const int os_index = node ? (int)node->os_index : -1;
    for (int d = 0; d < machine->n_domains; d++) {
        if (machine->domains[d].os_index == os_index) {
            return d;
        }
    }
    const hwloc_uint64_t memory = node ? node->attr->numanode.local_memory : 0;
    machine->domains[machine->n_domains] =
        (struct sc_domain){os_index, memory < INT64_MAX ? (int64_t)memory : INT64_MAX, 0, 0};
    return machine->n_domains++;
}

static int compare_core(const void *a, const void *b)
{
    const struct sc_core *x = a, *y = b;
    if (x->domain != y->domain) {
        return x->domain < y->domain ? -1 : 1;
    }
    return x->cache != y->cache ? (x->cache < y->cache ? -1 : 1) : 0;
}

/* The sort has to keep the order of cores with equal keys, which qsort does not promise. */
static void sort_cores(struct sc_core *cores, int n)
{
    for (int i = 1; i < n; i++) {
        const struct sc_core core = cores[i];
        int at = i;
        while (at > 0 && compare_core(&core, &cores[at - 1]) < 0) {
            cores[at] = cores[at - 1];
            at--;
        }
        cores[at] = core;
    }
}

static enum sc_status find_cores(struct sc_machine *machine)
{
    const hwloc_topology_t topology = machine->topology;
    const hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    const int n = hwloc_get_nbobjs_by_type(topology, type);
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    machine->cores = sc_arena_array(&machine->arena, (size_t)(n > 0 ? n : 0), sizeof *machine->cores);
    machine->domains = sc_arena_array(&machine->arena, (size_t)(n > 0 ? n : 0), sizeof *machine->domains);
    if (!usable || !machine->cores || !machine->domains) {
        hwloc_bitmap_free(usable);
        return sc_fail(SC_NO_MEMORY, "out of memory for %d cores", n);
    }
    for (int i = 0; i < n; i++) {
        const hwloc_obj_t core = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        hwloc_bitmap_and(usable, core->cpuset, machine->allowed);
        if (hwloc_bitmap_iszero(usable)) {
            continue;
        }
        const hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, core);
        machine->cores[machine->n_cores++] = (struct sc_core){
            hwloc_bitmap_first(usable), domain_of(machine, core), cache ? (int)cache->logical_index : -1};
    }
    hwloc_bitmap_free(usable);
    if (!machine->n_cores) {
        return sc_fail(SC_IO, "hwloc: no CPU of this machine may be used");
    }
    sort_cores(machine->cores, machine->n_cores);
    for (int i = machine->n_cores - 1; i >= 0; i--) {
        machine->domains[machine->cores[i].domain].first_core = i;
        machine->domains[machine->cores[i].domain].n_cores++;
    }
    return SC_OK;
}

enum sc_status sc_machine_discover(const char *xml, struct sc_machine **machine)
{
    struct sc_machine *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the machine's topology");
    }
    enum sc_status status = load_topology(xml, made);
    status = status == SC_OK ? find_allowed(made) : status;
    status = status == SC_OK ? find_cores(made) : status;
    if (status != SC_OK) {
        sc_machine_free(made);
        return status;
    }
    *machine = made;
    return SC_OK;
}
