/* SPDX-License-Identifier: Apache-2.0
 * Claims about what launchers leave in the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "comm/launcher.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seats_are_those_of_the_host),
        cmocka_unit_test(nonsense_is_no_seat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
