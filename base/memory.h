/* SPDX-License-Identifier: Apache-2.0
 * What the system says of this process's memory. */
#ifndef SC_BASE_MEMORY_H
#define SC_BASE_MEMORY_H

#include <stdint.h>

/* The most that was ever in memory at once (VmHWM of Linux): own pages and touched pages of mapped files. 0: not known. */
int64_t sc_memory_peak_bytes(void);

#endif
