/* SPDX-License-Identifier: Apache-2.0
 * Sound at another rate. */
#ifndef SC_AUDIO_RESAMPLE_H
#define SC_AUDIO_RESAMPLE_H

#include "audio/wav.h"

/* The sound at so many samples a second: as it is, or new samples in the arena, by a band-limited interpolation (sinc,
 * best quality, of libsamplerate). `path` names it in messages. Fails with SC_UNSUPPORTED for a rate that is over 256
 * times as high, or as low. */
enum sc_status sc_resample(const char *path, int64_t rate, struct sc_arena *arena, struct sc_sound *sound);

#endif
