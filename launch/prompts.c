/* SPDX-License-Identifier: Apache-2.0
 * Lines are cut first, so that one that is no JSON costs itself alone. */
#include "launch/prompts.h"

#include <string.h>

#include "base/json.h"

enum kind { KIND_TEXT, KIND_INT, KIND_REAL, KIND_BOOL };

enum field {
    FIELD_PROMPT,
    FIELD_AUDIO,
    FIELD_ID,
    FIELD_PREDICT,
    FIELD_TEMPERATURE,
    FIELD_TOP_K,
    FIELD_TOP_P,
    FIELD_MIN_P,
    FIELD_PENALTY,
    FIELD_NO_REPEAT,
    FIELD_MIN_LENGTH,
    FIELD_SEED,
    FIELD_IGNORE_EOS
};

static const struct {
    const char *name;
    enum field field;
    enum kind kind;
} fields[] = {{"prompt", FIELD_PROMPT, KIND_TEXT}, {"audio", FIELD_AUDIO, KIND_TEXT}, {"id", FIELD_ID, KIND_TEXT},
    {"n_predict", FIELD_PREDICT, KIND_INT}, {"max_tokens", FIELD_PREDICT, KIND_INT},
    {"temperature", FIELD_TEMPERATURE, KIND_REAL}, {"top_k", FIELD_TOP_K, KIND_INT}, {"top_p", FIELD_TOP_P, KIND_REAL},
    {"min_p", FIELD_MIN_P, KIND_REAL}, {"repeat_penalty", FIELD_PENALTY, KIND_REAL},
    {"no_repeat_ngram_size", FIELD_NO_REPEAT, KIND_INT}, {"min_length", FIELD_MIN_LENGTH, KIND_INT},
    {"seed", FIELD_SEED, KIND_INT}, {"ignore_eos", FIELD_IGNORE_EOS, KIND_BOOL}};

struct reader {
    struct sc_arena *arena;
    struct sc_prompt *prompt;
    bool given[FIELD_IGNORE_EOS + 1];
};

static bool fits(const struct sc_json *value, enum kind kind)
{
    switch (kind) {
    case KIND_TEXT:
        return sc_json_is_text(value);
    case KIND_INT:
        return sc_json_is_int(value);
    case KIND_REAL:
        return sc_json_real(value, 0) == sc_json_real(value, 1); /* a number, whatever is taken for none */
    default:
        return sc_json_bool(value, false) == sc_json_bool(value, true);
    }
}

/* Copied: the document does not stay. */
static enum sc_status keep_text(struct sc_arena *arena, const struct sc_json *value, const char **text, size_t *bytes)
{
    const char *from = sc_json_text(value, bytes);
    char *copy = sc_arena_alloc(arena, *bytes + 1);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    memcpy(copy, from, *bytes);
    copy[*bytes] = '\0';
    *text = copy;
    return SC_OK;
}

/* What is used as a C string must not end early. */
static enum sc_status keep_name(
    struct sc_arena *arena, const struct sc_json *value, const char *field, const char **text)
{
    size_t bytes;
    SC_TRY(keep_text(arena, value, text, &bytes));
    return strlen(*text) == bytes ? SC_OK : sc_fail(SC_BAD_INPUT, "field '%s' has a NUL in it", field);
}

static enum sc_status set_field(struct reader *reader, enum field field, const struct sc_json *value)
{
    struct sc_prompt *prompt = reader->prompt;
    switch (field) {
    case FIELD_PROMPT:
        return keep_text(reader->arena, value, &prompt->text, &prompt->text_bytes);
    case FIELD_AUDIO:
        return keep_name(reader->arena, value, "audio", &prompt->audio);
    case FIELD_ID:
        return SC_OK; /* kept before all others */
    case FIELD_PREDICT:
        prompt->n_predict = sc_json_int(value, 0);
        return prompt->n_predict >= 0 ? SC_OK : sc_fail(SC_BAD_INPUT, "a negative number of tokens");
    case FIELD_TEMPERATURE:
        prompt->sample.temperature = sc_json_real(value, 0);
        return SC_OK;
    case FIELD_TOP_K:
        prompt->sample.top_k = sc_json_int(value, 0);
        return SC_OK;
    case FIELD_TOP_P:
        prompt->sample.top_p = sc_json_real(value, 0);
        return SC_OK;
    case FIELD_MIN_P:
        prompt->sample.min_p = sc_json_real(value, 0);
        return SC_OK;
    case FIELD_PENALTY:
        prompt->sample.penalty = sc_json_real(value, 0);
        return SC_OK;
    case FIELD_NO_REPEAT:
        prompt->sample.no_repeat = sc_json_int(value, 0);
        return SC_OK;
    case FIELD_MIN_LENGTH:
        prompt->sample.min_length = sc_json_int(value, 0);
        prompt->sample.min_new = 0;
        return SC_OK;
    case FIELD_SEED:
        prompt->sample.seed = (uint64_t)sc_json_int(value, 0);
        prompt->key = 0;
        return sc_json_int(value, 0) >= 0 ? SC_OK : sc_fail(SC_BAD_INPUT, "a negative seed");
    default:
        prompt->ignore_eos = sc_json_bool(value, false);
        return SC_OK;
    }
}

/* Two names of one field may say two things. */
static enum sc_status read_field(struct reader *reader, size_t f, const struct sc_json *value)
{
    static const char *const kinds[] = {"a text", "a whole number", "a number", "true or false"};
    const enum field field = fields[f].field;
    if (!fits(value, fields[f].kind)) {
        return sc_fail(SC_BAD_INPUT, "field '%s' is not %s", fields[f].name, kinds[fields[f].kind]);
    }
    if (reader->given[field]) {
        return sc_fail(SC_BAD_INPUT, "field '%s' is another name of one that is given", fields[f].name);
    }
    reader->given[field] = true;
    return set_field(reader, field, value);
}

static enum sc_status visit(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        if (strlen(fields[f].name) == key_bytes && memcmp(fields[f].name, key, key_bytes) == 0) {
            return read_field(arg, f, value);
        }
    }
    return sc_fail(SC_BAD_INPUT, "unknown field '%.60s'", key);
}

/* The id comes first, wherever it stands: what is wrong with another field is told with it. */
static enum sc_status read_fields(struct reader *reader, const struct sc_json *root)
{
    struct sc_prompt *prompt = reader->prompt;
    if (!sc_json_is_object(root)) {
        return sc_fail(SC_BAD_INPUT, "not an object");
    }
    const struct sc_json *id = sc_json_get(root, "id");
    if (id && sc_json_is_text(id)) {
        SC_TRY(keep_name(reader->arena, id, "id", &prompt->id));
    }
    SC_TRY(sc_json_each(root, visit, reader));
    if (prompt->text && prompt->audio) {
        return sc_fail(SC_BAD_INPUT, "fields 'prompt' and 'audio' exclude each other");
    }
    if (!prompt->text && !prompt->audio) {
        return sc_fail(SC_BAD_INPUT, "field 'prompt' is missing");
    }
    return sc_sample_check(&prompt->sample);
}

static enum sc_status read_object(struct reader *reader, const char *text, size_t bytes)
{
    struct sc_json *root;
    if (bytes > SC_PROMPTS_LINE) {
        return sc_fail(SC_BAD_INPUT, "a line of %zu bytes, want at most %zu", bytes, SC_PROMPTS_LINE);
    }
    SC_TRY(sc_json_parse(text, bytes, "JSON", &root));
    const enum sc_status status = read_fields(reader, root);
    sc_json_free(root);
    return status;
}

static bool is_blank(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r')) {
        n++;
    }
    return n == bytes;
}

enum sc_status sc_prompts_open(const char *path, const struct sc_prompt_defaults *defaults, struct sc_prompts *prompts)
{
    *prompts = (struct sc_prompts){.defaults = *defaults};
    return sc_lines_open(path, SC_PROMPTS_LINE, &prompts->lines);
}

size_t sc_prompts_mark(const char *text, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t n_mark = sizeof mark - 1;
    return bytes >= n_mark && memcmp(text, mark, n_mark) == 0 ? n_mark : 0;
}

/* The next line that is not blank. */
static enum sc_status find_line(struct sc_prompts *prompts, struct sc_line *line, bool *more)
{
    do {
        SC_TRY(sc_lines_next(&prompts->lines, line, more));
        if (*more && prompts->n_lines++ == 0) {
            const size_t n_mark = sc_prompts_mark(line->text, line->bytes);
            line->text += n_mark;
            line->bytes -= n_mark;
        }
    } while (*more && line->bytes <= SC_PROMPTS_LINE && is_blank(line->text, line->bytes));
    return SC_OK;
}

enum sc_status sc_prompts_next(struct sc_prompts *prompts, struct sc_arena *arena, struct sc_prompt *prompt, bool *more)
{
    struct sc_line line = {0};
    SC_TRY(find_line(prompts, &line, more));
    if (!*more) {
        return SC_OK;
    }
    *prompt = (struct sc_prompt){.line = prompts->n_lines,
        .n_predict = prompts->defaults.n_predict,
        .sample = prompts->defaults.sample,
        .key = (uint64_t)prompts->n++,
        .ignore_eos = prompts->defaults.ignore_eos};
    struct reader reader = {.arena = arena, .prompt = prompt};
    if (read_object(&reader, line.text, line.bytes) != SC_OK) {
        (void)sc_fail_in("line %lld", (long long)prompt->line);
        prompt->error = *sc_error_last();
    }
    return SC_OK;
}

void sc_prompts_close(struct sc_prompts *prompts)
{
    sc_lines_close(&prompts->lines);
}
