/* SPDX-License-Identifier: Apache-2.0
 * One object of one file says it all: `search` of genai_config.json, or the whole of a file of transformers'. */
#include "decode/search.h"

#include "base/json_field.h"

/* What is not done, and the value that asks for nothing. */
static const struct {
    const char *name;
    double off;
    bool of_beams; /* with one beam it asks for nothing */
} others[] = {{"num_return_sequences", 1, false}, {"num_beam_groups", 1, true}, {"diversity_penalty", 0, true},
    {"length_penalty", 1, true}, {"early_stopping", 0, true}, {"force_words_ids", 0, true}, {"constraints", 0, true},
    {"typical_p", 1, false}, {"epsilon_cutoff", 0, false}, {"eta_cutoff", 0, false}, {"penalty_alpha", 0, false},
    {"encoder_repetition_penalty", 1, false}, {"encoder_no_repeat_ngram_size", 0, false},
    {"exponential_decay_length_penalty", 0, false}, {"bad_words_ids", 0, false}, {"sequence_bias", 0, false},
    {"guidance_scale", 1, false}, {"stop_strings", 0, false}, {"max_time", 0, false}, {"watermarking_config", 0, false},
    {"random_seed", -1, false}};

static bool asks_for(const struct sc_json *field, double off)
{
    return !sc_json_is_null(field) &&
        (sc_json_size(field) > 0 || sc_json_is_text(field) || sc_json_bool(field, false) ||
            sc_json_real(field, off) != off);
}

static enum sc_status find_ignored(const struct sc_fields *fields, struct sc_arena *arena, const char **ignored)
{
    const char *names = NULL;
    const char *group = fields->group ? "search." : "";
    const bool beams = sc_json_int(sc_json_get(fields->object, "num_beams"), 1) > 1;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if ((beams || !others[i].of_beams) && asks_for(sc_json_get(fields->object, others[i].name), others[i].off)) {
            names = names ? sc_arena_printf(arena, "%s, %s%s", names, group, others[i].name)
                          : sc_arena_printf(arena, "%s%s", group, others[i].name);
            SC_TRY(names ? SC_OK : SC_NO_MEMORY);
        }
    }
    *ignored = names ? sc_arena_printf(arena, "'%s': not followed: %s", fields->path, names) : NULL;
    return !names || *ignored ? SC_OK : SC_NO_MEMORY;
}

static enum sc_status check_beams(const struct sc_fields *fields, bool one_beam)
{
    int64_t beams = 1;
    SC_TRY(sc_field_int(fields, "num_beams", 0, &beams));
    return beams <= 1 || one_beam
        ? SC_OK
        : sc_fail(SC_UNSUPPORTED,
              "'%s': %snum_beams is %lld: search by beams is not supported; --num-beams 1 goes on with one",
              fields->path, fields->group ? "search." : "", (long long)beams);
}

static enum sc_status read_sample(const struct sc_fields *fields, struct sc_sample_options *sample)
{
    bool draws = false;
    *sample = (struct sc_sample_options){.temperature = 1, .top_k = 50, .top_p = 1, .penalty = 1, .tempered = true};
    SC_TRY(sc_field_bool(fields, "do_sample", &draws));
    SC_TRY(sc_field_real(fields, "temperature", &sample->temperature));
    SC_TRY(sc_field_int(fields, "top_k", 0, &sample->top_k));
    SC_TRY(sc_field_real(fields, "top_p", &sample->top_p));
    SC_TRY(sc_field_real(fields, "min_p", &sample->min_p));
    SC_TRY(sc_field_real(fields, "repetition_penalty", &sample->penalty));
    SC_TRY(sc_field_int(fields, "no_repeat_ngram_size", 0, &sample->no_repeat));
    SC_TRY(sc_field_int(fields, "min_length", 0, &sample->min_length));
    SC_TRY(sc_field_int(fields, "min_new_tokens", 0, &sample->min_new));
    const enum sc_status status = sc_sample_check(sample);
    sample->temperature = draws ? sample->temperature : 0;
    return status == SC_OK ? SC_OK : sc_fail(SC_BAD_MODEL, "'%s': search: %.200s", fields->path, sc_error_last()->text);
}

/* Of several the lowest: all are as likely then, and the first of these is taken. */
static enum sc_status read_forced_eos(const struct sc_fields *fields, int64_t *id)
{
    static const char name[] = "forced_eos_token_id";
    const struct sc_json *list = sc_json_get(fields->object, name);
    if (!sc_json_is_array(list)) {
        return sc_field_int(fields, name, 0, id);
    }
    for (size_t i = 0; i < sc_json_size(list); i++) {
        const int64_t other = sc_json_int(sc_json_at(list, i), -1);
        if (other < 0) {
            return sc_fail(SC_BAD_MODEL, "'%s': field '%s' is not a list of tokens' ids", fields->path, name);
        }
        *id = *id < 0 || other < *id ? other : *id;
    }
    return SC_OK;
}

static bool speaks_of_search(const struct sc_fields *fields)
{
    static const char *const names[] = {"do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty",
        "no_repeat_ngram_size", "min_length", "min_new_tokens", "num_beams"};
    bool speaks = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        speaks |= !sc_json_is_null(sc_json_get(fields->object, names[i]));
    }
    return speaks;
}

/* *least becomes the number, where the field has one and it is less. */
static enum sc_status read_fewer(const struct sc_fields *fields, const char *name, int64_t *least)
{
    int64_t n = 0;
    SC_TRY(sc_field_int(fields, name, 0, &n));
    *least = n > 0 && (*least == 0 || n < *least) ? n : *least;
    return SC_OK;
}

static enum sc_status read_lengths(const struct sc_fields *fields, const struct sc_json *root, struct sc_search *to)
{
    struct sc_fields model;
    SC_TRY(read_forced_eos(fields, &to->forced_eos));
    if (fields->group) {
        SC_TRY(sc_fields_open(fields->path, root, "model", &model));
        SC_TRY(read_fewer(&model, "context_length", &to->context));
        return read_fewer(fields, "max_length", &to->context);
    }
    SC_TRY(read_fewer(fields, "max_length", &to->max_length));
    return read_fewer(fields, "max_new_tokens", &to->max_new);
}

/* Of the first file that is there. *root NULL: none is. */
static enum sc_status open_first(
    const char *folder, struct sc_arena *arena, struct sc_json **root, struct sc_fields *fields)
{
    static const char *const names[] = {"genai_config.json", "generation_config.json", "config.json"};
    *root = NULL;
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        const char *path;
        SC_TRY(sc_fields_parse(folder, names[f], arena, &path, root));
        if (*root) {
            return sc_fields_open(path, *root, f == 0 ? "search" : NULL, fields);
        }
    }
    return SC_OK;
}

static enum sc_status read_search(const struct sc_fields *fields, bool one_beam, struct sc_search *to)
{
    to->found = fields->group ? fields->object != NULL : speaks_of_search(fields);
    if (!to->found) {
        return SC_OK;
    }
    SC_TRY(check_beams(fields, one_beam));
    return read_sample(fields, &to->sample);
}

void sc_search_limit(const struct sc_search *search, int64_t otherwise, struct sc_request *request)
{
    if (request->n_predict < 0) {
        const int64_t left = search->max_length > request->n_prompt ? search->max_length - request->n_prompt : 1;
        request->n_predict = search->max_new > 0 ? search->max_new : search->max_length > 0 ? left : otherwise;
    }
    request->last = search->forced_eos >= 0 && request->n_eos > 0 ? &search->forced_eos : NULL;
}

enum sc_status sc_search_read(
    const char *folder, bool one_beam, struct sc_arena *arena, struct sc_search *search, const char **ignored)
{
    struct sc_search made = {.forced_eos = -1, .sample = {.top_p = 1, .penalty = 1}};
    struct sc_json *root;
    struct sc_fields fields = {.path = NULL};
    *ignored = NULL;
    enum sc_status status = open_first(folder, arena, &root, &fields);
    if (status == SC_OK && root) {
        status = read_lengths(&fields, root, &made);
        status = status == SC_OK ? read_search(&fields, one_beam, &made) : status;
        status = status == SC_OK ? find_ignored(&fields, arena, ignored) : status;
    }
    sc_json_free(root);
    SC_TRY(status);
    *search = made;
    return SC_OK;
}
