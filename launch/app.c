/* SPDX-License-Identifier: Apache-2.0
 * One place prints errors, and only for the rank that can say most about them. */
#include "launch/app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "decode/pairs.h"
#include "launch/last_word.h"

#define SC_TRACE_EVENTS (1 << 17) /* 5 MiB a rank */

int sc_app_exit_code(enum sc_status status)
{
    switch (status) {
    case SC_OK:
        return SC_EXIT_OK;
    case SC_BAD_USAGE:
        return SC_EXIT_USAGE;
    case SC_BAD_MODEL:
    case SC_UNSUPPORTED:
    case SC_BAD_INPUT:
    case SC_LIMIT:
    case SC_IO: /* a file that the user named is not there, or not to be written */
        return SC_EXIT_INPUT;
    default:
        return SC_EXIT_FAILED;
    }
}

bool sc_app_is_root(const struct sc_app *app)
{
    return !app->world || sc_world_rank(app->world) == 0;
}

FILE *sc_app_told(const struct sc_app *app)
{
    return sc_app_is_root(app) && app->log.level >= SC_LOG_INFO ? stderr : NULL;
}

bool sc_app_watched(const struct sc_app *app)
{
    if (sc_options_given(app->options, "progress")) {
        return sc_options_flag(app->options, "progress");
    }
    const char *told =
        getenv("SC_TTY"); /* under mpirun stderr is a pipe or a pty whoever watches; the launcher knows */
    return told ? strcmp(told, "1") == 0 : !sc_world_launched() && isatty(STDERR_FILENO);
}

void sc_app_print_error(struct sc_app *app)
{
    sc_progress_end(&app->progress);
    const struct sc_error *error = sc_error_last();
    char line[SC_ERROR_TEXT + 256], where[128] = "";
    const bool several = app->world && sc_world_size(app->world) > 1;
    if (several && error->rank >= 0) {
        snprintf(where, sizeof where, "rank %d%s%.60s: ", error->rank, error->host[0] ? " on " : "", error->host);
    }
    const int length = snprintf(
        line, sizeof line, "stagecoach%s%s: %s%s\n", *app->command ? " " : "", app->command, where, error->text);
    const size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    if (write(STDERR_FILENO, line, bytes) < 0) {
        return; /* there is nowhere left to complain */
    }
}

enum sc_status sc_app_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return SC_OK;
    }
    return sc_fail(SC_IO, "standard output cannot be written%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

/* An error of this rank that the others do not know of. */
_Noreturn static void die(struct sc_app *app, enum sc_status status)
{
    struct sc_error *error = sc_error_last();
    if (error->rank < 0 && app->world) {
        error->rank = sc_world_rank(app->world);
        gethostname(error->host, sizeof error->host - 1);
    }
    fflush(stdout);
    sc_app_print_error(app);
    sc_last_word_say(sc_app_exit_code(status));
    if (app->world) {
        sc_world_abort(app->world, sc_app_exit_code(status));
    }
    exit(sc_app_exit_code(status));
}

/* Started before MPI, which waits for all ranks at its start. */
static enum sc_status start_watchdog(struct sc_app *app)
{
    const int64_t timeout_s = sc_options_int(app->options, "timeout");
    snprintf(app->who, sizeof app->who, "stagecoach %s", app->command);
    return timeout_s > 0 ? sc_watchdog_start(timeout_s * 1000000000, app->who, &app->watchdog) : SC_OK;
}

static enum sc_status open_launched(struct sc_app *app)
{
    SC_TRY(start_watchdog(app));
    (void)prctl(PR_SET_TIMERSLACK, 1000UL); /* 50 us else, which is longer than most sleeps between looks at MPI */
    SC_TRY(sc_world_open_mpi(&app->world));
    if (sc_world_size(app->world) == 1) {
        sc_watchdog_stop(app->watchdog);
        app->watchdog = NULL;
    }
    return app->watchdog ? sc_watchdog_world(app->watchdog, app->world) : SC_OK;
}

enum sc_status sc_app_open_world(struct sc_app *app)
{
    const enum sc_status status = sc_world_launched() ? open_launched(app) : sc_world_open_single(&app->world);
    if (status == SC_OK) {
        app->log.rank = sc_world_size(app->world) > 1 ? sc_world_rank(app->world) : -1;
        app->log.speaks = sc_world_rank(app->world) == 0;
    }
    const bool watched = status == SC_OK && sc_app_watched(app);
    app->progress.on = watched && sc_app_is_root(app);
    app->log.before = watched ? SC_PROGRESS_CLEAR : NULL; /* another rank's line may come while the bar is up */
    app->start_memory_bytes = sc_memory_peak_bytes();
    return status;
}

void sc_app_close_world(struct sc_app *app)
{
    sc_world_free(app->world);
    app->world = NULL;
    sc_watchdog_stop(app->watchdog); /* until now: a rank may be stopped while the others end */
    app->watchdog = NULL;
}

enum sc_status sc_app_open_model(const struct sc_app *app, const char *path, struct sc_model **model)
{
    return sc_session_open_model(app->world, path, &app->log, model);
}

enum sc_status sc_app_say_states(const struct sc_options *options, struct sc_model *model)
{
    const char *const *texts;
    const int n = sc_options_list(options, "state", &texts);
    return sc_pairs_say(model, n, texts);
}

/* The bar of `what`, unless another one of the command is up. */
static void show_bytes(struct sc_app *app, const char *what, int64_t done_bytes, int64_t all_bytes)
{
    struct sc_progress *bar = &app->progress;
    if (!bar->what) {
        sc_progress_begin(bar, what, all_bytes, true);
    }
    sc_world_away(app->world, true); /* whoever watches may have stopped the terminal */
    sc_progress_set(bar, bar->what == what ? done_bytes : 0);
    sc_world_away(app->world, false);
}

static void show_streaming(void *arg, int64_t done_bytes, int64_t all_bytes)
{
    show_bytes(arg, "sending weights", done_bytes, all_bytes);
}

static void show_tick(void *arg, int64_t done_bytes, int64_t all_bytes)
{
    struct sc_app *app = arg;
    if (all_bytes > 0) {
        show_bytes(app, "loading", done_bytes, all_bytes);
    } else if (app->progress.what && app->progress.total == 0) { /* one that counts seconds */
        sc_world_away(app->world, true);
        sc_progress_set(&app->progress, 0);
        sc_world_away(app->world, false);
    }
}

void sc_app_opened(struct sc_app *app, const char *what, int64_t total)
{
    sc_progress_end(&app->progress);
    if (what) {
        sc_progress_begin(&app->progress, what, total, false);
    }
}

void sc_app_session_options(struct sc_app *app, struct sc_session_options *session)
{
    sc_session_options_init(session);
    sc_options_settings(app->options, session);
    session->trace_events = sc_options_text(app->options, "trace") ? SC_TRACE_EVENTS : 0;
    session->log = app->log;
    if (app->progress.on) {
        session->show_streaming = show_streaming;
        session->show_tick = show_tick;
        session->show_arg = app;
    }
    session->watchdog = app->watchdog;
    session->start_memory_bytes = app->start_memory_bytes;
}

enum sc_status sc_app_check_writable(const struct sc_app *app, const char *option)
{
    const char *path = sc_app_is_root(app) ? sc_options_text(app->options, option) : NULL;
    return path ? sc_file_check_writable(path) : SC_OK;
}

enum sc_status sc_app_phase_plans(const struct sc_app *app, struct sc_session_options *session)
{
    static const char *const others[] = {"plan", "random-plan", "pp", "max-tbt"};
    const char *prefill = sc_options_text(app->options, "prefill-plan");
    const char *decode = sc_options_text(app->options, "decode-plan");
    if (!prefill != !decode) {
        return sc_fail(SC_BAD_USAGE, "options '--prefill-plan' and '--decode-plan' go together");
    }
    for (size_t i = 0; prefill && i < sizeof others / sizeof others[0]; i++) {
        if (sc_options_given(app->options, others[i])) {
            return sc_fail(SC_BAD_USAGE, "options '--prefill-plan' and '--%s' exclude each other", others[i]);
        }
    }
    if (prefill) {
        session->plan_path = decode;
        session->prefill_plan_path = prefill;
    }
    return SC_OK;
}

enum sc_status sc_app_run(struct sc_app *app, struct sc_session *session, enum sc_status (*drive)(void *arg), void *arg)
{
    if (!sc_app_is_root(app)) {
        const enum sc_status served = sc_session_serve(session);
        if (served != SC_OK) {
            die(app, served);
        }
        return SC_OK;
    }
    const enum sc_status status = drive(arg);
    const struct sc_error failed = *sc_error_last();
    if (status == SC_PEER) {
        die(app, status);
    }
    const enum sc_status finished = sc_session_finish(session);
    if (finished != SC_OK) {
        die(app, finished);
    }
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

enum sc_status sc_app_write_trace(const struct sc_app *app, struct sc_session *session)
{
    const char *path = sc_options_text(app->options, "trace");
    return path ? sc_session_write_trace(session, path) : SC_OK;
}
