/* SPDX-License-Identifier: Apache-2.0
 * Boxes are memfds; the others open them through /proc/PID/fd. A rank that waits sleeps on the futex of its own
 * bell. */
#define _GNU_SOURCE /* memfd_create, sched_getaffinity, MADV_REMOVE */
#include "comm/shared.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "base/clock.h"

#define NS_PER_S 1000000000

struct box {
    uint64_t nonce;
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t sleeps; /* the owner is, or will be, in futex wait */
    _Alignas(64) _Atomic int64_t n_beats;
    struct sc_beat beat; /* of the owner; whoever sees it half written takes the next for the whole one */
    _Alignas(64) struct sc_channel channels[]; /* by receiver */
};

struct view {
    int fd; /* -1: none */
    struct box *box;
};

struct sc_shared {
    _Atomic int n_users;
    int place, n;
    struct view *views; /* by rank of the node, this one included */
    size_t head_bytes; /* of every box */
    uint64_t end; /* of this rank's box */
};

#ifdef __linux__
static int make_file(void)
{
    return memfd_create("stagecoach", MFD_CLOEXEC);
}

/* The kernel compares the word again: one that changed after the caller looked returns at once. */
static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *most)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, most, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* All ones where there are more CPUs than fit. */
static void look_at_cpus(uint64_t *mask)
{
    cpu_set_t cpus;
    memset(mask, 0xff, SC_SHARED_CPUS / 8);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        for (int cpu = 0; cpu < SC_SHARED_CPUS && cpu < CPU_SETSIZE; cpu++) {
            mask[cpu / 64] &= ~((uint64_t)!CPU_ISSET(cpu, &cpus) << cpu % 64);
        }
    }
}

static void give_pages(void *memory, size_t bytes)
{
    (void)madvise(memory, bytes, MADV_REMOVE); /* where that fails the pages stay until the end */
}
#else
/* Without a file that has no name there are no boxes, and links go over MPI. */
static int make_file(void)
{
    errno = ENOSYS;
    return -1;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *most)
{
    (void)word;
    (void)seen;
    (void)nanosleep(most, NULL);
}

static void futex_wake(_Atomic uint32_t *word)
{
    (void)word;
}

static void look_at_cpus(uint64_t *mask)
{
    memset(mask, 0xff, SC_SHARED_CPUS / 8);
}

static void give_pages(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}
#endif

static size_t whole_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return bytes > SIZE_MAX - page ? SIZE_MAX / page * page : (bytes + page - 1) / page * page;
}

static enum sc_status map_head(struct sc_shared *node, struct view *view)
{
    void *memory = mmap(NULL, node->head_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, view->fd, 0);
    if (memory == MAP_FAILED) {
        return sc_fail(SC_IO, "shared memory cannot be mapped: %s", strerror(errno));
    }
    view->box = memory;
    return SC_OK;
}

static enum sc_status make_box(struct sc_shared *node, struct sc_shared_ticket *ticket)
{
    struct view *view = &node->views[node->place];
    view->fd = make_file();
    if (view->fd < 0 || ftruncate(view->fd, (off_t)node->head_bytes) != 0) {
        return sc_fail(SC_IO, "shared memory cannot be made: %s", strerror(errno));
    }
    SC_TRY(map_head(node, view));
    node->end = node->head_bytes;
    ticket->pid = getpid();
    ticket->fd = (int32_t)view->fd;
    ticket->nonce = (uint64_t)sc_clock_ns() ^ (uint64_t)ticket->pid << 44 ^ (uint64_t)(uintptr_t)view->box;
    view->box->nonce = ticket->nonce;
    return SC_OK;
}

enum sc_status sc_shared_create(int place, int n, struct sc_shared **node, struct sc_shared_ticket *ticket)
{
    struct sc_shared *made = calloc(1, sizeof *made);
    struct view *views = calloc((size_t)n, sizeof *views);
    if (!made || !views) {
        free(made);
        free(views);
        return sc_fail(SC_NO_MEMORY, "out of memory for the ranks of a node");
    }
    *made = (struct sc_shared){.place = place, .n = n, .views = views};
    atomic_store(&made->n_users, 1);
    made->head_bytes = whole_pages(sizeof(struct box) + (size_t)n * sizeof(struct sc_channel));
    for (int i = 0; i < n; i++) {
        views[i].fd = -1;
    }
    const enum sc_status status = make_box(made, ticket);
    if (status != SC_OK) {
        sc_shared_free(made);
        return status;
    }
    *node = made;
    return SC_OK;
}

static enum sc_status open_box(struct sc_shared *node, struct view *view, const struct sc_shared_ticket *ticket)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)ticket->pid, (int)ticket->fd);
    view->fd = open(path, O_RDWR | O_CLOEXEC);
    if (view->fd < 0) {
        return sc_fail(
            SC_IO, "the shared memory of process %lld cannot be opened: %s", (long long)ticket->pid, strerror(errno));
    }
    if (fstat(view->fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < (off_t)node->head_bytes) {
        return sc_fail(SC_IO, "%s is no shared memory", path);
    }
    SC_TRY(map_head(node, view));
    return view->box->nonce == ticket->nonce ? SC_OK : sc_fail(SC_IO, "%s is the memory of another process", path);
}

void sc_shared_find_cpus(struct sc_shared_ticket *ticket)
{
    look_at_cpus(ticket->cpus);
}

bool sc_shared_roomy(const struct sc_shared_ticket *tickets, int n)
{
    int n_cpus = 0;
    for (int cpu = 0; cpu < SC_SHARED_CPUS; cpu++) {
        bool usable = false;
        for (int i = 0; i < n; i++) {
            usable = usable || (tickets[i].cpus[cpu / 64] >> cpu % 64 & 1);
        }
        n_cpus += usable;
    }
    return n_cpus >= n;
}

enum sc_status sc_shared_join(struct sc_shared *node, const struct sc_shared_ticket *tickets)
{
    for (int i = 0; i < node->n; i++) {
        if (i != node->place) {
            SC_TRY(open_box(node, &node->views[i], &tickets[i]));
        }
    }
    return SC_OK;
}

void sc_shared_free(struct sc_shared *node)
{
    if (!node || atomic_fetch_sub(&node->n_users, 1) > 1) {
        return;
    }
    for (int i = 0; i < node->n; i++) {
        if (node->views[i].box) {
            (void)munmap(node->views[i].box, node->head_bytes);
        }
        if (node->views[i].fd >= 0) {
            (void)close(node->views[i].fd);
        }
    }
    free(node->views);
    free(node);
}

struct sc_shared *sc_shared_keep(struct sc_shared *node)
{
    if (node) {
        (void)atomic_fetch_add(&node->n_users, 1);
    }
    return node;
}

void sc_shared_beat(struct sc_shared *node, const struct sc_beat *beat)
{
    struct box *box = node->views[node->place].box;
    box->beat = *beat;
    (void)atomic_fetch_add(&box->n_beats, 1);
}

bool sc_shared_heard(struct sc_shared *node, int64_t *count, struct sc_beat *beat)
{
    const int before = (node->place + node->n - 1) % node->n;
    const struct box *box = node->views[before].box;
    *count = atomic_load(&box->n_beats);
    *beat = box->beat;
    return before != node->place;
}

uint32_t sc_shared_bell(const struct sc_shared *node)
{
    return atomic_load(&node->views[node->place].box->bell);
}

void sc_shared_sleep(struct sc_shared *node, uint32_t seen, int64_t ns)
{
    struct box *box = node->views[node->place].box;
    const struct timespec most = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    atomic_store(&box->sleeps, 1);
    futex_wait(&box->bell, seen, &most); /* one that rings from here on sees the flag */
    atomic_store(&box->sleeps, 0);
}

void sc_shared_ring(struct sc_shared *node, int peer)
{
    struct box *box = node->views[peer].box;
    (void)atomic_fetch_add(&box->bell, 1);
    if (atomic_load(&box->sleeps)) {
        futex_wake(&box->bell);
    }
}

void *sc_shared_extend(struct sc_shared *node, size_t bytes, uint64_t *offset)
{
    const int fd = node->views[node->place].fd;
    const size_t all = whole_pages(bytes);
    if (all < bytes || all > (uint64_t)INT64_MAX - node->end || ftruncate(fd, (off_t)(node->end + all)) != 0) {
        return NULL;
    }
    void *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)node->end);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    *offset = node->end;
    node->end += all;
    return memory;
}

void sc_shared_drop(void *memory, size_t bytes)
{
    give_pages(memory, whole_pages(bytes));
    sc_shared_unmap(memory, bytes);
}

void sc_shared_unmap(const void *memory, size_t bytes)
{
    union {
        const void *in;
        void *out;
    } mapped = {.in = memory};
    const int result = munmap(mapped.out, whole_pages(bytes));
    assert(result == 0);
    (void)result;
}

enum sc_status sc_shared_view(struct sc_shared *node, int peer, uint64_t offset, uint64_t bytes, const void **memory)
{
    struct stat about;
    const int fd = node->views[peer].fd;
    if (fstat(fd, &about) != 0) {
        return sc_fail(SC_PEER, "shared memory cannot be looked at: %s", strerror(errno));
    }
    const uint64_t end = (uint64_t)about.st_size;
    if (bytes == 0 || bytes > end || offset > end - bytes || offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0) {
        return sc_fail(SC_PEER, "a message of %llu bytes at %llu lies outside of the shared memory of its sender",
            (unsigned long long)bytes, (unsigned long long)offset);
    }
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    if (mapped == MAP_FAILED) {
        return sc_fail(
            SC_NO_MEMORY, "a message of %llu bytes cannot be mapped: %s", (unsigned long long)bytes, strerror(errno));
    }
    *memory = mapped;
    return SC_OK;
}

struct sc_channel *sc_shared_out(struct sc_shared *node, int peer)
{
    return &node->views[node->place].box->channels[peer];
}

struct sc_channel *sc_shared_in(struct sc_shared *node, int peer)
{
    return &node->views[peer].box->channels[node->place];
}
