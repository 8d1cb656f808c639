/* SPDX-License-Identifier: Apache-2.0
 * What hwloc found, flattened; for the files of machine/ only. */
#ifndef SC_MACHINE_TOPOLOGY_H
#define SC_MACHINE_TOPOLOGY_H

#include <hwloc.h>

#include "machine/machine.h"

struct sc_core {
    int cpu; /* OS index of its first allowed hardware thread */
    int domain; /* index in domains */
    int cache; /* number of its L3 within the machine; cores without one share a number per domain */
};

struct sc_domain {
    int os_index; /* of its NUMA node */
    int64_t memory_bytes;
    int first_core, n_cores;
};

/* Cores are sorted by domain, then L3, then place. Only cores with an allowed CPU, and domains with such a core. */
struct sc_machine {
    struct sc_arena arena;
    hwloc_topology_t topology;
    bool recorded;
    hwloc_bitmap_t allowed;
    int n_cores, n_domains;
    struct sc_core *cores;
    struct sc_domain *domains;
};

#endif
