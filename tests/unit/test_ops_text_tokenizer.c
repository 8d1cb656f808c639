/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft's Tokenizer; expected rows are what ONNX Runtime 1.32 makes of the same node. */
#include "op_case.h"

#include "base/regex.h"

enum { MOST = 8 };

struct claim {
    int64_t mark, least;
    const char *expression; /* NULL: separators */
    const char *separators[3];
    int n_in;
    const char *in[3];
    int64_t width;
    const char *out[3 * MOST];
};

static struct sc_string string(const char *text)
{
    return (struct sc_string){text, strlen(text)};
}

static enum sc_status run(struct op_case *c, const struct claim *claim)
{
    static struct sc_string in[3], separators[3];
    const int64_t n = claim->n_in;
    op_open(c, "com.microsoft", "Tokenizer", 1, 1);
    op_int(c, "mark", claim->mark);
    op_int(c, "mincharnum", claim->least);
    op_text(c, "pad_value", "#");
    int n_separators = 0;
    while (n_separators < 3 && claim->separators[n_separators]) {
        separators[n_separators] = string(claim->separators[n_separators]);
        n_separators++;
    }
    if (n_separators) {
        op_attribute(c, "separators", SC_ATTRIBUTE_STRINGS, n_separators)->u.strings = separators;
    }
    if (claim->expression) {
        op_text(c, "tokenexp", claim->expression);
    }
    for (int i = 0; i < claim->n_in; i++) {
        in[i] = string(claim->in[i]);
    }
    op_in(c, SC_STRING, in, 1, &n);
    return op_run(c);
}

static void rows_are_those_of_onnx_runtime(void **state)
{
    (void)state;
#define X                                                                                                              \
    3,                                                                                                                 \
    {                                                                                                                  \
        "ab cd,e", "", "\xc3\xa4  b-c "                                                                                \
    }
    static const struct claim claims[] = {
        {0, 1, "[a-z]+", {NULL}, X, 3, {"ab", "cd", "e", "#", "#", "#", "b", "c", "#"}},
        {0, 1, "a|ab|c", {NULL}, X, 2, {"ab", "c", "#", "#", "c", "#"}},
        {0, 2, "[a-z]+", {NULL}, X, 2, {"ab", "cd", "#", "#", "#", "#"}},
        {1, 1, "[a-z]+", {NULL}, X, 5,
            {"\x02", "ab", "cd", "e", "\x03", "\x02", "\x03", "#", "#", "#", "\x02", "b", "c", "\x03", "#"}},
        {0, 1, "[a-z]*", {NULL}, X, 3, {"ab", "cd", "e", "#", "#", "#", "b", "c", "#"}},
        {0, 1, "x*", {NULL}, X, 0, {NULL}},
        {0, 1, NULL, {""}, X, 7,
            {"a", "b", " ", "c", "d", ",", "e", "#", "#", "#", "#", "#", "#", "#", "\xc3\xa4", " ", " ", "b", "-", "c",
                " "}},
        {0, 1, NULL, {" "}, X, 2, {"ab", "cd,e", "#", "#", "\xc3\xa4", "b-c"}},
        {0, 1, NULL, {" ", ","}, X, 3, {"ab", "cd", "e", "#", "#", "#", "\xc3\xa4", "b-c", "#"}},
        {0, 1, NULL, {"b", "b c", "bc"}, X, 2, {"a", " cd,e", "#", "#", "\xc3\xa4  ", "-c "}},
        {0, 1, NULL, {"b c", "b"}, X, 2, {"a", "d,e", "#", "#", "\xc3\xa4  ", "-c "}},
        {0, 2, NULL, {" ", ","}, X, 2, {"ab", "cd", "#", "#", "b-c", "#"}},
        {0, 1, NULL, {"", "a"}, X, 0, {NULL}},
        {0, 1, "a", {" "}, X, 2, {"ab", "cd,e", "#", "#", "\xc3\xa4", "b-c"}},
        {0, 1, NULL, {"b|bc"}, 1, {"abcbd"}, 2, {"a", "d"}},
        {1, 1, NULL, {" "}, 2, {"", ""}, 0, {NULL}},
        {0, 1, ".+", {NULL}, 1, {"foo\nbar"}, 2, {"foo", "bar"}},
        {0, 1, "^[a-z]", {NULL}, 1, {"aXbc"}, 1, {"a"}},
        {0, 1, ".", {NULL}, 0, {NULL}, 0, {NULL}},
    };
#undef X
    for (size_t k = 0; k < sizeof(claims) / sizeof(claims[0]); k++) {
        const struct claim *claim = &claims[k];
        struct op_case c;
        if (run(&c, claim) != SC_OK) {
            fail_msg("claim %zu: %s", k, sc_error_last()->text);
        }
        const struct sc_tensor *out = &c.out[0].u.tensor;
        assert_int_equal(out->rank, 2);
        assert_int_equal(out->dims[0], claim->n_in);
        if (out->dims[1] != claim->width) {
            fail_msg("claim %zu: %d tokens, want %d", k, (int)out->dims[1], (int)claim->width);
        }
        for (int64_t i = 0; i < out->dims[0] * out->dims[1]; i++) {
            const struct sc_string *s = (const struct sc_string *)out->data + i;
            if (s->bytes != strlen(claim->out[i]) || memcmp(s->data, claim->out[i], s->bytes) != 0) {
                fail_msg("claim %zu, token %d: '%.*s', want '%s'", k, (int)i, (int)s->bytes, s->data, claim->out[i]);
            }
        }
        op_close(&c);
    }
}

static void refuses(const struct claim *claim, enum sc_status code, const char *why)
{
    struct op_case c;
    assert_int_equal(run(&c, claim), code);
    assert_non_null(strstr(sc_error_last()->text, why));
    op_close(&c);
}

static void attributes_and_strings_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    refuses(&(struct claim){.least = 0, .expression = "a"}, SC_BAD_MODEL, "mincharnum is 0, want 1 or more");
    refuses(
        &(struct claim){.least = 2, .separators = {""}}, SC_BAD_MODEL, "mincharnum is 2, but tokens are characters");
    refuses(&(struct claim){.least = 1}, SC_BAD_MODEL, "neither 'separators' nor 'tokenexp'");
    refuses(&(struct claim){.least = 1, .expression = "(a"}, SC_BAD_MODEL,
        "node 'n' (Tokenizer): '(a' is no regular expression");
    refuses(&(struct claim){.least = 1, .expression = "a", .n_in = 1, .in = {"\xff"}}, SC_BAD_INPUT,
        "string 0 is not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_onnx_runtime),
        cmocka_unit_test(attributes_and_strings_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
