/* SPDX-License-Identifier: Apache-2.0
 * The symbols of the allocators are defined here, and so come before those of the C library, for all libraries of the
 * process. */
#include "tests/alloc/counter.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH = 48 };

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static _Atomic bool armed;
static _Atomic long calls;
static _Thread_local bool looking;
static void *first[DEPTH];
static _Atomic int n_first;

/* Whether a frame is in one of the MPI library's files. */
static bool is_foreign(void *address)
{
    static const char *const names[] = {
        "/libmpi", "/libopen-", "/mca_", "/libpmix", "/libevent", "/libuc", "/libhwloc"};
    Dl_info info;
    for (size_t n = 0; dladdr(address, &info) != 0 && info.dli_fname && n < sizeof names / sizeof names[0]; n++) {
        if (strstr(info.dli_fname, names[n])) {
            return true;
        }
    }
    return false;
}

static void note(void)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || looking) {
        return;
    }
    void *frames[DEPTH];
    bool foreign = false;
    looking = true;
    const int n = backtrace(frames, DEPTH);
    for (int i = 0; i < n; i++) {
        foreign |= is_foreign(frames[i]);
    }
    if (!foreign && atomic_fetch_add(&calls, 1) == 0) {
        memcpy(first, frames, sizeof first);
        atomic_store(&n_first, n);
    }
    looking = false;
}

void counter_prepare(void)
{
    void *frames[DEPTH];
    Dl_info info;
    (void)backtrace(frames, DEPTH); /* loads the unwinder */
    (void)dladdr(frames[0], &info);
}

void counter_arm(void)
{
    atomic_store(&calls, 0);
    atomic_store(&n_first, 0);
    atomic_store(&armed, true);
}

void counter_disarm(void)
{
    atomic_store(&armed, false);
}

long counter_calls(void)
{
    return atomic_load(&calls);
}

void counter_print_first(void)
{
    backtrace_symbols_fd(first, atomic_load(&n_first), STDERR_FILENO);
}

void *malloc(size_t bytes)
{
    note();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    note();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    note();
    return __libc_realloc(memory, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    note();
    return __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note();
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **memory, size_t align, size_t bytes)
{
    note();
    void *made = __libc_memalign(align, bytes);
    if (!made) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    note();
    const long made = syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
    return (void *)made; /* MAP_FAILED is -1, as is a failing system call */
}
