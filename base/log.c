/* SPDX-License-Identifier: Apache-2.0
 * A line is put together in a buffer and written by one write(2), so that ranks that share a terminal do not mix. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 2048 };

/* Names in messages come from files: control bytes in them must not steer the terminal. */
static void make_printable(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            text[i] = '?';
        }
    }
}

void sc_log_write(const struct sc_log *log, enum sc_log_level level, const char *format, ...)
{
    static const char *const marks[] = {"error: ", "warning: ", "", "debug: "};
    if (log->fd < 0 || level > log->level || (level == SC_LOG_INFO && !log->speaks)) {
        return;
    }
    char line[LINE_BYTES];
    const char *before = log->before ? log->before : "";
    const int head = log->rank < 0
        ? snprintf(line, sizeof line, "%sstagecoach: %s", before, marks[level])
        : snprintf(line, sizeof line, "%sstagecoach[%d]: %s", before, log->rank, marks[level]);
    size_t length = head < 0 ? 0 : (size_t)head;
    va_list args;
    va_start(args, format);
    const int body = vsnprintf(line + length, sizeof line - length - 1, format, args);
    va_end(args);
    if (body > 0) {
        length += strlen(line + length);
    }
    make_printable(line + strlen(before), length - strlen(before));
    line[length++] = '\n';
    /* A log that cannot be written has nowhere to say so. */
    ssize_t written;
    do {
        written = write(log->fd, line, length);
    } while (written < 0 && errno == EINTR);
}
