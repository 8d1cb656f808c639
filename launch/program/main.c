/* SPDX-License-Identifier: Apache-2.0
 * The program: parse, open the world if the command needs one, run it, print what went wrong once. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/app.h"
#include "launch/help.h"
#include "launch/last_word.h"
#include "launch/mpirun.h"
#include "ops/nn/image.h"

struct command {
    enum sc_status (*run)(struct sc_app *app);
    bool parallel; /* runs on every rank, together */
};

static const struct command commands[SC_N_COMMANDS] = {
    [SC_COMMAND_INSPECT] = {sc_command_inspect, false},
    [SC_COMMAND_OPS] = {sc_command_ops, false},
    [SC_COMMAND_PLAN] = {sc_command_plan, false},
    [SC_COMMAND_RUN] = {sc_command_run, true},
    [SC_COMMAND_VERIFY] = {sc_command_verify, true},
    [SC_COMMAND_GENERATE] = {sc_command_generate, true},
    [SC_COMMAND_BENCH] = {sc_command_bench, true},
};

static int run_command(struct sc_app *app)
{
    const struct command *command = &commands[app->options->command];
    const int launch_rank = sc_world_launch_rank(); /* MPI sets variables of its own once it has started */
    if (!command->parallel && launch_rank > 0) {
        return SC_EXIT_OK; /* the ranks have nothing to do together: one answers */
    }
    enum sc_status status = command->parallel ? sc_app_open_world(app) : SC_OK;
    if (status == SC_OK) {
        status = command->run(app);
    }
    /* Without a world rank 0 speaks; where it takes itself for the only one (comm/world_mpi.c), rank 1 is the first to
     * know. */
    const int first = status != SC_OK && sc_error_last()->rank == 1 ? 1 : 0;
    const bool speaks = app->world ? sc_app_is_root(app) : launch_rank <= first;
    status = status == SC_OK ? sc_app_flush() : status;
    if (status != SC_OK && speaks && sc_error_last()->text[0]) {
        sc_app_print_error(app);
    }
    sc_app_close_world(app);
    return sc_app_exit_code(status);
}

/* Help and version: texts of the program alone. */
static int print_text(struct sc_app *app)
{
    const struct sc_options *options = app->options;
    enum sc_status status = SC_OK;
    if (options->command == SC_COMMAND_HELP) {
        status = sc_help_print(stdout, options);
    } else if (sc_options_flag(options, "help")) {
        sc_help_command(stdout, (enum sc_command)options->command);
    } else {
        printf("stagecoach %s\nimages: %s\n", SC_VERSION, sc_image_formats());
    }
    status = status == SC_OK ? sc_app_flush() : status;
    if (status != SC_OK) {
        sc_app_print_error(app);
    }
    return sc_app_exit_code(status);
}

/* Reading a mapped file that somebody has cut short since. */
static void on_cut_file(int number)
{
    static const char line[] = "stagecoach: a file of the model was cut short while it was in use\n";
    const ssize_t n = write(STDERR_FILENO, line, sizeof line - 1);
    (void)n;
    (void)number;
    sc_last_word_say(SC_EXIT_INPUT);
    _exit(SC_EXIT_INPUT);
}

int main(int argc, char **argv)
{
    struct sc_options options = {0};
    struct sc_app app = {.options = &options, .command = "", .log = {.fd = STDERR_FILENO, .rank = -1, .speaks = 1}};
    (void)signal(SIGBUS, on_cut_file);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write, with a line and an exit code */
    const enum sc_status parsed = sc_options_parse(argc, (const char *const *)argv, &options);
    int code = SC_EXIT_OK;
    if (options.command >= 0) {
        app.command = sc_command_rows()[options.command].name;
    }
    if (parsed != SC_OK) {
        if (sc_world_launch_rank() <= 0) { /* every rank has read the same words */
            sc_app_print_error(&app);
        }
        code = sc_app_exit_code(parsed);
    } else if (sc_options_flag(&options, "help") || options.command == SC_COMMAND_HELP ||
        options.command == SC_COMMAND_VERSION) {
        code = sc_world_launch_rank() <= 0 ? print_text(&app) : SC_EXIT_OK;
    } else if (options.command == SC_COMMAND_LAUNCH) {
        code = sc_launch_main(argc, argv);
    } else {
        app.log.level = (enum sc_log_level)sc_options_choice(&options, "log-level");
        code = run_command(&app);
    }
    sc_options_release(&options);
    if (code != SC_EXIT_OK) {
        sc_last_word_say(code);
    }
    return code;
}
