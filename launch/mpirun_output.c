/* SPDX-License-Identifier: Apache-2.0
 * Only a line of dashes is ever held back, and what follows it up to the next one. */
#include "launch/mpirun_output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/progress.h"

#define DASHES 60 /* Open MPI draws 74 or more */

static void put(struct sc_mpirun_output *output, const char *data, size_t bytes)
{
    output->spoke = output->spoke || bytes > 0;
    while (bytes > 0) {
        const ssize_t n = write(output->fd, data, bytes);
        if (n < 0 && errno != EINTR) {
            return; /* nobody reads stderr: the job goes on */
        }
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
}

static void flush(struct sc_mpirun_output *output)
{
    put(output, output->held, output->n_held);
    output->n_held = 0;
}

/* A rank's line that got into a block goes through whatever becomes of the block. */
static void put_own_lines(struct sc_mpirun_output *output)
{
    for (const char *line = output->held; line && *line;) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, "stagecoach", 10) == 0) {
            put(output, line, end ? (size_t)(end - line) + 1 : strlen(line));
        }
        line = end ? end + 1 : NULL;
    }
}

static bool put_killed(struct sc_mpirun_output *output)
{
    int rank = 0, signal = 0;
    char host[128] = "", name[64] = "", text[320];
    const char *message = strstr(output->held, "process rank ");
    if (!message ||
        sscanf(message, "process rank %d with PID %*d on node %127s exited on signal %d (%63[^)])", &rank, host,
            &signal, name) < 3) {
        return false;
    }
    if (output->asked && signal == SIGUSR1) {
        static const char stopped[] = "stagecoach: stopped by a signal before the model was open\n";
        put(output, stopped, sizeof stopped - 1);
        output->killed_by = SIGINT;
        return true;
    }
    const int n = snprintf(text, sizeof text, "stagecoach: rank %d on host '%s' was killed by signal %d%s%s%s\n", rank,
        host, signal, name[0] ? " (" : "", name, name[0] ? ")" : "");
    put(output, text, (size_t)n);
    output->killed_by = signal;
    return true;
}

void sc_mpirun_output_clear_bar(struct sc_mpirun_output *output)
{
    if (output->bar) {
        put(output, SC_PROGRESS_CLEAR, sizeof SC_PROGRESS_CLEAR - 1);
        output->bar = false;
    }
}

static void end_block(struct sc_mpirun_output *output)
{
    static const char *const noise[] = {"returned\na non-zero exit code", "exited with non-zero status",
        "MPI_ABORT was invoked on rank", "exited with non-zero code"};
    bool is_noise = false;
    sc_mpirun_output_clear_bar(output);
    output->held[output->n_held < sizeof output->held ? output->n_held : sizeof output->held - 1] = '\0';
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        is_noise = is_noise || strstr(output->held, noise[i]) != NULL;
    }
    output->failed = output->failed || is_noise;
    if (is_noise || put_killed(output)) {
        put_own_lines(output);
        output->n_held = 0;
    } else {
        flush(output);
    }
    output->state = SC_OUTPUT_LINE_START;
}

/* True when the held line that ends before `end` is dashes alone. */
static bool is_rule(const struct sc_mpirun_output *output, size_t end)
{
    for (size_t i = output->line; i < end; i++) {
        if (output->held[i] != '-') {
            return false;
        }
    }
    return end - output->line >= DASHES;
}

/* Takes one more byte into what is held. */
static void hold(struct sc_mpirun_output *output, char byte)
{
    output->held[output->n_held++] = byte;
    if (output->n_held == sizeof output->held - 1) { /* no message is that long */
        flush(output);
        output->state = byte == '\n' ? SC_OUTPUT_LINE_START : SC_OUTPUT_IN_LINE;
        return;
    }
    if (output->state == SC_OUTPUT_DASHES && byte != '-') {
        if (byte == '\n' && is_rule(output, output->n_held - 1)) {
            output->state = SC_OUTPUT_BLOCK;
            output->line = output->n_held;
        } else {
            flush(output);
            output->state = byte == '\n' ? SC_OUTPUT_LINE_START : SC_OUTPUT_IN_LINE;
        }
    } else if (output->state == SC_OUTPUT_BLOCK && byte == '\n') {
        if (is_rule(output, output->n_held - 1)) {
            end_block(output);
        } else {
            output->line = output->n_held;
        }
    }
}

/* A line ends where the next one begins: after a newline, and after a return, with which a bar ends. NULL: later. */
static const char *line_end(const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\n' || data[i] == '\r') {
            return data + i;
        }
    }
    return NULL;
}

/* The last place where a bar is drawn or taken away, or NULL. */
static const char *find_bar(const char *data, size_t bytes)
{
    const size_t clear = sizeof SC_PROGRESS_CLEAR - 1;
    for (size_t at = bytes; at >= clear; at--) {
        if (memcmp(data + at - clear, SC_PROGRESS_CLEAR, clear) == 0) {
            return data + at;
        }
    }
    return NULL;
}

void sc_mpirun_output_feed(struct sc_mpirun_output *output, const char *data, size_t bytes)
{
    size_t at = 0;
    const char *bar = find_bar(data, bytes);
    if (bar && !output->bar && bytes == sizeof SC_PROGRESS_CLEAR - 1) {
        return; /* it was taken away already: what stands there now is somebody's text */
    }
    if (bar) {
        const size_t left = bytes - (size_t)(bar - data);
        const char *end = line_end(bar, left);
        output->bar = left > 0 && (!end || *end == '\r');
    }
    while (at < bytes) {
        if (output->state == SC_OUTPUT_LINE_START) {
            output->state = data[at] == '-' ? SC_OUTPUT_DASHES : SC_OUTPUT_IN_LINE;
            output->line = 0;
        }
        if (output->state != SC_OUTPUT_IN_LINE) {
            hold(output, data[at++]);
            continue;
        }
        const char *end = line_end(data + at, bytes - at);
        const size_t n = end ? (size_t)(end - data) + 1 - at : bytes - at;
        put(output, data + at, n);
        at += n;
        output->state = end ? SC_OUTPUT_LINE_START : SC_OUTPUT_IN_LINE;
    }
}

void sc_mpirun_output_end(struct sc_mpirun_output *output)
{
    if (output->state == SC_OUTPUT_BLOCK) {
        end_block(output);
    } else {
        flush(output);
    }
    static const char silent[] = "stagecoach: a rank ended before it could say why; mpirun does not name it\n";
    if (output->failed && !output->spoke) { /* killed before MPI knew it */
        put(output, silent, sizeof silent - 1);
    }
}
