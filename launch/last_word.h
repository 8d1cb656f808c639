/* SPDX-License-Identifier: Apache-2.0
 * The exit code of a rank, told to `stagecoach launch` past mpirun. */
#ifndef SC_LAUNCH_LAST_WORD_H
#define SC_LAUNCH_LAST_WORD_H

/* mpirun returns the code of a failing rank only once the whole job has ended. Where it takes too long for that, and
 * has to be ended itself, the code is what the rank said last: one byte to a socket whose name is in the environment.
 * The socket has no file and goes with the launcher. Ranks of other hosts do not reach it, and those not under launch
 * have nobody to tell. */

/* In the launcher, before ranks start: the listening end, or -1; the caller closes it. */
int sc_last_word_listen(void);

/* The first code that is not 0 among those told so far; 0: none. */
int sc_last_word_heard(int listening);

/* In a rank that is about to end with this code. Never waits; safe in a signal's handler. */
void sc_last_word_say(int exit_code);

#endif
