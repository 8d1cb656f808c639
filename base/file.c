/* SPDX-License-Identifier: Apache-2.0
 * What a path is gets judged on the opened descriptor, never before opening. */
#define _DEFAULT_SOURCE /* madvise: glibc's posix_madvise ignores DONTNEED; MAP_ANONYMOUS, pread */

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: opening a pipe that nobody writes to must not hang. */
enum sc_status sc_file_open_regular(const char *path, int *fd, size_t *bytes)
{
    const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0) {
        return sc_fail(SC_IO, "'%s': %s", path, strerror(errno));
    }
    struct stat status;
    if (fstat(opened, &status) != 0) {
        (void)sc_fail(SC_IO, "'%s': %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        (void)sc_fail(SC_IO, "'%s': %s, want a regular file", path,
            S_ISDIR(status.st_mode) ? "is a directory" : "is a device or pipe");
    } else if (status.st_size < 0 || (uintmax_t)status.st_size > SIZE_MAX / 2) {
        (void)sc_fail(SC_IO, "'%s': too large to map", path);
    } else {
        *fd = opened;
        *bytes = (size_t)status.st_size;
        return SC_OK;
    }
    (void)close(opened);
    return SC_IO;
}

/* munmap and madvise take a plain pointer though they write nothing here. */
static void *unconst(const unsigned char *data)
{
    return (void *)(uintptr_t)data;
}

static int64_t changed_ns(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

enum sc_status sc_file_map_open(const char *path, int fd, size_t bytes, struct sc_file *file)
{
    void *data = NULL;
    if (bytes != 0) {
        data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            return sc_fail(SC_IO, "'%s': cannot map %zu bytes: %s", path, bytes, strerror(errno));
        }
    }
    *file = (struct sc_file){.data = data, .bytes = bytes};
    struct stat status;
    if (fstat(fd, &status) == 0) {
        file->device = (uint64_t)status.st_dev;
        file->node = (uint64_t)status.st_ino;
        file->changed_ns = changed_ns(&status);
    }
    return SC_OK;
}

static bool is_same_file(const struct stat *now, const struct sc_file *file)
{
    return (uint64_t)now->st_dev == file->device && (uint64_t)now->st_ino == file->node;
}

static enum sc_status check_unchanged(const char *path, const struct stat *now, const struct sc_file *file)
{
    if ((uintmax_t)now->st_size != file->bytes) {
        return sc_fail(
            SC_IO, "'%s': has %lld bytes, and had %zu when it was opened", path, (long long)now->st_size, file->bytes);
    }
    if (changed_ns(now) != file->changed_ns) {
        return sc_fail(SC_IO, "'%s': was written to since it was opened", path);
    }
    return SC_OK;
}

enum sc_status sc_file_check(const char *path, const struct sc_file *file)
{
    struct stat now;
    if (!file->node || stat(path, &now) != 0 || !is_same_file(&now, file)) {
        return SC_OK;
    }
    return check_unchanged(path, &now, file);
}

enum sc_status sc_file_map(const char *path, struct sc_file *file)
{
    int fd = -1;
    size_t bytes = 0;
    SC_TRY(sc_file_open_regular(path, &fd, &bytes));
    const enum sc_status status = sc_file_map_open(path, fd, bytes, file);
    (void)close(fd);
    return status;
}

enum sc_status sc_file_blank(const char *path, size_t bytes, struct sc_file *file)
{
    void *data = NULL;
    if (bytes != 0) {
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) {
            return sc_fail(SC_NO_MEMORY, "out of addresses: %zu wanted in place of '%s'", bytes, path);
        }
    }
    *file = (struct sc_file){.data = data, .bytes = bytes};
    return SC_OK;
}

void sc_file_fill(struct sc_file *file, size_t offset, const void *data, size_t bytes)
{
    if (bytes != 0) {
        memcpy((unsigned char *)unconst(file->data) + offset, data, bytes);
    }
}

static enum sc_status read_part(int fd, const char *path, size_t offset, unsigned char *to, size_t bytes)
{
    for (size_t n = 0; n < bytes;) {
        const ssize_t got = pread(fd, to + n, bytes - n, (off_t)(offset + n));
        if (got == 0) {
            return sc_fail(SC_IO, "'%s': ends at byte %zu, %zu more are wanted", path, offset + n, bytes - n);
        }
        if (got < 0 && errno != EINTR) {
            return sc_fail(SC_IO, "'%s': %s", path, strerror(errno));
        }
        n += got > 0 ? (size_t)got : 0;
    }
    return SC_OK;
}

enum sc_status sc_file_read_part(const char *path, const struct sc_file *file, size_t offset, void *to, size_t bytes)
{
    int fd = -1;
    size_t found = 0;
    struct stat now;
    SC_TRY(sc_file_open_regular(path, &fd, &found));
    enum sc_status status = SC_OK;
    if (fstat(fd, &now) != 0) {
        status = sc_fail(SC_IO, "'%s': %s", path, strerror(errno));
    } else if (!is_same_file(&now, file)) {
        status = sc_fail(SC_IO, "'%s': is another file than the one that was opened", path);
    } else {
        status = check_unchanged(path, &now, file);
    }
    status = status == SC_OK ? read_part(fd, path, offset, to, bytes) : status;
    (void)close(fd);
    return status;
}

void sc_file_release(struct sc_file *file)
{
    if (file->data != NULL) {
        (void)munmap(unconst(file->data), file->bytes);
    }
    *file = (struct sc_file){0};
}

void sc_file_drop(const struct sc_file *file, size_t offset, size_t bytes)
{
    if (file->data == NULL || offset >= file->bytes) {
        return;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t end = bytes > file->bytes - offset ? file->bytes : offset + bytes;
    /* Whole pages only: the neighbours of a range may still be wanted. The last page of the file has no neighbour. */
    const size_t first = (offset + page - 1) / page * page;
    const size_t last = end == file->bytes ? end : end / page * page;
    if (first < last) {
        (void)madvise(unconst(file->data + first), last - first, MADV_DONTNEED);
    }
}

/* Fills `text` until the end of the file or `room` bytes. */
static enum sc_status read_up_to(int fd, const char *path, char *text, size_t room, size_t *bytes)
{
    size_t n = 0;
    while (n < room) {
        const ssize_t got = read(fd, text + n, room - n);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            return sc_fail(SC_IO, "'%s': %s", path, strerror(errno));
        }
        n += got > 0 ? (size_t)got : 0;
    }
    *bytes = n;
    return SC_OK;
}

enum sc_status sc_file_read_text(
    const char *path, size_t limit_bytes, struct sc_arena *arena, char **text, size_t *bytes)
{
    int fd;
    size_t room;
    SC_TRY(sc_file_open_regular(path, &fd, &room));
    enum sc_status status = SC_OK;
    char *buffer = NULL;
    size_t n = 0;
    /* Files of /proc say that they are empty, and a file may grow: read until the end, with one byte of room more. */
    for (size_t capacity = room < 4095 ? 4096 : room + 1;; capacity *= 2) {
        if (n > limit_bytes || room > limit_bytes) {
            status = sc_fail(SC_IO, "'%s': over %zu bytes, the limit here", path, limit_bytes);
            break;
        }
        char *const larger = sc_arena_alloc(arena, capacity + 1);
        if (larger == NULL) {
            status = SC_NO_MEMORY;
            break;
        }
        if (n != 0) {
            memcpy(larger, buffer, n);
        }
        buffer = larger;
        size_t got = 0;
        status = read_up_to(fd, path, buffer + n, capacity - n, &got);
        n += got;
        if (status != SC_OK || n < capacity) {
            break;
        }
    }
    (void)close(fd);
    if (status == SC_OK && n > limit_bytes) {
        status = sc_fail(SC_IO, "'%s': over %zu bytes, the limit here", path, limit_bytes);
    }
    if (status == SC_OK) {
        buffer[n] = '\0';
        *text = buffer;
        *bytes = n;
    }
    return status;
}

char *sc_path_folder(struct sc_arena *arena, const char *path)
{
    const char *const slash = strrchr(path, '/');
    if (slash == NULL) {
        return sc_arena_text(arena, ".", 1);
    }
    return sc_arena_text(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

char *sc_path_join(struct sc_arena *arena, const char *folder, const char *name)
{
    const size_t n = strlen(folder);
    if (n == 0 || strcmp(folder, ".") == 0) {
        return sc_arena_text(arena, name, strlen(name));
    }
    return sc_arena_printf(arena, "%s%s%s", folder, folder[n - 1] == '/' ? "" : "/", name);
}
