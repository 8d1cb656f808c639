/* SPDX-License-Identifier: Apache-2.0
 * Status codes and the error text of the thread. */
#ifndef SC_BASE_ERROR_H
#define SC_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* What went wrong, grouped by what is lost with it. The text says the rest. */
enum sc_status {
    SC_OK = 0,
    /* nothing was started */
    SC_BAD_USAGE, /* an option or argument */
    SC_BAD_MODEL, /* the model file, or a file that belongs to it */
    SC_UNSUPPORTED, /* valid, but not something this program does */
    /* the message: one request fails, the next may succeed */
    SC_BAD_INPUT, /* a tensor, prompt, token or index */
    SC_LIMIT, /* the slot is full, a bound is reached */
    /* the link, the rank, the job */
    SC_PEER, /* another rank failed or left */
    SC_TIMEOUT,
    SC_IO, /* the system refused to read or write */
    SC_NO_MEMORY,
    SC_INTERNAL /* our mistake, found at run time */
};

#define SC_ERROR_TEXT 512

/* Plain data, so that it can cross a wire. rank, stage and seq are -1 where they mean nothing. */
struct sc_error {
    int32_t code;
    int32_t rank;
    int32_t stage;
    int64_t seq;
    char host[64];
    char node[128];
    char text[SC_ERROR_TEXT];
};

/* Sets the error of this thread and returns `code`. The text: lower case, no full stop, names quoted, found and wanted.
 */
enum sc_status sc_fail(enum sc_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text of this thread's error and returns its code. */
enum sc_status sc_fail_in(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error of this thread: valid after a call returned non-zero, until the next sc_fail. */
struct sc_error *sc_error_last(void);

/* Takes over an error that came from another thread or rank. Returns its code. */
enum sc_status sc_error_set(const struct sc_error *error);

/* "bad model", "bad input", ...: for logs. */
const char *sc_status_name(enum sc_status code);

#define SC_TRY(call)                                                                                                   \
    do {                                                                                                               \
        const enum sc_status sc_try_status = (call);                                                                   \
        if (sc_try_status != SC_OK) {                                                                                  \
            return sc_try_status;                                                                                      \
        }                                                                                                              \
    } while (0)

#endif
