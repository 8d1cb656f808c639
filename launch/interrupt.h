/* SPDX-License-Identifier: Apache-2.0
 * Ctrl-C as a question: whether to stop, with what there is. */
#ifndef SC_LAUNCH_INTERRUPT_H
#define SC_LAUNCH_INTERRUPT_H

#include <stdbool.h>

/* From begin to end SIGINT, and SIGUSR1 in its place under mpirun, do not kill: rank 0 asks whether one came, the other
 * ranks wait for what it does. Called by the first thread of the program. */
void sc_interrupt_begin(void);
bool sc_interrupt_asked(void); /* a signal has come since begin */
void sc_interrupt_end(void);

#endif
