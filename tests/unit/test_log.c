/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/log.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* What one call writes. */
static void capture(struct sc_log log, enum sc_log_level level, const char *text, char *out, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    if (log.fd >= 0) {
        log.fd = ends[1];
    }
    sc_log_write(&log, level, "%s", text);
    assert_int_equal(close(ends[1]), 0);
    const ssize_t n = read(ends[0], out, room - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    assert_int_equal(close(ends[0]), 0);
}

static void levels_and_ranks_decide(void **state)
{
    (void)state;
    char out[4096];
    capture((struct sc_log){.level = SC_LOG_INFO, .rank = 3, .speaks = 1}, SC_LOG_ERROR, "x", out, sizeof out);
    assert_string_equal(out, "stagecoach[3]: error: x\n");
    capture((struct sc_log){.level = SC_LOG_INFO, .rank = -1, .speaks = 1}, SC_LOG_INFO, "x", out, sizeof out);
    assert_string_equal(out, "stagecoach: x\n");
    capture((struct sc_log){.level = SC_LOG_INFO, .rank = 1, .speaks = 0}, SC_LOG_INFO, "x", out, sizeof out);
    assert_string_equal(out, "");
    capture((struct sc_log){.level = SC_LOG_INFO, .rank = 1, .speaks = 0}, SC_LOG_WARN, "x", out, sizeof out);
    assert_string_equal(out, "stagecoach[1]: warning: x\n");
    capture((struct sc_log){.level = SC_LOG_INFO, .rank = 0, .speaks = 1}, SC_LOG_DEBUG, "x", out, sizeof out);
    assert_string_equal(out, "");
    capture((struct sc_log){.fd = -1, .level = SC_LOG_DEBUG, .speaks = 1}, SC_LOG_ERROR, "x", out, sizeof out);
    assert_string_equal(out, "");
}

static void what_is_drawn_on_the_line_is_cleared_first(void **state)
{
    (void)state;
    char out[4096];
    capture((struct sc_log){.rank = 1, .before = "\r\x1b[K"}, SC_LOG_ERROR, "a\rb", out, sizeof out);
    assert_string_equal(out, "\r\x1b[Kstagecoach[1]: error: a?b\n");
}

static void control_bytes_do_not_reach_the_terminal(void **state)
{
    (void)state;
    char out[4096];
    capture((struct sc_log){.rank = -1}, SC_LOG_ERROR, "a\x1b[2Jb\x7f", out, sizeof out);
    assert_string_equal(out, "stagecoach: error: a?[2Jb?\n");
}

static void long_lines_are_cut_and_end(void **state)
{
    (void)state;
    char big[5000];
    char out[8000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    capture((struct sc_log){.rank = -1}, SC_LOG_ERROR, big, out, sizeof out);
    assert_true(strlen(out) < 4096 && strlen(out) > 1000);
    assert_int_equal(out[strlen(out) - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_and_ranks_decide),
        cmocka_unit_test(what_is_drawn_on_the_line_is_cleared_first),
        cmocka_unit_test(control_bytes_do_not_reach_the_terminal),
        cmocka_unit_test(long_lines_are_cut_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
