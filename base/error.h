/* SPDX-License-Identifier: Apache-2.0
 * Status codes and the error text of the thread. */
#ifndef SC_BASE_ERROR_H
#define SC_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "include/stagecoach_error.h" /* enum sc_status, struct sc_error: what callers of the library see too */

/* Sets the error of this thread and returns `code`. The text: lower case, no full stop, names quoted, found and
 * wanted. */
enum sc_status sc_fail(enum sc_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text of this thread's error and returns its code. */
enum sc_status sc_fail_in(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error of this thread: valid after a call returned non-zero, until the next sc_fail. */
struct sc_error *sc_error_last(void);

/* Takes over an error that came from another thread or rank. Returns its code. */
enum sc_status sc_error_set(const struct sc_error *error);

#define SC_TRY(call)                                                                                                   \
    do {                                                                                                               \
        const enum sc_status sc_try_status = (call);                                                                   \
        if (sc_try_status != SC_OK) {                                                                                  \
            return sc_try_status;                                                                                      \
        }                                                                                                              \
    } while (0)

#endif
