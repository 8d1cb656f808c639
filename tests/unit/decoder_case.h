/* SPDX-License-Identifier: Apache-2.0
 * Steps of the example decoder over a session: tokens that depend on slot and position, logits to compare. */
#ifndef SC_TESTS_DECODER_CASE_H
#define SC_TESTS_DECODER_CASE_H

#include "session_case.h"

#define SHAKESPEARE SC_SOURCE_DIR "/examples/shakespeare"

enum { VOCABULARY = 2048, MOST = 64 };

static inline int64_t token_at(int slot, int64_t pos)
{
    return 1 + (slot * 131 + pos * 17) % (VOCABULARY - 1);
}

/* Rows of n new tokens each, as inputs [rows, n]. */
struct batch {
    struct sc_microbatch microbatch;
    int64_t ids[MOST * 4], positions[MOST * 4];
    struct sc_value values[2];
    const struct sc_value *inputs[32];
};

static inline void make_batch(const struct sc_model *model, struct batch *b, int n_rows, const struct sc_row *rows)
{
    const int64_t n = rows[0].n_new, dims[2] = {n_rows, n};
    memset(b, 0, sizeof *b);
    b->microbatch.n_rows = n_rows;
    for (int r = 0; r < n_rows; r++) {
        b->microbatch.rows[r] = rows[r];
        for (int64_t i = 0; i < n; i++) {
            b->ids[r * n + i] = token_at(rows[r].slot % 4, rows[r].pos + i);
            b->positions[r * n + i] = rows[r].pos + i;
        }
    }
    for (int v = 0; v < 2; v++) {
        b->values[v].kind = SC_KIND_TENSOR;
        sc_tensor_init(&b->values[v].u.tensor, SC_I64, 2, dims);
        b->values[v].u.tensor.data = v ? b->positions : b->ids;
    }
    for (int i = 0; i < model->graph->n_inputs; i++) {
        const char *name = model->graph->values[model->graph->inputs[i]].name;
        b->inputs[i] = strcmp(name, "input_ids") == 0 ? &b->values[0]
            : strcmp(name, "position_ids") == 0       ? &b->values[1]
                                                      : NULL;
    }
}

/* Submits, waits, and copies the last row of logits of each batch row. */
static inline enum sc_status step(struct session_case *c, struct batch *b, float *logits)
{
    const struct sc_value *outputs[32];
    const struct sc_graph *graph = c->ranks[0].model->graph;
    SC_TRY(sc_session_submit(c->ranks[0].session, &b->microbatch, b->inputs));
    SC_TRY(sc_session_next(c->ranks[0].session, outputs));
    for (int o = 0; o < graph->n_outputs; o++) {
        if (strcmp(graph->values[graph->outputs[o]].name, "logits") != 0) {
            assert_null(outputs[o]); /* states stay where they are */
            continue;
        }
        const struct sc_tensor *t = &outputs[o]->u.tensor;
        assert_int_equal(t->dims[0], b->microbatch.n_rows);
        assert_int_equal(t->dims[2], VOCABULARY);
        for (int64_t r = 0; r < t->dims[0] && logits; r++) {
            memcpy(logits + r * VOCABULARY, (const float *)t->data + ((r + 1) * t->dims[1] - 1) * VOCABULARY,
                VOCABULARY * sizeof *logits);
        }
    }
    return SC_OK;
}

static inline void run_rows(struct session_case *c, int n_rows, const struct sc_row *rows, float *logits)
{
    struct batch *b = calloc(1, sizeof *b);
    make_batch(c->ranks[0].model, b, n_rows, rows);
    assert_ok(step(c, b, logits));
    free(b);
}

static inline void run_row(struct session_case *c, int slot, int64_t pos, int n_new, float *logits)
{
    const struct sc_row row = {.slot = slot, .n_new = n_new, .pos = pos};
    run_rows(c, 1, &row, logits);
}

#endif
