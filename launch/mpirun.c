/* SPDX-License-Identifier: Apache-2.0
 * mpirun runs as a child whose stderr comes through this process (mpirun_output.h). So does its stdout, since mpirun
 * says nothing when it cannot write what a rank wrote. Its stdin is ours. */
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

#include "base/clock.h"
#include "launch/app.h"
#include "launch/last_word.h"
#include "launch/mpirun_output.h"
#include "launch/options.h"

#define SETTLE_MS 3
#define GRACE_NS INT64_C(2000000000)

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
        if (kind == SC_MPIRUN_OPEN_MPI_4) { /* its second between SIGTERM and SIGKILL: to ranks both are the end */
            add(arguments, "--mca");
            add(arguments, "odls_base_sigkill_timeout");
            add(arguments, "0");
        }
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
    made.items = sc_arena_array(arena, (size_t)request->n_command + 20, sizeof *made.items);
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
    int err; /* reads what it writes to stderr, or to both */
    int out; /* to stdout; -1: comes with `err` */
    bool ended; /* `status` is waitpid's */
    int status;
    int last_words; /* where ranks tell their exit codes (last_word.h) */
    bool asks; /* the ranks take SIGUSR1 as a question to stop, which was not asked yet */
    bool asked;
    int handed_on; /* a signal that was to end the job; 0: none was */
    int given_up; /* the exit code to give in place of its own, unless a rank told one; 0: it may end by itself */
};

/* In the child. The cause of a failed exec goes to `told`. */
static _Noreturn void become(char *const *arguments, int out, int err, int told)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0); /* what is typed at a terminal comes by way of the launcher */
    (void)signal(SIGTTIN, SIG_IGN); /* and is not read from there */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* a killed launcher leaves no job behind */
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0) {
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
    enum { ERR, TOLD = 2, OUT = 4 }; /* reading ends; the writing end follows each */
    int fds[6] = {-1, -1, -1, -1, -1, -1};
    int cause = 0;
    const int n_fds = both ? OUT : 6;
    bool opened = pipe(fds + ERR) == 0 && pipe(fds + TOLD) == 0 && (both || pipe(fds + OUT) == 0);
    for (int i = 0; opened && i < n_fds; i++) {
        opened = fcntl(fds[i], F_SETFD, FD_CLOEXEC) == 0; /* so `told` ends when exec succeeds */
    }
    const pid_t pid = opened ? fork() : -1;
    if (pid < 0) {
        cause = errno;
        close_all(fds, 6);
        return sc_fail(SC_IO, "cannot start '%s': %s", arguments[0], strerror(cause));
    }
    if (pid == 0) {
        become(arguments, fds[both ? ERR + 1 : OUT + 1], fds[ERR + 1], fds[TOLD + 1]);
    }
    for (int i = 1; i < n_fds; i += 2) {
        (void)close(fds[i]);
    }
    ssize_t n;
    do {
        n = read(fds[TOLD], &cause, sizeof cause);
    } while (n < 0 && errno == EINTR);
    (void)close(fds[TOLD]);
    if (n == 0) {
        *child = (struct child){.pid = pid, .err = fds[ERR], .out = fds[OUT], .last_words = -1};
        return SC_OK;
    }
    (void)close(fds[ERR]);
    if (!both) {
        (void)close(fds[OUT]);
    }
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
    if (child->given_up) {
        const int told = sc_last_word_heard(child->last_words);
        return told ? told : child->given_up;
    }
    if (WIFEXITED(child->status)) {
        const int code = WEXITSTATUS(child->status);
        return code == 1 && child->handed_on        ? 128 + child->handed_on
            : child->asked && code == 128 + SIGUSR1 ? 128 + SIGINT /* asked before it listened */
                                                    : code;
    }
    fprintf(stderr, "stagecoach: mpirun was killed by signal %d\n", WTERMSIG(child->status));
    return 128 + WTERMSIG(child->status);
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
        n = read(child.err, more, sizeof more); /* to its end, that the child never meets a closed pipe */
        for (ssize_t i = 0; i < n && at + 1 < sizeof text; i++) {
            text[at++] = more[i];
        }
    }
    text[at] = '\0';
    (void)close(child.err);
    (void)has_ended(&child, 0);
    *kind = sc_mpirun_kind_of(text);
    return SC_OK;
}

/* The first Ctrl-C asks the ranks of a command that can stop with what there is: SIGUSR1 is what mpirun passes on
 * without ending the job itself. */
static void hand_on(const sigset_t *signals, struct child *child, struct sc_mpirun_output *output)
{
    const struct timespec now = {0};
    int number;
    while ((number = sigtimedwait(signals, NULL, &now)) > 0) {
        const bool asks = number == SIGINT && child->asks;
        (void)kill(child->pid, asks ? SIGUSR1 : number);
        child->asks = child->asks && !asks;
        child->asked = output->asked = child->asked || asks;
        child->handed_on = asks || number == SIGUSR1 || number == SIGUSR2 ? child->handed_on : number;
    }
}

/* What a rank wrote to stdout goes on at once. */
static enum sc_status pass_stdout(const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, data, bytes);
        if (n < 0 && errno == EAGAIN) { /* somebody made our stdout non-blocking */
            struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, 100);
        } else if (n < 0 && errno != EINTR) {
            return sc_fail(SC_IO, "standard output cannot be written: %s", strerror(errno));
        }
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return SC_OK;
}

/* False at the end of a stream that poll has found ready. */
static bool more(int fd, char *data, size_t room, size_t *bytes)
{
    const ssize_t n = read(fd, data, room);
    *bytes = n > 0 ? (size_t)n : 0;
    return n > 0 || (n < 0 && errno == EINTR);
}

/* A rank that dies while mpirun starts the others can leave mpirun waiting for ever, and so can a host that is no
 * longer there. It gets some seconds to end by itself, some to end what is left of the job when told to, and no more.
 * On a machine under load those seconds pass in good jobs too, so that the ranks' exit code must not depend on it. */
static void hurry(struct child *child, const struct sc_mpirun_output *output, int64_t *since_ns)
{
    if ((!output->killed_by && !output->failed) || has_ended(child, WNOHANG)) {
        return;
    }
    *since_ns = *since_ns ? *since_ns : sc_clock_ns();
    const int64_t waited_ns = sc_clock_ns() - *since_ns;
    if (waited_ns > GRACE_NS && !child->given_up) {
        child->given_up = output->killed_by ? 128 + output->killed_by : SC_EXIT_FAILED;
        (void)kill(child->pid, SIGTERM);
    } else if (waited_ns > 2 * GRACE_NS) {
        (void)kill(child->pid, SIGKILL);
    }
}

/* Hands everything on until mpirun has ended. When stdout cannot be written the job is told to end, and what it says
 * about that is dropped. */
static enum sc_status pass_output(struct child *child, const sigset_t *signals)
{
    struct sc_mpirun_output output = {.fd = STDERR_FILENO};
    enum sc_status status = SC_OK;
    bool ended = false;
    int64_t killed_ns = 0;
    struct pollfd ready[2] = {{.fd = child->err, .events = POLLIN}, {.fd = child->out, .events = POLLIN}};
    while (ready[0].fd >= 0 || ready[1].fd >= 0) {
        char data[4096];
        size_t bytes;
        const int n_ready = poll(ready, 2, ended ? 0 : 100);
        const bool failed = n_ready < 0 && errno != EINTR;
        hand_on(signals, child, &output);
        hurry(child, &output, &killed_ns);
        if (failed || (n_ready == 0 && ended)) {
            break; /* something that it left behind may hold the pipes open */
        }
        ended = n_ready == 0 && has_ended(child, WNOHANG); /* what it wrote last is looked for once more */
        if (n_ready > 0 && !ready[1].revents) {
            (void)poll(ready + 1, 1, SETTLE_MS); /* what a rank wrote to stdout before it came to stderr goes first */
        }
        if (n_ready > 0 && ready[1].revents) {
            ready[1].fd = more(child->out, data, sizeof data, &bytes) ? child->out : -1;
            sc_mpirun_output_clear_bar(&output);
            if (status == SC_OK && (status = pass_stdout(data, bytes)) != SC_OK) {
                (void)kill(child->pid, SIGTERM);
            }
        }
        if (n_ready > 0 && ready[0].revents) {
            ready[0].fd = more(child->err, data, sizeof data, &bytes) ? child->err : -1;
            if (status == SC_OK &&
                !child->given_up) { /* an mpirun that is told to end amid ending crashes, at length */
                sc_mpirun_output_feed(&output, data, bytes);
            }
        }
    }
    if (status == SC_OK) {
        sc_mpirun_output_end(&output);
    }
    return status;
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
    const int last_words = sc_last_word_listen();
    status = start(arguments, false, &child);
    if (status == SC_OK) {
        child.last_words = last_words;
        child.asks = request->n_command > 0 && strcmp(request->command[0], "generate") == 0;
        status = pass_output(&child, &signals);
        (void)close(child.err);
        (void)close(child.out);
        *exit_code = exit_code_of(&child);
    }
    if (last_words >= 0) {
        (void)close(last_words);
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

static enum sc_status check_hostfile(const char *path)
{
    if (path && access(path, R_OK) != 0) {
        return sc_fail(SC_BAD_INPUT, "option '--hostfile': '%s': %s", path, strerror(errno));
    }
    return SC_OK;
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
    if (status == SC_OK) {
        status = check_hostfile(sc_options_text(options, "hostfile"));
    }
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
        return sc_app_exit_code(status);
    }
    return exit_code;
}
