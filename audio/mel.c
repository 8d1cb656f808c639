/* SPDX-License-Identifier: Apache-2.0
 * A real transform of any length, as sums over a table of one period: the two halves of a frame are folded first, as
 * cosines are even and sines are odd. */
#include "audio/mel.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SC_PI 3.14159265358979323846
#define HIGHEST_HZ 8000.0

struct mel {
    const struct sc_mel_options *options;
    const float *samples;
    int64_t n; /* of the sound, at most n_samples */
    int64_t n_bins; /* frequencies of a frame */
    double *block; /* everything below */
    double *cosine, *sine, *window; /* [n_fft] */
    double *even, *odd; /* [n_bins]: a frame, folded */
    double *power; /* [n_bins] */
    double *filters; /* [n_mels, n_bins] */
};

int64_t sc_mel_frames(const struct sc_mel_options *options)
{
    return options->n_samples / options->hop;
}

/* Linear below 1000 Hz, which is 15; above that 27 steps are a factor of 6.4. */
static double mel_of(double hz)
{
    return hz < 1000 ? hz * 3 / 200 : 15 + log(hz / 1000) * 27 / log(6.4);
}

static double hz_of(double mel)
{
    return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static void make_filters(struct mel *m)
{
    const struct sc_mel_options *o = m->options;
    const double step = mel_of(HIGHEST_HZ) / (double)(o->n_mels + 1);
    const int64_t last_hz = o->rate / 2; /* of the last bin, in whole Hz */
    for (int64_t band = 0; band < o->n_mels; band++) {
        const double low = hz_of(step * (double)band), middle = hz_of(step * (double)(band + 1)),
                     high = hz_of(step * (double)(band + 2));
        for (int64_t k = 0; k < m->n_bins; k++) {
            const double hz = (double)k * (double)last_hz / (double)(m->n_bins - 1);
            const double up = (hz - low) / (middle - low), down = (high - hz) / (high - middle);
            const double height = up < down ? up : down;
            m->filters[band * m->n_bins + k] = height > 0 ? height * 2 / (high - low) : 0;
        }
    }
}

static enum sc_status prepare(struct mel *m)
{
    const size_t n = (size_t)m->options->n_fft, bins = (size_t)m->n_bins, bands = (size_t)m->options->n_mels;
    m->block = calloc(3 * n + (3 + bands) * bins, sizeof *m->block);
    if (!m->block) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a spectrogram of %zu bands", bands);
    }
    m->cosine = m->block;
    m->sine = m->cosine + n;
    m->window = m->sine + n;
    m->even = m->window + n;
    m->odd = m->even + bins;
    m->power = m->odd + bins;
    m->filters = m->power + bins;
    for (size_t j = 0; j < n; j++) {
        const double angle = 2 * SC_PI * (double)j / (double)n;
        m->cosine[j] = cos(angle);
        m->sine[j] = sin(angle);
        m->window[j] = 0.5 - 0.5 * m->cosine[j];
    }
    make_filters(m);
    return SC_OK;
}

/* A sample of the whole, which is mirrored at its ends. */
static double sample_at(const struct mel *m, int64_t i)
{
    const int64_t last = m->options->n_samples - 1;
    i = i < 0 ? -i : i;
    i = i > last ? 2 * last - i : i;
    return i < m->n ? (double)m->samples[i] : 0;
}

/* even[j] = x[j] + x[n - j], odd[j] = x[j] - x[n - j]; 0 and, of an even length, the middle have no partner.
 * false: all is silence. */
static bool fold_frame(struct mel *m, int64_t frame)
{
    const int64_t n = m->options->n_fft, first = frame * m->options->hop - n / 2;
    bool sounds = false;
    for (int64_t j = 0; j < m->n_bins; j++) {
        const double x = m->window[j] * sample_at(m, first + j);
        const bool alone = j == 0 || 2 * j == n;
        const double y = alone ? 0 : m->window[n - j] * sample_at(m, first + n - j);
        m->even[j] = x + y;
        m->odd[j] = alone ? 0 : x - y;
        sounds |= x != 0 || y != 0;
    }
    return sounds;
}

static void transform(struct mel *m)
{
    const int64_t n = m->options->n_fft;
    for (int64_t k = 0; k < m->n_bins; k++) {
        double real = 0, imaginary = 0;
        for (int64_t j = 0, at = 0; j < m->n_bins; j++) {
            real += m->even[j] * m->cosine[at];
            imaginary += m->odd[j] * m->sine[at];
            at += k;
            at -= at >= n ? n : 0;
        }
        m->power[k] = real * real + imaginary * imaginary;
    }
}

static void write_frame(struct mel *m, bool sounds, float *column, int64_t stride)
{
    for (int64_t band = 0; band < m->options->n_mels; band++) {
        const double *filter = m->filters + band * m->n_bins;
        double sum = 0;
        for (int64_t k = 0; sounds && k < m->n_bins; k++) {
            sum += filter[k] * m->power[k];
        }
        column[band * stride] = (float)log10(sum > 1e-10 ? sum : 1e-10);
    }
}

enum sc_status sc_mel_make(const struct sc_mel_options *options, const float *samples, int64_t n, float *mel)
{
    const int64_t frames = sc_mel_frames(options);
    struct mel m = {.options = options,
        .samples = samples,
        .n = n < options->n_samples ? n : options->n_samples,
        .n_bins = options->n_fft / 2 + 1};
    SC_TRY(prepare(&m));
    float most = -10;
    for (int64_t f = 0; f < frames; f++) {
        const bool sounds = fold_frame(&m, f);
        if (sounds) {
            transform(&m);
        }
        write_frame(&m, sounds, mel + f, frames);
    }
    for (int64_t i = 0; i < options->n_mels * frames; i++) {
        most = mel[i] > most ? mel[i] : most;
    }
    for (int64_t i = 0; i < options->n_mels * frames; i++) {
        const float least = most - 8;
        mel[i] = ((mel[i] > least ? mel[i] : least) + 4) / 4;
    }
    free(m.block);
    return SC_OK;
}
