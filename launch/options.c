/* SPDX-License-Identifier: Apache-2.0
 * The parser of the option table. getopt is of no help here: llama.cpp's two-letter options (-pp 2, -ub 64) and
 * messages that name the value are wanted. */
#include "launch/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "launch/near.h"

struct sc_option_value {
    bool given;
    bool flag;
    struct sc_option_read read;
    int n_items;
    const char **items;
};

/* The words of a command line while they are taken one by one. */
struct words {
    int argc;
    const char *const *argv;
    int next;
};

static enum sc_status fail_command(const char *word)
{
    struct sc_near near = {.word = word};
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        sc_near_try(&near, sc_command_rows()[i].name, sc_command_rows()[i].name);
    }
    if (near.found) {
        return sc_fail(SC_BAD_USAGE, "unknown command '%s', did you mean '%s'?", word, near.found);
    }
    return sc_fail(SC_BAD_USAGE, "unknown command '%s'; 'stagecoach help' lists them", word);
}

static enum sc_status fail_option(int command, const char *word, const char *name)
{
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    struct sc_near near = {.word = name};
    for (int i = 0; i < n; i++) {
        if (rows[i].commands >> command & 1) {
            sc_near_try(&near, rows[i].name, rows[i].name);
            sc_near_try(&near, rows[i].alias, rows[i].name);
        }
    }
    if (near.found) {
        return sc_fail(SC_BAD_USAGE, "unknown option '%s', did you mean '--%s'?", word, near.found);
    }
    return sc_fail(
        SC_BAD_USAGE, "unknown option '%s'; 'stagecoach %s --help' lists them", word, sc_command_rows()[command].name);
}

static bool spells(const char *known, const char *name, size_t length)
{
    return known && strlen(known) == length && memcmp(known, name, length) == 0;
}

/* The row that `name` (of length bytes, no dashes) spells for this command, or -1. */
static int row_find(int command, const char *name, size_t length)
{
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        const struct sc_option_row *row = &rows[i];
        if ((row->commands >> command & 1) &&
            (spells(row->name, name, length) || spells(row->letters, name, length) ||
                spells(row->alias, name, length))) {
            return i;
        }
    }
    return -1;
}

static enum sc_status value_set(
    const struct sc_option_row *row, const char *word, const char *text, struct sc_option_value *value)
{
    const struct sc_option_domain domain = {row->type, row->argument, row->minimum, row->maximum};
    if (row->type == SC_OPTION_LIST) {
        value->items[value->n_items++] = text;
        return SC_OK;
    }
    return sc_option_read(&domain, word, text, &value->read);
}

/* Takes one option and its value. `word` starts with a dash. */
static enum sc_status take_option(struct sc_options *options, struct words *words, const char *word)
{
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    const char *name = word + 1 + (word[1] == '-');
    const size_t length = strcspn(name, "=");
    const char *text = name[length] ? name + length + 1 : NULL;
    char spelled[64]; /* the word without "=VALUE", for messages */
    const size_t n_spelled = (size_t)(name - word) + length;
    if (n_spelled >= sizeof spelled) {
        return sc_fail(SC_BAD_USAGE, "unknown option '%.60s...'", word);
    }
    memcpy(spelled, word, n_spelled);
    spelled[n_spelled] = '\0';
    const char *bare = spelled + (name - word);

    int i = row_find(options->command, name, length);
    bool off = false;
    if (i < 0 && length > 3 && memcmp(name, "no-", 3) == 0) {
        i = row_find(options->command, name + 3, length - 3);
        off = i >= 0 && rows[i].type == SC_OPTION_SWITCH;
        i = off ? i : -1;
    }
    if (i < 0) {
        return fail_option(options->command, spelled, bare);
    }
    struct sc_option_value *value = &options->values[i];
    if (!rows[i].argument) {
        if (text) {
            return sc_fail(SC_BAD_USAGE, "option '%s' takes no value, '%s' was given", spelled, text);
        }
        value->given = true;
        value->flag = !off;
        return SC_OK;
    }
    if (!text && words->next == words->argc) {
        return sc_fail(SC_BAD_USAGE, "option '%s' needs a value: %s", spelled, rows[i].argument);
    }
    if (value->given && rows[i].type != SC_OPTION_LIST) {
        return sc_fail(SC_BAD_USAGE, "option '%s' is given twice", spelled);
    }
    text = text ? text : words->argv[words->next++];
    SC_TRY(value_set(&rows[i], spelled, text, value));
    value->given = true;
    return SC_OK;
}

static enum sc_status values_create(struct sc_options *options, int most_items)
{
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    options->values = sc_arena_array(&options->arena, (size_t)n, sizeof *options->values);
    if (!options->values) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        struct sc_option_value *value = &options->values[i];
        if (rows[i].type == SC_OPTION_LIST) {
            value->items = sc_arena_array(&options->arena, (size_t)most_items, sizeof *value->items);
            if (!value->items) {
                return SC_NO_MEMORY;
            }
        } else if (rows[i].otherwise) {
            SC_TRY(value_set(&rows[i], rows[i].name, rows[i].otherwise, value));
        }
    }
    return SC_OK;
}

/* The first argument becomes the model unless -m gave it; then arguments are counted. */
static enum sc_status take_arguments(struct sc_options *options, const char **arguments, int n)
{
    const struct sc_command_row *command = &sc_command_rows()[options->command];
    const int n_words = n;
    if (command->takes_model) {
        struct sc_option_value *model = &options->values[row_find(options->command, "model", 5)];
        const bool by_option = model->given;
        if (!by_option && n > 0) {
            model->read.text = arguments[0];
            model->given = true;
        }
        n += by_option;
    }
    if (n < command->min_arguments) {
        return sc_fail(SC_BAD_USAGE, "%s is missing, as in: stagecoach %s %s", command->arguments, command->name,
            command->arguments);
    }
    if (n > command->max_arguments) {
        return sc_fail(SC_BAD_USAGE, "one argument too many: '%s'", arguments[n_words - 1]);
    }
    options->arguments = command->takes_model ? NULL : arguments;
    options->n_arguments = command->takes_model ? 0 : n;
    return SC_OK;
}

/* "stagecoach --help" and "--version" are spelled like options, but choose what is done. */
static int command_find(const char *word)
{
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        if (strcmp(word, sc_command_rows()[i].name) == 0) {
            return i;
        }
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return SC_COMMAND_HELP;
    }
    return strcmp(word, "--version") == 0 ? SC_COMMAND_VERSION : -1;
}

enum sc_status sc_options_parse(int argc, const char *const *argv, struct sc_options *options)
{
    *options = (struct sc_options){.command = -1};
    if (argc < 2) {
        return sc_fail(SC_BAD_USAGE, "no command given; 'stagecoach help' lists them");
    }
    options->command = command_find(argv[1]);
    if (options->command < 0) {
        return fail_command(argv[1]);
    }
    SC_TRY(values_create(options, argc));
    const char **arguments = sc_arena_array(&options->arena, (size_t)argc, sizeof *arguments);
    if (!arguments) {
        return SC_NO_MEMORY;
    }
    const bool stops = sc_command_rows()[options->command].stops;
    struct words words = {argc, argv, 2};
    int n = 0;
    bool ended = false;
    while (words.next < argc) {
        const char *word = argv[words.next++];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1]) {
            SC_TRY(take_option(options, &words, word));
        } else {
            arguments[n++] = word;
            ended = ended || stops;
        }
    }
    return sc_options_flag(options, "help") ? SC_OK : take_arguments(options, arguments, n);
}

void sc_options_release(struct sc_options *options)
{
    sc_arena_release(&options->arena);
    *options = (struct sc_options){.command = -1};
}

/* The value of a name: of this command's row, or else of the first row of that name. */
static const struct sc_option_value *value_of(const struct sc_options *options, const char *name, unsigned types)
{
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    int found = -1;
    for (int i = 0; i < n; i++) {
        const bool ours = rows[i].commands >> options->command & 1;
        if (strcmp(rows[i].name, name) == 0 && (found < 0 || ours)) {
            found = i;
        }
    }
    assert(found >= 0 && (types >> rows[found].type & 1));
    (void)types;
    return &options->values[found];
}

#define OF(type) (1u << SC_OPTION_##type)

bool sc_options_given(const struct sc_options *options, const char *name)
{
    return value_of(options, name, ~0u)->given;
}

bool sc_options_flag(const struct sc_options *options, const char *name)
{
    return value_of(options, name, OF(FLAG) | OF(SWITCH))->flag;
}

int64_t sc_options_int(const struct sc_options *options, const char *name)
{
    return value_of(options, name, OF(INT) | OF(SIZE))->read.integer;
}

double sc_options_real(const struct sc_options *options, const char *name)
{
    return value_of(options, name, OF(REAL))->read.real;
}

const char *sc_options_text(const struct sc_options *options, const char *name)
{
    return value_of(options, name, OF(TEXT) | OF(CHOICE))->read.text;
}

int sc_options_choice(const struct sc_options *options, const char *name)
{
    return (int)value_of(options, name, OF(CHOICE))->read.integer;
}

int sc_options_list(const struct sc_options *options, const char *name, const char *const **items)
{
    const struct sc_option_value *value = value_of(options, name, OF(LIST));
    *items = value->items;
    return value->n_items;
}

void sc_options_settings(const struct sc_options *options, struct sc_session_options *session)
{
    int n;
    const struct sc_setting *settings = sc_settings(&n);
    for (int i = 0; i < n; i++) {
        const struct sc_option_value *value = value_of(options, settings[i].name, ~0u);
        if (value->given) {
            settings[i].apply(session, &value->read);
        }
    }
}

/* The words of the choices are in the order of the formats, of which the first is for none. */
struct sc_cache_formats sc_options_cache_formats(const struct sc_options *options)
{
    struct sc_cache_formats formats = {SC_PAGE_AS_TYPE, SC_PAGE_AS_TYPE};
    if (sc_options_given(options, "cache-type-k")) {
        formats.keys = (enum sc_page_format)(sc_options_choice(options, "cache-type-k") + SC_PAGE_F32);
    }
    if (sc_options_given(options, "cache-type-v")) {
        formats.values = (enum sc_page_format)(sc_options_choice(options, "cache-type-v") + SC_PAGE_F32);
    }
    return formats;
}
