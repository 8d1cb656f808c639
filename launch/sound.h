/* SPDX-License-Identifier: Apache-2.0
 * A .wav file as an input of a model. */
#ifndef SC_LAUNCH_SOUND_H
#define SC_LAUNCH_SOUND_H

#include <stdint.h>

#include "model/graph.h"

/* Floats of one channel, -1 to 1, along the last axis of as many as the input declares, at `rate` samples a second (0:
 * as the file has them). In the arena. SC_BAD_INPUT for an input of another type, and as sc_wav_read and sc_resample
 * fail. */
enum sc_status sc_sound_read(
    const char *path, int64_t rate, const struct sc_graph_value *input, struct sc_arena *arena, struct sc_value *value);

#endif
