/* SPDX-License-Identifier: Apache-2.0
 * mpirun runs as a child whose stderr comes through this process (mpirun_output.h); its stdin and stdout are ours. */
#include "launch/mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/mpirun_output.h"
#include "launch/options.h"

enum sc_mpirun_kind sc_mpirun_kind_of(const char *version)
{
    const char *open_mpi = strstr(version, "(Open MPI) ");
    if (open_mpi) {
        return strtol(open_mpi + strlen("(Open MPI) "), NULL, 10) >= 5 ? SC_MPIRUN_OPEN_MPI_5 : SC_MPIRUN_OPEN_MPI_4;
    }
    if (strstr(version, "HYDRA") || strstr(version, "Intel(R) MPI") || strstr(version, "MPICH")) {
        return SC_MPIRUN_HYDRA;
    }
    return SC_MPIRUN_UNKNOWN;
}

struct arguments {
    struct sc_arena *arena;
    char **items;
    int n;
    bool out_of_memory;
};

static void add(struct arguments *arguments, const char *text)
{
    char *copy = sc_arena_text(arguments->arena, text, strlen(text));
    arguments->out_of_memory = arguments->out_of_memory || !copy;
    arguments->items[arguments->n++] = copy;
}

static void add_kind_flags(
    struct arguments *arguments, const struct sc_mpirun_request *request, enum sc_mpirun_kind kind)
{
    const bool this_host = !request->hostfile && !request->managed;
    if (kind == SC_MPIRUN_OPEN_MPI_4 || kind == SC_MPIRUN_OPEN_MPI_5) {
        if (this_host) { /* its slots are cores; more ranks than cores are the user's choice */
            add(arguments, kind == SC_MPIRUN_OPEN_MPI_4 ? "--oversubscribe" : "--map-by");
            if (kind == SC_MPIRUN_OPEN_MPI_5) {
                add(arguments, ":OVERSUBSCRIBE");
            }
        }
        add(arguments, "--bind-to");
        add(arguments, "none");
        add(arguments, "-x");
        add(arguments, "SC_TTY");
        add(arguments, "-x");
        add(arguments, "SC_TTY_OUT");
    } else if (kind == SC_MPIRUN_HYDRA) { /* hands on the whole environment by itself */
        add(arguments, "-bind-to");
        add(arguments, "none");
    }
    if (request->hostfile) {
        add(arguments, kind == SC_MPIRUN_HYDRA ? "-f" : "--hostfile");
        add(arguments, request->hostfile);
    }
}

enum sc_status sc_mpirun_arguments(
    const struct sc_mpirun_request *request, enum sc_mpirun_kind kind, struct sc_arena *arena, char ***arguments)
{
    char n_ranks[16];
    struct arguments made = {.arena = arena};
    made.items = sc_arena_array(arena, (size_t)request->n_command + 16, sizeof *made.items);
    if (!made.items) {
        return SC_NO_MEMORY;
    }
    snprintf(n_ranks, sizeof n_ranks, "%d", request->n_ranks);
    add(&made, request->mpirun);
    add(&made, "-n");
    add(&made, n_ranks);
    add_kind_flags(&made, request, kind);
    add(&made, request->program);
    for (int i = 0; i < request->n_command; i++) {
        add(&made, request->command[i]);
    }
    if (made.out_of_memory) {
        return SC_NO_MEMORY;
    }
    made.items[made.n] = NULL;
    *arguments = made.items;
    return SC_OK;
}

static enum sc_status set_environment(int progress)
{
    const bool watched = progress < 0 ? isatty(STDERR_FILENO) != 0 : progress > 0;
    const bool ok = setenv("SC_TTY", watched ? "1" : "0", 1) == 0 &&
        setenv("SC_TTY_OUT", isatty(STDOUT_FILENO) ? "1" : "0", 1) == 0 &&
        /* Open MPI asks root twice; in containers everybody is root. */
        (geteuid() != 0 ||
            (setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1) == 0 && setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1) == 0));
    return ok ? SC_OK : sc_fail(SC_NO_MEMORY, "cannot set the environment of mpirun: %s", strerror(errno));
}

struct child {
    pid_t pid;
    int output; /* reads what it writes */
    bool ended; /* `status` is waitpid's */
    int status;
};

/* In the child: stderr (and stdout, when `both`) become `output`. The cause of a failed exec goes to `told`. */
static _Noreturn void become(char *const *arguments, int output, bool both, int told)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* a killed launcher leaves no job behind */
    if (dup2(output, STDERR_FILENO) >= 0 && (!both || dup2(output, STDOUT_FILENO) >= 0)) {
        (void)execvp(arguments[0], arguments);
    }
    const int cause = errno;
    const ssize_t n = write(told, &cause, sizeof cause);
    _exit(n == (ssize_t)sizeof cause ? 127 : 126);
}

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
}

static enum sc_status start(char *const *arguments, bool both, struct child *child)
{
    int fds[4] = {-1, -1, -1, -1}; /* output and told, reading and writing end each */
    int cause = 0;
    bool opened = pipe(fds) == 0 && pipe(fds + 2) == 0;
    for (int i = 0; opened && i < 4; i++) {
        opened = fcntl(fds[i], F_SETFD, FD_CLOEXEC) == 0; /* so `told` ends when exec succeeds */
    }
    const pid_t pid = opened ? fork() : -1;
    if (pid < 0) {
        cause = errno;
        close_all(fds, 4);
        return sc_fail(SC_IO, "cannot start '%s': %s", arguments[0], strerror(cause));
    }
    if (pid == 0) {
        become(arguments, fds[1], both, fds[3]);
    }
    (void)close(fds[1]);
    (void)close(fds[3]);
    ssize_t n;
    do {
        n = read(fds[2], &cause, sizeof cause);
    } while (n < 0 && errno == EINTR);
    (void)close(fds[2]);
    if (n == 0) {
        *child = (struct child){.pid = pid, .output = fds[0]};
        return SC_OK;
    }
    (void)close(fds[0]);
    (void)waitpid(pid, NULL, 0);
    if (n == (ssize_t)sizeof cause && cause == ENOENT) {
        return sc_fail(SC_BAD_USAGE,
            "'%s' not found: install the Debian package openmpi-bin, or give the path of mpirun with --mpirun",
            arguments[0]);
    }
    return sc_fail(SC_IO, "cannot start '%s': %s", arguments[0], strerror(cause));
}

/* True when the child has ended; waits for it when `flags` is 0, looks when it is WNOHANG. */
static bool has_ended(struct child *child, int flags)
{
    pid_t pid = 0;
    while (!child->ended && (pid = waitpid(child->pid, &child->status, flags)) < 0 && errno == EINTR) { }
    child->ended = child->ended || pid == child->pid;
    return child->ended;
}

/* 128 + signal when one ended it, as a shell says it. */
static int exit_code_of(struct child *child)
{
    if (!has_ended(child, 0)) {
        return 1;
    }
    return WIFEXITED(child->status) ? WEXITSTATUS(child->status) : 128 + WTERMSIG(child->status);
}

static enum sc_status find_kind(const char *mpirun, enum sc_mpirun_kind *kind)
{
    char text[4096], flag[] = "--version";
    char *name = strdup(mpirun);
    char *arguments[] = {name, flag, NULL};
    struct child child;
    size_t at = 0;
    if (!name) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the name of mpirun");
    }
    const enum sc_status status = start(arguments, true, &child);
    free(name);
    SC_TRY(status);
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
        char more[512];
        n = read(child.output, more, sizeof more); /* to its end, that the child never meets a closed pipe */
        for (ssize_t i = 0; i < n && at + 1 < sizeof text; i++) {
            text[at++] = more[i];
        }
    }
    text[at] = '\0';
    (void)close(child.output);
    (void)has_ended(&child, 0);
    *kind = sc_mpirun_kind_of(text);
    return SC_OK;
}

/* Signals from a terminal reach mpirun by themselves; those that were sent to this process alone are handed on. */
static void hand_on(const sigset_t *signals, pid_t pid)
{
    const struct timespec now = {0};
    siginfo_t info;
    while (sigtimedwait(signals, &info, &now) > 0) {
        if (info.si_code == SI_USER || info.si_code == SI_QUEUE) {
            (void)kill(pid, info.si_signo);
        }
    }
}

static void pass_output(struct child *child, const sigset_t *signals)
{
    struct sc_mpirun_output output = {.fd = STDERR_FILENO};
    char data[4096];
    for (;;) {
        struct pollfd ready = {.fd = child->output, .events = POLLIN};
        const int n_ready = poll(&ready, 1, 100);
        hand_on(signals, child->pid);
        if (n_ready > 0) {
            const ssize_t n = read(child->output, data, sizeof data);
            if (n > 0) {
                sc_mpirun_output_feed(&output, data, (size_t)n);
            } else if (n == 0 || errno != EINTR) {
                break;
            }
        } else if (n_ready == 0 ? has_ended(child, WNOHANG) : errno != EINTR) {
            break; /* something that it left behind may hold the pipe open */
        }
    }
    sc_mpirun_output_end(&output);
}

static void print_command(char *const *arguments)
{
    for (int i = 0; arguments[i]; i++) {
        const char *text = arguments[i];
        const bool plain = text[0] && text[strcspn(text, " \t\n\"'\\$`&|;<>()*?[]#~!{}")] == '\0';
        fputs(i ? " " : "", stderr);
        fputs(plain ? "" : "'", stderr);
        for (; *text; text++) {
            if (*text == '\'') {
                fputs("'\\''", stderr);
            } else {
                fputc(*text, stderr);
            }
        }
        fputs(plain ? "" : "'", stderr);
    }
    fputc('\n', stderr);
}

enum sc_status sc_mpirun_run(const struct sc_mpirun_request *request, bool verbose, int *exit_code)
{
    static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    enum sc_mpirun_kind kind = SC_MPIRUN_UNKNOWN;
    struct sc_arena arena = {0};
    char **arguments = NULL;
    struct child child;
    sigset_t signals, before;
    SC_TRY(set_environment(request->progress));
    SC_TRY(find_kind(request->mpirun, &kind));
    enum sc_status status = sc_mpirun_arguments(request, kind, &arena, &arguments);
    if (status != SC_OK) {
        goto out;
    }
    if (verbose) {
        print_command(arguments);
    }
    (void)sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
        (void)sigaddset(&signals, handed_on[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    status = start(arguments, false, &child);
    if (status == SC_OK) {
        pass_output(&child, &signals);
        (void)close(child.output);
        *exit_code = exit_code_of(&child);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
out:
    sc_arena_release(&arena);
    return status;
}

/* The ranks' command line is parsed here first: what is wrong with it is said once, not by each rank. */
static enum sc_status check_command(int argc, const char *const *argv)
{
    struct sc_options options = {0};
    enum sc_status status = sc_options_parse(argc, argv, &options);
    if (status == SC_OK && options.command == SC_COMMAND_LAUNCH) {
        status = sc_fail(SC_BAD_USAGE, "launch cannot start launch");
    }
    sc_options_release(&options);
    return status;
}

static enum sc_status launch(const struct sc_options *options, int *exit_code)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        return sc_fail(SC_IO, "cannot find the path of this program: %s", strerror(errno));
    }
    program[length] = '\0';
    const int n = options->n_arguments;
    const char **command = calloc((size_t)n + 2, sizeof *command);
    if (!command) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the command line");
    }
    command[0] = program;
    memcpy(command + 1, options->arguments, (size_t)n * sizeof *command);
    enum sc_status status = check_command(n + 1, command);
    const struct sc_mpirun_request request = {.mpirun = sc_options_text(options, "mpirun"),
        .n_ranks = (int)sc_options_int(options, "ranks"),
        .hostfile = sc_options_text(options, "hostfile"),
        .managed = getenv("SLURM_JOB_ID") || getenv("PBS_JOBID") || getenv("LSB_JOBID"),
        .progress = sc_options_given(options, "progress") ? sc_options_flag(options, "progress") : -1,
        .program = program,
        .command = options->arguments,
        .n_command = n};
    if (status == SC_OK) {
        status = sc_mpirun_run(&request, sc_options_flag(options, "verbose"), exit_code);
    }
    free(command);
    return status;
}

int sc_launch_main(int argc, char **argv)
{
    struct sc_options options = {0};
    int exit_code = 0;
    enum sc_status status = sc_options_parse(argc, (const char *const *)argv, &options);
    if (status == SC_OK) {
        status = launch(&options, &exit_code);
    }
    sc_options_release(&options);
    if (status != SC_OK) {
        fprintf(stderr, "stagecoach: %s\n", sc_error_last()->text);
        return status == SC_BAD_USAGE ? 2 : 1;
    }
    return exit_code;
}
