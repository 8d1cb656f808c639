/* SPDX-License-Identifier: Apache-2.0
 * The manual page, made of the tables of commands and options. */
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
