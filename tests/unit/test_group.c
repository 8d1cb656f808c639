/* SPDX-License-Identifier: Apache-2.0
 * Limits of memory by control groups, read from files like those of Linux. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine.h"

static char root[64], path[512];

static const char *under_root(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(under_root(name), 0700), 0);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(under_root(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/sc_test_group_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    static const char *const names[] = {"groups", "job/step/memory.max", "job/step", "job/memory.max", "job",
        "memory.max", "memory/job/memory.limit_in_bytes", "memory/job", "memory/memory.limit_in_bytes", "memory", ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)remove(under_root(names[i]));
    }
    return access(root, F_OK) == 0 ? -1 : 0;
}

static int64_t granted(void)
{
    char groups[128];
    snprintf(groups, sizeof groups, "%s/groups", root);
    return sc_machine_group_memory(groups, root);
}

static void least_limit_of_nested_groups_holds(void **state)
{
    (void)state;
    make_folder("job");
    make_folder("job/step");
    write_text("groups", "0::/job/step\n");
    assert_int_equal(granted(), 0);
    write_text("job/step/memory.max", "max\n");
    assert_int_equal(granted(), 0);
    write_text("job/memory.max", "3000000\n");
    assert_int_equal(granted(), 3000000);
    write_text("job/step/memory.max", "5000000\n");
    assert_int_equal(granted(), 3000000);
    write_text("job/step/memory.max", "2000000\n");
    assert_int_equal(granted(), 2000000);
    write_text("groups", "0::/elsewhere/deep\n"); /* not mounted here */
    write_text("memory.max", "7000000\n");
    assert_int_equal(granted(), 7000000);
}

static void first_version_is_read_too(void **state)
{
    (void)state;
    make_folder("memory");
    make_folder("memory/job");
    write_text("groups", "12:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
    write_text("memory/memory.limit_in_bytes", "9223372036854771712\n"); /* no limit */
    assert_int_equal(granted(), 0);
    write_text("memory/job/memory.limit_in_bytes", "4096000\n");
    assert_int_equal(granted(), 4096000);
    write_text("groups", "nonsense\n\n4:memory\n");
    assert_int_equal(granted(), 0);
    assert_int_equal(sc_machine_group_memory("/nonexistent", root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(least_limit_of_nested_groups_holds, make_root, remove_root),
        cmocka_unit_test_setup_teardown(first_version_is_read_too, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
