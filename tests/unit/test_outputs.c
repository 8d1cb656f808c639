/* SPDX-License-Identifier: Apache-2.0
 * Claims about folders of outputs: all files or none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/outputs.h"

#define OK(call) assert_int_equal(call, SC_OK)

static float numbers[] = {1, 2, 3};

static struct sc_value tensor(enum sc_type type)
{
    return (struct sc_value){
        .kind = SC_KIND_TENSOR, .u.tensor = {.type = type, .rank = 1, .dims = {3}, .strides = {1}, .data = numbers}};
}

static int move_to_empty_folder(void **state)
{
    char *name = strdup("/tmp/test_outputs.XXXXXX");
    *state = name;
    return name && mkdtemp(name) && chdir(name) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    free(*state);
    return chdir("/") == 0 ? system(command) : -1;
}

static int n_entries(const char *folder) /* hidden ones too; -1: there is no such folder */
{
    char command[128];
    int n = -1;
    if (access(folder, F_OK) != 0) {
        return -1;
    }
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *listing = popen(command, "r");
    assert_non_null(listing);
    assert_int_equal(fscanf(listing, "%d", &n), 1);
    pclose(listing);
    return n;
}

static void files_come_together_at_the_commit(void **state)
{
    (void)state;
    struct sc_outputs outputs;
    const struct sc_value a = tensor(SC_F32), b = tensor(SC_BF16);
    OK(sc_outputs_open("out", &outputs));
    OK(sc_outputs_add(&outputs, "a", &a, SC_OUTPUT_AUTO));
    OK(sc_outputs_add(&outputs, "b", &b, SC_OUTPUT_AUTO));
    assert_int_equal(access("out/a.npy", F_OK), -1);
    OK(sc_outputs_commit(&outputs));
    sc_outputs_release(&outputs);
    assert_int_equal(access("out/a.npy", F_OK), 0);
    assert_int_equal(access("out/b.pb", F_OK), 0);
    assert_int_equal(n_entries("out"), 2);
}

static void without_a_commit_nothing_is_left(void **state)
{
    (void)state;
    struct sc_outputs outputs;
    const struct sc_value a = tensor(SC_F32);
    OK(sc_outputs_open("out", &outputs));
    OK(sc_outputs_add(&outputs, "a", &a, SC_OUTPUT_AUTO));
    sc_outputs_release(&outputs);
    assert_int_equal(n_entries("out"), -1);
    OK(mkdir("there", 0777));
    OK(sc_outputs_open("there", &outputs));
    OK(sc_outputs_add(&outputs, "a", &a, SC_OUTPUT_PB));
    sc_outputs_release(&outputs);
    assert_int_equal(n_entries("there"), 0);
}

/* A file that cannot move to its name undoes those that moved before it. */
static void a_commit_that_fails_brings_back_what_was_there(void **state)
{
    (void)state;
    struct sc_outputs outputs;
    const struct sc_value value = tensor(SC_F32);
    char text[8] = "";
    OK(mkdir("out", 0777));
    FILE *old = fopen("out/a.npy", "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    OK(sc_outputs_open("out", &outputs));
    OK(sc_outputs_add(&outputs, "a", &value, SC_OUTPUT_AUTO));
    OK(sc_outputs_add(&outputs, "b", &value, SC_OUTPUT_AUTO));
    OK(sc_outputs_add(&outputs, "c", &value, SC_OUTPUT_AUTO));
    OK(mkdir("out/c.npy", 0777)); /* behind its back */
    assert_int_equal(sc_outputs_commit(&outputs), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "'out/c.npy'"));
    sc_outputs_release(&outputs);
    old = fopen("out/a.npy", "r");
    assert_non_null(old);
    assert_int_equal(fread(text, 1, sizeof text, old), 3);
    fclose(old);
    assert_string_equal(text, "old");
    assert_int_equal(access("out/b.npy", F_OK), -1);
    assert_int_equal(n_entries("out"), 2);
}

static void a_link_is_written_through(void **state)
{
    (void)state;
    struct sc_outputs outputs;
    const struct sc_value value = tensor(SC_F32);
    struct stat about;
    OK(mkdir("out", 0777));
    OK(mkdir("elsewhere", 0777));
    OK(symlink("../elsewhere/a", "out/a.npy"));
    OK(sc_outputs_open("out", &outputs));
    OK(sc_outputs_add(&outputs, "a", &value, SC_OUTPUT_AUTO));
    sc_outputs_release(&outputs); /* without a commit */
    assert_int_equal(n_entries("elsewhere"), 0);
    for (int i = 0; i < 2; i++) { /* to nothing, then to what is there */
        OK(sc_outputs_open("out", &outputs));
        OK(sc_outputs_add(&outputs, "a", &value, SC_OUTPUT_AUTO));
        OK(sc_outputs_commit(&outputs));
        sc_outputs_release(&outputs);
        OK(lstat("out/a.npy", &about));
        assert_true(S_ISLNK(about.st_mode));
        OK(lstat("elsewhere/a", &about));
        assert_true(S_ISREG(about.st_mode) && about.st_size > 12);
        assert_int_equal(n_entries("elsewhere"), 1);
        assert_int_equal(n_entries("out"), 1);
    }
}

static void names_become_file_names_and_stay_different(void **state)
{
    (void)state;
    struct sc_outputs outputs;
    const struct sc_value value = tensor(SC_F32);
    char longer[400];
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    OK(sc_outputs_open("out", &outputs));
    OK(sc_outputs_add(&outputs, "../a/b", &value, SC_OUTPUT_AUTO));
    OK(sc_outputs_add(&outputs, ".._a_b", &value, SC_OUTPUT_AUTO));
    OK(sc_outputs_add(&outputs, longer, &value, SC_OUTPUT_AUTO));
    longer[300] = 'm';
    OK(sc_outputs_add(&outputs, longer, &value, SC_OUTPUT_AUTO));
    OK(sc_outputs_commit(&outputs));
    sc_outputs_release(&outputs);
    assert_int_equal(access("out/.._a_b.npy", F_OK), 0);
    assert_int_equal(access("out/.._a_b_2.npy", F_OK), 0);
    assert_int_equal(n_entries("out"), 4);
}

static void what_npy_cannot_hold_is_refused_by_name(void **state)
{
    (void)state;
    OK(sc_outputs_check("y", SC_KIND_TENSOR, SC_F16, SC_OUTPUT_NPY));
    OK(sc_outputs_check("y", SC_KIND_SEQUENCE, SC_F32, SC_OUTPUT_PB));
    OK(sc_outputs_check("y", SC_KIND_NONE, SC_TYPE_NONE, SC_OUTPUT_NPY)); /* not known yet */
    assert_int_equal(sc_outputs_check("y", SC_KIND_SEQUENCE, SC_F32, SC_OUTPUT_NPY), SC_UNSUPPORTED);
    assert_string_equal(sc_error_last()->text,
        "output 'y' is a sequence, which a .npy file cannot hold: give --format pb, or no --format");
    assert_int_equal(sc_outputs_check("y", SC_KIND_TENSOR, SC_STRING, SC_OUTPUT_NPY), SC_UNSUPPORTED);
    assert_int_equal(sc_outputs_check("y", SC_KIND_TENSOR, SC_BF16, SC_OUTPUT_NPY), SC_UNSUPPORTED);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, move_to_empty_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(files_come_together_at_the_commit),
        CLAIM(without_a_commit_nothing_is_left),
        CLAIM(a_commit_that_fails_brings_back_what_was_there),
        CLAIM(a_link_is_written_through),
        CLAIM(names_become_file_names_and_stay_different),
        CLAIM(what_npy_cannot_hold_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
