/* SPDX-License-Identifier: Apache-2.0
 * Pipelines on a communicator of the caller: one rank's trouble is everybody's error, and MPI is the caller's
 * afterwards. Expected values: ONNX Runtime on examples/embed/model.onnx. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/stagecoach_mpi.h"

#define CHECK(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #claim, sc_last_error()->text);                     \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

static int rank, size;

static void mpi_is_in_order(void)
{
    int sum = 0, flag = 0;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
}

static void a_model_that_rank_0_lacks_opens_nowhere(const char *model)
{
    struct sc_pipeline *pipeline = NULL;
    CHECK(sc_pipeline_open_mpi(MPI_COMM_WORLD, rank == 0 ? "nowhere.onnx" : model, NULL, &pipeline) == SC_IO);
    CHECK(!pipeline && sc_last_error()->rank == 0 && strstr(sc_last_error()->text, "nowhere.onnx"));
    mpi_is_in_order();
}

static void options_that_differ_open_nothing(const char *model)
{
    struct sc_run_options *options;
    struct sc_pipeline *pipeline = NULL;
    CHECK(sc_run_options_create(&options) == SC_OK);
    CHECK(sc_run_options_set(options, "seed", rank == size - 1 ? "7" : "8") == SC_OK);
    CHECK(sc_pipeline_open_mpi(MPI_COMM_WORLD, model, options, &pipeline) != SC_OK);
    CHECK(!pipeline && strstr(sc_last_error()->text, "seed"));
    sc_run_options_free(options);
    mpi_is_in_order();
}

static void drive(struct sc_pipeline *pipeline)
{
    static const float x[6] = {1, 2, 3, -1, 0, 1}, want[4] = {15, 3, 3, 2};
    static const int64_t x_dims[2] = {2, 3}, pick_dims[1] = {2};
    for (int64_t i = 0; i < 20; i++) { /* every fifth fails on the way, and only it */
        const int64_t pick[2] = {0, i % 5 == 4 ? 9 : 1};
        const struct sc_array inputs[2] = {{"x", SC_ELEMENT_FLOAT, 2, x_dims, x, sizeof x},
            {"pick", SC_ELEMENT_INT64, 1, pick_dims, pick, sizeof pick}};
        struct sc_array y;
        CHECK(sc_pipeline_submit(pipeline, 2, inputs) == SC_OK);
        const enum sc_status status = sc_pipeline_next(pipeline);
        if (i % 5 == 4) {
            CHECK(status == SC_BAD_INPUT && sc_last_error()->seq == i && sc_last_error()->stage >= 0);
            continue;
        }
        CHECK(status == SC_OK && sc_pipeline_result(pipeline, "y", &y) == SC_OK);
        CHECK(y.bytes == sizeof want);
        for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
            CHECK(((const float *)y.data)[k] == want[k]);
        }
    }
}

/* Without finish and serve: close does what is missing. */
static void closing_ends_what_was_not_ended(const char *model)
{
    cpu_set_t before, after;
    struct sc_pipeline *pipeline = NULL;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    CHECK(sc_pipeline_open_mpi(MPI_COMM_WORLD, model, NULL, &pipeline) == SC_OK);
    CHECK(sc_pipeline_n_inputs(pipeline) == 2 && sc_pipeline_n_stages(pipeline) >= 1);
    if (rank == 0) {
        drive(pipeline);
        CHECK(sc_pipeline_serve(pipeline) == SC_BAD_USAGE);
    } else {
        CHECK(sc_pipeline_next(pipeline) == SC_BAD_USAGE);
        CHECK(sc_pipeline_submit(pipeline, 0, NULL) == SC_BAD_USAGE);
    }
    sc_pipeline_close(pipeline);
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
    mpi_is_in_order();
}

int main(int argc, char **argv)
{
    int provided = 0;
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS && argc == 2);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    a_model_that_rank_0_lacks_opens_nowhere(argv[1]);
    options_that_differ_open_nothing(argv[1]);
    closing_ends_what_was_not_ended(argv[1]);
    closing_ends_what_was_not_ended(rank == 0 ? argv[1] : "nowhere.onnx"); /* from rank 0 */
    closing_ends_what_was_not_ended(argv[1]);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
