/* SPDX-License-Identifier: Apache-2.0
 * The command line for each mpirun, and the life of a launched job with a shell script in mpirun's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/mpirun.h"

static void versions_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(sc_mpirun_kind_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to"), SC_MPIRUN_OPEN_MPI_4);
    assert_int_equal(sc_mpirun_kind_of("mpirun (Open MPI) 5.0.7\n"), SC_MPIRUN_OPEN_MPI_5);
    assert_int_equal(sc_mpirun_kind_of("mpirun (Open MPI) 10.0\n"), SC_MPIRUN_OPEN_MPI_5);
    assert_int_equal(sc_mpirun_kind_of("HYDRA build details:\n    Version:      4.0.2\n"), SC_MPIRUN_HYDRA);
    assert_int_equal(sc_mpirun_kind_of("Intel(R) MPI Library for Linux* OS, Version 2021.9"), SC_MPIRUN_HYDRA);
    assert_int_equal(sc_mpirun_kind_of(""), SC_MPIRUN_UNKNOWN);
    assert_int_equal(sc_mpirun_kind_of("mpirun (IBM Platform MPI) 9\n"), SC_MPIRUN_UNKNOWN);
}

static void command_line_is(const struct sc_mpirun_request *request, enum sc_mpirun_kind kind, const char *want)
{
    struct sc_arena arena = {0};
    char **arguments = NULL;
    char line[512] = "";
    assert_int_equal(sc_mpirun_arguments(request, kind, &arena, &arguments), SC_OK);
    for (int i = 0; arguments[i]; i++) {
        strcat(line, i ? " " : "");
        strcat(line, arguments[i]);
    }
    assert_string_equal(line, want);
    sc_arena_release(&arena);
}

static void each_mpirun_gets_its_own_flags(void **state)
{
    (void)state;
    const char *const command[] = {"run", "m.onnx"};
    struct sc_mpirun_request request = {
        .mpirun = "mpirun", .n_ranks = 4, .program = "/bin/sc", .command = command, .n_command = 2};
    command_line_is(&request, SC_MPIRUN_OPEN_MPI_4,
        "mpirun -n 4 --oversubscribe --bind-to none -x SC_TTY -x SC_TTY_OUT --mca odls_base_sigkill_timeout 0 "
        "/bin/sc run m.onnx");
    command_line_is(&request, SC_MPIRUN_OPEN_MPI_5,
        "mpirun -n 4 --map-by :OVERSUBSCRIBE --bind-to none -x SC_TTY -x SC_TTY_OUT /bin/sc run m.onnx");
    command_line_is(&request, SC_MPIRUN_HYDRA, "mpirun -n 4 -bind-to none /bin/sc run m.onnx");
    command_line_is(&request, SC_MPIRUN_UNKNOWN, "mpirun -n 4 /bin/sc run m.onnx");
    request.hostfile = "h";
    command_line_is(&request, SC_MPIRUN_OPEN_MPI_4,
        "mpirun -n 4 --bind-to none -x SC_TTY -x SC_TTY_OUT --mca odls_base_sigkill_timeout 0 --hostfile h "
        "/bin/sc run m.onnx");
    command_line_is(&request, SC_MPIRUN_HYDRA, "mpirun -n 4 -bind-to none -f h /bin/sc run m.onnx");
    request.hostfile = NULL;
    request.managed = true;
    command_line_is(&request, SC_MPIRUN_OPEN_MPI_4,
        "mpirun -n 4 --bind-to none -x SC_TTY -x SC_TTY_OUT --mca odls_base_sigkill_timeout 0 /bin/sc run m.onnx");
}

/* A script that is mpirun: it answers --version, and otherwise does `body`. */
static void write_script(char *path, size_t bytes, const char *body)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, bytes, "%s/sc_test_mpirun_%ld", folder ? folder : "/tmp", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit 0; fi\n%s\n", body);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/* Starts sc_launch_main in a process of its own whose output goes to `file`. */
static pid_t start_launch(const char *mpirun, const char *const *extra, FILE *file)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char words[16][256];
        char *argv[17] = {NULL};
        const char *const fixed[] = {"stagecoach", "launch", "-n", "2", "--mpirun", mpirun};
        int argc = 0;
        for (; argc < 6; argc++) {
            snprintf(words[argc], sizeof words[argc], "%s", fixed[argc]);
        }
        for (int i = 0; extra[i]; i++) {
            snprintf(words[argc++], sizeof words[0], "%s", extra[i]);
        }
        for (int i = 0; i < argc; i++) {
            argv[i] = words[i];
        }
        dup2(fileno(file), STDOUT_FILENO);
        dup2(fileno(file), STDERR_FILENO);
        exit(sc_launch_main(argc, argv));
    }
    return pid;
}

static int end_launch(pid_t pid, FILE *file, char *text, size_t bytes)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rewind(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int launch(const char *mpirun, const char *const *extra, char *text, size_t bytes)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    return end_launch(start_launch(mpirun, extra, file), file, text, bytes);
}

static const char *const inspect[] = {"--", "inspect", "my model.onnx", NULL};

static void ranks_get_command_and_environment(void **state)
{
    (void)state;
    char path[256], text[2048], program[256] = "", want[1024];
    write_script(path, sizeof path, "for a in \"$@\"; do echo \"[$a]\"; done; echo \"tty $SC_TTY $SC_TTY_OUT\"");
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    assert_int_equal(launch(path, inspect, text, sizeof text), 0);
    snprintf(want, sizeof want,
        "[-n]\n[2]\n[--oversubscribe]\n[--bind-to]\n[none]\n[-x]\n[SC_TTY]\n[-x]\n[SC_TTY_OUT]\n[--mca]\n"
        "[odls_base_sigkill_timeout]\n[0]\n[%s]\n[inspect]\n[my model.onnx]\ntty 0 0\n",
        program);
    assert_string_equal(text, want);
    const char *const watched[] = {"--progress", "--", "inspect", "m", NULL};
    assert_int_equal(launch(path, watched, text, sizeof text), 0);
    assert_non_null(strstr(text, "tty 1 0"));
    assert_int_equal(unlink(path), 0);
}

static void exit_codes_and_signals_are_passed_on(void **state)
{
    (void)state;
    char path[256], text[1024];
    write_script(path, sizeof path, "echo 'stagecoach: why' >&2; exit 3");
    assert_int_equal(launch(path, inspect, text, sizeof text), 3);
    assert_string_equal(text, "stagecoach: why\n");
    write_script(path, sizeof path, "kill -KILL $$");
    assert_int_equal(launch(path, inspect, text, sizeof text), 128 + SIGKILL);
    assert_int_equal(unlink(path), 0);
}

static void signals_reach_mpirun(void **state)
{
    (void)state;
    char path[256], text[1024];
    FILE *file = tmpfile();
    assert_non_null(file);
    write_script(path, sizeof path, "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.05; done");
    const pid_t pid = start_launch(path, inspect, file);
    struct stat found = {0};
    while (fstat(fileno(file), &found) == 0 && found.st_size == 0) { /* until it is ready */
        (void)nanosleep(&(const struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(end_launch(pid, file, text, sizeof text), 9);
    assert_string_equal(text, "ready\ngot it\n");
    assert_int_equal(unlink(path), 0);
}

static void missing_mpirun_names_the_package(void **state)
{
    (void)state;
    char text[1024];
    assert_int_equal(launch("/nonexistent/mpirun", inspect, text, sizeof text), 2);
    assert_string_equal(text,
        "stagecoach: '/nonexistent/mpirun' not found: install the Debian package openmpi-bin, or "
        "give the path of mpirun with --mpirun\n");
}

static void verbose_prints_a_line_for_a_shell(void **state)
{
    (void)state;
    char path[256], text[2048];
    const char *const extra[] = {"-v", "--", "inspect", "it's mine.onnx", NULL};
    write_script(path, sizeof path, "exit 0");
    assert_int_equal(launch(path, extra, text, sizeof text), 0);
    assert_non_null(strstr(text, " -n 2 --oversubscribe "));
    assert_non_null(strstr(text, " inspect 'it'\\''s mine.onnx'\n"));
    assert_int_equal(unlink(path), 0);
}

static void wrong_commands_are_refused_before_mpirun(void **state)
{
    (void)state;
    char path[256], text[1024];
    const char *const unknown[] = {"--", "inspekt", "m", NULL};
    const char *const nested[] = {"--", "launch", "--", "inspect", "m", NULL};
    const char *const none[] = {"--", NULL};
    write_script(path, sizeof path, "echo was started");
    const char *const *const cases[] = {unknown, nested, none};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(launch(path, cases[i], text, sizeof text), 2);
        assert_null(strstr(text, "was started"));
        assert_int_equal(strncmp(text, "stagecoach: ", 12), 0);
    }
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_told_apart),
        cmocka_unit_test(each_mpirun_gets_its_own_flags),
        cmocka_unit_test(ranks_get_command_and_environment),
        cmocka_unit_test(exit_codes_and_signals_are_passed_on),
        cmocka_unit_test(signals_reach_mpirun),
        cmocka_unit_test(missing_mpirun_names_the_package),
        cmocka_unit_test(verbose_prints_a_line_for_a_shell),
        cmocka_unit_test(wrong_commands_are_refused_before_mpirun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
