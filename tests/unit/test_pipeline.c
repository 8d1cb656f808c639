/* SPDX-License-Identifier: Apache-2.0
 * The library as a caller in C sees it, on one rank. Expected values: ONNX Runtime on examples/embed/model.onnx. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "include/stagecoach.h"

#define MODEL SC_SOURCE_DIR "/examples/embed/model.onnx"

static const float x[6] = {1, 2, 3, -1, 0, 1};
static const int64_t x_dims[2] = {2, 3}, pick[3] = {1, 0, 1}, far_pick[3] = {1, 0, 2}, pick_dims[1] = {3};
static const float want[6] = {3, 15, 3, 2, 3, 2};

static struct sc_array x_input(void)
{
    return (struct sc_array){"x", SC_ELEMENT_FLOAT, 2, x_dims, x, sizeof x};
}

static struct sc_array pick_input(void)
{
    return (struct sc_array){"pick", SC_ELEMENT_INT64, 1, pick_dims, pick, sizeof pick};
}

static struct sc_pipeline *open_model(void)
{
    struct sc_pipeline *pipeline = NULL;
    assert_int_equal(sc_pipeline_open_alone(MODEL, NULL, &pipeline), SC_OK);
    assert_non_null(pipeline);
    return pipeline;
}

static void expect_result(struct sc_pipeline *pipeline)
{
    struct sc_array y;
    assert_int_equal(sc_pipeline_next(pipeline), SC_OK);
    assert_int_equal(sc_pipeline_result(pipeline, "y", &y), SC_OK);
    assert_string_equal(y.name, "y");
    assert_int_equal(y.type, SC_ELEMENT_FLOAT);
    assert_int_equal(y.rank, 2);
    assert_int_equal(y.dims[0], 2);
    assert_int_equal(y.dims[1], 3);
    assert_int_equal(y.bytes, sizeof want);
    assert_memory_equal(y.data, want, sizeof want); /* sums of small whole numbers: exact */
}

static void submit_well(struct sc_pipeline *pipeline)
{
    const struct sc_array inputs[2] = {pick_input(), x_input()}; /* any order */
    assert_int_equal(sc_pipeline_submit(pipeline, 2, inputs), SC_OK);
}

static void results_come_by_name(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = open_model();
    submit_well(pipeline);
    expect_result(pipeline);
    assert_int_equal(sc_pipeline_finish(pipeline), SC_OK);
    sc_pipeline_close(pipeline);
}

static void ports_are_as_the_file_declares(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = open_model();
    struct sc_port port;
    assert_int_equal(sc_pipeline_n_inputs(pipeline), 2);
    assert_int_equal(sc_pipeline_n_outputs(pipeline), 1);
    assert_int_equal(sc_pipeline_input(pipeline, 0, &port), SC_OK);
    assert_string_equal(port.name, "x");
    assert_int_equal(port.type, SC_ELEMENT_FLOAT);
    assert_int_equal(port.rank, 2);
    assert_int_equal(port.dims[0], -1);
    assert_int_equal(port.dims[1], 3);
    assert_int_equal(port.optional, 0);
    assert_int_equal(sc_pipeline_output(pipeline, 0, &port), SC_OK);
    assert_string_equal(port.name, "y");
    assert_int_equal(sc_pipeline_input(pipeline, 2, &port), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_input(pipeline, -1, &port), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_output(pipeline, 1, &port), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_output(pipeline, 0, NULL), SC_BAD_USAGE);
    sc_pipeline_close(pipeline);
}

/* Each of these differs from a good set in one field. */
static void expect_refused(struct sc_pipeline *pipeline, int n, const struct sc_array *inputs, const char *why)
{
    assert_int_equal(sc_pipeline_submit(pipeline, n, inputs), SC_BAD_INPUT);
    assert_int_equal(sc_last_error()->code, SC_BAD_INPUT);
    if (!strstr(sc_last_error()->text, why)) {
        fail_msg("'%s' does not say '%s'", sc_last_error()->text, why);
    }
    assert_int_equal(sc_pipeline_in_flight(pipeline), 0);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const int64_t wide[2] = {3, 2}, negative[2] = {-2, 3}, huge[2] = {INT64_C(1) << 62, 3}, deep[17] = {1};
    static char bytes[sizeof x + 1];
    struct sc_pipeline *pipeline = open_model();
    struct sc_array inputs[3] = {x_input(), pick_input(), pick_input()};
    expect_refused(pipeline, 1, inputs, "'pick' is missing");
    expect_refused(pipeline, 0, NULL, "'x' is missing");
    expect_refused(pipeline, 3, inputs, "'pick' is given twice");

#define EXPECT(field, value, why)                                                                                      \
    inputs[0] = x_input();                                                                                             \
    inputs[0].field = (value);                                                                                         \
    expect_refused(pipeline, 2, inputs, why)

    EXPECT(name, "z", "no input 'z'");
    EXPECT(name, NULL, "has no name");
    EXPECT(type, SC_ELEMENT_DOUBLE, "24 bytes, its dims want 48");
    EXPECT(type, SC_ELEMENT_INT32, "is int32, want float");
    EXPECT(type, 0, "0 is no element type");
    EXPECT(type, 1000, "1000 is no element type");
    EXPECT(rank, 1, "8"); /* bytes of its one dim */
    EXPECT(rank, -1, "rank -1");
    EXPECT(dims, NULL, "no dims");
    EXPECT(dims, wide, "size 2 in dim 1, want 3");
    EXPECT(dims, negative, "-2");
    EXPECT(dims, huge, "x");
    EXPECT(data, NULL, "no data");
    EXPECT(data, bytes + 1, "not aligned to 4");
    EXPECT(bytes, sizeof x - 4, "20 bytes, its dims want 24");
    inputs[0].rank = 17;
    inputs[0].dims = deep;
    expect_refused(pipeline, 2, inputs, "rank 17");
#undef EXPECT
    submit_well(pipeline); /* it is as before */
    expect_result(pipeline);
    sc_pipeline_close(pipeline);
}

static void a_set_that_fails_on_the_way_is_delivered_as_its_error(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = open_model();
    struct sc_array inputs[2] = {x_input(), pick_input()}, y;
    inputs[1].data = far_pick;
    assert_int_equal(sc_pipeline_submit(pipeline, 2, inputs), SC_OK);
    submit_well(pipeline);
    assert_int_equal(sc_pipeline_in_flight(pipeline), 2);
    assert_int_equal(sc_pipeline_next(pipeline), SC_BAD_INPUT);
    assert_non_null(strstr(sc_last_error()->text, "index 2"));
    assert_int_equal(sc_last_error()->rank, 0);
    assert_int_equal(sc_last_error()->stage, 0);
    assert_int_equal(sc_last_error()->seq, 0);
    assert_int_equal(sc_pipeline_result(pipeline, "y", &y), SC_BAD_USAGE);
    expect_result(pipeline);
    sc_pipeline_close(pipeline);
}

static void the_window_bounds_what_is_in_flight(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = open_model();
    const struct sc_array inputs[2] = {x_input(), pick_input()};
    const int window = sc_pipeline_window(pipeline);
    assert_true(window >= 1);
    for (int i = 0; i < window; i++) {
        submit_well(pipeline);
    }
    assert_int_equal(sc_pipeline_submit(pipeline, 2, inputs), SC_LIMIT);
    assert_int_equal(sc_pipeline_in_flight(pipeline), window);
    for (int i = 0; i < window; i++) {
        expect_result(pipeline);
    }
    assert_int_equal(sc_pipeline_next(pipeline), SC_BAD_USAGE);
    sc_pipeline_close(pipeline);
}

static void finishing_drops_what_is_in_flight(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = open_model();
    submit_well(pipeline);
    assert_int_equal(sc_pipeline_finish(pipeline), SC_OK);
    assert_int_equal(sc_pipeline_next(pipeline), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_finish(pipeline), SC_BAD_USAGE);
    sc_pipeline_close(pipeline);
}

static void calls_out_of_order_are_refused(void **state)
{
    (void)state;
    struct sc_array y;
    struct sc_pipeline *pipeline = open_model();
    assert_int_equal(sc_pipeline_result(pipeline, "y", &y), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_serve(pipeline), SC_BAD_USAGE); /* rank 0 */
    submit_well(pipeline);
    assert_int_equal(sc_pipeline_next(pipeline), SC_OK);
    assert_int_equal(sc_pipeline_result(pipeline, "z", &y), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_result(pipeline, NULL, &y), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_result(pipeline, "y", NULL), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_submit(pipeline, 1, NULL), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_submit(NULL, 0, NULL), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_next(NULL), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_n_inputs(NULL), 0);
    sc_pipeline_close(pipeline);
    sc_pipeline_close(NULL);
}

static void a_model_that_does_not_open_leaves_no_pipeline(void **state)
{
    (void)state;
    struct sc_pipeline *pipeline = NULL;
    assert_int_equal(sc_pipeline_open_alone(SC_SOURCE_DIR "/nowhere.onnx", NULL, &pipeline), SC_IO);
    assert_non_null(strstr(sc_last_error()->text, "nowhere.onnx"));
    assert_int_equal(sc_pipeline_open_alone(SC_SOURCE_DIR "/LICENSE", NULL, &pipeline), SC_BAD_MODEL);
    assert_int_equal(sc_pipeline_open_alone(NULL, NULL, &pipeline), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_open_alone(MODEL, NULL, NULL), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_open(0, MODEL, NULL, &pipeline), SC_BAD_USAGE); /* no MPI was initialised */
    assert_null(pipeline);
}

static void options_are_read_as_on_the_command_line(void **state)
{
    (void)state;
    struct sc_run_options *options = NULL;
    struct sc_pipeline *pipeline = NULL;
    assert_int_equal(sc_run_options_create(&options), SC_OK);
    assert_int_equal(sc_run_options_set(options, "memory", "512M"), SC_OK);
    assert_int_equal(sc_run_options_set(options, "threads", "1"), SC_OK);
    assert_int_equal(sc_run_options_set(options, "gemm", "blas"), SC_OK);
    assert_int_equal(sc_run_options_set(options, "gemm", "mkl"), SC_BAD_USAGE);
    assert_non_null(strstr(sc_last_error()->text, "own|blas"));
    assert_int_equal(sc_run_options_set(options, "threads", "-1"), SC_BAD_USAGE);
    assert_int_equal(sc_run_options_set(options, "threads", "two"), SC_BAD_USAGE);
    assert_int_equal(sc_run_options_set(options, "thread", "2"), SC_BAD_USAGE);
    assert_int_equal(sc_run_options_set(options, NULL, "2"), SC_BAD_USAGE);
    assert_int_equal(sc_run_options_set(options, "threads", NULL), SC_BAD_USAGE);
    assert_int_equal(sc_run_options_set(NULL, "threads", "2"), SC_BAD_USAGE);
    assert_int_equal(sc_pipeline_open_alone(MODEL, options, &pipeline), SC_OK);
    sc_run_options_free(options); /* the pipeline needs it no more */
    submit_well(pipeline);
    expect_result(pipeline);
    sc_pipeline_close(pipeline);

    assert_int_equal(sc_run_options_create(&options), SC_OK);
    assert_int_equal(sc_run_options_set(options, "plan", SC_SOURCE_DIR "/nowhere.json"), SC_OK);
    assert_int_equal(sc_pipeline_open_alone(MODEL, options, &pipeline), SC_IO);
    sc_run_options_free(options);
    sc_run_options_free(NULL);
}

static void defaults_named_in_an_option_can_be_given(void **state)
{
    (void)state;
    static const float k[1] = {3}, x8[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t one[1] = {1}, rows[2] = {2, 4};
    struct sc_array y,
        inputs[2] = {{"x", SC_ELEMENT_FLOAT, 2, rows, x8, sizeof x8}, {"k", SC_ELEMENT_FLOAT, 1, one, k, sizeof k}};
    struct sc_run_options *options = NULL;
    struct sc_pipeline *pipeline = NULL;
    struct sc_port port;
    float own[12], given[12];
    assert_int_equal(sc_run_options_create(&options), SC_OK);
    assert_int_equal(sc_run_options_set(options, "override", "k"), SC_OK);
    assert_int_equal(sc_pipeline_open_alone(SC_SOURCE_DIR "/tests/data/graphs/defaults", options, &pipeline), SC_OK);
    sc_run_options_free(options);
    assert_int_equal(sc_pipeline_input(pipeline, 2, &port), SC_OK);
    assert_string_equal(port.name, "k");
    assert_int_equal(port.optional, 1);
    for (int n = 1; n <= 2; n++) {
        assert_int_equal(sc_pipeline_submit(pipeline, n, inputs), SC_OK);
        assert_int_equal(sc_pipeline_next(pipeline), SC_OK);
        assert_int_equal(sc_pipeline_result(pipeline, "y", &y), SC_OK);
        assert_int_equal(y.bytes, sizeof own);
        memcpy(n == 1 ? own : given, y.data, sizeof own);
    }
    for (int i = 0; i < 12; i++) { /* k is squared: 2 by default, 3 as given; small whole numbers */
        assert_true(own[i] * 9 == given[i] * 4);
    }
    inputs[1].name = "w";
    assert_int_equal(sc_pipeline_submit(pipeline, 2, inputs), SC_BAD_INPUT);
    assert_non_null(strstr(sc_last_error()->text, "option 'override'"));
    sc_pipeline_close(pipeline);
}

static void element_types_are_those_of_onnx(void **state)
{
    (void)state;
    assert_int_equal(sc_element_bytes(SC_ELEMENT_FLOAT), 4);
    assert_int_equal(sc_element_bytes(SC_ELEMENT_INT64), 8);
    assert_int_equal(sc_element_bytes(SC_ELEMENT_BOOL), 1);
    assert_int_equal(sc_element_bytes(SC_ELEMENT_BFLOAT16), 2);
    assert_int_equal(sc_element_bytes(SC_ELEMENT_STRING), sizeof(struct sc_text));
    assert_int_equal(sc_element_bytes(22), 1); /* INT4 */
    assert_int_equal(sc_element_bytes(SC_ELEMENT_NONE), 0);
    assert_int_equal(sc_element_bytes(-1), 0);
    assert_string_equal(sc_status_name(SC_BAD_INPUT), "bad input");
    assert_non_null(strchr(sc_version(), '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_by_name),
        cmocka_unit_test(ports_are_as_the_file_declares),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(a_set_that_fails_on_the_way_is_delivered_as_its_error),
        cmocka_unit_test(the_window_bounds_what_is_in_flight),
        cmocka_unit_test(finishing_drops_what_is_in_flight),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(a_model_that_does_not_open_leaves_no_pipeline),
        cmocka_unit_test(options_are_read_as_on_the_command_line),
        cmocka_unit_test(defaults_named_in_an_option_can_be_given),
        cmocka_unit_test(element_types_are_those_of_onnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
