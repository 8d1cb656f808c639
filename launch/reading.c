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
    return sc_begin_read(model->folder, reading->encodes ? &wish : NULL, arena, &reading->begin);
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

/* Windows, and a prompt that is the text's alone: the language may have to be found. */
static enum sc_status read_sound(const struct sc_reading *reading, const char *path, struct sc_arena *arena,
    struct sc_request *request, struct sc_hearing *hearing)
{
    const int64_t dims[2] = {reading->mel.n_mels, sc_mel_frames(&reading->mel)};
    const size_t n_prompt = (size_t)reading->begin.n_prompt;
    float *features;
    *hearing = (struct sc_hearing){.path = path, .begin = &reading->begin, .log = reading->log};
    SC_TRY(sc_features_make(&reading->mel, path, arena, &features, &hearing->n_windows));
    hearing->windows = sc_arena_array(arena, (size_t)hearing->n_windows, sizeof *hearing->windows);
    hearing->prompt = sc_arena_array(arena, n_prompt, sizeof *hearing->prompt);
    SC_TRY(hearing->windows && hearing->prompt ? SC_OK : SC_NO_MEMORY);
    for (int64_t w = 0; w < hearing->n_windows; w++) {
        sc_tensor_init(&hearing->windows[w], SC_F32, 2, dims);
        hearing->windows[w].data = features + w * dims[0] * dims[1];
    }
    for (size_t i = 0; i < n_prompt; i++) {
        hearing->prompt[i] = reading->begin.prompt[i];
    }
    request->prompt = hearing->prompt;
    request->source.features = &hearing->windows[0];
    return SC_OK;
}

enum sc_status sc_reading_request(const struct sc_reading *reading, const struct sc_given_text *given,
    struct sc_arena *arena, struct sc_request *request, struct sc_hearing *hearing)
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
        return given->audio ? read_sound(reading, given->audio, arena, request, hearing)
                            : sc_fail(SC_BAD_USAGE, "the model reads sound: give --audio FILE.wav");
    }
    return read_text(reading, given, arena, &request->source.n, &request->source.ids);
}
