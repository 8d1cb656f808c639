/* SPDX-License-Identifier: Apache-2.0
 * Claims about what launchers leave in the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/launcher.h"
#include "comm/world.h"

static void clear(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
}

static void seats_are_those_of_the_host(void **state)
{
    (void)state;
    int seat = -1, n_seats = -1;
    clear();
    assert_false(sc_launcher_seat(&seat, &n_seats));
    setenv("MPI_LOCALRANKID", "2", 1);
    assert_false(sc_launcher_seat(&seat, &n_seats)); /* how many there are is not said */
    setenv("MPI_LOCALNRANKS", "4", 1);
    assert_true(sc_launcher_seat(&seat, &n_seats));
    assert_int_equal(seat, 2);
    assert_int_equal(n_seats, 4);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1);
    assert_true(sc_launcher_seat(&seat, &n_seats));
    assert_int_equal(seat, 0);
    assert_int_equal(n_seats, 3);
    clear();
}

static void nonsense_is_no_seat(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"3", "3"}, {"-1", "3"}, {"x", "3"}, {"0", "0"}, {"0", ""}, {"1x", "3"}};
    int seat, n_seats;
    clear();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("OMPI_COMM_WORLD_LOCAL_RANK", bad[i][0], 1);
        setenv("OMPI_COMM_WORLD_LOCAL_SIZE", bad[i][1], 1);
        assert_false(sc_launcher_seat(&seat, &n_seats));
    }
    clear();
}

/* A child that is stopped, with or without a rank in its environment. */
static pid_t stopped_child(const char *rank)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (rank) {
            setenv("PMI_RANK", rank, 1);
        }
        execlp("sh", "sh", "-c", "kill -STOP $$", (char *)NULL); /* exec: /proc shows what a process started with */
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* What another child of this process finds: the pid, 0 for none; -1 when the rank is not `want`. */
static long found_by_a_sibling(int want)
{
    int ends[2];
    long found = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int rank = -1;
        long stopped = 0;
        found = !sc_world_find_stopped(&rank, &stopped) ? 0 : rank == want ? stopped : -1;
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &found, sizeof found), sizeof found);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return found;
}

static void stopped_rank_of_the_host_is_found(void **state)
{
    (void)state;
    clear();
    assert_int_equal(found_by_a_sibling(3), 0);
    const pid_t other = stopped_child(NULL);
    assert_int_equal(found_by_a_sibling(3), 0);
    const pid_t rank = stopped_child("3");
    assert_int_equal(found_by_a_sibling(3), rank);
    end_child(rank);
    assert_int_equal(found_by_a_sibling(3), 0);
    end_child(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seats_are_those_of_the_host),
        cmocka_unit_test(nonsense_is_no_seat),
        cmocka_unit_test(stopped_rank_of_the_host_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
