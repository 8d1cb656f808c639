/* SPDX-License-Identifier: Apache-2.0
 * Claims about files of states: a text goes on from one under another plan, and a file that is not whole gives one
 * line. */
#include <stdlib.h>

#include "base/file.h"
#include "decode/state_file.h"
#include "decoder_case.h"

enum { LENGTH = 100 };

static float got[VOCABULARY], want[VOCABULARY];
static struct sc_state_owner owner;
static char path[64];
static unsigned char *content;
static size_t n_content;

static void open_decoder(struct session_case *c, int n_ranks, int64_t context)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {.n_stages = n_ranks, .n_threads = 1, .n_slots = 8, .context = context}};
    assert_ok(session_open(c));
}

static void save(struct session_case *c)
{
    int64_t tokens[LENGTH + 1];
    for (int i = 0; i <= LENGTH; i++) {
        tokens[i] = token_at(0, i);
    }
    assert_ok(sc_state_file_save(path, &owner, c->ranks[0].session, 0, tokens, LENGTH + 1));
}

static void read_content(void)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    n_content = (size_t)ftell(file);
    rewind(file);
    content = realloc(content, n_content);
    assert_int_equal(fread(content, 1, n_content, file), n_content);
    assert_int_equal(fclose(file), 0);
}

static void write_content(const void *data, size_t bytes)
{
    assert_ok(sc_file_write(path, data, bytes));
}

static int prepare(void **state)
{
    (void)state;
    static struct sc_model *model;
    struct sc_state_pair *pairs;
    struct session_case c;
    snprintf(path, sizeof path, "/tmp/sc_state_%d.state", (int)getpid());
    assert_ok(sc_model_open(SHAKESPEARE, &model));
    assert_ok(sc_pairs_find(model, &owner.n_pairs, &pairs));
    owner.model = model;
    owner.pairs = pairs;
    open_decoder(&c, 3, 200);
    run_row(&c, 0, 0, 60, NULL);
    run_row(&c, 0, 60, 40, NULL);
    save(&c);
    run_row(&c, 0, LENGTH, 1, want);
    session_close(&c);
    read_content();
    return 0;
}

static int clean(void **state)
{
    (void)state;
    union {
        const struct sc_model *in;
        struct sc_model *out;
    } model = {.in = owner.model};
    sc_model_close(model.out);
    free(content);
    return unlink(path);
}

static void a_text_goes_on_under_any_plan(void **state)
{
    (void)state;
    write_content(content, n_content);
    for (int n_ranks = 1; n_ranks <= 4; n_ranks++) {
        struct session_case c;
        struct sc_state_file *file;
        int64_t n;
        open_decoder(&c, n_ranks, 200);
        run_row(&c, 4, 0, 30, NULL);
        assert_ok(sc_state_file_open(path, &owner, &file));
        const int64_t *tokens = sc_state_file_tokens(file, &n);
        assert_int_equal(n, LENGTH + 1);
        assert_int_equal(tokens[LENGTH], token_at(0, LENGTH));
        assert_int_equal(sc_state_file_length(file), LENGTH);
        assert_ok(sc_state_file_restore(file, c.ranks[0].session, 4));
        sc_state_file_close(file);
        run_row(&c, 4, LENGTH, 1, got);
        assert_memory_equal(got, want, sizeof want);
        session_close(&c);
    }
}

static void saving_what_was_loaded_gives_the_same_file(void **state)
{
    (void)state;
    struct session_case c;
    struct sc_state_file *file;
    write_content(content, n_content);
    open_decoder(&c, 2, 200);
    assert_ok(sc_state_file_open(path, &owner, &file));
    assert_ok(sc_state_file_restore(file, c.ranks[0].session, 0));
    sc_state_file_close(file);
    unsigned char *first = malloc(n_content);
    const size_t n_first = n_content;
    memcpy(first, content, n_content);
    save(&c);
    read_content();
    assert_int_equal(n_content, n_first);
    assert_memory_equal(content, first, n_first);
    free(first);
    session_close(&c);
}

static void expect_refusal(enum sc_status code, const char *words)
{
    struct sc_state_file *file;
    assert_fails(code, words, sc_state_file_open(path, &owner, &file));
    assert_non_null(strstr(sc_error_last()->text, path));
}

static void a_file_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    static const size_t cut[] = {0, 3, 8, 15, 16, 100};
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        write_content(content, cut[i]);
        expect_refusal(SC_BAD_INPUT, cut[i] < 16 ? "is not a file of states" : "ends within its head");
    }
    write_content(content, n_content - 1);
    expect_refusal(SC_BAD_INPUT, "ends within its states");
    unsigned char *longer = malloc(n_content + 1);
    memcpy(longer, content, n_content);
    longer[n_content] = 0;
    write_content(longer, n_content + 1);
    expect_refusal(SC_BAD_INPUT, "more after the last state");
    longer[40] ^= 1;
    write_content(longer, n_content);
    expect_refusal(SC_BAD_INPUT, "the head is damaged");
    free(longer);
}

/* Any byte of a state; the slot is empty then, and the session goes on. */
static void a_damaged_state_leaves_the_slot_empty(void **state)
{
    (void)state;
    struct session_case c;
    open_decoder(&c, 3, 200);
    struct batch *b = calloc(1, sizeof *b);
    const size_t places[] = {n_content - 1, n_content - 9, n_content / 2};
    for (size_t i = 0; i < 3; i++) {
        struct sc_state_file *file;
        content[places[i]] ^= 16;
        write_content(content, n_content);
        content[places[i]] ^= 16;
        assert_ok(sc_state_file_open(path, &owner, &file));
        assert_fails(SC_BAD_INPUT, "a state is damaged", sc_state_file_restore(file, c.ranks[0].session, 1));
        sc_state_file_close(file);
        const struct sc_row row = {.slot = 1, .n_new = 1, .pos = LENGTH};
        make_batch(c.ranks[0].model, b, 1, &row);
        assert_fails(SC_BAD_INPUT, "but holds 0", step(&c, b, NULL));
    }
    free(b);
    run_row(&c, 1, 0, 30, NULL);
    session_close(&c);
}

static void a_context_that_is_too_small_is_said(void **state)
{
    (void)state;
    struct session_case c;
    struct sc_state_file *file;
    write_content(content, n_content);
    open_decoder(&c, 2, 64);
    assert_ok(sc_state_file_open(path, &owner, &file));
    assert_fails(SC_LIMIT, "100 positions", sc_state_file_restore(file, c.ranks[0].session, 1));
    sc_state_file_close(file);
    session_close(&c);
}

static void a_state_of_another_model_is_refused(void **state)
{
    (void)state;
    struct sc_model *other;
    struct sc_state_owner wrong = owner;
    struct sc_state_file *file;
    write_content(content, n_content);
    assert_ok(sc_model_open(SC_SOURCE_DIR "/tests/data/tensorscatter24", &other));
    wrong.model = other;
    assert_fails(SC_BAD_INPUT, "of another model", sc_state_file_open(path, &wrong, &file));
    sc_model_close(other);
}

/* Caches of another type than the file's, either way; the same type goes on bit for bit (tests/decoder). */
static void caches_of_another_type_are_refused(void **state)
{
    (void)state;
    struct sc_state_pair *pairs = malloc((size_t)owner.n_pairs * sizeof *pairs);
    struct sc_state_owner narrow = owner;
    struct sc_state_file *file;
    assert_non_null(pairs);
    memcpy(pairs, owner.pairs, (size_t)owner.n_pairs * sizeof *pairs);
    const struct sc_cache_formats formats = {.keys = SC_PAGE_Q8_0, .values = SC_PAGE_F16};
    assert_ok(sc_pairs_set_formats(pairs, owner.n_pairs, &formats));
    narrow.pairs = pairs;
    write_content(content, n_content);
    assert_fails(SC_BAD_INPUT, "is float, this run keeps it as q8_0: -ctk, -ctv say how",
        sc_state_file_open(path, &narrow, &file));
    struct session_case c = {.n_ranks = 2,
        .path = SHAKESPEARE,
        .formats = formats,
        .options = {.n_stages = 2, .n_threads = 1, .n_slots = 8, .context = 200}};
    const struct sc_state_owner wide = owner;
    assert_ok(session_open(&c));
    run_row(&c, 0, 0, LENGTH, NULL);
    owner = narrow;
    save(&c);
    session_close(&c);
    owner = wide;
    expect_refusal(SC_BAD_INPUT, "is q8_0, this run keeps it as float: -ctk, -ctv say how");
    free(pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_goes_on_under_any_plan),
        cmocka_unit_test(saving_what_was_loaded_gives_the_same_file),
        cmocka_unit_test(a_file_that_is_not_whole_is_refused),
        cmocka_unit_test(a_damaged_state_leaves_the_slot_empty),
        cmocka_unit_test(a_context_that_is_too_small_is_said),
        cmocka_unit_test(a_state_of_another_model_is_refused),
        cmocka_unit_test(caches_of_another_type_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
