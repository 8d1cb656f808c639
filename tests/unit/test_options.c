/* SPDX-License-Identifier: Apache-2.0
 * The command line: what parses, what is refused and how, and that help knows every option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/help.h"
#include "launch/options.h"

#define MOST 16

/* Parses a line of words that single blanks separate. The words live in `line`. */
static enum sc_status parse(char *line, struct sc_options *options)
{
    const char *argv[MOST] = {NULL};
    int argc = 0;
    for (char *at = line; at; argc++) {
        assert_true(argc < MOST);
        argv[argc] = at;
        at = strchr(at, ' ');
        if (at) {
            *at++ = '\0';
        }
    }
    return sc_options_parse(argc, argv, options);
}

static void assert_refused(const char *text, const char *message)
{
    char line[256];
    snprintf(line, sizeof line, "%s", text);
    struct sc_options options;
    assert_int_equal(parse(line, &options), SC_BAD_USAGE);
    assert_string_equal(sc_error_last()->text, message);
    sc_options_release(&options);
}

static void values_land_by_name(void **state)
{
    (void)state;
    char line[] = "stagecoach generate dir -p hello -n 20 --temp 0.5 --seed=7 --ignore-eos --log-level debug";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_int_equal(o.command, SC_COMMAND_GENERATE);
    assert_string_equal(sc_options_text(&o, "model"), "dir");
    assert_string_equal(sc_options_text(&o, "prompt"), "hello");
    assert_int_equal(sc_options_int(&o, "predict"), 20);
    assert_float_equal(sc_options_real(&o, "temp"), 0.5, 0);
    assert_int_equal(sc_options_int(&o, "seed"), 7);
    assert_true(sc_options_flag(&o, "ignore-eos"));
    assert_int_equal(sc_options_choice(&o, "log-level"), 3);
    assert_int_equal(o.n_arguments, 0);
    sc_options_release(&o);
}

static void defaults_hold_where_nothing_is_given(void **state)
{
    (void)state;
    char line[] = "stagecoach generate -m dir";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_string_equal(sc_options_text(&o, "model"), "dir");
    assert_null(sc_options_text(&o, "prompt"));
    assert_int_equal(sc_options_int(&o, "ubatch"), 64);
    assert_float_equal(sc_options_real(&o, "top-p"), 0.95, 0);
    assert_string_equal(sc_options_text(&o, "gemm"), "own");
    assert_false(sc_options_given(&o, "temp"));
    assert_false(sc_options_given(&o, "progress"));
    sc_options_release(&o);
}

static void a_switch_is_given_on_or_off(void **state)
{
    (void)state;
    char off[] = "stagecoach verify d --no-progress", on[] = "stagecoach verify d --progress";
    struct sc_options o;
    assert_int_equal(parse(off, &o), SC_OK);
    assert_true(sc_options_given(&o, "progress"));
    assert_false(sc_options_flag(&o, "progress"));
    sc_options_release(&o);
    assert_int_equal(parse(on, &o), SC_OK);
    assert_true(sc_options_flag(&o, "progress"));
    sc_options_release(&o);
}

static void an_option_of_another_command_has_its_default(void **state)
{
    (void)state;
    char line[] = "stagecoach inspect m.onnx";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_int_equal(sc_options_int(&o, "threads"), 0);
    assert_false(sc_options_given(&o, "threads"));
    sc_options_release(&o);
}

static void two_letter_options_take_one_dash_or_two(void **state)
{
    (void)state;
    char lines[][64] = {"stagecoach plan m -pp 2 -ub 32", "stagecoach plan m --pp 2 --ub 32",
        "stagecoach plan m -pp=2 -ub=32", "stagecoach plan m --pipeline=2 --ubatch-size 32"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct sc_options o;
        assert_int_equal(parse(lines[i], &o), SC_OK);
        assert_int_equal(sc_options_int(&o, "pp"), 2);
        assert_int_equal(sc_options_int(&o, "ubatch"), 32);
        sc_options_release(&o);
    }
}

static void n_means_ranks_for_launch_and_ends_at_the_command(void **state)
{
    (void)state;
    char line[] = "stagecoach launch -n 2 -- generate m -n 5 --help";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_int_equal(sc_options_int(&o, "ranks"), 2);
    assert_int_equal(o.n_arguments, 5);
    assert_string_equal(o.arguments[0], "generate");
    assert_string_equal(o.arguments[4], "--help");
    sc_options_release(&o);
    char bare[] = "stagecoach launch -n 2 plan m -pp 2";
    assert_int_equal(parse(bare, &o), SC_OK);
    assert_int_equal(o.n_arguments, 4);
    sc_options_release(&o);
}

static void lists_collect_and_sizes_take_units(void **state)
{
    (void)state;
    char line[] = "stagecoach run m -i a=x.npy -i b=y.npy --memory 3M -o out";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    const char *const *items;
    assert_int_equal(sc_options_list(&o, "input", &items), 2);
    assert_string_equal(items[0], "a=x.npy");
    assert_string_equal(items[1], "b=y.npy");
    assert_int_equal(sc_options_int(&o, "memory"), 3 << 20);
    assert_string_equal(sc_options_text(&o, "output"), "out");
    sc_options_release(&o);
}

static void a_value_may_start_with_a_dash(void **state)
{
    (void)state;
    char line[] = "stagecoach generate m -p --help";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_string_equal(sc_options_text(&o, "prompt"), "--help");
    assert_false(sc_options_flag(&o, "help"));
    sc_options_release(&o);
}

static void help_needs_no_arguments(void **state)
{
    (void)state;
    char line[] = "stagecoach generate --help";
    struct sc_options o;
    assert_int_equal(parse(line, &o), SC_OK);
    assert_true(sc_options_flag(&o, "help"));
    sc_options_release(&o);
}

static void bad_lines_are_refused_in_one_line(void **state)
{
    (void)state;
    assert_refused("stagecoach", "no command given; 'stagecoach help' lists them");
    assert_refused("stagecoach genrate", "unknown command 'genrate', did you mean 'generate'?");
    assert_refused("stagecoach frobnicate", "unknown command 'frobnicate'; 'stagecoach help' lists them");
    assert_refused("stagecoach generate m -n abc", "option '-n': 'abc' is not a whole number");
    assert_refused("stagecoach generate m -n 3.5", "option '-n': '3.5' is not a whole number");
    assert_refused("stagecoach generate m -n", "option '-n' needs a value: N");
    assert_refused("stagecoach generate m -n -1", "option '-n': '-1' is not in 0 to 1073741824");
    assert_refused("stagecoach generate m -n 99999999999999999999",
        "option '-n': '99999999999999999999' is not in 0 to 1073741824");
    assert_refused("stagecoach generate m --temp nan", "option '--temp': 'nan' is not a number");
    assert_refused("stagecoach generate m --temp inf", "option '--temp': 'inf' is not in 0 to 100");
    assert_refused("stagecoach generate m --top-p 1.5", "option '--top-p': '1.5' is not in 0 to 1");
    assert_refused("stagecoach generate m --tmep 1", "unknown option '--tmep', did you mean '--temp'?");
    assert_refused(
        "stagecoach generate m --zzzzzz", "unknown option '--zzzzzz'; 'stagecoach generate --help' lists them");
    assert_refused(
        "stagecoach generate m --no-temp", "unknown option '--no-temp'; 'stagecoach generate --help' lists them");
    assert_refused("stagecoach generate m --gemm fast", "option '--gemm': 'fast' is not one of own|blas");
    assert_refused("stagecoach generate m --gemm own|blas", "option '--gemm': 'own|blas' is not one of own|blas");
    assert_refused("stagecoach generate m --ignore-eos=1", "option '--ignore-eos' takes no value, '1' was given");
    assert_refused("stagecoach generate m -n 1 -n 2", "option '-n' is given twice");
    assert_refused("stagecoach plan m --memory 3X", "option '--memory': '3X' is not a size such as 512M");
    assert_refused(
        "stagecoach plan m --memory 9000000T", "option '--memory': '9000000T' is not in 0 to 9000000000000000");
    assert_refused("stagecoach plan", "MODEL is missing, as in: stagecoach plan MODEL");
    assert_refused("stagecoach plan a b", "one argument too many: 'b'");
    assert_refused("stagecoach plan -m a b", "one argument too many: 'b'");
    assert_refused("stagecoach version x", "one argument too many: 'x'");
}

static void letters_and_names_are_unique_in_each_command(void **state)
{
    (void)state;
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    for (int i = 0; i < n; i++) {
        assert_true(rows[i].help && rows[i].commands);
        assert_int_equal(rows[i].argument != NULL, rows[i].type != SC_OPTION_FLAG && rows[i].type != SC_OPTION_SWITCH);
        for (int j = 0; j < i; j++) {
            if (!(rows[i].commands & rows[j].commands)) {
                continue;
            }
            assert_string_not_equal(rows[i].name, rows[j].name);
            assert_false(rows[i].letters && rows[j].letters && strcmp(rows[i].letters, rows[j].letters) == 0);
        }
    }
}

/* Man page and completions are held against the help in tests/cli/cases/flags_agree.sh. */
static void help_knows_every_option_of_every_command(void **state)
{
    (void)state;
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    for (int c = 0; c < SC_N_COMMANDS; c++) {
        char *help = NULL, spelling[96], wanted[128];
        size_t bytes = 0;
        FILE *out = open_memstream(&help, &bytes);
        assert_non_null(out);
        sc_help_command(out, (enum sc_command)c);
        assert_int_equal(fclose(out), 0);
        for (int i = 0; i < n; i++) {
            sc_help_spelling(&rows[i], spelling, sizeof spelling);
            snprintf(wanted, sizeof wanted, "\n  %s", spelling);
            assert_int_equal(strstr(help, wanted) != NULL, rows[i].commands >> c & 1);
        }
        free(help);
    }
}

static void spellings_are_all_ways_to_write_an_option(void **state)
{
    (void)state;
    static const struct {
        const char *name, *spelling;
    } wanted[] = {{"predict", "-n, --predict, --n-predict N"}, {"pp", "-pp, --pipeline N"},
        {"progress", "--[no-]progress"}, {"seed", "--seed S"}, {"help", "-h, --help"}};
    int n;
    const struct sc_option_row *rows = sc_option_rows(&n);
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        char spelling[96] = "";
        for (int i = 0; i < n; i++) {
            if (strcmp(rows[i].name, wanted[w].name) == 0) {
                sc_help_spelling(&rows[i], spelling, sizeof spelling);
            }
        }
        assert_string_equal(spelling, wanted[w].spelling);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_land_by_name),
        cmocka_unit_test(defaults_hold_where_nothing_is_given),
        cmocka_unit_test(a_switch_is_given_on_or_off),
        cmocka_unit_test(an_option_of_another_command_has_its_default),
        cmocka_unit_test(two_letter_options_take_one_dash_or_two),
        cmocka_unit_test(n_means_ranks_for_launch_and_ends_at_the_command),
        cmocka_unit_test(lists_collect_and_sizes_take_units),
        cmocka_unit_test(a_value_may_start_with_a_dash),
        cmocka_unit_test(help_needs_no_arguments),
        cmocka_unit_test(bad_lines_are_refused_in_one_line),
        cmocka_unit_test(letters_and_names_are_unique_in_each_command),
        cmocka_unit_test(help_knows_every_option_of_every_command),
        cmocka_unit_test(spellings_are_all_ways_to_write_an_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
