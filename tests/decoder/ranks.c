/* SPDX-License-Identifier: Apache-2.0
 * Ranks as threads over the in-process world. */
#include "tests/decoder/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "decode/pairs.h"
#include "decode/union.h"

struct rank {
    struct sc_ranks *ranks;
    struct sc_world *world;
    enum sc_status status;
    struct sc_error error;
};

static enum sc_status run_opened(struct rank *rank, struct sc_decoder *decoder)
{
    struct sc_session *session = sc_decoder_session(decoder);
    if (sc_world_rank(rank->world) != 0) {
        return sc_session_serve(session);
    }
    rank->ranks->n_stages = sc_session_plan(session)->n_stages;
    const enum sc_status status = rank->ranks->drive(rank->ranks->arg, decoder);
    const struct sc_error failed = *sc_error_last();
    SC_TRY(sc_session_finish(session));
    return status == SC_OK ? SC_OK : sc_error_set(&failed);
}

enum sc_status sc_ranks_open_model(const char *folder, struct sc_model **model)
{
    SC_TRY(sc_union_open(NULL, folder, NULL, model));
    char path[512], lines[8][64];
    const char *texts[8];
    int n = 0;
    (void)snprintf(path, sizeof path, "%s/states", folder);
    FILE *file = fopen(path, "r");
    for (; file && n < 8 && fgets(lines[n], sizeof lines[n], file); n++) {
        lines[n][strcspn(lines[n], "\n")] = '\0';
        texts[n] = lines[n];
    }
    if (file) {
        (void)fclose(file);
    }
    return sc_pairs_say(*model, n, texts);
}

static void run_rank(void *arg)
{
    struct rank *rank = arg;
    struct sc_model *model = NULL;
    struct sc_decoder *decoder = NULL;
    rank->status = sc_world_agree(rank->world, sc_ranks_open_model(rank->ranks->model, &model));
    if (rank->status == SC_OK) {
        rank->status = sc_decoder_open(rank->world, model, &rank->ranks->options, &decoder);
    }
    if (rank->status == SC_OK) {
        rank->status = run_opened(rank, decoder);
    }
    if (rank->status == SC_OK && rank->ranks->served) {
        rank->ranks->served(rank->ranks->arg, decoder);
    }
    rank->error = *sc_error_last();
    if (rank->status != SC_OK && sc_world_rank(rank->world) != 0) {
        fprintf(stderr, "rank %d: %s\n", sc_world_rank(rank->world), rank->error.text);
    }
    sc_decoder_close(decoder);
    sc_model_close(model);
    sc_world_free(rank->world);
}

enum sc_status sc_ranks_run(struct sc_ranks *ranks)
{
    struct rank *rank = calloc((size_t)ranks->n, sizeof *rank);
    struct sc_world **worlds = calloc((size_t)ranks->n, sizeof *worlds);
    struct sc_thread **threads = calloc((size_t)ranks->n, sizeof *threads);
    enum sc_status status = rank && worlds && threads ? sc_world_open_local(ranks->n, worlds) : SC_NO_MEMORY;
    for (int r = 0; r < ranks->n && status == SC_OK; r++) {
        rank[r].ranks = ranks;
        rank[r].world = worlds[r];
        if (sc_thread_start(run_rank, &rank[r], &threads[r]) != SC_OK) {
            abort(); /* the others would wait for it */
        }
    }
    for (int r = 0; r < ranks->n && status == SC_OK; r++) {
        sc_thread_join(threads[r]);
    }
    if (status == SC_OK && rank[0].status != SC_OK) {
        status = sc_error_set(&rank[0].error);
    }
    free(threads);
    free(worlds);
    free(rank);
    return status;
}
