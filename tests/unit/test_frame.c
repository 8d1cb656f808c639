/* SPDX-License-Identifier: Apache-2.0
 * Claims about running a program: planned and late steps, views, bodies, failures. */
#include "graph_case.h"

static struct sc_team *two_workers(void)
{
    struct sc_team *team = NULL;
    const struct sc_team_options options = {.n_workers = 2};
    assert_ok(sc_team_create(&options, &team));
    return team;
}

/* Every data set twice over, as the model stands in the file and after passes, with one worker and two. */
static void check(const char *name)
{
    for (int way = 0; way < 4; way++) {
        struct graph_case c;
        struct sc_team *team = way & 2 ? two_workers() : NULL;
        graph_open(&c, name);
        if (way & 1) {
            assert_ok(sc_passes_run(c.model, c.kernels));
        } else {
            assert_ok(sc_pass_infer(c.model->graph, c.kernels));
        }
        graph_compile(&c, team);
        const int n = graph_n_sets(&c);
        assert_true(n > 0);
        for (int run = 0; run < 2 * n; run++) {
            graph_run_and_expect(&c, run % n);
        }
        graph_close(&c);
        sc_team_free(team);
    }
}

#define CHECK(name, claim)                                                                                             \
    static void claim(void **state)                                                                                    \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        check(#name);                                                                                                  \
    }

CHECK(late, steps_whose_dims_depend_on_data_mix_with_planned_ones)
CHECK(computed_shape, shapes_may_be_computed_or_given)
CHECK(views, views_and_their_dense_copies_show_the_same_numbers)
CHECK(in_place, a_value_still_to_be_read_is_never_overwritten)
CHECK(broadcast_in_place, steps_work_in_place_only_for_dims_that_let_them)
CHECK(nested_if, bodies_in_bodies_see_the_values_around_them)
CHECK(sequences, items_of_sequences_outlive_what_they_were_made_of)
CHECK(skipping, values_live_until_their_last_reader)

static void outputs_stay_until_the_next_run(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "skipping");
    graph_read(&c, 0);
    assert_ok(sc_frame_run(c.frame, c.feeds, 0));
    const struct sc_tensor *first = &sc_frame_output(c.frame, 0)->u.tensor;
    const struct sc_tensor *second = &sc_frame_output(c.frame, 1)->u.tensor;
    assert_ptr_not_equal(first->data, second->data);
    graph_expect_value(&c, 0, sc_frame_output(c.frame, 0));
    graph_expect_value(&c, 1, sc_frame_output(c.frame, 1));
    graph_close(&c);
}

static void more_sets_of_dims_than_are_kept_still_run(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "skipping");
    for (int round = 0; round < 2; round++) {
        for (int64_t n = 1; n <= 9; n++) {
            float x[9], z[9];
            for (int i = 0; i < 9; i++) {
                x[i] = (float)(i - 4);
                z[i] = (float)(3 * i + round);
            }
            for (int i = 0; i < 2; i++) {
                c.inputs[i].kind = SC_KIND_TENSOR;
                sc_tensor_init(&c.inputs[i].u.tensor, SC_F32, 1, &n);
                c.feeds[i] = &c.inputs[i];
            }
            c.inputs[0].u.tensor.data = x;
            c.inputs[1].u.tensor.data = z;
            assert_ok(sc_frame_run(c.frame, c.feeds, 0));
            const struct sc_tensor *y = &sc_frame_output(c.frame, 1)->u.tensor;
            assert_int_equal(y->dims[0], n);
            for (int64_t i = 0; i < n; i++) {
                const float e = -4 * x[i] * x[i] - z[i];
                assert_true(((const float *)y->data)[i] == (e < 0 ? -e : e) + 2 * x[i]);
            }
        }
    }
    graph_close(&c);
}

/* 2000 requests of up to 4096 elements: places are chosen for the first, and a few times in each doubling. */
static void requests_of_many_lengths_share_few_placements(void **state)
{
    (void)state;
    struct graph_case c;
    float *data = calloc(4096, sizeof *data);
    graph_open_compiled(&c, "skipping");
    for (int64_t run = 0; run < 2000; run++) {
        const int64_t n = 1 + run * run * 31 % 4096;
        for (int i = 0; i < 2; i++) {
            c.inputs[i].kind = SC_KIND_TENSOR;
            sc_tensor_init(&c.inputs[i].u.tensor, SC_F32, 1, &n);
            c.inputs[i].u.tensor.data = data;
            c.feeds[i] = &c.inputs[i];
        }
        assert_ok(sc_frame_run(c.frame, c.feeds, 0));
        assert_int_equal(sc_frame_output(c.frame, 0)->u.tensor.dims[0], n);
    }
    assert_in_range(sc_frame_placements(c.frame), 2, 1 + 4 * 12);
    graph_close(&c);
    free(data);
}

static void a_failing_run_names_its_node_and_the_next_one_succeeds(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "failing");
    for (int bad = 1; bad <= 3; bad++) {
        static const char *const nodes[] = {"", "'a'", "'b'", "'c'"};
        graph_read(&c, 0);
        ((int64_t *)c.inputs[bad].u.tensor.data)[2] = 4;
        assert_fails(SC_BAD_INPUT, nodes[bad], sc_frame_run(c.frame, c.feeds, 0));
        graph_run_and_expect(&c, 0);
    }
    graph_close(&c);
}

/* The else branch within the then branch subtracts a vector of three. */
static void a_branch_is_wrong_only_when_it_is_taken(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "nested_if");
    graph_read(&c, 0);
    const int64_t two = 2;
    float x[2] = {1, 2};
    sc_tensor_init(&c.inputs[0].u.tensor, SC_F32, 1, &two);
    c.inputs[0].u.tensor.data = x;
    unsigned char *first = c.inputs[1].u.tensor.data, *second = c.inputs[2].u.tensor.data;
    for (int round = 0; round < 2; round++) {
        *first = 1;
        *second = 0;
        assert_fails(SC_BAD_MODEL, "inner_difference", sc_frame_run(c.frame, c.feeds, 0));
        *second = 1;
        assert_ok(sc_frame_run(c.frame, c.feeds, 0));
        const float *z = sc_frame_output(c.frame, 0)->u.tensor.data; /* -(2x + 4xx - 4xx) */
        assert_true(z[0] == -2.0F && z[1] == -4.0F);
        *first = 0;
        assert_ok(sc_frame_run(c.frame, c.feeds, 0));
        z = sc_frame_output(c.frame, 0)->u.tensor.data;
        assert_true(z[0] == -2.0F && z[1] == -4.0F);
    }
    graph_run_and_expect_all(&c);
    graph_close(&c);
}

static void steps_writing_a_dim_are_counted_without_views(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "skipping");
    graph_run_and_expect(&c, 0); /* x, z: five elements; six steps */
    assert_int_equal(sc_frame_steps_writing_dim(c.frame, 5), 6);
    assert_int_equal(sc_frame_steps_writing_dim(c.frame, 2), 0);
    assert_true(sc_frame_bytes(c.frame) > 0);
    graph_close(&c);
}

struct watch {
    int n, bad, last_of_y;
};

static enum sc_status watch_step(void *arg, int step)
{
    struct watch *watch = arg;
    watch->bad += step != watch->n++;
    return step == watch->last_of_y ? sc_fail(SC_LIMIT, "seen enough") : SC_OK;
}

/* Not of bodies, and what it says ends the run. */
static void steps_are_told_of_in_their_order(void **state)
{
    (void)state;
    struct graph_case c;
    struct watch watch = {.last_of_y = -1};
    graph_open_compiled(&c, "nested_if");
    sc_frame_free(c.frame);
    const struct sc_frame_options options = {.on_step = watch_step, .on_step_arg = &watch};
    assert_ok(sc_frame_create(c.program, &options, &c.frame));
    graph_run_and_expect(&c, 0);
    assert_int_equal(watch.bad, 0);
    assert_int_equal(watch.n, sc_program_n_steps(c.program));
    watch = (struct watch){.last_of_y = sc_program_output_step(c.program, 0)};
    assert_in_range(watch.last_of_y, 0, sc_program_n_steps(c.program) - 1);
    assert_fails(SC_LIMIT, "seen enough", sc_frame_run(c.frame, c.feeds, 0));
    assert_int_equal(watch.n, watch.last_of_y + 1);
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_whose_dims_depend_on_data_mix_with_planned_ones),
        cmocka_unit_test(shapes_may_be_computed_or_given),
        cmocka_unit_test(views_and_their_dense_copies_show_the_same_numbers),
        cmocka_unit_test(a_value_still_to_be_read_is_never_overwritten),
        cmocka_unit_test(bodies_in_bodies_see_the_values_around_them),
        cmocka_unit_test(items_of_sequences_outlive_what_they_were_made_of),
        cmocka_unit_test(values_live_until_their_last_reader),
        cmocka_unit_test(outputs_stay_until_the_next_run),
        cmocka_unit_test(more_sets_of_dims_than_are_kept_still_run),
        cmocka_unit_test(steps_work_in_place_only_for_dims_that_let_them),
        cmocka_unit_test(requests_of_many_lengths_share_few_placements),
        cmocka_unit_test(a_failing_run_names_its_node_and_the_next_one_succeeds),
        cmocka_unit_test(a_branch_is_wrong_only_when_it_is_taken),
        cmocka_unit_test(steps_writing_a_dim_are_counted_without_views),
        cmocka_unit_test(steps_are_told_of_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
