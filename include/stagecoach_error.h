/* SPDX-License-Identifier: Apache-2.0
 * Status codes and errors of Stagecoach. Included by stagecoach.h. */
#ifndef STAGECOACH_ERROR_H
#define STAGECOACH_ERROR_H

#include <stdint.h>

#define SC_PUBLIC __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

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

/* Plain data, so that it can cross a wire. rank, stage and seq are -1 where they mean nothing; texts are never NULL. */
struct sc_error {
    int32_t code; /* enum sc_status */
    int32_t rank; /* of the communicator: where it happened */
    int32_t stage;
    int64_t seq; /* which microbatch, from 0 */
    char host[64];
    char node[128]; /* of the model's graph, by its first output */
    char text[SC_ERROR_TEXT]; /* one line: lower case, no full stop */
};

/* "bad model", "bad input", ...: for logs. Any number is allowed. */
SC_PUBLIC const char *sc_status_name(enum sc_status code);

#ifdef __cplusplus
}
#endif

#endif
