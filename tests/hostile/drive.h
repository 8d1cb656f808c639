/* SPDX-License-Identifier: Apache-2.0
 * Everything that is done with a file, as far as the file lets it be done. */
#ifndef SC_TESTS_DRIVE_H
#define SC_TESTS_DRIVE_H

#include <stdbool.h>

#include "tests/hostile/mutate.h"

/* Opens the model; checks, rewrites, cuts, and runs it once on small inputs drawn from `draw`. Returns how far it came:
 * 0 not opened, 1 opened, 2 checked, 3 rewritten, 4 cut, 5 compiled, 6 run. Without `runs` it stops before the last. */
int sc_drive_model(struct sc_draw *draw, const char *path, bool runs);

/* Opens the model as a decoder and writes a few tokens. */
int sc_drive_decoder(const char *path);

/* A plan of the model of `model_path`, and the same as packed bytes damaged by `draw`. */
int sc_drive_plan(struct sc_draw *draw, const char *model_path, const char *plan_path);

int sc_drive_tokenizer(const unsigned char *text, size_t bytes);

#endif
