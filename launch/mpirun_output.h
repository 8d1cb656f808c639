/* SPDX-License-Identifier: Apache-2.0
 * What mpirun says beside its ranks, made short. */
#ifndef SC_LAUNCH_MPIRUN_OUTPUT_H
#define SC_LAUNCH_MPIRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Open MPI puts its own messages on stderr, among the ranks' lines, as blocks between two lines of dashes:
 *   - that a rank ended with an error is dropped: the rank has said why in its one line;
 *   - that a rank was killed becomes one line;
 *   - all else goes through, as do the ranks' bytes, at once.
 *
 *   {.fd = ...} ── feed, feed, ... ──► end */
struct sc_mpirun_output {
    int fd; /* where to */
    enum { SC_OUTPUT_LINE_START, SC_OUTPUT_IN_LINE, SC_OUTPUT_DASHES, SC_OUTPUT_BLOCK } state;
    bool asked; /* the ranks were asked to stop by SIGUSR1, which ends those that do not listen yet */
    int killed_by; /* the signal that ended a rank; 0: none has been */
    bool bar; /* a rank's progress bar is on the screen */
    bool failed; /* mpirun has said that a rank ended with an error */
    bool spoke; /* something has gone through */
    size_t n_held; /* bytes of a line of dashes or a block, not yet written */
    size_t line; /* where its last line begins */
    char held[8192];
};

void sc_mpirun_output_feed(struct sc_mpirun_output *output, const char *data, size_t bytes);

/* Before a rank's stdout goes to the same terminal, which may overtake what takes the bar away. */
void sc_mpirun_output_clear_bar(struct sc_mpirun_output *output);

void sc_mpirun_output_end(struct sc_mpirun_output *output);

#endif
