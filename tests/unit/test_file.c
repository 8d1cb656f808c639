/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/file.c. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static char folder[] = "/tmp/sc_test_file_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}

static const char *path_of(struct sc_arena *arena, const char *name)
{
    return sc_path_join(arena, folder, name);
}

static void what_is_written_is_mapped_and_read(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    const char *const path = path_of(&arena, "a");
    assert_int_equal(sc_file_write(path, "one\0two", 7), SC_OK);
    assert_int_equal(sc_file_write(path, "one\0tw", 6), SC_OK);
    struct sc_file file = {0};
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, 6);
    assert_memory_equal(file.data, "one\0tw", 6);
    sc_file_drop(&file, 0, 6);
    sc_file_drop(&file, 7, 100);
    assert_memory_equal(file.data, "one\0tw", 6);
    sc_file_release(&file);
    sc_file_release(&file);
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_file_read_text(path, 6, &arena, &text, &bytes), SC_OK);
    assert_int_equal(bytes, 6);
    assert_memory_equal(text, "one\0tw", 7);
    sc_arena_release(&arena);
}

static void an_empty_file_maps_to_nothing(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    const char *const path = path_of(&arena, "empty");
    assert_int_equal(sc_file_write(path, NULL, 0), SC_OK);
    struct sc_file file = {0};
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_null(file.data);
    assert_int_equal(file.bytes, 0);
    sc_file_drop(&file, 0, 1);
    sc_file_release(&file);
    char *text = NULL;
    size_t bytes = 1;
    assert_int_equal(sc_file_read_text(path, 0, &arena, &text, &bytes), SC_OK);
    assert_string_equal(text, "");
    assert_int_equal(bytes, 0);
    sc_arena_release(&arena);
}

static void files_that_say_they_are_empty_are_read_to_their_end(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_file_read_text("/proc/self/status", 1 << 20, &arena, &text, &bytes), SC_OK);
    assert_non_null(strstr(text, "Name:"));
    assert_int_equal(sc_file_read_text("/proc/self/status", 10, &arena, &text, &bytes), SC_IO);
    sc_arena_release(&arena);
}

static void over_the_limit_is_refused(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    const char *const path = path_of(&arena, "long");
    char *text = NULL;
    size_t bytes = 0;
    char *const big = calloc(1, 10000);
    assert_non_null(big);
    assert_int_equal(sc_file_write(path, big, 10000), SC_OK);
    assert_int_equal(sc_file_read_text(path, 9999, &arena, &text, &bytes), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, path));
    assert_null(text);
    assert_int_equal(sc_file_read_text(path, 10000, &arena, &text, &bytes), SC_OK);
    assert_int_equal(bytes, 10000);
    free(big);
    sc_arena_release(&arena);
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_file file = {0};
    assert_int_equal(sc_file_map(folder, &file), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "is a directory"));
    assert_int_equal(sc_file_map("/dev/zero", &file), SC_IO);
    const char *const pipe_path = path_of(&arena, "pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(sc_file_map(pipe_path, &file), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "is a device or pipe"));
    assert_int_equal(sc_file_map(path_of(&arena, "missing"), &file), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "missing"));
    sc_arena_release(&arena);
}

static void a_write_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    assert_int_equal(sc_file_write(path_of(&arena, "no/such/folder"), "x", 1), SC_IO);
    /* A folder in the way: found when the file is moved to its name. */
    assert_int_equal(mkdir(path_of(&arena, "in_the_way"), 0700), 0);
    assert_int_equal(sc_file_write(path_of(&arena, "in_the_way"), "x", 1), SC_IO);
    assert_int_equal(sc_file_write("/dev/full", "x", 1), SC_IO);
    assert_int_equal(sc_file_write("/dev/null", "x", 1), SC_OK);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_false(S_ISREG(status.st_mode));
    sc_arena_release(&arena);
}

static void what_cannot_be_written_is_said_before(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_file_writer writer;
    const char *pipe = path_of(&arena, "read_pipe"), *missing = path_of(&arena, "not_there");
    assert_int_equal(sc_file_check_writable(missing), SC_OK);
    assert_int_equal(access(missing, F_OK), -1);
    assert_int_equal(sc_file_check_writable("/dev/null"), SC_OK);
    assert_int_equal(sc_file_check_writable(path_of(&arena, "no/such")), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "folder '"));
    assert_int_equal(sc_file_check_writable(folder), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "Is a directory"));
    assert_int_equal(sc_file_check_writable(""), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "empty name"));
    assert_int_equal(sc_file_begin("", &writer), SC_IO);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(sc_file_check_writable(pipe), SC_OK); /* somebody may read by then */
    assert_int_equal(sc_file_begin(pipe, &writer), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "nobody reads"));
    const int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    char got[4] = "";
    assert_true(reader >= 0);
    assert_int_equal(sc_file_write(pipe, "abc", 3), SC_OK);
    assert_int_equal(read(reader, got, 3), 3);
    assert_string_equal(got, "abc");
    assert_int_equal(close(reader), 0);
    sc_arena_release(&arena);
}

static void assert_holds(const char *path, const char *want)
{
    struct sc_file file = {0};
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, strlen(want));
    assert_memory_equal(file.data, want, file.bytes);
    sc_file_release(&file);
}

static void a_link_stays_one_and_what_it_leads_to_is_written(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct stat about;
    const char *target, *first = path_of(&arena, "first_link"), *second = path_of(&arena, "second_link");
    const char *behind = path_of(&arena, "behind"), *file = path_of(&arena, "behind/file");
    assert_int_equal(mkdir(behind, 0777), 0);
    assert_int_equal(symlink("second_link", first), 0);
    assert_int_equal(symlink("behind/file", second), 0);
    assert_int_equal(sc_file_check_writable(first), SC_OK); /* it leads to nothing yet */
    assert_int_equal(sc_file_write(first, "one", 3), SC_OK);
    assert_holds(file, "one");
    assert_int_equal(sc_file_write(first, "two", 3), SC_OK);
    assert_holds(file, "two");
    assert_int_equal(lstat(first, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(second, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(sc_file_follow(file, &arena, &target), SC_OK);
    assert_ptr_equal(target, file);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(behind), 0); /* nothing else was left in it */
    assert_int_equal(sc_file_check_writable(first), SC_IO);
    assert_int_equal(sc_file_write(first, "x", 1), SC_IO);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(symlink("first_link", second), 0);
    assert_int_equal(sc_file_write(first, "x", 1), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "first_link"));
    assert_int_equal(unlink(first) + unlink(second), 0);
    sc_arena_release(&arena);
}

/* In a process of its own, which root's rights are taken from. */
static void a_file_that_is_protected_is_not_replaced(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    const char *path = path_of(&arena, "protected");
    assert_int_equal(sc_file_write(path, "old", 3), SC_OK);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool dropped = getuid() != 0 || setuid(65534) == 0;
        const bool checked = dropped && sc_file_check_writable(path) == SC_IO;
        _exit(checked && sc_file_write(path, "new", 3) == SC_IO && strstr(sc_error_last()->text, "denied") ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(folder, 0700), 0);
    sc_arena_release(&arena);
}

static void folders_and_joins(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    assert_string_equal(sc_path_folder(&arena, "a/b/c.onnx"), "a/b");
    assert_string_equal(sc_path_folder(&arena, "c.onnx"), ".");
    assert_string_equal(sc_path_folder(&arena, "/c.onnx"), "/");
    assert_string_equal(sc_path_join(&arena, "a/b", "c"), "a/b/c");
    assert_string_equal(sc_path_join(&arena, "/", "c"), "/c");
    assert_string_equal(sc_path_join(&arena, ".", "c"), "c");
    assert_string_equal(sc_path_join(&arena, "", "c"), "c");
    sc_arena_release(&arena);
}

static void append_to(const char *path, const char *text)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_mapped_file_that_changes_is_told(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_file file;
    const char *path = path_of(&arena, "changing"), *other = path_of(&arena, "other");
    assert_int_equal(sc_file_write(path, "abcd", 4), SC_OK);
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(sc_file_check(path, &file), SC_OK);
    append_to(path, "e");
    assert_int_equal(sc_file_check(path, &file), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "has 5 bytes, and had 4"));
    assert_int_equal(truncate(path, 4), 0); /* its old size, but another time */
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(sc_file_check(path, &file), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "was written to"));
    assert_int_equal(sc_file_write(other, "wxyz12", 6), SC_OK);
    assert_int_equal(rename(other, path), 0); /* the mapping is of the file that had the name before */
    assert_int_equal(sc_file_check(path, &file), SC_OK);
    assert_memory_equal(file.data, "abcd", 4);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sc_file_check(path, &file), SC_OK);
    sc_file_release(&file);
    sc_arena_release(&arena);
}

static void pieces_are_a_file_when_committed(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_file_writer writer;
    struct sc_file file;
    const char *path = path_of(&arena, "pieces");
    static char large[200000];
    memset(large, 'x', sizeof large);
    assert_int_equal(sc_file_begin(path, &writer), SC_OK);
    assert_int_equal(sc_file_append(&writer, "ab", 2), SC_OK);
    assert_int_equal(sc_file_append(&writer, large, sizeof large), SC_OK);
    assert_int_equal(sc_file_append(&writer, "cd", 2), SC_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sc_file_flush(&writer), SC_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sc_file_commit(&writer), SC_OK);
    sc_file_abandon(&writer); /* nothing to abandon */
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, sizeof large + 4);
    assert_memory_equal(file.data, "abx", 3);
    assert_memory_equal(file.data + sizeof large + 1, "xcd", 3);
    sc_file_release(&file);
    assert_int_equal(sc_file_begin(path, &writer), SC_OK);
    assert_int_equal(sc_file_append(&writer, "new", 3), SC_OK);
    sc_file_abandon(&writer);
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, sizeof large + 4); /* as before */
    sc_file_release(&file);
    assert_int_equal(unlink(path), 0);
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_mapped_and_read),
        cmocka_unit_test(an_empty_file_maps_to_nothing),
        cmocka_unit_test(files_that_say_they_are_empty_are_read_to_their_end),
        cmocka_unit_test(over_the_limit_is_refused),
        cmocka_unit_test(what_is_no_regular_file_is_refused_without_waiting),
        cmocka_unit_test(a_write_that_fails_leaves_nothing_behind),
        cmocka_unit_test(what_cannot_be_written_is_said_before),
        cmocka_unit_test(a_link_stays_one_and_what_it_leads_to_is_written),
        cmocka_unit_test(a_file_that_is_protected_is_not_replaced),
        cmocka_unit_test(a_mapped_file_that_changes_is_told),
        cmocka_unit_test(pieces_are_a_file_when_committed),
        cmocka_unit_test(folders_and_joins),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
