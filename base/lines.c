/* SPDX-License-Identifier: Apache-2.0
 * The buffer is doubled until a line fits; what is over the limit is counted and thrown away. */
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { FIRST_BYTES = 1 << 16 };

enum sc_status sc_lines_open(const char *path, size_t limit_bytes, struct sc_lines *lines)
{
    *lines = (struct sc_lines){.path = path, .limit_bytes = limit_bytes, .fd = -1};
    size_t file_bytes;
    SC_TRY(sc_file_open_regular(path, &lines->fd, &file_bytes));
    lines->file_bytes = (int64_t)file_bytes;
    lines->open = true;
    lines->capacity = FIRST_BYTES;
    lines->buffer = malloc(lines->capacity);
    if (!lines->buffer) {
        sc_lines_close(lines);
        return sc_fail(SC_NO_MEMORY, "'%s': out of memory for a line", path);
    }
    return SC_OK;
}

/* Room behind what waits in the buffer: at its beginning, or by a larger one. */
static enum sc_status make_room(struct sc_lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->at, lines->n - lines->at);
    lines->n -= lines->at;
    lines->at = 0;
    if (lines->n < lines->capacity) {
        return SC_OK;
    }
    char *larger = realloc(lines->buffer, 2 * lines->capacity);
    if (!larger) {
        return sc_fail(SC_NO_MEMORY, "'%s': out of memory for a line", lines->path);
    }
    lines->buffer = larger;
    lines->capacity *= 2;
    return SC_OK;
}

static enum sc_status read_more(struct sc_lines *lines)
{
    SC_TRY(lines->n == lines->capacity ? make_room(lines) : SC_OK);
    for (;;) {
        const ssize_t got = read(lines->fd, lines->buffer + lines->n, lines->capacity - lines->n);
        if (got >= 0) {
            lines->n += (size_t)got;
            lines->ended = got == 0;
            return SC_OK;
        }
        if (errno != EINTR) {
            return sc_fail(SC_IO, "'%s': %s", lines->path, strerror(errno));
        }
    }
}

enum sc_status sc_lines_next(struct sc_lines *lines, struct sc_line *line, bool *more)
{
    size_t looked = 0, dropped = 0; /* of this line: without a newline; thrown away, behind what is kept */
    const char *found = NULL;
    for (;;) {
        const char *from = lines->buffer + lines->at + looked;
        found = memchr(from, '\n', lines->n - lines->at - looked);
        looked = found ? (size_t)(found - lines->buffer) - lines->at : lines->n - lines->at;
        if (found || lines->ended) {
            break;
        }
        if (looked > lines->limit_bytes) {
            dropped += looked - lines->limit_bytes;
            looked = lines->limit_bytes;
            lines->n = lines->at + looked;
        }
        SC_TRY(read_more(lines));
    }
    *more = found || looked + dropped > 0;
    if (*more) {
        *line = (struct sc_line){.text = lines->buffer + lines->at, .bytes = looked + dropped};
        lines->at += looked + (found ? 1 : 0);
        lines->given_bytes += (int64_t)line->bytes + (found ? 1 : 0);
    }
    return SC_OK;
}

void sc_lines_close(struct sc_lines *lines)
{
    if (lines->open) {
        (void)close(lines->fd);
    }
    free(lines->buffer);
    *lines = (struct sc_lines){0};
}
