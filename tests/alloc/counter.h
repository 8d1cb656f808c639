/* SPDX-License-Identifier: Apache-2.0
 * Counts calls of the system's allocators, in any thread of the process. */
#ifndef SC_TESTS_ALLOC_COUNTER_H
#define SC_TESTS_ALLOC_COUNTER_H

/* This program's malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign and mmap forward to the C library's.
 * While armed they count, except for calls that come from within the MPI library. arm and disarm are safe in signal
 * handlers after counter_prepare. */
void counter_prepare(void);
void counter_arm(void); /* from zero */
void counter_disarm(void);
long counter_calls(void);

/* Where the first call of the armed time came from, to stderr. */
void counter_print_first(void);

#endif
