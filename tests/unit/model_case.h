/* SPDX-License-Identifier: Apache-2.0
 * Models of hand-made bytes, opened from a folder of the test's own. */
#ifndef SC_TESTS_MODEL_CASE_H
#define SC_TESTS_MODEL_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "onnx_bytes.h"

static inline enum sc_status open_bytes(const struct bytes *b, struct sc_model **model)
{
    char path[128];
    return sc_model_open(write_file(path, sizeof path, case_folder, "m.onnx", b), model);
}

static inline void refused(const struct bytes *b, enum sc_status code, const char *why)
{
    struct sc_model *model = NULL;
    const enum sc_status status = open_bytes(b, &model);
    assert_null(model);
    if (status != code || !strstr(sc_error_last()->text, why)) {
        fail_msg("status %d, '%s'; want %d and '%s'", status, status ? sc_error_last()->text : "", code, why);
    }
    assert_null(strchr(sc_error_last()->text, '\n'));
}

static inline void refused_graph(struct bytes *graph, const char *why)
{
    close_graph(graph);
    const struct bytes model = model_of(graph, 8, 17);
    refused(&model, SC_BAD_MODEL, why);
}

static inline struct sc_model *opened(const struct bytes *b)
{
    struct sc_model *model = NULL;
    if (open_bytes(b, &model) != SC_OK) {
        fail_msg("'%s'", sc_error_last()->text);
    }
    return model;
}

static inline void add_node(struct bytes *graph, const char *op, const char *in, const char *out)
{
    const struct bytes n = node(op, in, out);
    put_message(graph, 1, &n);
}

static inline void add_weight(struct bytes *graph, const char *name)
{
    struct bytes w = tensor_head(name, 1, 1, (const int64_t[]){2});
    put_bytes(&w, 9, (const float[]){1, 2}, 8);
    put_message(graph, 5, &w);
}

#endif
