/* SPDX-License-Identifier: Apache-2.0
 * One pass on and off: a model of tests/data/graphs is run whole both ways on its data sets, and the outputs
 * compared. */
#ifndef SC_TESTS_PASS_CASE_H
#define SC_TESTS_PASS_CASE_H

#include "graph_case.h"
#include "launch/value_digest.h"

static inline void pass_open(struct graph_case *c, const char *name, unsigned without)
{
    const struct sc_pass_options options = {.without = without};
    graph_open(c, name);
    assert_ok(sc_passes_rewrite(c->model, &options));
    assert_ok(sc_passes_run_without(c->model, c->kernels, without));
    graph_compile(c, NULL);
}

static inline void pass_compare_output(
    const struct graph_case *on, const struct graph_case *off, int o, const struct sc_tolerance *tolerance)
{
    const char *output = on->model->graph->values[on->model->graph->outputs[o]].name;
    const struct sc_value *a = sc_frame_output(on->frame, o), *b = sc_frame_output(off->frame, o);
    if (!tolerance && sc_digest_value(0, a) != sc_digest_value(0, b)) {
        fail_msg("%s: the bits of '%s' are others without the pass", on->name, output);
    } else if (tolerance && sc_compare_values(output, a, b, tolerance) != SC_OK) {
        fail_msg("%s: %s", on->name, sc_error_last()->text);
    }
}

/* only: the outputs from the first to the last of these; tolerance NULL: the same bits. Returns how many steps the pass
 * took away. */
static inline int pass_compare(
    const char *name, unsigned pass, int first, int last, const struct sc_tolerance *tolerance)
{
    struct graph_case on, off;
    pass_open(&on, name, 0);
    pass_open(&off, name, pass);
    const int n_outputs = on.model->graph->n_outputs, n_sets = graph_n_sets(&on);
    assert_true(n_sets > 0);
    for (int set = 0; set < n_sets; set++) {
        graph_read(&on, set);
        graph_read(&off, set);
        assert_ok(sc_frame_run(on.frame, on.feeds, set));
        assert_ok(sc_frame_run(off.frame, off.feeds, set));
        for (int o = first; o <= last && o < n_outputs; o++) {
            pass_compare_output(&on, &off, o, tolerance);
        }
    }
    const int fewer = sc_program_n_steps(off.program) - sc_program_n_steps(on.program);
    graph_close(&on);
    graph_close(&off);
    return fewer;
}

#endif
