/* SPDX-License-Identifier: Apache-2.0
 * Log lines to stderr, one write(2) each. */
#ifndef SC_BASE_LOG_H
#define SC_BASE_LOG_H

enum sc_log_level { SC_LOG_ERROR, SC_LOG_WARN, SC_LOG_INFO, SC_LOG_DEBUG };

/* Where lines go and which. A value, handed down; there is no global logger. info is written where `speaks` is set
 * (rank 0). */
struct sc_log {
    int fd; /* -1: nowhere */
    enum sc_log_level level;
    int rank; /* -1: do not name it */
    int speaks;
    const char *before; /* goes before each line, to clear what else is drawn there; NULL: nothing */
};

void sc_log_write(const struct sc_log *log, enum sc_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
