/* SPDX-License-Identifier: Apache-2.0
 * The logarithm of sound's power by time and pitch. */
#ifndef SC_AUDIO_MEL_H
#define SC_AUDIO_MEL_H

#include <stdint.h>

#include "base/error.h"

struct sc_mel_options {
    int64_t rate; /* samples a second */
    int64_t n_fft; /* samples of a frame */
    int64_t hop; /* from frame to frame */
    int64_t n_mels; /* bands */
    int64_t n_samples; /* of the whole: sound is cut, or followed by silence */
};

int64_t sc_mel_frames(const struct sc_mel_options *options);

/* mel: [n_mels, frames]. Frames are centred, the ends mirrored, a periodic Hann window over each; the power of its
 * transform goes through triangles that are even on Slaney's mel scale from 0 to 8000 Hz and of equal area; then the
 * logarithm to base 10 of at least 1e-10, at least the largest of all less 8; plus 4, over 4. Computed in double.
 * Fails with SC_NO_MEMORY alone. Source: the definition of Whisper's input. */
enum sc_status sc_mel_make(const struct sc_mel_options *options, const float *samples, int64_t n, float *mel);

#endif
