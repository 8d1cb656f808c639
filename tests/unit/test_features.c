/* SPDX-License-Identifier: Apache-2.0
 * Claims about spectrograms: those of numpy, as preprocessor_config.json asks for them. */
#include "audio/features.h"

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

/* Both are sums in double rounded once, over an FFT or directly: they differ where a logarithm is near the floor, which the
 * largest less 8 is above. */
static void expect_spectrogram(const char *config, const char *recorded)
{
    struct sc_arena arena = {0};
    struct sc_mel_options options;
    struct sc_tensor want;
    float *made;
    double left;
    assert_ok(read_config(config, &options));
    assert_ok(sc_npy_read(recorded, &arena, &want));
    assert_ok(sc_features_make(&options, SOUNDS "tone.wav", &arena, &made, &left));
    assert_int_equal(want.dims[0], options.n_mels);
    assert_int_equal(want.dims[1], sc_mel_frames(&options));
    assert_true(left == 0);
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

static void sound_beyond_the_end_is_left_out_and_told(void **state)
{
    struct sc_arena arena = {0};
    const struct sc_mel_options part = {.rate = 16000, .n_fft = 400, .hop = 160, .n_mels = 16, .n_samples = 3200};
    float *made;
    double left;
    (void)state;
    assert_ok(sc_features_make(&part, SOUNDS "tone.wav", &arena, &made, &left));
    assert_true(fabs(left - 2800.0 / 16000) < 1e-9);
    sc_arena_release(&arena);
}

static void another_rate_is_refused(void **state)
{
    struct sc_arena arena = {0};
    const struct sc_mel_options other = {.rate = 8000, .n_fft = 400, .hop = 160, .n_mels = 16, .n_samples = 3200};
    float *made;
    double left;
    (void)state;
    assert_fails(SC_BAD_INPUT, "tone.wav' has 16000 samples a second, the model wants 8000",
        sc_features_make(&other, SOUNDS "tone.wav", &arena, &made, &left));
    sc_arena_release(&arena);
}

static void wrong_configs_are_refused(void **state)
{
    struct sc_mel_options options;
    (void)state;
    assert_fails(SC_IO, "preprocessor_config.json", read_config(NULL, &options));
    assert_fails(SC_BAD_INPUT, "preprocessor_config.json:1:", read_config("{", &options));
    assert_fails(SC_BAD_MODEL, "'feature_size' is missing", read_config("{}", &options));
    assert_fails(
        SC_BAD_MODEL, "'feature_size' is none, want", read_config(CONFIG("\"80\"", "\"n_samples\": 1"), &options));
    assert_fails(
        SC_BAD_MODEL, "'feature_size' is 0, want 1 to", read_config(CONFIG("0", "\"n_samples\": 1"), &options));
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
        cmocka_unit_test(sound_beyond_the_end_is_left_out_and_told), cmocka_unit_test(another_rate_is_refused),
        cmocka_unit_test(wrong_configs_are_refused)};
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
