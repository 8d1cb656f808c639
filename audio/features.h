/* SPDX-License-Identifier: Apache-2.0
 * What a speech model's encoder is fed with. */
#ifndef SC_AUDIO_FEATURES_H
#define SC_AUDIO_FEATURES_H

#include "audio/mel.h"
#include "base/arena.h"

/* Reads folder/preprocessor_config.json: feature_size, sampling_rate, hop_length, n_fft, and n_samples or
 * chunk_length in seconds. Fails with SC_IO where there is none, SC_BAD_MODEL for what is no JSON or a field out of
 * its range, and SC_UNSUPPORTED for a way of its own (another feature_extractor_type, do_normalize, dither); all name
 * file and field. */
enum sc_status sc_features_read(const char *folder, struct sc_arena *arena, struct sc_mel_options *options);

/* The spectrograms [n_mels, frames] of a .wav file of any rate, one behind the other in the arena: each of n_samples of
 * it, without overlap, as if they were a file; silence follows the last. Fails as sc_wav_read and sc_resample do. */
enum sc_status sc_features_make(const struct sc_mel_options *options, const char *path, struct sc_arena *arena,
    float **features, int64_t *n_windows);

#endif
