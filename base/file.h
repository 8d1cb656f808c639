/* SPDX-License-Identifier: Apache-2.0
 * Files: mapped for reading, written whole or not at all. */
#ifndef SC_BASE_FILE_H
#define SC_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* A regular file mapped read-only. Zeros: nothing mapped. An empty file has data == NULL and bytes == 0. */
struct sc_file {
    const unsigned char *data;
    size_t bytes;
    uint64_t device, node; /* which file it was, and when it was last changed; zeros when not mapped by path */
    int64_t changed_ns;
};

/* Fails with SC_IO, naming path and cause; a directory, device or pipe is refused (judged on the opened descriptor). */
enum sc_status sc_file_map(const char *path, struct sc_file *file);

/* Opens a file for reading, as sc_file_map does; the descriptor is the caller's to close. */
enum sc_status sc_file_open_regular(const char *path, int *fd, size_t *bytes);

/* Maps a regular file that the caller has opened and judged, `bytes` long; the descriptor stays the caller's. */
enum sc_status sc_file_map_open(const char *path, int fd, size_t bytes, struct sc_file *file);

/* Memory in place of a file of that size: zeros that take no room until sc_file_fill puts something there. */
enum sc_status sc_file_blank(const char *path, size_t bytes, struct sc_file *file);
void sc_file_fill(struct sc_file *file, size_t offset, const void *data, size_t bytes); /* of a blank file */

void sc_file_release(struct sc_file *file);

/* Fails with SC_IO, naming the path, when the mapped file is of another size or was written to since. A file that took
 * its place is no harm: the mapping is of the old one. What changes afterwards is not seen; reading past the end of a
 * file that was cut short is SIGBUS. */
enum sc_status sc_file_check(const char *path, const struct sc_file *file);

/* Reads a part of a mapped file without touching the mapping. SC_IO when path leads to another file by now, or it
 * changed. */
enum sc_status sc_file_read_part(const char *path, const struct sc_file *file, size_t offset, void *to, size_t bytes);

/* Tells the kernel that a range of a mapped file will not be read again soon. */
void sc_file_drop(const struct sc_file *file, size_t offset, size_t bytes);

/* The whole file as NUL-terminated text in the arena; refuses files over limit_bytes. */
enum sc_status sc_file_read_text(
    const char *path, size_t limit_bytes, struct sc_arena *arena, char **text, size_t *bytes);

/* Whether a file can be written under that name, as far as can be told without doing it: said before the work whose
 * result it is to hold. */
enum sc_status sc_file_check_writable(const char *path);

/* Where a path leads that is a link, or a link to one, be there a file or none yet; else itself. In the arena. Fails
 * with SC_IO for links that lead round in a circle. */
enum sc_status sc_file_follow(const char *path, struct sc_arena *arena, const char **target);

/* Writes to a temporary name beside path, then renames: path holds the whole content or is as before. A link stays one,
 * and what it leads to is written. Devices and pipes are written in place; a file that its permissions protect is not
 * replaced. */
enum sc_status sc_file_write(const char *path, const void *data, size_t bytes);

/* The same in pieces. Zeros: nothing begun.
 *
 *   sc_file_begin ──► sc_file_append ... ──► sc_file_flush ──► sc_file_commit
 *         └──────────────────────────────────────┴── sc_file_abandon: path is as before
 *
 * sc_file_flush leaves the content on the disk under the temporary name, so that several files can be committed
 * together. abandon is safe on zeros and after commit. */
struct sc_file_writer {
    const char *path; /* borrowed */
    struct sc_arena names;
    const char *target; /* path, or what it leads to */
    char *temporary; /* beside it; NULL: a device or pipe, written in place */
    unsigned char *buffer;
    size_t buffered;
    bool open;
    int fd;
};

enum sc_status sc_file_begin(const char *path, struct sc_file_writer *writer);
enum sc_status sc_file_append(struct sc_file_writer *writer, const void *data, size_t bytes);
enum sc_status sc_file_amend(
    struct sc_file_writer *writer, size_t offset, const void *data, size_t bytes); /* of what was appended */
enum sc_status sc_file_flush(struct sc_file_writer *writer);
enum sc_status sc_file_commit(struct sc_file_writer *writer);
void sc_file_abandon(struct sc_file_writer *writer);

/* The folder part of path ("." when there is none), and folder/name joined; NULL when memory is out. */
char *sc_path_folder(struct sc_arena *arena, const char *path);
char *sc_path_join(struct sc_arena *arena, const char *folder, const char *name);

#endif
