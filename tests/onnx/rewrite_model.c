/* SPDX-License-Identifier: Apache-2.0
 * Opens models and writes them again, for comparison: pairs of an old and a new path; "--external" before them puts
 * values beside the new file, "--passes" writes what passes make of the graph. One line for each that cannot be. */
#include <stdio.h>
#include <string.h>

#include "ops/kernels/kernels.h"
#include "passes/passes.h"

static enum sc_status rewrite(const char *from, const char *to, bool passes, bool external)
{
    const struct sc_write_options options = {.location = external ? "model.data" : NULL};
    const struct sc_kernels *kernels;
    struct sc_model *model;
    SC_TRY(sc_model_open(from, &model));
    enum sc_status status = sc_kernels_best(&kernels);
    if (status == SC_OK && passes) {
        status = sc_passes_rewrite(model, NULL);
        status = status == SC_OK ? sc_passes_run(model, kernels) : status;
    }
    status = status == SC_OK ? sc_model_write(model, model->graph, to, &options) : status;
    sc_model_close(model);
    return status;
}

int main(int argc, char **argv)
{
    bool passes = false, external = false;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        passes = passes || strcmp(argv[at], "--passes") == 0;
        external = external || strcmp(argv[at], "--external") == 0;
    }
    for (; at + 1 < argc; at += 2) {
        if (rewrite(argv[at], argv[at + 1], passes, external) != SC_OK) {
            printf("%s: %s\n", argv[at], sc_error_last()->text);
        }
    }
    return at == argc ? 0 : 2;
}
