/* SPDX-License-Identifier: Apache-2.0
 * What the commands share: the world they run in, messages to the user, exit codes. */
#ifndef SC_LAUNCH_APP_H
#define SC_LAUNCH_APP_H

#include <stdio.h>

#include "launch/options.h"
#include "launch/progress.h"
#include "runtime/session.h"

enum sc_exit { SC_EXIT_OK = 0, SC_EXIT_FAILED = 1, SC_EXIT_USAGE = 2, SC_EXIT_INPUT = 3 };

/* One run of the program on this rank. `world` is NULL for commands that never start MPI. */
struct sc_app {
    const struct sc_options *options;
    const char *command;
    struct sc_world *world;
    char who[32]; /* begins the lines of the watchdog */
    struct sc_watchdog *watchdog; /* NULL: none, as for one rank alone */
    struct sc_log log;
    struct sc_progress progress; /* the one bar of the job, on rank 0 where somebody watches */
    int64_t start_memory_bytes; /* this rank's, once MPI is there and before anything is loaded */
};

/* Exit code of a status. */
int sc_app_exit_code(enum sc_status status);

/* "stagecoach COMMAND: rank R on HOST: text" to stderr in one write, from the error of this thread. */
void sc_app_print_error(struct sc_app *app);

/* Pushes out what was printed to stdout; SC_IO when any of it could not be written. */
enum sc_status sc_app_flush(void);

/* Opens the world: over MPI under a launcher, with a watchdog, else one rank alone. */
enum sc_status sc_app_open_world(struct sc_app *app);
void sc_app_close_world(struct sc_app *app); /* safe when it is not open */

/* On every rank, from rank 0 where the others have no such file. */
enum sc_status sc_app_open_model(const struct sc_app *app, const char *path, struct sc_model **model);

/* What --state says of a model just opened. */
enum sc_status sc_app_say_states(const struct sc_options *options, struct sc_model *model);

/* The session's options that every command takes in the same way: -pp, --plan, --threads, --seed, ... */
void sc_app_session_options(struct sc_app *app, struct sc_session_options *session);

/* On rank 0, before the work: the file that an option names, if it is given, can be written at the end. */
enum sc_status sc_app_check_writable(const struct sc_app *app, const char *option);

/* --prefill-plan and --decode-plan, which go together and with no other way to a plan. */
enum sc_status sc_app_phase_plans(const struct sc_app *app, struct sc_session_options *session);

/* Runs an opened session: rank 0 does `drive`, the others serve it. A rank whose link fails, or whose serving fails,
 * says so and ends the job; drive's own failure is returned on rank 0 after the others have been told to stop. */
enum sc_status sc_app_run(
    struct sc_app *app, struct sc_session *session, enum sc_status (*drive)(void *arg), void *arg);

/* Collective, after sc_app_run: --trace FILE, when given. */
enum sc_status sc_app_write_trace(const struct sc_app *app, struct sc_session *session);

/* A session is open. The bar of its loading ends; one of `what` begins, NULL: none. */
void sc_app_opened(struct sc_app *app, const char *what, int64_t total);

bool sc_app_is_root(const struct sc_app *app); /* rank 0 */

/* stderr, for plan, times and tables of a run; NULL on other ranks than 0, and where the log says less than info. */
FILE *sc_app_told(const struct sc_app *app);
bool sc_app_watched(const struct sc_app *app); /* a person sees stderr: progress bars make sense */

/* Commands. Each returns a status whose message, if any, has not been printed. */
enum sc_status sc_command_inspect(struct sc_app *app);
enum sc_status sc_command_ops(struct sc_app *app);
enum sc_status sc_command_plan(struct sc_app *app);
enum sc_status sc_command_run(struct sc_app *app);
enum sc_status sc_command_verify(struct sc_app *app);
enum sc_status sc_command_generate(struct sc_app *app);
enum sc_status sc_command_bench(struct sc_app *app);

#endif
