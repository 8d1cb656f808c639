/* SPDX-License-Identifier: Apache-2.0
 * Claims about lines of files. */
#include "base/lines.h"

#include "graph_case.h"

static void open_text(const char *text, size_t bytes, size_t limit, struct sc_lines *lines)
{
    char path[] = "/tmp/test_lines.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    assert_int_equal(close(fd), 0);
    assert_ok(sc_lines_open(path, limit, lines));
    assert_int_equal(lines->file_bytes, bytes);
    assert_int_equal(unlink(path), 0);
}

static void assert_next(struct sc_lines *lines, const char *want)
{
    struct sc_line line;
    bool more;
    assert_ok(sc_lines_next(lines, &line, &more));
    assert_int_equal(more, want != NULL);
    if (want) {
        assert_int_equal(line.bytes, strlen(want));
        assert_memory_equal(line.text, want, line.bytes);
    }
}

static void lines_come_in_order_and_the_last_needs_no_newline(void **state)
{
    (void)state;
    static const char text[] = "one\n\nthree\nfour";
    struct sc_lines lines;
    open_text(text, sizeof text - 1, 100, &lines);
    assert_next(&lines, "one");
    assert_next(&lines, "");
    assert_next(&lines, "three");
    assert_int_equal(lines.given_bytes, 11);
    assert_next(&lines, "four");
    assert_int_equal(lines.given_bytes, sizeof text - 1);
    assert_next(&lines, NULL);
    assert_next(&lines, NULL);
    sc_lines_close(&lines);
    open_text("x\n", 2, 100, &lines);
    assert_next(&lines, "x");
    assert_next(&lines, NULL);
    sc_lines_close(&lines);
    open_text("", 0, 100, &lines);
    assert_next(&lines, NULL);
    sc_lines_close(&lines);
}

/* Lengths around that of the buffer and twice it, with others before and behind. */
static void lines_longer_than_the_buffer_are_whole(void **state)
{
    (void)state;
    enum { MOST = 300000 };
    char *text = malloc(2 * MOST), *want = malloc(MOST);
    assert_true(text && want);
    for (size_t n = 65530; n < MOST; n = n * 2 - 65525) {
        struct sc_lines lines;
        memset(want, 'a' + (int)(n % 26), n);
        want[n] = '\0';
        const int bytes = sprintf(text, "first\n%s\nlast\n", want);
        open_text(text, (size_t)bytes, MOST, &lines);
        assert_next(&lines, "first");
        assert_next(&lines, want);
        assert_next(&lines, "last");
        assert_next(&lines, NULL);
        sc_lines_close(&lines);
    }
    free(text);
    free(want);
}

static void a_line_over_the_limit_is_counted_and_takes_no_memory(void **state)
{
    (void)state;
    const size_t bytes = (size_t)9 << 20;
    char *text = malloc(bytes + 8);
    struct sc_lines lines;
    struct sc_line line;
    bool more;
    assert_non_null(text);
    memset(text, 'x', bytes);
    memcpy(text + bytes, "\nbehind\n", 8);
    open_text(text, bytes + 8, 100000, &lines);
    assert_ok(sc_lines_next(&lines, &line, &more));
    assert_true(more);
    assert_int_equal(line.bytes, bytes);
    assert_int_equal(line.text[99999], 'x');
    assert_true(lines.capacity <= (size_t)1 << 18);
    assert_next(&lines, "behind");
    assert_next(&lines, NULL);
    sc_lines_close(&lines);
    free(text);
}

static void what_is_no_file_is_named(void **state)
{
    (void)state;
    struct sc_lines lines;
    assert_fails(SC_IO, "'/nonexistent/x'", sc_lines_open("/nonexistent/x", 100, &lines));
    assert_fails(SC_IO, "'/tmp': is a directory", sc_lines_open("/tmp", 100, &lines));
    sc_lines_close(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_in_order_and_the_last_needs_no_newline),
        cmocka_unit_test(lines_longer_than_the_buffer_are_whole),
        cmocka_unit_test(a_line_over_the_limit_is_counted_and_takes_no_memory),
        cmocka_unit_test(what_is_no_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
