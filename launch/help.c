/* SPDX-License-Identifier: Apache-2.0
 * Help texts, made of the tables of commands and options. */
#include "launch/help.h"

#include <string.h>

#define COLUMN 28 /* where the help of an option starts */

bool sc_help_one_spelling(const struct sc_option_row *row, int i, char *text, size_t bytes)
{
    const bool by_name = !row->letters || strcmp(row->letters, row->name) != 0; /* -pp needs no --pp beside it */
    const struct {
        bool exists;
        const char *dashes, *name;
    } ways[] = {{row->letters != NULL, "-", row->letters}, {by_name, "--", row->name},
        {row->type == SC_OPTION_SWITCH, "--no-", row->name}, {row->alias != NULL, "--", row->alias}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        if (ways[w].exists && i-- == 0) {
            (void)snprintf(text, bytes, "%s%s", ways[w].dashes, ways[w].name);
            return true;
        }
    }
    return false;
}

void sc_help_spelling(const struct sc_option_row *row, char *text, size_t bytes)
{
    char way[64];
    size_t at = 0;
    text[0] = '\0';
    if (row->type == SC_OPTION_SWITCH) {
        (void)snprintf(text, bytes, "--[no-]%s", row->name);
        return;
    }
    for (int i = 0; sc_help_one_spelling(row, i, way, sizeof way); i++) {
        (void)snprintf(text + at, bytes - at, "%s%s", i ? ", " : "", way);
        at = strlen(text);
    }
    if (row->argument) {
        (void)snprintf(text + at, bytes - at, " %s", row->argument);
    }
}

static void print_option(FILE *out, const struct sc_option_row *row)
{
    char spelling[96];
    sc_help_spelling(row, spelling, sizeof spelling);
    const int width = (int)strlen(spelling) + 2;
    fprintf(out, "  %s", spelling);
    if (width > COLUMN - 2) {
        fprintf(out, "\n%*s", COLUMN, "");
    } else {
        fprintf(out, "%*s", COLUMN - width, "");
    }
    fputs(row->help, out);
    if (row->otherwise) {
        fprintf(out, " [%s]", row->otherwise);
    }
    fputc('\n', out);
}

static void print_examples(FILE *out, const char *lines)
{
    while (*lines) {
        const int length = (int)strcspn(lines, "\n");
        fprintf(out, "  %.*s\n", length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void sc_help_overview(FILE *out)
{
    fputs("stagecoach runs ONNX models as a pipeline over MPI ranks.\n\n"
          "usage: stagecoach COMMAND [OPTIONS] [ARGUMENTS]\n\ncommands:\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        const struct sc_command_row *row = &sc_command_rows()[i];
        fprintf(out, "  %-10s %s\n", row->name, row->summary);
    }
    fputs("\n'stagecoach COMMAND --help' shows the options of a command.\n\nexamples:\n", out);
    print_examples(out, sc_command_rows()[SC_COMMAND_GENERATE].example);
    fputs("\nexit codes: 0 done, 1 the run failed, 2 bad usage, 3 bad model or input\n", out);
}

void sc_help_command(FILE *out, enum sc_command command)
{
    const struct sc_command_row *row = &sc_command_rows()[command];
    fprintf(out, "usage: stagecoach %s [OPTIONS]%s%s\n\n%s\noptions:\n", row->name, *row->arguments ? " " : "",
        row->arguments, row->description);
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        if (options[i].commands >> command & 1) {
            print_option(out, &options[i]);
        }
    }
    fputs("\nexamples:\n", out);
    print_examples(out, row->example);
}

enum sc_status sc_help_print(FILE *out, const struct sc_options *options)
{
    if (sc_options_flag(options, "help")) {
        sc_help_command(out, SC_COMMAND_HELP);
        return SC_OK;
    }
    if (sc_options_flag(options, "man")) {
        sc_help_manual(out);
        return SC_OK;
    }
    if (sc_options_given(options, "completion")) {
        sc_help_completion(out, (enum sc_shell)sc_options_choice(options, "completion"));
        return SC_OK;
    }
    if (options->n_arguments == 0) {
        sc_help_overview(out);
        return SC_OK;
    }
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        if (strcmp(options->arguments[0], sc_command_rows()[i].name) == 0) {
            sc_help_command(out, (enum sc_command)i);
            return SC_OK;
        }
    }
    return sc_fail(SC_BAD_USAGE, "unknown command '%s'; 'stagecoach help' lists them", options->arguments[0]);
}
