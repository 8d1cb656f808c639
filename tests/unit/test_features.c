/* SPDX-License-Identifier: Apache-2.0
 * Claims about spectrograms: those of numpy, as preprocessor_config.json asks for them. */
#include "audio/features.h"

#include "audio/resample.h"

#include <math.h>

#include "graph_case.h"
#include "launch/npy.h"

#define SOUNDS SC_SOURCE_DIR "/tests/data/sounds/"

static enum sc_status read_config(const char *text, struct sc_mel_options *options)
{
    char folder[] = "/tmp/sc_features_XXXXXX", path[96];
    struct sc_arena arena = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/preprocessor_config.json", folder);
    if (text) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    const enum sc_status status = sc_features_read(folder, &arena, options);
    (void)unlink(path);
    (void)rmdir(folder);
    sc_arena_release(&arena);
    return status;
}

#define CONFIG(bands, rest)                                                                                            \
    "{\"feature_size\": " bands ", \"sampling_rate\": 16000, \"hop_length\": 160, \"n_fft\": 400, " rest "}"

/* Both are sums in double rounded once, over an FFT or directly: they differ where a logarithm is near the floor, which
 * the largest less 8 is above. */
static void expect_spectrogram(const char *config, const char *recorded)
{
    struct sc_arena arena = {0};
    struct sc_mel_options options;
    struct sc_tensor want;
    float *made;
    int64_t n;
    assert_ok(read_config(config, &options));
    assert_ok(sc_npy_read(recorded, &arena, &want));
    assert_ok(sc_features_make(&options, SOUNDS "tone.wav", &arena, &made, &n));
    assert_int_equal(want.dims[0], options.n_mels);
    assert_int_equal(want.dims[1], sc_mel_frames(&options));
    assert_int_equal(n, 1);
    for (int64_t i = 0; i < sc_tensor_count(&want); i++) {
        const double off = fabs((double)made[i] - (double)((const float *)want.data)[i]);
        if (!(off < 1e-6)) {
            fail_msg("%s: element %d is %g, want %g", recorded, (int)i, (double)made[i],
                (double)((const float *)want.data)[i]);
        }
    }
    sc_arena_release(&arena);
}

static void spectrograms_are_those_of_numpy(void **state)
{
    (void)state;
    expect_spectrogram(CONFIG("16", "\"n_samples\": 7680"), SOUNDS "mel_16.npy");
    expect_spectrogram(CONFIG("80", "\"chunk_length\": 1"), SOUNDS "mel_80.npy");
}

static void what_is_long_is_read_window_by_window(void **state)
{
    struct sc_arena arena = {0};
    const struct sc_mel_options part = {.rate = 16000, .n_fft = 400, .hop = 160, .n_mels = 16, .n_samples = 3200};
    const int64_t size = part.n_mels * sc_mel_frames(&part);
    struct sc_sound sound;
    float *made, *second = sc_arena_array(&arena, (size_t)size, sizeof *second);
    int64_t n;
    (void)state;
    assert_ok(sc_features_make(&part, SOUNDS "tone.wav", &arena, &made, &n));
    assert_int_equal(n, 2);
    assert_ok(sc_wav_read(SOUNDS "tone.wav", &arena, &sound));
    assert_non_null(second);
    assert_ok(sc_mel_make(&part, sound.samples + 3200, sound.n - 3200, second));
    assert_memory_equal(made + size, second, (size_t)size * sizeof *second);
    sc_arena_release(&arena);
}

/* The tone at another rate is what its formula gives there, so that only rounding to 16 bits and the step in its
 * middle, which has no band limit, differ: under half a decibel on average, and under one where the sound is loud, 20
 * dB around the loudest. bands: those under half the rate, above which such sound has nothing. The end, where a filter
 * reaches beyond it, is left out. */
static void expect_rate(const char *path, int64_t bands)
{
    struct sc_arena arena = {0};
    struct sc_mel_options options;
    struct sc_tensor want;
    float *made;
    int64_t n;
    double sum = 0, worst = 0;
    assert_ok(read_config(CONFIG("16", "\"n_samples\": 7680"), &options));
    assert_ok(sc_npy_read(SOUNDS "mel_16.npy", &arena, &want));
    assert_ok(sc_features_make(&options, path, &arena, &made, &n));
    const float *wanted = want.data;
    const int64_t frames = want.dims[1], whole = 6000 / 160 - 2;
    float most = wanted[0];
    for (int64_t i = 0; i < sc_tensor_count(&want); i++) {
        most = wanted[i] > most ? wanted[i] : most;
    }
    for (int64_t i = 0; i < bands * frames; i++) {
        const double off = i % frames < whole ? fabs((double)made[i] - (double)wanted[i]) : 0;
        sum += off;
        worst = wanted[i] > most - 0.5F && off > worst ? off : worst; /* 0.5: 20 dB */
    }
    const double mean = sum / (double)(bands * whole);
    assert_int_equal(n, 1);
    if (!(mean < 0.5 / 40 && worst < 1.0 / 40)) {
        fail_msg("%s: off by %g on average, by %g where it is loud", path, mean, worst);
    }
    sc_arena_release(&arena);
}

static void sound_of_any_rate_gives_nearly_the_same(void **state)
{
    (void)state;
    expect_rate(SOUNDS "rate_8000.wav", 11);
    expect_rate(SOUNDS "rate_22050.wav", 16);
}

static void rates_too_far_apart_are_refused(void **state)
{
    struct sc_arena arena = {0};
    float samples[4] = {0};
    struct sc_sound sound = {.rate = 16000, .n = 4, .samples = samples};
    (void)state;
    assert_fails(SC_UNSUPPORTED, "'x' has 16000 samples a second, which is too far from the model's 20",
        sc_resample("x", 20, &arena, &sound));
    assert_ok(sc_resample("x", 16000, &arena, &sound));
    assert_ptr_equal(sound.samples, samples);
    assert_ok(sc_resample("x", 24000, &arena, &sound));
    assert_int_equal(sound.rate, 24000);
    assert_in_range(sound.n, 5, 6);
    sc_arena_release(&arena);
}

static void wrong_configs_are_refused(void **state)
{
    struct sc_mel_options options;
    (void)state;
    assert_fails(SC_IO, "preprocessor_config.json", read_config(NULL, &options));
    assert_fails(SC_BAD_INPUT, "preprocessor_config.json:1:", read_config("{", &options));
    assert_fails(SC_BAD_MODEL, "'feature_size' is missing", read_config("{}", &options));
    assert_fails(SC_BAD_MODEL, "'feature_size' is a text, want a whole number",
        read_config(CONFIG("\"80\"", "\"n_samples\": 1"), &options));
    assert_fails(
        SC_BAD_MODEL, "'feature_size' is 0, want 1 or more", read_config(CONFIG("0", "\"n_samples\": 1"), &options));
    assert_fails(SC_BAD_MODEL, "'feature_size' is 1025, want 1 to 1024",
        read_config(CONFIG("1025", "\"n_samples\": 1"), &options));
    assert_fails(SC_BAD_MODEL, "'do_normalize' is a text, want true or false",
        read_config(CONFIG("80", "\"n_samples\": 9000, \"do_normalize\": \"no\""), &options));
    assert_fails(SC_BAD_MODEL, "is a list, want an object", read_config("[]", &options));
    assert_fails(SC_BAD_MODEL, "'chunk_length' is missing", read_config(CONFIG("80", "\"x\": 1"), &options));
    assert_fails(SC_BAD_MODEL, "300 samples in all", read_config(CONFIG("80", "\"n_samples\": 300"), &options));
    assert_fails(SC_UNSUPPORTED, "'dither' is not 0",
        read_config(CONFIG("80", "\"n_samples\": 9000, \"dither\": 0.1"), &options));
    assert_fails(SC_UNSUPPORTED, "'do_normalize' is true",
        read_config(CONFIG("80", "\"n_samples\": 9000, \"do_normalize\": true"), &options));
    assert_fails(SC_UNSUPPORTED, "'Other'", read_config("{\"feature_extractor_type\": \"Other\"}", &options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spectrograms_are_those_of_numpy),
        cmocka_unit_test(what_is_long_is_read_window_by_window),
        cmocka_unit_test(sound_of_any_rate_gives_nearly_the_same), cmocka_unit_test(rates_too_far_apart_are_refused),
        cmocka_unit_test(wrong_configs_are_refused)};
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
