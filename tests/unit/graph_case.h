/* SPDX-License-Identifier: Apache-2.0
 * The models of tests/data/graphs, compiled whole and run in a frame; expected outputs lie beside them. */
#ifndef SC_TESTS_GRAPH_CASE_H
#define SC_TESTS_GRAPH_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "exec/frame.h"
#include "launch/compare.h"
#include "passes/passes.h"

#define GRAPHS SC_SOURCE_DIR "/tests/data/graphs/"

enum { GRAPH_PORTS = 24 };

/* graph_open ──► graph_compile ──► graph_run, graph_expect ──► graph_close. Passes run between the first two. */
struct graph_case {
    const char *name;
    struct sc_arena arena;
    struct sc_model *model;
    const struct sc_kernels *kernels;
    struct sc_program *program;
    struct sc_frame *frame;
    struct sc_value inputs[GRAPH_PORTS], wanted[GRAPH_PORTS];
    const struct sc_value *feeds[GRAPH_PORTS];
};

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        if ((call) != SC_OK) {                                                                                         \
            fail_msg("%s: %s", #call, sc_error_last()->text);                                                          \
        }                                                                                                              \
    } while (0)

#define assert_fails(code, words, call)                                                                                \
    do {                                                                                                               \
        assert_int_equal((call), (code));                                                                              \
        if (!strstr(sc_error_last()->text, words)) {                                                                   \
            fail_msg("'%s' is not in '%s'", words, sc_error_last()->text);                                             \
        }                                                                                                              \
    } while (0)

static inline struct sc_model *graph_model(const char *name)
{
    char path[512];
    struct sc_model *model = NULL;
    snprintf(path, sizeof path, GRAPHS "%s", name);
    assert_ok(sc_model_open(path, &model));
    return model;
}

static inline void graph_open(struct graph_case *c, const char *name)
{
    memset(c, 0, sizeof *c);
    c->name = name;
    c->model = graph_model(name);
    assert_ok(sc_kernels_best(&c->kernels));
}

static inline void graph_compile(struct graph_case *c, struct sc_team *team)
{
    const struct sc_program_spec spec = sc_program_whole(c->model, c->kernels);
    const struct sc_frame_options options = {.team = team};
    assert_ok(sc_program_compile(&spec, &c->program));
    assert_ok(sc_program_load(c->program, team));
    assert_ok(sc_frame_create(c->program, &options, &c->frame));
}

static inline void graph_open_compiled(struct graph_case *c, const char *name)
{
    graph_open(c, name);
    assert_ok(sc_passes_run(c->model, c->kernels));
    graph_compile(c, NULL);
}

static inline void graph_close(struct graph_case *c)
{
    sc_frame_free(c->frame);
    sc_program_free(c->program);
    sc_model_close(c->model);
    sc_arena_release(&c->arena);
}

static inline void graph_read_ports(
    struct graph_case *c, int set, const char *kind, int n, const int *ports, struct sc_value *values)
{
    char path[512];
    assert_in_range(n, 0, GRAPH_PORTS);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, GRAPHS "%s/test_data_set_%d/%s_%d.pb", c->name, set, kind, i);
        if (c->model->graph->values[ports[i]].weight < 0 || access(path, F_OK) == 0) {
            assert_ok(sc_value_read_pb(path, &c->model->graph->values[ports[i]].fact, &c->arena, &values[i]));
        }
    }
}

static inline int graph_n_sets(const struct graph_case *c)
{
    char path[512];
    int n = 0;
    for (FILE *file;; n++) {
        snprintf(path, sizeof path, GRAPHS "%s/test_data_set_%d/input_0.pb", c->name, n);
        file = fopen(path, "rb");
        if (!file) {
            return n;
        }
        fclose(file);
    }
}

/* Inputs and outputs of a data set, for feeds and graph_expect. A set may leave out inputs that have a default. */
static inline void graph_read(struct graph_case *c, int set)
{
    const struct sc_graph *graph = c->model->graph;
    graph_read_ports(c, set, "input", graph->n_inputs, graph->inputs, c->inputs);
    graph_read_ports(c, set, "output", graph->n_outputs, graph->outputs, c->wanted);
    for (int i = 0; i < graph->n_inputs; i++) {
        c->feeds[i] = c->inputs[i].kind == SC_KIND_NONE ? NULL : &c->inputs[i];
    }
}

/* Exactly what was recorded. */
static inline void graph_expect_value(const struct graph_case *c, int o, const struct sc_value *value)
{
    const struct sc_tolerance exactly = {.relative = 0, .absolute = 0};
    const char *output = c->model->graph->values[c->model->graph->outputs[o]].name;
    if (sc_compare_values(output, value, &c->wanted[o], &exactly) != SC_OK) {
        fail_msg("%s: %s", c->name, sc_error_last()->text);
    }
}

static inline void graph_run_and_expect(struct graph_case *c, int set)
{
    graph_read(c, set);
    assert_ok(sc_frame_run(c->frame, c->feeds, set));
    for (int o = 0; o < c->model->graph->n_outputs; o++) {
        graph_expect_value(c, o, sc_frame_output(c->frame, o));
    }
}

/* All data sets that the graph has, of which there must be one. */
static inline void graph_run_and_expect_all(struct graph_case *c)
{
    const int n = graph_n_sets(c);
    assert_true(n > 0);
    for (int set = 0; set < n; set++) {
        graph_run_and_expect(c, set);
    }
}

#endif
