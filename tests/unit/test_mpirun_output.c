/* SPDX-License-Identifier: Apache-2.0
 * What of mpirun's stderr goes through. The blocks are those of Open MPI 4.1.4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/mpirun_output.h"
#include "launch/progress.h"

#define RULE "--------------------------------------------------------------------------\n"
#define NON_ZERO                                                                                                       \
    RULE                                                                                                               \
        "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job " \
        "has been aborted.\n" RULE
#define DETECTED                                                                                                       \
    RULE "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be "        \
         "terminated. The first process to do so was:\n\n  Process name: [[3714,1],1]\n  Exit code:    3\n" RULE
#define ABORT                                                                                                          \
    RULE "MPI_ABORT was invoked on rank 1 in communicator MPI COMMUNICATOR 3 DUP FROM 0\nwith errorcode 7.\n\nNOTE: "  \
         "invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n" RULE
#define KILLED RULE "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n" RULE
#define SLOTS                                                                                                          \
    RULE "There are not enough slots available in the system to satisfy the 9\nslots that were requested\n" RULE

/* Feeds `text` in parts of `step` bytes; what came out must be `want`. */
static void comes_out_in_steps(const char *text, const char *want, size_t step)
{
    struct sc_mpirun_output output;
    char got[32768];
    FILE *file = tmpfile();
    assert_non_null(file);
    memset(&output, 0, sizeof output);
    output.fd = fileno(file);
    for (size_t at = 0; at < strlen(text); at += step) {
        const size_t left = strlen(text) - at;
        sc_mpirun_output_feed(&output, text + at, left < step ? left : step);
    }
    sc_mpirun_output_end(&output);
    rewind(file);
    const size_t n = fread(got, 1, sizeof got - 1, file);
    got[n] = '\0';
    assert_string_equal(got, want);
    fclose(file);
}

static void comes_out(const char *text, const char *want)
{
    comes_out_in_steps(text, want, 1);
    comes_out_in_steps(text, want, 7);
    comes_out_in_steps(text, want, strlen(text) + 1);
}

static void lines_of_ranks_go_through(void **state)
{
    (void)state;
    comes_out("stagecoach: rank 1: bad model\n", "stagecoach: rank 1: bad model\n");
    comes_out("-- a list\n- another\n---\n\nend without newline", "-- a list\n- another\n---\n\nend without newline");
    comes_out("-", "-");
    comes_out(RULE, RULE); /* never closed */
}

static void a_job_does_not_end_without_a_word(void **state)
{
    (void)state;
    comes_out(NON_ZERO, "stagecoach: a rank ended before it could say why; mpirun does not name it\n");
}

static void unfinished_lines_are_not_held_back(void **state)
{
    (void)state;
    int ends[2];
    char got[16] = "";
    struct sc_mpirun_output output;
    memset(&output, 0, sizeof output);
    assert_int_equal(pipe(ends), 0);
    output.fd = ends[1];
    sc_mpirun_output_feed(&output, "\r 50 %", 6);
    assert_int_equal(read(ends[0], got, sizeof got), 6); /* before the end of the line */
    assert_memory_equal(got, "\r 50 %", 6);
    close(ends[0]);
    close(ends[1]);
}

static void failure_of_a_rank_is_not_said_twice(void **state)
{
    (void)state;
    comes_out("stagecoach: no such file\n" NON_ZERO, "stagecoach: no such file\n");
    comes_out("one\n" NON_ZERO DETECTED ABORT "two\n", "one\ntwo\n");
}

static void killed_rank_is_named_in_one_line(void **state)
{
    (void)state;
    comes_out("a\n" KILLED "b\n", "a\nstagecoach: rank 1 on host 'vm' was killed by signal 9 (Killed)\nb\n");
}

/* Ctrl-C, before the ranks listen to the signal that asks them. */
static void a_rank_that_a_question_ended_was_stopped(void **state)
{
    (void)state;
    static const char killed[] =
        RULE "process rank 1 with PID 7 on node vm exited on signal 10 (User defined signal 1).\n" RULE;
    static const char want[] = "stagecoach: stopped by a signal before the model was open\n";
    int ends[2];
    char got[256] = "";
    assert_int_equal(pipe(ends), 0);
    struct sc_mpirun_output output = {.fd = ends[1], .asked = true};
    sc_mpirun_output_feed(&output, killed, sizeof killed - 1);
    sc_mpirun_output_end(&output);
    assert_int_equal(read(ends[0], got, sizeof got - 1), sizeof want - 1);
    assert_string_equal(got, want);
    assert_int_equal(output.killed_by, SIGINT);
    close(ends[0]);
    close(ends[1]);
}

static void other_messages_of_mpirun_go_through(void **state)
{
    (void)state;
    comes_out(SLOTS, SLOTS);
    comes_out(NON_ZERO SLOTS, SLOTS);
    comes_out(RULE "cut off in the mid", RULE "cut off in the mid");
}

static void line_of_a_rank_inside_a_block_is_kept(void **state)
{
    (void)state;
    comes_out(RULE "MPI_ABORT was invoked on rank 1\nstagecoach: the cause\nwith errorcode 7.\n" RULE,
        "stagecoach: the cause\n");
}

static void block_that_does_not_end_goes_through(void **state)
{
    (void)state;
    static char text[20000];
    strcpy(text, RULE);
    while (strlen(text) + 40 < sizeof text) {
        strcat(text, "line after line\n");
    }
    comes_out(text, text);
}

/* The bar of a rank is taken away once, before text of the rank's stdout, whichever stream comes first. */
static void bar_is_taken_away_once_and_before_stdout(void **state)
{
    (void)state;
    static const char bar[] = SC_PROGRESS_CLEAR "running 1 s\r", clear[] = SC_PROGRESS_CLEAR;
    int ends[2];
    char got[256];
    assert_int_equal(pipe(ends), 0);
    struct sc_mpirun_output output = {.fd = ends[1]};
    sc_mpirun_output_clear_bar(&output); /* there is none */
    sc_mpirun_output_feed(&output, bar, sizeof bar - 1);
    assert_int_equal(read(ends[0], got, sizeof got), sizeof bar - 1);
    sc_mpirun_output_clear_bar(&output);
    sc_mpirun_output_clear_bar(&output);
    sc_mpirun_output_feed(&output, clear, sizeof clear - 1); /* the rank's own, too late */
    assert_int_equal(read(ends[0], got, sizeof got), sizeof clear - 1);
    sc_mpirun_output_feed(&output, bar, sizeof bar - 1);
    sc_mpirun_output_feed(&output, clear, sizeof clear - 1); /* in time */
    sc_mpirun_output_clear_bar(&output);
    assert_int_equal(read(ends[0], got, sizeof got), sizeof bar - 1 + sizeof clear - 1);
    sc_mpirun_output_feed(&output, "x", 1);
    assert_int_equal(read(ends[0], got, sizeof got), 1);
    close(ends[0]);
    close(ends[1]);
}

static void message_of_mpirun_after_a_bar_is_known(void **state)
{
    (void)state;
    static const char text[] = SC_PROGRESS_CLEAR "running 1 s\r" KILLED;
    comes_out_in_steps(text,
        SC_PROGRESS_CLEAR "running 1 s\r" SC_PROGRESS_CLEAR
                          "stagecoach: rank 1 on host 'vm' was killed by signal 9 (Killed)\n",
        sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_ranks_go_through),
        cmocka_unit_test(a_job_does_not_end_without_a_word),
        cmocka_unit_test(unfinished_lines_are_not_held_back),
        cmocka_unit_test(failure_of_a_rank_is_not_said_twice),
        cmocka_unit_test(killed_rank_is_named_in_one_line),
        cmocka_unit_test(a_rank_that_a_question_ended_was_stopped),
        cmocka_unit_test(other_messages_of_mpirun_go_through),
        cmocka_unit_test(line_of_a_rank_inside_a_block_is_kept),
        cmocka_unit_test(block_that_does_not_end_goes_through),
        cmocka_unit_test(bar_is_taken_away_once_and_before_stdout),
        cmocka_unit_test(message_of_mpirun_after_a_bar_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
