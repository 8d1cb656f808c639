/* SPDX-License-Identifier: Apache-2.0
 * Every rank opens the model; those that cannot get the skeleton of rank 0's here, and its weights when they load. */
#include <stdlib.h>
#include <string.h>

#include "runtime/session.h"

/* How the ranks fared, as rank 0 sees it. */
struct attempts {
    int32_t root; /* enum sc_status of rank 0 */
    int32_t n_lacking; /* ranks with SC_IO: there is no such file, or it cannot be read */
    int32_t lacking, having; /* the first such rank, and the first that could open the model; -1: none */
};

static void judge(const struct sc_error *errors, int size, struct attempts *attempts)
{
    *attempts = (struct attempts){.root = errors[0].code, .lacking = -1, .having = -1};
    for (int rank = size - 1; rank >= 0; rank--) {
        attempts->having = errors[rank].code == SC_OK ? rank : attempts->having;
        attempts->lacking = errors[rank].code == SC_IO ? rank : attempts->lacking;
        attempts->n_lacking += errors[rank].code == SC_IO;
    }
}

static enum sc_status compare(
    struct sc_world *world, enum sc_status mine, const struct sc_log *log, struct attempts *attempts)
{
    const int size = sc_world_size(world);
    const bool root = sc_world_rank(world) == 0;
    struct sc_error error = {0}, *errors = root ? calloc((size_t)size, sizeof *errors) : NULL;
    if (mine != SC_OK) {
        error = *sc_error_last();
    }
    enum sc_status status = root && !errors ? sc_fail(SC_NO_MEMORY, "out of memory for %d ranks", size) : SC_OK;
    status = sc_world_agree(world, status);
    status = status == SC_OK ? sc_world_gather(world, &error, sizeof error, errors) : status;
    if (status == SC_OK && root) {
        judge(errors, size, attempts);
        if (attempts->root == SC_OK && attempts->n_lacking > 0) {
            sc_log_write(log, SC_LOG_INFO,
                "%d of %d ranks cannot open the model and get it from rank 0 (rank %d: %.*s)", attempts->n_lacking,
                size, attempts->lacking, SC_ERROR_TEXT - 1, errors[attempts->lacking].text);
        }
    }
    free(errors);
    return status == SC_OK ? sc_world_broadcast(world, attempts, sizeof *attempts) : status;
}

/* The skeleton of rank 0's model to all; those without a model open it. */
static enum sc_status share(struct sc_world *world, struct sc_model **model)
{
    void *image = NULL;
    uint64_t n_bytes = 0;
    size_t made = 0;
    enum sc_status status = SC_OK;
    if (sc_world_rank(world) == 0) {
        status = sc_model_image(*model, NULL, &image, &made);
        n_bytes = made;
    }
    SC_TRY(sc_world_agree(world, status));
    SC_TRY(sc_world_broadcast(world, &n_bytes, sizeof n_bytes));
    image = image ? image : malloc(n_bytes);
    if (!image) {
        status = sc_fail(SC_NO_MEMORY, "out of memory for a skeleton of %llu bytes", (unsigned long long)n_bytes);
    }
    status = sc_world_agree(world, status);
    status = status == SC_OK ? sc_world_broadcast(world, image, n_bytes) : status;
    if (status == SC_OK && !*model) {
        status = sc_model_open_image(image, n_bytes, model);
    }
    free(image);
    return sc_world_agree(world, status);
}

static enum sc_status open_or_share(
    struct sc_world *world, const char *path, const struct sc_log *log, struct sc_model **model)
{
    struct attempts attempts;
    enum sc_status mine = path ? sc_model_open(path, model) : sc_fail(SC_BAD_USAGE, "no model is given");
    const struct sc_error error = *sc_error_last();
    SC_TRY(compare(world, mine, log, &attempts));
    if (mine != SC_OK) {
        (void)sc_error_set(&error);
    }
    if (mine == SC_IO && attempts.root == SC_OK) {
        mine = SC_OK;
    } else if (mine == SC_IO && sc_world_rank(world) == 0 && attempts.having >= 0) {
        char text[SC_ERROR_TEXT];
        memcpy(text, error.text, sizeof text);
        (void)sc_fail(SC_IO, "%s (rank %d has it, but only rank 0 can give it to the others)", text, attempts.having);
    }
    SC_TRY(sc_world_agree(world, mine));
    return attempts.n_lacking > 0 ? share(world, model) : SC_OK;
}

enum sc_status sc_session_open_model(
    struct sc_world *world, const char *path, const struct sc_log *log, struct sc_model **model)
{
    struct sc_model *opened = NULL;
    const enum sc_status status = open_or_share(world, path, log, &opened);
    if (status != SC_OK) {
        const struct sc_error error = *sc_error_last();
        sc_model_close(opened);
        return sc_error_set(&error);
    }
    *model = opened;
    return SC_OK;
}
