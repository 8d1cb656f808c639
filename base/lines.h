/* SPDX-License-Identifier: Apache-2.0
 * The lines of a file, one at a time. */
#ifndef SC_BASE_LINES_H
#define SC_BASE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* open ──► next ... ──► close. Zeros: nothing open. Memory is that of the longest line, of `limit_bytes` at most. */
struct sc_lines {
    const char *path; /* borrowed */
    int fd;
    bool open, ended; /* the file */
    size_t limit_bytes;
    char *buffer;
    int64_t file_bytes, given_bytes; /* of the file when it was opened; of lines until now */
    size_t capacity, at, n; /* of the buffer: what was not given yet is [at, n) */
};

struct sc_line {
    const char *text; /* not terminated, valid until the next call; of a line over the limit its beginning */
    size_t bytes; /* without the newline; all that the line has */
};

/* Fails with SC_IO, naming path and cause; only regular files. */
enum sc_status sc_lines_open(const char *path, size_t limit_bytes, struct sc_lines *lines);

/* *more is false, and nothing else set, when there is none. A last line without a newline is one, unless it is
 * empty. */
enum sc_status sc_lines_next(struct sc_lines *lines, struct sc_line *line, bool *more);

void sc_lines_close(struct sc_lines *lines); /* safe on zeros */

#endif
