/* SPDX-License-Identifier: Apache-2.0
 * Fields with bounds, so that nothing of the file sizes memory beyond reason. */
#include "audio/features.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "audio/resample.h"
#include "base/json_field.h"

struct field {
    const char *name;
    int64_t least, most;
    int64_t *to;
};

static enum sc_status read_field(const struct sc_fields *fields, const struct field *field)
{
    int64_t n = -1; /* none has a least of that */
    SC_TRY(sc_field_int(fields, field->name, field->least, &n));
    if (n < 0) {
        return sc_fail(SC_BAD_MODEL, "'%s': field '%s' is missing, want a whole number", fields->path, field->name);
    }
    if (n > field->most) {
        return sc_fail(SC_BAD_MODEL, "'%s': field '%s' is %lld, want %lld to %lld", fields->path, field->name,
            (long long)n, (long long)field->least, (long long)field->most);
    }
    *field->to = n;
    return SC_OK;
}

static enum sc_status refuse_others(const struct sc_fields *fields)
{
    const char *type = sc_json_text(sc_json_get(fields->object, "feature_extractor_type"), NULL);
    bool normalize = false;
    double dither = 0;
    if (type && strcmp(type, "WhisperFeatureExtractor") != 0) {
        return sc_fail(SC_UNSUPPORTED, "'%s': field 'feature_extractor_type' is '%.80s', want WhisperFeatureExtractor",
            fields->path, type);
    }
    SC_TRY(sc_field_bool(fields, "do_normalize", &normalize));
    SC_TRY(sc_field_real(fields, "dither", &dither));
    if (normalize) {
        return sc_fail(SC_UNSUPPORTED, "'%s': field 'do_normalize' is true, which is not supported", fields->path);
    }
    return dither == 0 ? SC_OK
                       : sc_fail(SC_UNSUPPORTED, "'%s': field 'dither' is not 0, which is not supported", fields->path);
}

static enum sc_status read_options(const char *path, const struct sc_json *root, struct sc_mel_options *options)
{
    int64_t seconds = 0;
    struct sc_fields object;
    const struct field fields[] = {{"feature_size", 1, 1024, &options->n_mels},
        {"sampling_rate", 8000, 192000, &options->rate}, {"hop_length", 1, 4096, &options->hop},
        {"n_fft", 16, 4096, &options->n_fft}};
    const struct field samples = {"n_samples", 1, 192000 * 60, &options->n_samples},
                       chunk = {"chunk_length", 1, 60, &seconds};
    SC_TRY(sc_fields_open(path, root, NULL, &object));
    SC_TRY(refuse_others(&object));
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        SC_TRY(read_field(&object, &fields[f]));
    }
    if (sc_json_get(root, "n_samples")) {
        SC_TRY(read_field(&object, &samples));
    } else {
        SC_TRY(read_field(&object, &chunk));
        options->n_samples = seconds * options->rate;
    }
    return options->n_samples > options->n_fft && options->n_samples >= options->hop
        ? SC_OK
        : sc_fail(SC_BAD_MODEL, "'%s': %lld samples in all are not more than a frame of %lld", path,
              (long long)options->n_samples, (long long)options->n_fft);
}

enum sc_status sc_features_read(const char *folder, struct sc_arena *arena, struct sc_mel_options *options)
{
    static const char name[] = "preprocessor_config.json";
    const char *path;
    struct sc_json *root;
    SC_TRY(sc_fields_parse(folder, name, arena, &path, &root));
    const enum sc_status status =
        root ? read_options(path, root, options) : sc_fail(SC_IO, "'%s': %s", path, strerror(ENOENT));
    sc_json_free(root);
    return status;
}

enum sc_status sc_features_make(const struct sc_mel_options *options, const char *path, struct sc_arena *arena,
    float **features, int64_t *n_windows)
{
    struct sc_sound sound;
    SC_TRY(sc_wav_read(path, arena, &sound));
    SC_TRY(sc_resample(path, options->rate, arena, &sound));
    const int64_t size = options->n_mels * sc_mel_frames(options), most = options->n_samples;
    const int64_t n = sound.n > most ? (sound.n + most - 1) / most : 1;
    float *made = sc_arena_array(arena, (size_t)n * (size_t)size, sizeof *made);
    SC_TRY(made ? SC_OK : SC_NO_MEMORY);
    for (int64_t w = 0; w < n; w++) {
        const int64_t left = sound.n - w * most;
        SC_TRY(sc_mel_make(options, sound.samples + w * most, left < most ? left : most, made + w * size));
    }
    *features = made;
    *n_windows = n;
    return SC_OK;
}
