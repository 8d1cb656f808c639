/* SPDX-License-Identifier: Apache-2.0
 * A model inside the time loop of an MPI simulation: a population that grows and spreads along a line,
 *
 *     du/dt = D d2u/dx2 + r f(u)
 *
 * The cells are shared out over all ranks but the last; each step exchanges the cells at the borders, and every rank
 * asks the model for f of its own cells. The last rank watches: it gets the total, and the profile at the end.
 *
 * usage: surrogate MODEL     f by the model: cells [n, 1] -> [n, 1]
 *        surrogate           f(u) = u (1 - u), the law that the model was made from */
#include <mpi.h>
#include <stagecoach_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 240, STEPS = 400, SHOWN = 20 };

static const float dt = 0.2f, diffusion = 1, growth = 0.25f;

/* The cells of one rank, u[1] to u[n], between copies of its neighbours' last ones. */
struct part {
    MPI_Comm comm;
    int rank, size, n;
    float *u, *f, *next;
    struct sc_pipeline *pipeline; /* NULL: without a model */
};

/* A model that cannot be used is the end of this program, on all ranks. */
static void end(const char *what)
{
    fprintf(stderr, "surrogate: %s: %s\n", what, sc_last_error()->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each rank has a pipeline of its own, of one stage, on itself: no cell travels for the model's sake. */
static struct sc_pipeline *open_model(const char *path)
{
    struct sc_run_options *options = NULL;
    struct sc_pipeline *pipeline = NULL;
    if (sc_run_options_create(&options) != SC_OK || sc_run_options_set(options, "threads", "1") != SC_OK ||
        sc_pipeline_open_mpi(MPI_COMM_SELF, path, options, &pipeline) != SC_OK) {
        end("open");
    }
    sc_run_options_free(options);
    return pipeline;
}

/* f of the cells of this rank. */
static void evaluate(struct part *part)
{
    if (!part->pipeline) {
        for (int i = 0; i < part->n; i++) {
            part->f[i] = part->u[1 + i] * (1 - part->u[1 + i]);
        }
        return;
    }
    const int64_t dims[2] = {part->n, 1};
    const struct sc_array cells = {"u", SC_ELEMENT_FLOAT, 2, dims, part->u + 1, (size_t)part->n * sizeof *part->u};
    struct sc_array f;
    if (sc_pipeline_submit(part->pipeline, 1, &cells) != SC_OK || sc_pipeline_next(part->pipeline) != SC_OK ||
        sc_pipeline_result(part->pipeline, "f", &f) != SC_OK) {
        end("run");
    }
    const float *values = f.data; /* the pipeline's until its next call */
    for (int i = 0; i < part->n; i++) {
        part->f[i] = values[i];
    }
}

/* Nothing flows through the ends of the line: the cell beyond is like the last one. */
static void exchange(struct part *part)
{
    const int left = part->rank > 0 ? part->rank - 1 : MPI_PROC_NULL;
    const int right = part->rank < part->size - 1 ? part->rank + 1 : MPI_PROC_NULL;
    float *u = part->u;
    const int n = part->n;
    u[0] = u[1];
    u[n + 1] = u[n];
    MPI_Sendrecv(&u[n], 1, MPI_FLOAT, right, 0, &u[0], 1, MPI_FLOAT, left, 0, part->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[1], 1, MPI_FLOAT, left, 1, &u[n + 1], 1, MPI_FLOAT, right, 1, part->comm, MPI_STATUS_IGNORE);
}

static void step(struct part *part)
{
    exchange(part);
    evaluate(part);
    for (int i = 1; i <= part->n; i++) {
        const float *u = &part->u[i];
        part->next[i] = u[0] + dt * (diffusion * (u[-1] - 2 * u[0] + u[1]) + growth * part->f[i - 1]);
    }
    float *before = part->u;
    part->u = part->next;
    part->next = before;
}

/* The profile from all ranks of the part's communicator, on its first; then to the watcher, which may be the same. */
static void show(const struct part *part, int watcher)
{
    float all[CELLS];
    int counts[CELLS], first[CELLS], at = 0;
    for (int r = 0; r < part->size; r++) {
        counts[r] = CELLS / part->size + (r < CELLS % part->size);
        first[r] = at;
        at += counts[r];
    }
    MPI_Gatherv(part->u + 1, part->n, MPI_FLOAT, all, counts, first, MPI_FLOAT, 0, part->comm);
    if (part->rank == 0) {
        MPI_Send(all, CELLS, MPI_FLOAT, watcher, 0, MPI_COMM_WORLD);
    }
}

static void watch(void)
{
    float all[CELLS];
    for (int s = 0; s <= STEPS; s += STEPS / 4) {
        double total = 0;
        MPI_Recv(all, CELLS, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < CELLS; i++) {
            total += (double)all[i];
        }
        printf("step %3d: total %.3f\n", s, total);
    }
    for (int i = 0; i < CELLS; i += CELLS / SHOWN) {
        printf("cell %3d: %.6f\n", i, (double)all[i]);
    }
}

static void simulate(MPI_Comm comm, const char *model, int watcher)
{
    struct part part = {.comm = comm};
    int first = 0;
    MPI_Comm_rank(comm, &part.rank);
    MPI_Comm_size(comm, &part.size);
    part.n = CELLS / part.size + (part.rank < CELLS % part.size);
    MPI_Exscan(&part.n, &first, 1, MPI_INT, MPI_SUM, comm);
    first = part.rank > 0 ? first : 0;
    part.u = calloc((size_t)part.n + 2, sizeof *part.u);
    part.next = calloc((size_t)part.n + 2, sizeof *part.next);
    part.f = calloc((size_t)part.n, sizeof *part.f);
    part.pipeline = model ? open_model(model) : NULL;
    for (int i = 0; i < part.n; i++) {
        part.u[1 + i] = first + i < CELLS / 10 ? 1 : 0;
    }
    show(&part, watcher);
    for (int s = 1; s <= STEPS; s++) {
        step(&part);
        if (s % (STEPS / 4) == 0) {
            show(&part, watcher);
        }
    }
    sc_pipeline_close(part.pipeline); /* finishes it too */
    free(part.u);
    free(part.next);
    free(part.f);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || size > CELLS) {
        fprintf(stderr, "surrogate: %d ranks, want 2 to %d\n", size, CELLS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm part;
    const int watches = rank == size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, watches, rank, &part);
    if (watches) {
        watch();
    } else {
        simulate(part, argc > 1 ? argv[1] : NULL, size - 1);
    }
    MPI_Comm_free(&part);
    MPI_Finalize();
    return 0;
}
