/* SPDX-License-Identifier: Apache-2.0
 * Text goes to the tokenizer, sound to the spectrogram. */
#include "launch/reading.h"

#include "decode/source.h"

enum sc_status sc_reading_open(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_reading *reading)
{
    static const char *const spoken[] = {"audio", "language", "task"};
    static const char *const begun[] = {"prompt", "file", "audio", "language", "task"};
    reading->encodes = sc_source_is_read(model->graph, &reading->hears);
    for (size_t i = 0; i < sizeof spoken / sizeof spoken[0] && !reading->hears; i++) {
        if (sc_options_given(options, spoken[i])) {
            return sc_fail(
                SC_BAD_USAGE, "option '--%s' is for models that read sound, and '%s' does not", spoken[i], model->path);
        }
    }
    for (size_t i = 0; i < sizeof begun / sizeof begun[0] && reading->encodes; i++) {
        if (sc_options_given(options, "load-state") && sc_options_given(options, begun[i])) {
            return sc_fail(SC_BAD_USAGE,
                "options '--%s' and '--load-state' exclude each other: the file holds what the encoder read", begun[i]);
        }
    }
    const struct sc_begin_wish wish = {
        .language = sc_options_text(options, "language"), .task = sc_options_text(options, "task")};
    SC_TRY(reading->hears ? sc_features_read(model->folder, arena, &reading->mel) : SC_OK);
    return reading->encodes ? sc_begin_read(model->folder, &wish, arena, &reading->begin) : SC_OK;
}

static enum sc_status read_text(const struct sc_reading *reading, const struct sc_given_text *given,
    struct sc_arena *arena, int64_t *n, const int64_t **ids)
{
    size_t n_ids;
    int64_t *made;
    SC_TRY(sc_tokenizer_encode(reading->tokenizer, given->text, given->bytes, given->fresh, arena, &n_ids, &made));
    *n = (int64_t)n_ids;
    *ids = made;
    return SC_OK;
}

static enum sc_status read_sound(
    const struct sc_reading *reading, const char *path, struct sc_arena *arena, struct sc_source *source)
{
    const int64_t dims[2] = {reading->mel.n_mels, sc_mel_frames(&reading->mel)};
    struct sc_tensor *tensor = sc_arena_alloc(arena, sizeof *tensor);
    float *features;
    double seconds_left;
    SC_TRY(tensor ? SC_OK : SC_NO_MEMORY);
    SC_TRY(sc_features_make(&reading->mel, path, arena, &features, &seconds_left));
    if (seconds_left > 0) {
        sc_log_write(reading->log, SC_LOG_WARN, "'%s' has %.1f seconds more than the model reads: they are left out",
            path, seconds_left);
    }
    sc_tensor_init(tensor, SC_F32, 2, dims);
    tensor->data = features;
    source->features = tensor;
    return SC_OK;
}

enum sc_status sc_reading_request(const struct sc_reading *reading, const struct sc_given_text *given,
    struct sc_arena *arena, struct sc_request *request)
{
    if (given->audio && !reading->hears) {
        return sc_fail(SC_BAD_INPUT, "sound is given, and the model reads text");
    }
    if (!reading->encodes) {
        return read_text(reading, given, arena, &request->n_prompt, &request->prompt);
    }
    if (!given->fresh) { /* the text that is loaded goes on */
        return SC_OK;
    }
    request->prompt = reading->begin.prompt;
    request->n_prompt = reading->begin.n_prompt;
    if (reading->hears) {
        return given->audio ? read_sound(reading, given->audio, arena, &request->source)
                            : sc_fail(SC_BAD_USAGE, "the model reads sound: give --audio FILE.wav");
    }
    return read_text(reading, given, arena, &request->source.n, &request->source.ids);
}
