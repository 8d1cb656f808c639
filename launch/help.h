/* SPDX-License-Identifier: Apache-2.0
 * What the option table looks like to people: help, man page, bash completion. */
#ifndef SC_LAUNCH_HELP_H
#define SC_LAUNCH_HELP_H

#include <stdio.h>

#include "launch/options.h"

/* All commands, one line each. */
void sc_help_overview(FILE *out);

/* Usage, description, options with defaults, examples of one command. */
void sc_help_command(FILE *out, enum sc_command command);

/* The manual page (troff -man) and the completion for bash: stagecoach help --man, --completion. */
void sc_help_manual(FILE *out);
void sc_help_completion(FILE *out);

/* All of `stagecoach help [COMMAND] [--man] [--completion]`. Fails with SC_BAD_USAGE on an unknown command. */
enum sc_status sc_help_print(FILE *out, const struct sc_options *options);

/* "-n, --predict N": how an option is spelled, cut to `bytes`. */
void sc_help_spelling(const struct sc_option_row *row, char *text, size_t bytes);

#endif
