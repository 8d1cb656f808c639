/* SPDX-License-Identifier: Apache-2.0
 * The manual page and the bash completion, made of the tables of commands and options. */
#include "launch/help.h"

#include <string.h>

/* Text for troff: backslashes, dashes and leading dots are special there. */
static void put_troff(FILE *out, const char *text)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", out);
        }
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
        at_start = *text == '\n';
    }
}

static void put_manual_option(FILE *out, const struct sc_option_row *row)
{
    char spelling[96];
    sc_help_spelling(row, spelling, sizeof spelling);
    fputs(".TP\n.B ", out);
    put_troff(out, spelling);
    fputc('\n', out);
    put_troff(out, row->help);
    if (row->otherwise) {
        fputs(" (default ", out);
        put_troff(out, row->otherwise);
        fputc(')', out);
    }
    if (row->alias) {
        fputs("; also \\-\\-", out);
        put_troff(out, row->alias);
    }
    fputs(".\n", out);
}

static void put_manual_command(FILE *out, int command)
{
    const struct sc_command_row *row = &sc_command_rows()[command];
    fprintf(out, ".SS %s\n.B stagecoach %s\n[OPTIONS] ", row->name, row->name);
    put_troff(out, row->arguments);
    fputs("\n.PP\n", out);
    put_troff(out, row->description);
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        if (options[i].commands >> command & 1) {
            put_manual_option(out, &options[i]);
        }
    }
    fputs(".PP\nExample:\n.PP\n.nf\n", out);
    put_troff(out, row->example);
    fputs(".fi\n", out);
}

void sc_help_manual(FILE *out)
{
    fputs(".TH STAGECOACH 1 \"\" \"stagecoach " SC_VERSION "\" \"User commands\"\n"
          ".SH NAME\nstagecoach \\- run ONNX models as a pipeline over MPI\n"
          ".SH SYNOPSIS\n.B stagecoach\nCOMMAND [OPTIONS] [ARGUMENTS]\n"
          ".SH DESCRIPTION\n"
          "A model is cut into stages of about equal cost. Each MPI rank runs one stage and keeps its weights and its "
          "part\n"
          "of the key and value cache. Results go to standard output, everything else to standard error.\n"
          ".SH COMMANDS\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        put_manual_command(out, i);
    }
    fputs(".SH EXIT STATUS\n0 done, 1 the run failed, 2 bad usage, 3 bad model or input.\n"
          ".SH ENVIRONMENT\n.TP\n.B SC_CPU\nbase, avx2 or avx512: the kernels to use, at most what the CPU has.\n"
          ".SH SEE ALSO\n.BR mpirun (1)\n",
        out);
}

/* Every spelling of the options of a command, separated by blanks. */
static void put_spellings(FILE *out, int command)
{
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        const struct sc_option_row *row = &options[i];
        if (!(row->commands >> command & 1)) {
            continue;
        }
        fprintf(out, " --%s", row->name);
        if (row->type == SC_OPTION_SWITCH) {
            fprintf(out, " --no-%s", row->name);
        }
        if (row->letters) {
            fprintf(out, " -%s", row->letters);
        }
        if (row->alias) {
            fprintf(out, " --%s", row->alias);
        }
    }
}

static void put_choices(FILE *out)
{
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        if (options[i].type != SC_OPTION_CHOICE) {
            continue;
        }
        fprintf(out, "        --%s) COMPREPLY=($(compgen -W \"", options[i].name);
        for (const char *at = options[i].argument; *at; at++) {
            fputc(*at == '|' ? ' ' : *at, out);
        }
        fputs("\" -- \"$word\")); return ;;\n", out);
    }
}

void sc_help_completion(FILE *out)
{
    fputs("# bash completion of stagecoach, made by: stagecoach help --completion\n"
          "_stagecoach()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options commands\n"
          "    commands=\"",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "%s%s", i ? " " : "", sc_command_rows()[i].name);
    }
    fputs("\"\n    case $before in\n", out);
    put_choices(out);
    fputs("        --) COMPREPLY=($(compgen -W \"$commands\" -- \"$word\")); return ;;\n"
          "    esac\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "        %s) options=\"", sc_command_rows()[i].name);
        put_spellings(out, i);
        fputs("\" ;;\n", out);
    }
    fputs("        *) return ;;\n"
          "    esac\n"
          "    if [ \"${COMP_WORDS[1]}\" = help ]; then\n"
          "        options+=\" $commands\"\n"
          "    fi\n"
          "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _stagecoach stagecoach\n",
        out);
}
