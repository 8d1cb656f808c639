/* SPDX-License-Identifier: Apache-2.0
 * getrusage will not do: its peak is inherited over exec from whatever started this program. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int64_t sc_memory_peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    if (!file) {
        return 0;
    }
    char line[128];
    int64_t kib = 0;
    while (kib == 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtoll(line + 6, NULL, 10);
        }
    }
    (void)fclose(file);
    return kib > 0 ? kib * 1024 : 0;
}

void sc_memory_prefer_huge(void *data, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t before = (page - (uintptr_t)data % page) % page;
    if (bytes > before + page) {
        (void)madvise((char *)data + before, (bytes - before) / page * page, MADV_HUGEPAGE);
    }
#else
    (void)data;
    (void)bytes;
#endif
}
