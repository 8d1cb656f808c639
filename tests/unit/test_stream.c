/* SPDX-License-Identifier: Apache-2.0
 * Claims about ranks that have no file of the model: what they get from rank 0, and what goes wrong with it. */
#include <sys/stat.h>

#include "decoder_case.h"

#define NOWHERE "/nowhere/model.onnx"

static float logits[VOCABULARY], want[VOCABULARY];
static int64_t streamed, announced;
static void (*on_first_chunk)(void); /* NULL: nothing happens to the file */

static void count(void *arg, int64_t done_bytes, int64_t all_bytes)
{
    (void)arg;
    if (on_first_chunk && streamed == 0 && done_bytes > 0) {
        on_first_chunk();
    }
    streamed = done_bytes;
    announced = all_bytes;
}

static void set_up(struct session_case *c, int n_ranks, const char *path)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = path,
        .options = {.n_stages = n_ranks, .n_slots = 1, .context = 64, .show_streaming = count}};
    streamed = announced = 0;
}

static void run_prompt(struct session_case *c, float *to)
{
    assert_ok(session_open(c));
    run_row(c, 0, 0, 20, to);
    session_close(c);
}

static void ranks_without_the_file_compute_the_same_bits(void **state)
{
    (void)state;
    struct session_case c;
    for (int n_ranks = 2; n_ranks <= 4; n_ranks++) {
        set_up(&c, n_ranks, SHAKESPEARE);
        run_prompt(&c, want);
        assert_int_equal(streamed, 0);
        for (int first = 1; first < n_ranks; first++) { /* these and all later ones lack it */
            set_up(&c, n_ranks, SHAKESPEARE);
            for (int r = first; r < n_ranks; r++) {
                c.paths[r] = NOWHERE;
            }
            memset(logits, 0, sizeof logits);
            run_prompt(&c, logits);
            assert_memory_equal(logits, want, sizeof want);
        }
    }
}

/* Small weights have come with the skeleton, so what is streamed is a little less than the stages' weights. */
static void a_rank_gets_its_own_weights_alone(void **state)
{
    (void)state;
    struct session_case c;
    set_up(&c, 3, SHAKESPEARE);
    c.paths[2] = NOWHERE;
    assert_ok(session_open(&c));
    const struct sc_plan *plan = sc_session_plan(c.ranks[0].session);
    int64_t own = 0, all = 0;
    for (int s = 0; s < plan->n_stages; s++) {
        own += plan->stages[s].ranks[0] == 2 ? plan->stages[s].weight_bytes : 0;
        all += plan->stages[s].weight_bytes;
    }
    assert_int_equal(announced, own);
    assert_true(own < all / 2);
    assert_in_range(streamed, own - own / 10, own);
    session_close(&c);
}

static void what_weights_are_made_of_is_streamed_too(void **state)
{
    (void)state;
    struct session_case c;
    const struct sc_value *outputs[GRAPH_PORTS];
    struct graph_case data = {.name = "recipes"};
    struct sc_microbatch microbatch = {.n_rows = 0};
    set_up(&c, 3, GRAPHS "recipes");
    c.paths[1] = c.paths[2] = NOWHERE;
    assert_ok(session_open(&c));
    assert_true(streamed > 0);
    data.model = c.ranks[0].model;
    for (int set = 0; set < graph_n_sets(&data); set++) {
        graph_read(&data, set);
        assert_ok(sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
        assert_ok(sc_session_next(c.ranks[0].session, outputs));
        for (int o = 0; o < data.model->graph->n_outputs; o++) {
            graph_expect_value(&data, o, outputs[o]);
        }
    }
    sc_arena_release(&data.arena);
    session_close(&c);
}

/* 68 KB in a Constant, as much as in any of the initializers. */
static void a_large_constant_does_not_come_with_the_skeleton(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("recipes");
    void *image = NULL;
    size_t bytes = 0;
    assert_ok(sc_model_image(model, NULL, &image, &bytes));
    assert_in_range(bytes, 1, 20000);
    free(image);
    sc_model_close(model);
}

static void the_model_of_another_rank_is_still_compared(void **state)
{
    (void)state;
    struct session_case c;
    set_up(&c, 3, SHAKESPEARE);
    c.paths[1] = NOWHERE;
    c.paths[2] = GRAPHS "in_place";
    assert_fails(SC_BAD_MODEL, "fingerprint", session_open(&c));
    session_abandon(&c);
}

static void expect_no_model(struct session_case *c, enum sc_status code, const char *words)
{
    assert_fails(code, words, session_open(c));
    session_abandon(c);
    for (int r = 1; r < c->n_ranks; r++) {
        assert_int_equal(c->ranks[r].status, code);
        assert_non_null(strstr(c->ranks[r].error.text, words));
    }
}

static void a_damaged_model_is_no_missing_one(void **state)
{
    (void)state;
    struct session_case c;
    set_up(&c, 3, SHAKESPEARE);
    c.paths[1] = NOWHERE;
    c.paths[2] = SHAKESPEARE "/README.md";
    expect_no_model(&c, SC_BAD_MODEL, "README.md");
}

static void rank_0_must_have_the_file(void **state)
{
    (void)state;
    struct session_case c;
    set_up(&c, 3, NOWHERE);
    expect_no_model(&c, SC_IO, "'" NOWHERE "': No such file or directory");
    set_up(&c, 3, NOWHERE);
    c.paths[2] = SHAKESPEARE;
    expect_no_model(&c, SC_IO, "No such file or directory (rank 2 has it, but only rank 0 can give it");
}

static char copied[64];

static void copy_model(void)
{
    snprintf(copied, sizeof copied, "/tmp/sc_stream_%d.onnx", (int)getpid());
    struct sc_file file;
    assert_ok(sc_file_map(SHAKESPEARE "/model.onnx", &file));
    assert_ok(sc_file_write(copied, file.data, file.bytes));
    sc_file_release(&file);
}

static void cut_file(void)
{
    struct stat about;
    assert_int_equal(stat(copied, &about), 0);
    assert_int_equal(truncate(copied, about.st_size - 1), 0);
}

static void replace_file(void)
{
    assert_int_equal(unlink(copied), 0);
    copy_model();
}

static void expect_failure_amid(void (*change)(void), const char *words)
{
    struct session_case c;
    copy_model();
    set_up(&c, 3, copied);
    c.paths[1] = c.paths[2] = NOWHERE;
    on_first_chunk = change;
    expect_no_model(&c, SC_IO, words);
    on_first_chunk = NULL;
    assert_true(streamed > 0);
    assert_int_equal(c.ranks[1].error.rank, 0);
    assert_int_equal(unlink(copied), 0);
}

static void a_file_that_changes_amid_streaming_fails_on_all(void **state)
{
    (void)state;
    expect_failure_amid(cut_file, "has 13039095 bytes, and had 13039096");
    expect_failure_amid(replace_file, "is another file than the one that was opened");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_without_the_file_compute_the_same_bits),
        cmocka_unit_test(a_rank_gets_its_own_weights_alone),
        cmocka_unit_test(what_weights_are_made_of_is_streamed_too),
        cmocka_unit_test(a_large_constant_does_not_come_with_the_skeleton),
        cmocka_unit_test(the_model_of_another_rank_is_still_compared),
        cmocka_unit_test(a_damaged_model_is_no_missing_one),
        cmocka_unit_test(rank_0_must_have_the_file),
        cmocka_unit_test(a_file_that_changes_amid_streaming_fails_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
