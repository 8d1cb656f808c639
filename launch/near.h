/* SPDX-License-Identifier: Apache-2.0
 * What a mistyped word may have meant. */
#ifndef SC_LAUNCH_NEAR_H
#define SC_LAUNCH_NEAR_H

#include <stddef.h>

/* The best of several candidates: those within two edits, and within half of the word.
 *   {.word = w} ──► try, try, ... ──► found (NULL: nothing is near) */
struct sc_near {
    const char *word;
    const char *found;
    int distance; /* of `found` */
};

/* candidate may be NULL. `name` is what is found when the candidate is. Borrowed. */
void sc_near_try(struct sc_near *near, const char *candidate, const char *name);

#endif
