/* SPDX-License-Identifier: Apache-2.0
 * Runs a model of one operator on one thread, as often as it is told: bench/operators starts one for each case, so that
 * its runs and those of ONNX Runtime can take turns.
 *
 *     bench_operator MODEL INPUT.pb ...   each line of stdin: N. Answers the CPU time of a run in ns, the mean of N. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exec/frame.h"
#include "passes/passes.h"

struct bench {
    struct sc_arena arena;
    struct sc_model *model;
    struct sc_program *program;
    struct sc_frame *frame;
    const struct sc_value **inputs;
};

static enum sc_status prepare(struct bench *b, const char *path)
{
    const struct sc_kernels *kernels;
    SC_TRY(sc_kernels_best(&kernels));
    SC_TRY(sc_model_open(path, &b->model));
    SC_TRY(sc_passes_rewrite(b->model, NULL));
    SC_TRY(sc_passes_run(b->model, kernels));
    const struct sc_program_spec spec = sc_program_whole(b->model, kernels);
    SC_TRY(sc_program_compile(&spec, &b->program));
    SC_TRY(sc_program_load(b->program, NULL));
    return sc_frame_create(b->program, &(struct sc_frame_options){.team = NULL}, &b->frame);
}

static enum sc_status read_inputs(struct bench *b, int n, char **paths)
{
    const struct sc_graph *graph = b->model->graph;
    if (n != graph->n_inputs) {
        return sc_fail(SC_BAD_USAGE, "%d inputs are given, the model has %d", n, graph->n_inputs);
    }
    struct sc_value *values = sc_arena_array(&b->arena, (size_t)n + 1, sizeof(*values));
    b->inputs = sc_arena_array(&b->arena, (size_t)n + 1, sizeof(*b->inputs));
    if (!values || !b->inputs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(sc_value_read_pb(paths[i], &graph->values[graph->inputs[i]].fact, &b->arena, &values[i]));
        b->inputs[i] = &values[i];
    }
    return SC_OK;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static enum sc_status answer(struct bench *b)
{
    char line[32];
    while (fgets(line, sizeof(line), stdin)) {
        const long n = strtol(line, NULL, 10);
        const double start = cpu_ns();
        for (long i = 0; i < n; i++) {
            SC_TRY(sc_frame_run(b->frame, b->inputs, i));
        }
        printf("%.0f\n", (cpu_ns() - start) / (double)(n > 0 ? n : 1));
        fflush(stdout);
    }
    return SC_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_operator MODEL INPUT.pb ...\n");
        return 2;
    }
    struct bench b = {.model = NULL};
    enum sc_status status = prepare(&b, argv[1]);
    status = status == SC_OK ? read_inputs(&b, argc - 2, argv + 2) : status;
    status = status == SC_OK ? answer(&b) : status;
    if (status != SC_OK) {
        fprintf(stderr, "bench_operator: %s\n", sc_error_last()->text);
    }
    sc_frame_free(b.frame);
    sc_program_free(b.program);
    sc_model_close(b.model);
    sc_arena_release(&b.arena);
    return status != SC_OK;
}
