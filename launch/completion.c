/* SPDX-License-Identifier: Apache-2.0
 * Completion scripts for three shells, made of the tables of commands and options. */
#include "launch/help.h"

#include <string.h>

/* What a shell does with one option of a command. */
typedef void put_option_fn(FILE *out, const struct sc_option_row *row);

static void put_options(FILE *out, int command, put_option_fn *put)
{
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        if (options[i].commands >> command & 1) {
            put(out, &options[i]);
        }
    }
}

/* "a|b|c" with another character between the words. */
static void put_words(FILE *out, const char *words, char between)
{
    for (; *words; words++) {
        fputc(*words == '|' ? between : *words, out);
    }
}

/* Text inside single quotes; characters of `special` get a backslash. */
static void put_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
        }
    }
}

static bool names_file(const struct sc_option_row *row)
{
    static const char *const files[] = {"FILE", "DIR", "MODEL", "PATH", "NAME=FILE"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (row->argument && strcmp(row->argument, files[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* bash */

static void put_bash_spellings(FILE *out, const struct sc_option_row *row)
{
    char spelling[64];
    for (int i = 0; sc_help_one_spelling(row, i, spelling, sizeof spelling); i++) {
        fprintf(out, " %s", spelling);
    }
}

static void put_bash_choices(FILE *out, int command)
{
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        if (options[i].type != SC_OPTION_CHOICE || !(options[i].commands >> command & 1)) {
            continue;
        }
        fprintf(out, "        '%s --%s') COMPREPLY=($(compgen -W \"", sc_command_rows()[command].name, options[i].name);
        put_words(out, options[i].argument, ' ');
        fputs("\" -- \"$word\")); return ;;\n", out);
    }
}

static void put_bash(FILE *out)
{
    fputs("# bash completion of stagecoach, made by: stagecoach help --completion bash\n"
          "_stagecoach()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} "
          "commands options i\n"
          "    commands=\"",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "%s%s", i ? " " : "", sc_command_rows()[i].name);
    }
    fputs("\"\n"
          "    for ((i = 2; i < COMP_CWORD - 1; i++)); do # the command that launch starts\n"
          "        [ \"${COMP_WORDS[i]}\" = -- ] && command=${COMP_WORDS[i + 1]}\n"
          "    done\n"
          "    case \"$command $before\" in\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        put_bash_choices(out, i);
    }
    fputs("        *' --') COMPREPLY=($(compgen -W \"$commands\" -- \"$word\")); return ;;\n"
          "    esac\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "        %s) options=\"", sc_command_rows()[i].name);
        put_options(out, i, put_bash_spellings);
        fputs("\" ;;\n", out);
    }
    fputs("        *) return ;;\n"
          "    esac\n"
          "    if [ \"$command\" = help ]; then\n"
          "        options+=\" $commands\"\n"
          "    fi\n"
          "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _stagecoach stagecoach\n",
        out);
}

/* zsh */

static void put_zsh_option(FILE *out, const struct sc_option_row *row)
{
    char spelling[64];
    for (int i = 0; sc_help_one_spelling(row, i, spelling, sizeof spelling); i++) {
        fprintf(out, "            '%s%s[", row->type == SC_OPTION_LIST ? "*" : "", spelling);
        put_quoted(out, row->help, "[]:\\");
        fputc(']', out);
        if (row->type == SC_OPTION_CHOICE) {
            fprintf(out, ":%s:(", row->name);
            put_words(out, row->argument, ' ');
            fputc(')', out);
        } else if (row->argument) {
            fprintf(out, ":%s:%s", row->argument, names_file(row) ? "_files" : " ");
        }
        fputs("' \\\n", out);
    }
}

static void put_zsh(FILE *out)
{
    fputs("#compdef stagecoach\n"
          "# zsh completion of stagecoach, made by: stagecoach help --completion zsh\n"
          "_stagecoach()\n{\n"
          "    local -a commands\n"
          "    commands=(\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "        '%s:", sc_command_rows()[i].name);
        put_quoted(out, sc_command_rows()[i].summary, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )) || [[ $words[CURRENT-1] == -- ]]; then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local -i before=${words[(i)--]} # what is before the command that launch starts\n"
          "    (( before < CURRENT )) || before=1\n"
          "    shift $before words\n"
          "    (( CURRENT -= before ))\n"
          "    case $words[1] in\n",
        out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "        %s) _arguments \\\n", sc_command_rows()[i].name);
        put_options(out, i, put_zsh_option);
        fprintf(out, "            '*:%s:%s' ;;\n", i == SC_COMMAND_HELP ? "command" : "file",
            i == SC_COMMAND_HELP ? "{_describe command commands}" : "_files");
    }
    fputs("    esac\n}\n"
          "if [ \"$funcstack[1]\" = _stagecoach ]; then _stagecoach \"$@\"; else compdef _stagecoach stagecoach; fi\n",
        out);
}

/* fish */

static void put_fish_option(FILE *out, const struct sc_option_row *row)
{
    char spelling[64];
    for (int i = 0; sc_help_one_spelling(row, i, spelling, sizeof spelling); i++) {
        if (spelling[1] == '-') {
            fprintf(out, " -l %s", spelling + 2);
        } else {
            fprintf(out, " -%c %s", spelling[2] ? 'o' : 's', spelling + 1);
        }
    }
    if (row->type == SC_OPTION_CHOICE) {
        fputs(" -xa '", out);
        put_words(out, row->argument, ' ');
        fputc('\'', out);
    } else if (row->argument) {
        fputs(names_file(row) ? " -rF" : " -x", out);
    }
    fputs(" -d '", out);
    put_quoted(out, row->help, "\\");
    fputs("'\n", out);
}

static void put_fish(FILE *out)
{
    int n;
    const struct sc_option_row *options = sc_option_rows(&n);
    fputs("# fish completion of stagecoach, made by: stagecoach help --completion fish\n", out);
    for (int i = 0; i < SC_N_COMMANDS; i++) {
        fprintf(out, "complete -c stagecoach -f -n __fish_use_subcommand -a %s -d '", sc_command_rows()[i].name);
        put_quoted(out, sc_command_rows()[i].summary, "\\");
        fputs("'\n", out);
    }
    for (int i = 0; i < SC_N_COMMANDS * n; i++) {
        if (options[i % n].commands >> i / n & 1) {
            fprintf(out, "complete -c stagecoach -n '__fish_seen_subcommand_from %s'", sc_command_rows()[i / n].name);
            put_fish_option(out, &options[i % n]);
        }
    }
}

void sc_help_completion(FILE *out, enum sc_shell shell)
{
    static void (*const shells[])(FILE *) = {
        [SC_SHELL_BASH] = put_bash, [SC_SHELL_ZSH] = put_zsh, [SC_SHELL_FISH] = put_fish};
    shells[shell](out);
}
