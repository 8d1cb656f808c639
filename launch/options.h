/* SPDX-License-Identifier: Apache-2.0
 * The command line: one table of options, of which parser, help, man page and completion are made. */
#ifndef SC_LAUNCH_OPTIONS_H
#define SC_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "decode/pairs.h"
#include "runtime/settings.h"

enum sc_command {
    SC_COMMAND_INSPECT,
    SC_COMMAND_OPS,
    SC_COMMAND_PLAN,
    SC_COMMAND_RUN,
    SC_COMMAND_VERIFY,
    SC_COMMAND_GENERATE,
    SC_COMMAND_BENCH,
    SC_COMMAND_LAUNCH,
    SC_COMMAND_HELP,
    SC_COMMAND_VERSION,
    SC_N_COMMANDS
};

struct sc_command_row {
    const char *name;
    const char *arguments; /* as usage shows them; "" for none */
    int min_arguments, max_arguments;
    bool takes_model; /* the first argument is the model, which -m may give instead */
    bool stops; /* options end at the first argument: what follows is another command line */
    const char *summary; /* one line */
    const char *description; /* paragraphs, lines ended by '\n' */
    const char *example; /* lines to type */
};

struct sc_option_row {
    const char *name; /* --name; rows of one command have different names, letters and aliases */
    const char *letters; /* -l or -ll, or NULL */
    const char *alias; /* another --name, or NULL */
    enum sc_option_type type;
    const char *argument; /* NULL for flags and switches */
    const char *otherwise; /* the default as it would be typed, or NULL: none */
    double minimum, maximum;
    unsigned commands; /* bit i: command i takes it */
    const char *help;
};

/* The tables; n rows. */
const struct sc_command_row *sc_command_rows(void); /* SC_N_COMMANDS, indexed by enum sc_command */
const struct sc_option_row *sc_option_rows(int *n);

/* Values of one command line. Zeros: nothing parsed, release is safe. After sc_options_parse `command` is set as soon
 * as it is known, also when parsing fails later (-1 before), for the message; all else is valid on success only.
 * Texts point into argv. */
struct sc_options {
    int command; /* enum sc_command */
    int n_arguments; /* what is not an option, the model excepted */
    const char *const *arguments;
    struct sc_option_value *values; /* by row */
    struct sc_arena arena;
};

/* Options are spelled --name VALUE, --name=VALUE, -l VALUE, -l=VALUE, with one dash or two; "--" ends them.
 * Fails with SC_BAD_USAGE and one line that names the option, the value and, for a near miss, what may have been meant.
 * With --help nothing is missing: arguments are not counted. */
enum sc_status sc_options_parse(int argc, const char *const *argv, struct sc_options *options);
void sc_options_release(struct sc_options *options);

/* Sets what the command line says of a session. Texts are borrowed. */
void sc_options_settings(const struct sc_options *options, struct sc_session_options *session);

/* Values by name. An option that the command does not take has its default. Asking for a name that no command takes, or
 * by another type, is a mistake of ours and asserted. */
bool sc_options_given(const struct sc_options *options, const char *name);
bool sc_options_flag(const struct sc_options *options, const char *name); /* flag or switch; false by default */
int64_t sc_options_int(const struct sc_options *options, const char *name); /* int or size; 0 without a default */
double sc_options_real(const struct sc_options *options, const char *name);
const char *sc_options_text(const struct sc_options *options, const char *name); /* text or choice; NULL: none */
int sc_options_choice(const struct sc_options *options, const char *name); /* index of the word in the row's argument */
int sc_options_list(const struct sc_options *options, const char *name, const char *const **items); /* returns count */

/* -ctk and -ctv. */
struct sc_cache_formats sc_options_cache_formats(const struct sc_options *options);

#endif
