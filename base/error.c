/* SPDX-License-Identifier: Apache-2.0
 * One error per thread. Text is formatted aside first, because arguments may point into the error that it replaces. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct sc_error thread_error = {.rank = -1, .stage = -1, .seq = -1};

/* vsnprintf may fail (an encoding error); the text is then empty, never undefined. */
static void format_text(char text[SC_ERROR_TEXT], const char *format, va_list args)
{
    if (vsnprintf(text, SC_ERROR_TEXT, format, args) < 0) {
        text[0] = '\0';
    }
}

enum sc_status sc_fail(enum sc_status code, const char *format, ...)
{
    char text[SC_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    format_text(text, format, args);
    va_end(args);
    thread_error = (struct sc_error){.code = (int32_t)code, .rank = -1, .stage = -1, .seq = -1};
    memcpy(thread_error.text, text, sizeof text);
    return code;
}

enum sc_status sc_fail_in(const char *format, ...)
{
    char context[SC_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    format_text(context, format, args);
    va_end(args);
    char cause[SC_ERROR_TEXT];
    memcpy(cause, thread_error.text, sizeof cause);
    const size_t n_context = strlen(context);
    const size_t room = sizeof thread_error.text - 1;
    memcpy(thread_error.text, context, n_context + 1);
    if (n_context + 2 < room) {
        const size_t n_cause = strlen(cause);
        const size_t n_kept = n_cause < room - n_context - 2 ? n_cause : room - n_context - 2;
        memcpy(thread_error.text + n_context, ": ", 2);
        memcpy(thread_error.text + n_context + 2, cause, n_kept);
        thread_error.text[n_context + 2 + n_kept] = '\0';
    }
    return (enum sc_status)thread_error.code;
}

struct sc_error *sc_error_last(void)
{
    return &thread_error;
}

enum sc_status sc_error_set(const struct sc_error *error)
{
    if (error != &thread_error) {
        thread_error = *error;
    }
    /* It may come from another rank: its texts end and its code is one of ours, whatever was sent. */
    thread_error.host[sizeof thread_error.host - 1] = '\0';
    thread_error.node[sizeof thread_error.node - 1] = '\0';
    thread_error.text[sizeof thread_error.text - 1] = '\0';
    if (thread_error.code < SC_OK || thread_error.code > SC_INTERNAL) {
        thread_error.code = SC_INTERNAL;
    }
    return (enum sc_status)thread_error.code;
}

const char *sc_status_name(enum sc_status code)
{
    static const char *const names[] = {
        [SC_OK] = "ok",
        [SC_BAD_USAGE] = "bad usage",
        [SC_BAD_MODEL] = "bad model",
        [SC_UNSUPPORTED] = "unsupported",
        [SC_BAD_INPUT] = "bad input",
        [SC_LIMIT] = "limit reached",
        [SC_PEER] = "peer failed",
        [SC_TIMEOUT] = "timeout",
        [SC_IO] = "i/o error",
        [SC_NO_MEMORY] = "out of memory",
        [SC_INTERNAL] = "internal error",
    };
    return (unsigned)code < sizeof names / sizeof names[0] ? names[code] : "unknown status";
}
