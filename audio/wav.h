/* SPDX-License-Identifier: Apache-2.0
 * Sound in .wav files. */
#ifndef SC_AUDIO_WAV_H
#define SC_AUDIO_WAV_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* One channel. */
struct sc_sound {
    int64_t rate; /* samples a second */
    int64_t n;
    float *samples; /* -1 to 1 */
};

/* Reads whole numbers of 8, 16, 24 and 32 bits and floats of 32 and 64; several channels become their mean. In the
 * arena. Fails with SC_IO, with SC_UNSUPPORTED for another coding, and with SC_BAD_INPUT for what is no such file, is
 * cut short, holds no samples, or some that are no numbers; all name the file. Source: RIFF, WAVEFORMATEX and
 * WAVEFORMATEXTENSIBLE. */
enum sc_status sc_wav_read(const char *path, struct sc_arena *arena, struct sc_sound *sound);

#endif
