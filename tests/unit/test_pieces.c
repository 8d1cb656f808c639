/* SPDX-License-Identifier: Apache-2.0
 * Claims about inputs that are cut into pieces. */
#include "graph_case.h"
#include "launch/pieces.h"

struct fixture {
    struct sc_model *model;
    struct sc_options options;
    struct sc_arena arena;
    struct sc_pieces pieces;
};

/* Words of `run MODEL`, separated by single blanks. */
static enum sc_status parse(struct fixture *f, const char *words)
{
    const char *argv[16] = {"stagecoach", "run", "model.onnx"};
    char *line = sc_arena_text(&f->arena, words, strlen(words));
    int argc = 3;
    for (char *at = line; at && *at; argc++) {
        argv[argc] = at;
        at = strchr(at, ' ');
        if (at) {
            *at++ = '\0';
        }
    }
    sc_options_release(&f->options);
    f->options = (struct sc_options){0};
    assert_ok(sc_options_parse(argc, argv, &f->options));
    return sc_pieces_parse(f->model, &f->options, &f->arena, &f->pieces);
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->model = graph_model("skipping"); /* x and z */
}

static void close_fixture(struct fixture *f)
{
    sc_options_release(&f->options);
    sc_model_close(f->model);
    sc_arena_release(&f->arena);
}

static struct sc_value value_of(float *data, int rank, const int64_t *dims)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value.u.tensor, SC_F32, rank, dims);
    value.u.tensor.data = data;
    return value;
}

static void assert_piece(const struct sc_value *piece, int64_t n, const float *wanted)
{
    assert_int_equal(sc_tensor_count(&piece->u.tensor), n);
    assert_memory_equal(piece->u.tensor.data, wanted, (size_t)n * sizeof *wanted);
}

static void pieces_overlap_and_zeros_stand_before_and_behind(void **state)
{
    (void)state;
    struct fixture f;
    float data[] = {1, 2, 3, 4, 5, 6, 7};
    struct sc_value x = value_of(data, 1, (int64_t[]){7});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=0 --window 3 --overlap 2"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_ok(sc_pieces_check(&f.pieces, f.model));
    assert_int_equal(f.pieces.n, 3);
    sc_pieces_fill(&f.pieces, 2);
    assert_piece(&x, 5, (float[]){5, 6, 7, 0, 0});
    sc_pieces_fill(&f.pieces, 0);
    assert_piece(&x, 5, (float[]){0, 0, 1, 2, 3});
    sc_pieces_fill(&f.pieces, 1);
    assert_piece(&x, 5, (float[]){2, 3, 4, 5, 6});
    close_fixture(&f);
}

static void an_overlap_may_be_longer_than_a_window(void **state)
{
    (void)state;
    struct fixture f;
    float data[] = {1, 2, 3, 4};
    struct sc_value x = value_of(data, 1, (int64_t[]){4});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=0 --window 1 --overlap 3"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_int_equal(f.pieces.n, 4);
    sc_pieces_fill(&f.pieces, 1);
    assert_piece(&x, 4, (float[]){0, 0, 1, 2});
    sc_pieces_fill(&f.pieces, 3);
    assert_piece(&x, 4, (float[]){1, 2, 3, 4});
    close_fixture(&f);
}

static void an_inner_axis_is_cut_in_every_row(void **state)
{
    (void)state;
    struct fixture f;
    float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct sc_value x = value_of(data, 3, (int64_t[]){2, 3, 2});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=-2 --window 2"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    sc_pieces_fill(&f.pieces, 0);
    assert_piece(&x, 8, (float[]){1, 2, 3, 4, 7, 8, 9, 10});
    sc_pieces_fill(&f.pieces, 1);
    assert_piece(&x, 8, (float[]){5, 6, 0, 0, 11, 12, 0, 0});
    close_fixture(&f);
}

static void the_rest_may_be_short_or_dropped(void **state)
{
    (void)state;
    struct fixture f;
    float data[] = {1, 2, 3, 4, 5};
    struct sc_value x = value_of(data, 1, (int64_t[]){5});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=0 --window 3 --overlap 1 --rest short"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_int_equal(f.pieces.n, 2);
    sc_pieces_fill(&f.pieces, 1);
    assert_piece(&x, 3, (float[]){3, 4, 5});
    sc_pieces_fill(&f.pieces, 0);
    assert_piece(&x, 4, (float[]){0, 1, 2, 3});
    x = value_of(data, 1, (int64_t[]){5});
    assert_ok(parse(&f, "--over x=0 --window 3 --rest drop"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_int_equal(f.pieces.n, 1);
    x = value_of(data, 1, (int64_t[]){2});
    assert_ok(parse(&f, "--over x=0 --window 3 --rest short"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_piece(&x, 2, (float[]){0, 0});
    sc_pieces_fill(&f.pieces, 0);
    assert_piece(&x, 2, (float[]){1, 2});
    close_fixture(&f);
}

/* 4 MiB, so that parts of the file are dropped on the way; an earlier piece is read again. */
static void what_stays_in_a_file_is_read_where_it_is(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char path[] = "/tmp/test_pieces.XXXXXX";
    struct fixture f;
    struct sc_file file;
    static float data[N];
    for (int i = 0; i < N; i++) {
        data[i] = (float)i;
    }
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(sc_file_write(path, data, sizeof data));
    assert_ok(sc_file_map(path, &file));
    unlink(path);
    union {
        const unsigned char *in;
        void *out;
    } mapped = {.in = file.data};
    struct sc_value x = value_of(mapped.out, 1, (int64_t[]){N});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=0 --window 1024"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, &file, &f.arena, &x));
    for (int64_t j = 0; j < f.pieces.n; j++) {
        sc_pieces_fill(&f.pieces, j);
        assert_piece(&x, 1024, data + 1024 * j);
    }
    assert_true(f.pieces.cuts[0].dropped_bytes > (size_t)2 << 20);
    sc_pieces_fill(&f.pieces, 0);
    assert_piece(&x, 1024, data);
    close_fixture(&f);
    sc_file_release(&file);
}

static void what_cannot_be_cut_is_refused_by_name(void **state)
{
    (void)state;
    struct fixture f;
    float data[6] = {0};
    struct sc_value x = value_of(data, 1, (int64_t[]){6}), z = value_of(data, 1, (int64_t[]){5});
    open_fixture(&f);
    assert_ok(parse(&f, "--over x=0 --over z=0 --window 2"));
    assert_ok(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_fails(
        SC_BAD_USAGE, "option '--over': input 'z' is not given: give -i z=FILE", sc_pieces_check(&f.pieces, f.model));
    assert_fails(SC_BAD_INPUT, "input 'z' has 5 elements along its axis, another that is cut has 6",
        sc_pieces_take(&f.pieces, f.model, 1, NULL, &f.arena, &z));
    assert_ok(parse(&f, "--over x=1 --window 2"));
    x = value_of(data, 1, (int64_t[]){6});
    assert_fails(SC_BAD_INPUT, "input 'x' has rank 1, and no axis 1 to cut along",
        sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_ok(parse(&f, "--over x=0 --window 2"));
    x = value_of(data, 1, (int64_t[]){0});
    assert_fails(SC_BAD_INPUT, "input 'x' has 0 elements along its axis, which is no piece of 2",
        sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    x = (struct sc_value){.kind = SC_KIND_SEQUENCE};
    assert_fails(
        SC_UNSUPPORTED, "input 'x' is no tensor of numbers", sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x));
    assert_ok(parse(&f, "--over x=0 --window 9000000000000000"));
    x = value_of(data, 1, (int64_t[]){6});
    assert_int_equal(sc_pieces_take(&f.pieces, f.model, 0, NULL, &f.arena, &x), SC_LIMIT);
    close_fixture(&f);
}

static void options_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *message;
    } rows[] = {{"--window 3", "option '--window' is of an input that is cut"},
        {"--join y=0", "option '--join' is of an input that is cut"},
        {"--over x=0", "give their length, --window N, too"}, {"--over x --window 3", "'x' is not NAME=AXIS"},
        {"--over q=0 --window 3", "'q=0' is not NAME=AXIS"}, {"--over x=one --window 3", "'x=one' is not NAME=AXIS"},
        {"--over x=99 --window 3", "'x=99' is not NAME=AXIS"},
        {"--over x=0 --over x=1 --window 3", "input 'x' is given twice"}};
    struct fixture f;
    open_fixture(&f);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        assert_fails(SC_BAD_USAGE, rows[r].message, parse(&f, rows[r].words));
    }
    assert_ok(parse(&f, "--random 1"));
    assert_int_equal(f.pieces.n_cuts, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_overlap_and_zeros_stand_before_and_behind),
        cmocka_unit_test(an_overlap_may_be_longer_than_a_window),
        cmocka_unit_test(an_inner_axis_is_cut_in_every_row),
        cmocka_unit_test(the_rest_may_be_short_or_dropped),
        cmocka_unit_test(what_stays_in_a_file_is_read_where_it_is),
        cmocka_unit_test(what_cannot_be_cut_is_refused_by_name),
        cmocka_unit_test(options_that_do_not_go_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
