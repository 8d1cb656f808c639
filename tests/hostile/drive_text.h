/* SPDX-License-Identifier: Apache-2.0
 * Files beside a model: states, configurations, sounds, requests. Each function damages one by `draw`, and returns how
 * far reading it came. */
#ifndef SC_TESTS_DRIVE_TEXT_H
#define SC_TESTS_DRIVE_TEXT_H

#include "tests/hostile/mutate.h"

/* A decoder that is open, and a file of its states. */
struct sc_driven_states;

/* model_path: a decoder; folder: for files. NULL: it cannot be opened. */
struct sc_driven_states *sc_drive_states_open(const char *model_path, const char *folder);
void sc_drive_states_close(struct sc_driven_states *states); /* safe on NULL */

/* The first numbers damage one byte each, up to the file's last. 0: refused when opened, 1: when loaded, 2: loaded.
 * -1: a damaged file was taken for whole. */
int sc_drive_states(struct sc_driven_states *states, struct sc_draw *draw, size_t number);

/* `folder` holds nothing but what these write, and is left as it was. */
int sc_drive_config(struct sc_draw *draw, const char *folder);
int sc_drive_sound(struct sc_draw *draw, const char *folder);
int sc_drive_requests(struct sc_draw *draw, const char *folder);

#endif
