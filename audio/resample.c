/* SPDX-License-Identifier: Apache-2.0
 * The whole sound at once: its end is known to the filter, so that no sample is late. */
#include "audio/resample.h"

#include <samplerate.h>

enum sc_status sc_resample(const char *path, int64_t rate, struct sc_arena *arena, struct sc_sound *sound)
{
    const double ratio = (double)rate / (double)sound->rate;
    if (rate == sound->rate) {
        return SC_OK;
    }
    if (!src_is_valid_ratio(ratio)) {
        return sc_fail(SC_UNSUPPORTED, "'%s' has %lld samples a second, which is too far from the model's %lld", path,
            (long long)sound->rate, (long long)rate);
    }
    const int64_t n = (sound->n * rate + sound->rate - 1) / sound->rate;
    float *samples = sc_arena_array(arena, (size_t)n, sizeof *samples);
    SC_TRY(samples ? SC_OK : SC_NO_MEMORY);
    SRC_DATA data = {.data_in = sound->samples,
        .input_frames = (long)sound->n,
        .data_out = samples,
        .output_frames = (long)n,
        .src_ratio = ratio};
    const int failed = src_simple(&data, SRC_SINC_BEST_QUALITY, 1);
    if (failed) {
        return sc_fail(SC_NO_MEMORY, "'%s': its rate cannot be changed: %s", path, src_strerror(failed));
    }
    *sound = (struct sc_sound){.rate = rate, .n = data.output_frames_gen, .samples = samples};
    return SC_OK;
}
