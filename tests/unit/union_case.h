/* SPDX-License-Identifier: Apache-2.0
 * Folders of links to tests/exports/models, as an encoder and its decoder lie together. */
#ifndef SC_TESTS_UNION_CASE_H
#define SC_TESTS_UNION_CASE_H

#include "decode/union.h"
#include "graph_case.h"

struct union_case {
    char folder[64];
    struct sc_model *model;
};

static inline void union_folder(struct union_case *c)
{
    memset(c, 0, sizeof *c);
    snprintf(c->folder, sizeof c->folder, "/tmp/sc_union_XXXXXX");
    assert_non_null(mkdtemp(c->folder));
}

static inline void union_link(const struct union_case *c, const char *model, const char *name)
{
    char from[512], to[160];
    snprintf(from, sizeof from, SC_SOURCE_DIR "/tests/exports/models/%s/model.onnx", model);
    snprintf(to, sizeof to, "%s/%s", c->folder, name);
    assert_int_equal(symlink(from, to), 0);
}

/* With the merged decoder of a family. */
static inline void union_open(struct union_case *c, const char *family)
{
    char name[64];
    union_folder(c);
    snprintf(name, sizeof name, "%s_encoder", family);
    union_link(c, name, "encoder_model.onnx");
    snprintf(name, sizeof name, "%s_decoder_merged", family);
    union_link(c, name, "decoder_model_merged.onnx");
    assert_ok(sc_union_open(NULL, c->folder, NULL, &c->model));
}

static inline void union_close(struct union_case *c)
{
    static const char *const names[] = {"encoder_model.onnx", "decoder_model_merged.onnx", "decoder_model.onnx",
        "decoder_with_past_model.onnx", "model.onnx"};
    char path[160];
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        snprintf(path, sizeof path, "%s/%s", c->folder, names[n]);
        (void)unlink(path);
    }
    (void)rmdir(c->folder);
    sc_model_close(c->model);
}

#endif
