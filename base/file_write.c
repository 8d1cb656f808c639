/* SPDX-License-Identifier: Apache-2.0
 * A file is whole or not there: it gets its name when its content is on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { BUFFER_BYTES = 1 << 16, MOST_LINKS = 40 /* on a way, as kernels have it */ };

static enum sc_status fail(const struct sc_file_writer *writer)
{
    return sc_fail(SC_IO, "'%s': %s", writer->path, strerror(errno));
}

static enum sc_status write_all(const struct sc_file_writer *writer, const unsigned char *data, size_t bytes)
{
    size_t n = 0;
    while (n < bytes) {
        const ssize_t wrote = write(writer->fd, data + n, bytes - n);
        if (wrote < 0 && errno != EINTR) {
            return fail(writer);
        }
        n += wrote > 0 ? (size_t)wrote : 0;
    }
    return SC_OK;
}

/* What is there under that name, if anything: a file that its owner protects is not replaced. */
static enum sc_status check_existing(const char *path, bool *exists, bool *regular)
{
    struct stat existing;
    *exists = stat(path, &existing) == 0;
    *regular = *exists && S_ISREG(existing.st_mode);
    if (*path == '\0') {
        return sc_fail(SC_IO, "a file cannot be written under an empty name");
    }
    if (*exists && S_ISDIR(existing.st_mode)) {
        return sc_fail(SC_IO, "'%s': %s", path, strerror(EISDIR));
    }
    return !*exists || access(path, W_OK) == 0 ? SC_OK
                                               : sc_fail(SC_IO, "'%s' cannot be written: %s", path, strerror(errno));
}

/* What a link says; NULL: it is none. */
static enum sc_status read_link(const char *path, struct sc_arena *arena, const char **says)
{
    struct stat about;
    *says = NULL;
    if (lstat(path, &about) != 0 || !S_ISLNK(about.st_mode)) {
        return SC_OK;
    }
    char text[4096];
    const ssize_t bytes = readlink(path, text, sizeof text);
    if (bytes < 0 || bytes == (ssize_t)sizeof text) {
        return sc_fail(SC_IO, "'%s': %s", path, bytes < 0 ? strerror(errno) : strerror(ENAMETOOLONG));
    }
    *says = sc_arena_text(arena, text, (size_t)bytes);
    return *says ? SC_OK : SC_NO_MEMORY;
}

enum sc_status sc_file_follow(const char *path, struct sc_arena *arena, const char **target)
{
    const char *at = path, *says;
    SC_TRY(read_link(at, arena, &says));
    for (int n = 0; says; n++) {
        const char *folder = sc_path_folder(arena, at);
        at = *says == '/' || !folder ? says : sc_path_join(arena, folder, says);
        if (n == MOST_LINKS) {
            return sc_fail(SC_IO, "'%s': %s", path, strerror(ELOOP));
        }
        SC_TRY(folder && at ? read_link(at, arena, &says) : SC_NO_MEMORY);
    }
    *target = at;
    return SC_OK;
}

enum sc_status sc_file_check_writable(const char *path)
{
    struct sc_arena arena = {0};
    bool exists, regular;
    const char *target = path;
    SC_TRY(check_existing(path, &exists, &regular));
    enum sc_status status = sc_file_follow(path, &arena, &target);
    const char *folder = sc_path_folder(&arena, target);
    status = status != SC_OK || folder ? status : SC_NO_MEMORY;
    if (status == SC_OK && (!exists || regular) && access(folder, W_OK | X_OK) != 0) {
        status = sc_fail(SC_IO, "'%s' cannot be written: folder '%s': %s", path, folder, strerror(errno));
    }
    sc_arena_release(&arena);
    return status;
}

/* A device or pipe (/dev/null, /dev/stdout) must not be replaced by a file: it is written to as it is. Opening a pipe
 * that nobody reads must not hang; once open, writing to it may. */
static enum sc_status open_in_place(struct sc_file_writer *writer)
{
    writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (writer->fd < 0) {
        return errno == ENXIO ? sc_fail(SC_IO, "'%s': nobody reads from this pipe", writer->path) : fail(writer);
    }
    writer->open = true;
    const int flags = fcntl(writer->fd, F_GETFL);
    return flags >= 0 && fcntl(writer->fd, F_SETFL, flags & ~O_NONBLOCK) == 0 ? SC_OK : fail(writer);
}

static enum sc_status open_beside(struct sc_file_writer *writer)
{
    SC_TRY(sc_file_follow(writer->path, &writer->names, &writer->target));
    for (int i = 0; i < 100; i++) {
        writer->temporary = sc_arena_printf(&writer->names, "%s.%ld-%d.tmp", writer->target, (long)getpid(), i);
        if (!writer->temporary) {
            return SC_NO_MEMORY;
        }
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    writer->open = writer->fd >= 0;
    writer->temporary = writer->open ? writer->temporary : NULL;
    return writer->open ? SC_OK : sc_fail(SC_IO, "'%s': cannot create: %s", writer->path, strerror(errno));
}

enum sc_status sc_file_begin(const char *path, struct sc_file_writer *writer)
{
    bool exists, regular;
    *writer = (struct sc_file_writer){0};
    SC_TRY(check_existing(path, &exists, &regular));
    *writer = (struct sc_file_writer){.path = path, .buffer = malloc(BUFFER_BYTES)};
    const enum sc_status status = !writer->buffer
        ? sc_fail(SC_NO_MEMORY, "out of memory: %d bytes wanted to write '%s'", BUFFER_BYTES, path)
        : exists && !regular ? open_in_place(writer)
                             : open_beside(writer);
    if (status != SC_OK) {
        sc_file_abandon(writer);
    }
    return status;
}

static enum sc_status empty_buffer(struct sc_file_writer *writer)
{
    const size_t bytes = writer->buffered;
    writer->buffered = 0;
    return write_all(writer, writer->buffer, bytes);
}

enum sc_status sc_file_append(struct sc_file_writer *writer, const void *data, size_t bytes)
{
    if (bytes > BUFFER_BYTES - writer->buffered) {
        SC_TRY(empty_buffer(writer));
    }
    if (bytes > BUFFER_BYTES) {
        return write_all(writer, data, bytes);
    }
    if (bytes) {
        memcpy(writer->buffer + writer->buffered, data, bytes);
    }
    writer->buffered += bytes;
    return SC_OK;
}

enum sc_status sc_file_amend(struct sc_file_writer *writer, size_t offset, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    SC_TRY(empty_buffer(writer));
    for (size_t n = 0; n < bytes;) {
        const ssize_t wrote = pwrite(writer->fd, from + n, bytes - n, (off_t)(offset + n));
        if (wrote < 0 && errno != EINTR) {
            return fail(writer);
        }
        n += wrote > 0 ? (size_t)wrote : 0;
    }
    return SC_OK;
}

enum sc_status sc_file_flush(struct sc_file_writer *writer)
{
    SC_TRY(empty_buffer(writer));
    if (writer->temporary && fsync(writer->fd) != 0) {
        return fail(writer);
    }
    writer->open = false;
    return close(writer->fd) == 0 ? SC_OK : fail(writer);
}

enum sc_status sc_file_commit(struct sc_file_writer *writer)
{
    if (writer->open) {
        SC_TRY(sc_file_flush(writer));
    }
    if (writer->temporary && rename(writer->temporary, writer->target) != 0) {
        return fail(writer);
    }
    writer->temporary = NULL;
    sc_file_abandon(writer);
    return SC_OK;
}

void sc_file_abandon(struct sc_file_writer *writer)
{
    if (writer->open) {
        (void)close(writer->fd);
    }
    if (writer->temporary) {
        (void)unlink(writer->temporary);
    }
    sc_arena_release(&writer->names);
    free(writer->buffer);
    *writer = (struct sc_file_writer){0};
}

enum sc_status sc_file_write(const char *path, const void *data, size_t bytes)
{
    struct sc_file_writer writer;
    SC_TRY(sc_file_begin(path, &writer));
    enum sc_status status = sc_file_append(&writer, data, bytes);
    status = status == SC_OK ? sc_file_commit(&writer) : status;
    sc_file_abandon(&writer);
    return status;
}
