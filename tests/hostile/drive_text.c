/* SPDX-License-Identifier: Apache-2.0
 * Failures are what is hoped for, as in drive.c; but a state whose bytes differ must not be taken. */
#include "tests/hostile/drive_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/features.h"
#include "audio/wav.h"
#include "base/digest.h"
#include "base/file.h"
#include "decode/begin.h"
#include "decode/decoder.h"
#include "decode/ends.h"
#include "decode/search.h"
#include "launch/prompts.h"
#include "runtime/settings.h"

enum { PROMPT = 5, MADE = 3 };
enum { MAGIC_BYTES = 8, FRONT = MAGIC_BYTES + 8 };

struct sc_driven_states {
    struct sc_world *world;
    struct sc_model *model;
    struct sc_decoder *decoder;
    struct sc_arena arena;
    char path[128];
    char *whole; /* the file as it was saved */
    size_t bytes;
};

/* As sc_file_write, which waits for the disk. */
static bool write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(bytes, 1, n, file) == n;
    return file && fclose(file) == 0 && written;
}

/* The text: a prompt, and what was made. */
struct text {
    int64_t tokens[PROMPT + MADE];
    int64_t n;
};

static bool on_token(void *arg, int64_t token)
{
    struct text *text = arg;
    text->tokens[text->n++] = token;
    return true;
}

static enum sc_status save(struct sc_driven_states *s)
{
    struct text text = {.tokens = {1, 2, 3, 4, 5}, .n = PROMPT};
    const struct sc_state_owner owner = sc_decoder_states(s->decoder);
    struct sc_request request = {.prompt = text.tokens,
        .n_prompt = PROMPT,
        .n_predict = MADE,
        .sample = {.top_p = 1},
        .on_token = on_token,
        .arg = &text};
    SC_TRY(sc_decoder_generate(s->decoder, &request));
    SC_TRY(sc_state_file_save(s->path, &owner, sc_decoder_session(s->decoder), request.slot, text.tokens, text.n));
    return sc_file_read_text(s->path, 1 << 20, &s->arena, &s->whole, &s->bytes);
}

struct sc_driven_states *sc_drive_states_open(const char *model_path, const char *folder)
{
    struct sc_decoder_options options = {.chunk = 2};
    struct sc_driven_states *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    snprintf(s->path, sizeof s->path, "%.80s/states", folder);
    sc_session_options_init(&options.session);
    options.session.n_threads = 1;
    if (sc_world_open_single(&s->world) != SC_OK || sc_model_open(model_path, &s->model) != SC_OK ||
        sc_decoder_open(s->world, s->model, &options, &s->decoder) != SC_OK || save(s) != SC_OK) {
        fprintf(stderr, "no states to damage: %s\n", sc_error_last()->text);
        sc_drive_states_close(s);
        return NULL;
    }
    return s;
}

void sc_drive_states_close(struct sc_driven_states *s)
{
    if (s) {
        (void)unlink(s->path);
        sc_decoder_close(s->decoder);
        sc_model_close(s->model);
        sc_world_free(s->world);
        sc_arena_release(&s->arena);
        free(s);
    }
}

/* The head damaged as text, with a length and a digest that are right; what follows it stays. */
static unsigned char *damage_head(const struct sc_driven_states *s, struct sc_draw *draw, size_t *n)
{
    uint64_t length, head_bytes;
    memcpy(&length, s->whole + MAGIC_BYTES, sizeof length);
    char *text = strndup(s->whole + FRONT, (size_t)length);
    char *head = !text           ? NULL
        : sc_draw_below(draw, 2) ? sc_mutate_json(draw, text)
                                 : sc_mutate_text(draw, text, " \n,\"[]{}:");
    const char *rest = s->whole + FRONT + length + sizeof length;
    const size_t n_rest = s->bytes - FRONT - (size_t)length - sizeof length;
    free(text);
    head_bytes = head ? strlen(head) : 0;
    unsigned char *file = head ? malloc(FRONT + head_bytes + sizeof length + n_rest) : NULL;
    if (file) {
        const uint64_t digest = sc_digest_bytes(SC_DIGEST_START, head, head_bytes);
        memcpy(file, s->whole, MAGIC_BYTES);
        memcpy(file + MAGIC_BYTES, &head_bytes, sizeof head_bytes);
        memcpy(file + FRONT, head, head_bytes);
        memcpy(file + FRONT + head_bytes, &digest, sizeof digest);
        memcpy(file + FRONT + head_bytes + sizeof digest, rest, n_rest);
        *n = FRONT + head_bytes + sizeof digest + n_rest;
    }
    free(head);
    return file;
}

static unsigned char *damage_anywhere(const struct sc_driven_states *s, struct sc_draw *draw, size_t *n)
{
    unsigned char *file = sc_mutate_bytes(draw, (const unsigned char *)s->whole, s->bytes, n);
    if (*n >= FRONT && sc_draw_below(draw, 4) == 0) { /* a length that is no more than a number */
        const int64_t length = sc_draw_number(draw);
        memcpy(file + MAGIC_BYTES, &length, sizeof length);
    }
    return file;
}

static unsigned char *damage_byte(const struct sc_driven_states *s, size_t at, size_t *n)
{
    unsigned char *file = malloc(s->bytes);
    if (file) {
        memcpy(file, s->whole, s->bytes);
        file[at] ^= (unsigned char)(1U << at % 8);
    }
    *n = s->bytes;
    return file;
}

int sc_drive_states(struct sc_driven_states *s, struct sc_draw *draw, size_t number)
{
    const struct sc_state_owner owner = sc_decoder_states(s->decoder);
    const bool each = number < s->bytes, fits = !each && sc_draw_below(draw, 2) == 0; /* digests do */
    struct sc_state_file *file = NULL;
    size_t n = 0;
    unsigned char *bytes = each ? damage_byte(s, number, &n)
        : fits                  ? damage_head(s, draw, &n)
                                : damage_anywhere(s, draw, &n);
    int reached = 0;
    const bool same = bytes && n == s->bytes && memcmp(bytes, s->whole, n) == 0;
    if (bytes && write_file(s->path, bytes, n) && sc_state_file_open(s->path, &owner, &file) == SC_OK) {
        struct sc_session *session = sc_decoder_session(s->decoder);
        reached = sc_state_file_restore(file, session, 0) == SC_OK ? 2 : 1;
        reached = reached == 2 && sc_session_state_drop(session, 0) != SC_OK ? 1 : reached;
    }
    sc_state_file_close(file);
    free(bytes);
    return reached == 2 && !fits && !same ? -1 : reached;
}

static char *read_seed(const char *name, struct sc_arena *arena, size_t *bytes)
{
    char path[512], *text;
    snprintf(path, sizeof path, SC_SOURCE_DIR "/tests/%s", name);
    return sc_file_read_text(path, 1 << 20, arena, &text, bytes) == SC_OK ? text : NULL;
}

static int read_configs(const char *folder, struct sc_arena *arena)
{
    static const struct sc_begin_wish wish = {.language = "en", .task = "transcribe"};
    static const char tokenizer_text[] = "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"</s>\": 0}, \"merges\": []}}";
    struct sc_search search;
    struct sc_begin begin;
    struct sc_mel_options mel;
    struct sc_tokenizer *tokenizer = NULL;
    const char *ignored;
    int64_t *ids, context;
    int n;
    int reached = sc_search_read(folder, false, arena, &search, &ignored) == SC_OK;
    reached += sc_begin_read(folder, &wish, arena, &begin) == SC_OK;
    reached += sc_begin_context(folder, arena, &context) == SC_OK;
    reached += sc_features_read(folder, arena, &mel) == SC_OK;
    if (sc_tokenizer_parse(tokenizer_text, sizeof tokenizer_text - 1, "t", &tokenizer) == SC_OK) {
        reached += sc_ends_read(folder, tokenizer, arena, &n, &ids) == SC_OK;
    }
    sc_tokenizer_free(tokenizer);
    return reached;
}

int sc_drive_config(struct sc_draw *draw, const char *folder)
{
    static const struct {
        const char *name, *seed;
    } files[] = {{"genai_config.json", "data/genai/llama/genai_config.json"},
        {"generation_config.json", "exports/together/whisper/generation_config.json"},
        {"config.json", "exports/together/whisper/config.json"},
        {"preprocessor_config.json", "exports/together/whisper/preprocessor_config.json"}};
    const size_t f = sc_draw_below(draw, sizeof files / sizeof files[0]);
    struct sc_arena arena = {0};
    char path[128];
    size_t n = 0;
    int reached = 0;
    snprintf(path, sizeof path, "%.80s/%s", folder, files[f].name);
    const char *seed = read_seed(files[f].seed, &arena, &n);
    unsigned char *bytes = seed ? sc_mutate_json_file(draw, seed, &n) : NULL;
    if (bytes && write_file(path, bytes, n)) {
        reached = read_configs(folder, &arena);
    }
    (void)unlink(path);
    free(bytes);
    sc_arena_release(&arena);
    return reached;
}

int sc_drive_sound(struct sc_draw *draw, const char *folder)
{
    static const char *const seeds[] = {"s24", "s32", "f32", "f64", "extensible", "stereo", "u8", "tone"};
    static const struct sc_mel_options mel = {.rate = 16000, .n_fft = 64, .hop = 160, .n_mels = 8, .n_samples = 1600};
    struct sc_arena arena = {0};
    struct sc_sound sound;
    char path[128], name[64];
    float *features;
    int64_t n_windows;
    size_t n = 0;
    int reached = 0;
    snprintf(path, sizeof path, "%.80s/sound.wav", folder);
    snprintf(name, sizeof name, "data/sounds/%s.wav", seeds[sc_draw_below(draw, sizeof seeds / sizeof seeds[0])]);
    const char *seed = read_seed(name, &arena, &n);
    /* most of a file is samples: the damage is to be in its first bytes, too */
    const size_t most = sc_draw_below(draw, 2) && n > 200 ? 200 : n;
    unsigned char *bytes = seed ? sc_mutate_bytes(draw, (const unsigned char *)seed, most, &n) : NULL;
    if (bytes && write_file(path, bytes, n)) {
        reached = sc_wav_read(path, &arena, &sound) == SC_OK;
        reached += sc_features_make(&mel, path, &arena, &features, &n_windows) == SC_OK;
    }
    (void)unlink(path);
    free(bytes);
    sc_arena_release(&arena);
    return reached;
}

int sc_drive_requests(struct sc_draw *draw, const char *folder)
{
    static const char seed[] =
        "{\"prompt\": \"one\", \"id\": \"a\", \"n_predict\": 4, \"temperature\": 1, \"top_k\": 5, \"top_p\": 0.25}\n"
        "{\"prompt\": \"t\\u00e4o\", \"min_p\": 0.125, \"repeat_penalty\": 1.5, \"ignore_eos\": true, \"seed\": 5}\n"
        "\n{\"audio\": \"f.wav\", \"max_tokens\": 3}\n{\"prompt\": \"caf\xc3\xa9\"}\n";
    static const struct sc_prompt_defaults defaults = {.n_predict = 9, .sample = {.top_p = 1, .penalty = 1}};
    struct sc_arena arena = {0};
    struct sc_prompts prompts;
    struct sc_prompt prompt;
    char path[128];
    size_t n = 0;
    bool more = true;
    int reached = 0;
    snprintf(path, sizeof path, "%.80s/requests.jsonl", folder);
    unsigned char *bytes = sc_mutate_json_file(draw, seed, &n);
    if (write_file(path, bytes, n) && sc_prompts_open(path, &defaults, &prompts) == SC_OK) {
        while (sc_prompts_next(&prompts, &arena, &prompt, &more) == SC_OK && more) {
            reached += prompt.error.code == SC_OK;
        }
        sc_prompts_close(&prompts);
    }
    (void)unlink(path);
    free(bytes);
    sc_arena_release(&arena);
    return reached < 7 ? reached : 7;
}
