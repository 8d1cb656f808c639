/* SPDX-License-Identifier: Apache-2.0
 * Inference inside an MPI program: all ranks but the last run a model, in two pipelines; the last goes on with its own
 * work. */
#include <mpi.h>
#include <stagecoach_mpi.h>
#include <stdio.h>

static int fail(const char *what)
{
    const struct sc_error *error = sc_last_error();
    fprintf(stderr, "%s: %s: %s\n", what, sc_status_name((enum sc_status)error->code), error->text);
    return 1;
}

/* Sends one set of inputs: x has `columns` columns, where the model wants 3; `pick` chooses columns of the result. */
static enum sc_status submit(struct sc_pipeline *pipeline, float first, int64_t columns, int64_t picked)
{
    const float x[8] = {first, first + 1, first + 2, first - 2, first - 1, first};
    const int64_t pick[2] = {0, picked}, x_dims[2] = {2, columns}, pick_dims[1] = {2};
    const struct sc_array inputs[2] = {
        {"x", SC_ELEMENT_FLOAT, 2, x_dims, x, (size_t)(2 * columns) * sizeof x[0]},
        {"pick", SC_ELEMENT_INT64, 1, pick_dims, pick, sizeof pick},
    };
    return sc_pipeline_submit(pipeline, 2, inputs);
}

static void print_result(struct sc_pipeline *pipeline)
{
    struct sc_array y;
    if (sc_pipeline_next(pipeline) != SC_OK || sc_pipeline_result(pipeline, "y", &y) != SC_OK) {
        printf("failed on the way: %s\n", sc_last_error()->text);
        return;
    }
    const float *values = y.data;
    printf("y [%d, %d]:", (int)y.dims[0], (int)y.dims[1]);
    for (int64_t i = 0; i < y.dims[0] * y.dims[1]; i++) {
        printf(" %g", (double)values[i]);
    }
    printf("\n");
}

/* Rank 0 of the pipeline: two sets in flight at once, then one that does not fit and one that fails on the way. */
static void drive(struct sc_pipeline *pipeline)
{
    printf("%d stages, inputs", sc_pipeline_n_stages(pipeline));
    for (int i = 0; i < sc_pipeline_n_inputs(pipeline); i++) {
        struct sc_port port;
        if (sc_pipeline_input(pipeline, i, &port) == SC_OK) {
            printf(" %s", port.name);
        }
    }
    printf("\n");
    if (submit(pipeline, 1, 3, 1) != SC_OK || submit(pipeline, 2, 3, 1) != SC_OK) {
        printf("not sent: %s\n", sc_last_error()->text);
        return;
    }
    print_result(pipeline);
    print_result(pipeline);
    if (submit(pipeline, 1, 4, 1) != SC_OK) { /* the pipeline is as before */
        printf("not sent: %s\n", sc_last_error()->text);
    }
    if (submit(pipeline, 1, 3, 7) == SC_OK) { /* there is no column 7: this set fails, the next one does not */
        print_result(pipeline);
    }
    if (submit(pipeline, 3, 3, 1) == SC_OK) {
        print_result(pipeline);
    }
}

static enum sc_status open_model(MPI_Comm communicator, const char *model, struct sc_pipeline **pipeline)
{
    struct sc_run_options *options = NULL;
    int size;
    MPI_Comm_size(communicator, &size);
    enum sc_status status = sc_run_options_create(&options);
    if (status == SC_OK) {
        status = sc_run_options_set(options, "pp", size > 1 ? "2" : "1");
    }
    if (status == SC_OK) {
        status = sc_pipeline_open_mpi(communicator, model, options, pipeline); /* when it fails, then on all ranks */
    }
    sc_run_options_free(options);
    return status;
}

/* Rank 0 drives until it finishes; the others serve until then. */
static enum sc_status use(MPI_Comm communicator, struct sc_pipeline *pipeline)
{
    int rank;
    MPI_Comm_rank(communicator, &rank);
    if (rank > 0) {
        return sc_pipeline_serve(pipeline);
    }
    drive(pipeline);
    return sc_pipeline_finish(pipeline);
}

/* Two pipelines are open at once, and used one after the other. */
static int run_models(MPI_Comm communicator, const char *model)
{
    struct sc_pipeline *pipelines[2] = {NULL, NULL};
    int failed = 0;
    for (int i = 0; i < 2 && !failed; i++) {
        failed = open_model(communicator, model, &pipelines[i]) == SC_OK ? 0 : fail("open");
    }
    for (int i = 0; i < 2 && !failed; i++) {
        if (use(communicator, pipelines[i]) != SC_OK) {
            fail("pipeline"); /* the others may wait for this rank: whether to end the job is the program's to decide */
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        sc_pipeline_close(pipelines[i]);
    }
    return failed;
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "model.onnx";
    int provided, rank, size, failed = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm part;
    const int apart = size > 1 && rank == size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, apart, rank, &part);
    if (!apart) {
        failed = run_models(part, model);
    }
    MPI_Comm_free(&part);

    int n_failed = 0; /* MPI is the program's, before and after */
    MPI_Allreduce(&failed, &n_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %d failed\n", size, n_failed);
    }
    MPI_Finalize();
    return n_failed != 0;
}
