/* SPDX-License-Identifier: Apache-2.0
 * What the system says of this process's memory. */
#ifndef SC_BASE_MEMORY_H
#define SC_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The most that was ever in memory at once (VmHWM of Linux): own pages and touched pages of mapped files. 0: not
 * known. */
int64_t sc_memory_peak_bytes(void);

/* Asks for huge pages under memory that is read over and over, as weights are: with 4 KiB pages the walk of page tables
 * takes a fifth of the bandwidth. Before the memory is first touched; does nothing where the system has none. */
void sc_memory_prefer_huge(void *data, size_t bytes);

#endif
