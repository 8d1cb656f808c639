/* SPDX-License-Identifier: Apache-2.0
 * What the option table looks like to people: help, man page, completion of shells. */
#ifndef SC_LAUNCH_HELP_H
#define SC_LAUNCH_HELP_H

#include <stdio.h>

#include "launch/options.h"

/* All commands, one line each. */
void sc_help_overview(FILE *out);

/* Usage, description, options with defaults, examples of one command. */
void sc_help_command(FILE *out, enum sc_command command);

enum sc_shell { SC_SHELL_BASH, SC_SHELL_ZSH, SC_SHELL_FISH }; /* the order of the option's words */

/* The manual page (troff -man) and the completion of a shell: stagecoach help --man, --completion SHELL. */
void sc_help_manual(FILE *out);
void sc_help_completion(FILE *out, enum sc_shell shell);

/* All of `stagecoach help [COMMAND] [--man] [--completion SHELL]`. Fails with SC_BAD_USAGE on an unknown command. */
enum sc_status sc_help_print(FILE *out, const struct sc_options *options);

/* "-n, --predict, --n-predict N": every way to spell an option, cut to `bytes`. */
void sc_help_spelling(const struct sc_option_row *row, char *text, size_t bytes);

/* Way `i` of them alone, as "--no-progress". False when there are not so many. */
bool sc_help_one_spelling(const struct sc_option_row *row, int i, char *text, size_t bytes);

#endif
