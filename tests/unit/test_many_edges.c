/* SPDX-License-Identifier: Apache-2.0
 * Claims about plans with more edges between two ranks than a link has buffers. */
#include <inttypes.h>
#include <stdlib.h>

#include "comm/link.h"
#include "session_case.h"

enum { N_NODES = 540, WIDTH = 8, IN_FLIGHT = 6 };

/* The chain's nodes are stages of their own, on two ranks by turns, of which `first` has the even ones. */
static void write_plan(char *path, size_t bytes, int first)
{
    snprintf(path, bytes, "/tmp/sc_many_edges_%d_%d.json", (int)getpid(), first);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "{\"format\": 1, \"stages\": [{\"ranks\": [%d], \"nodes\": [\"x\", \"c0\"]}", 1 - first);
    for (int i = 0; i < N_NODES; i++) {
        fprintf(file, ",\n{\"ranks\": [%d], \"nodes\": [\"c%d\"]}", (first + i) % 2, i + 1);
    }
    fprintf(file, ",\n{\"ranks\": [%d], \"nodes\": [\"logits\"]}]}", first);
    assert_int_equal(fclose(file), 0);
}

static void submit(struct session_case *c, bool prefill, int64_t pos, int n)
{
    const int64_t dims[2] = {1, n};
    int64_t ids[4];
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    const struct sc_value *inputs[4] = {NULL};
    const struct sc_graph *graph = c->ranks[0].model->graph;
    for (int i = 0; i < n; i++) {
        ids[i] = (3 * (pos + i) + 1) % 8;
    }
    sc_tensor_init(&value.u.tensor, SC_I64, 2, dims);
    value.u.tensor.data = ids;
    for (int i = 0; i < graph->n_inputs; i++) {
        inputs[i] = strcmp(graph->values[graph->inputs[i]].name, "input_ids") == 0 ? &value : NULL;
    }
    struct sc_microbatch microbatch = {
        .n_rows = 1, .prefill = prefill, .rows = {{.slot = 0, .n_new = n, .pos = pos, .ends = prefill}}};
    assert_ok(sc_session_submit(c->ranks[0].session, &microbatch, inputs));
}

static void take(struct session_case *c, float *logits)
{
    const struct sc_value *outputs[4];
    const struct sc_graph *graph = c->ranks[0].model->graph;
    assert_ok(sc_session_next(c->ranks[0].session, outputs));
    for (int o = 0; o < graph->n_outputs; o++) {
        if (outputs[o]) {
            const struct sc_tensor *t = &outputs[o]->u.tensor;
            memcpy(logits, (const float *)t->data + (t->dims[1] - 1) * WIDTH, WIDTH * sizeof *logits);
        }
    }
}

/* A prompt in three chunks, then as many tokens in flight as there may be. */
static void run(struct session_case *c, bool apart, float (*logits)[WIDTH])
{
    int n = 0;
    for (int64_t pos = 0; pos < 12; pos += 4) {
        submit(c, apart, pos, 4);
        take(c, logits[n++]);
    }
    for (int64_t pos = 12; pos < 12 + IN_FLIGHT;) {
        int sent = 0;
        for (; pos < 12 + IN_FLIGHT && sent < sc_session_window(c->ranks[0].session); sent++) {
            submit(c, false, pos++, 1);
        }
        assert_true(sent > 1);
        while (sent-- > 0) {
            take(c, logits[n++]);
        }
    }
}

static void any_number_of_edges_goes_by_one_link(void **state)
{
    (void)state;
    float want[3 + IN_FLIGHT][WIDTH], got[3 + IN_FLIGHT][WIDTH];
    char paths[2][64];
    assert_true(N_NODES / 2 > SC_LINK_BUFFERS);
    struct session_case c = {
        .n_ranks = 1, .path = SC_SOURCE_DIR "/tests/data/graphs/many_nodes", .options = {.n_slots = 1, .context = 64}};
    assert_ok(session_open(&c));
    run(&c, false, want);
    session_close(&c);
    assert_memory_not_equal(want[0], want[1], sizeof want[0]);
    for (int p = 0; p < 2; p++) {
        write_plan(paths[p], sizeof paths[p], p);
    }
    for (int apart = 0; apart < 2; apart++) {
        c.n_ranks = 2;
        c.options.plan_path = paths[0];
        c.options.prefill_plan_path = apart ? paths[1] : NULL;
        assert_ok(session_open(&c));
        run(&c, apart, got);
        assert_memory_equal(got, want, sizeof want);
        session_close(&c);
    }
    assert_int_equal(unlink(paths[0]) | unlink(paths[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_edges_goes_by_one_link)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
