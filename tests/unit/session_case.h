/* SPDX-License-Identifier: Apache-2.0
 * A session over n ranks of this process: rank 0 is the test itself, the others serve in threads. */
#ifndef SC_TESTS_SESSION_CASE_H
#define SC_TESTS_SESSION_CASE_H

#include <unistd.h>

#include "base/lock.h"
#include "comm/world.h"
#include "decode/pairs.h"
#include "graph_case.h"
#include "runtime/session.h"

enum { SESSION_RANKS = 8 };

struct session_case;

struct session_rank {
    struct session_case *c;
    int rank;
    struct sc_world *world;
    struct sc_model *model;
    struct sc_session *session;
    enum sc_status status; /* of open, then of serve */
    struct sc_error error;
    struct sc_thread *thread;
};

/* Fields before `ranks` are the test's to set; a rank's own model or options go to the arrays.
 *   session_open ──► rank 0 submits and takes results ──► session_close */
struct session_case {
    int n_ranks;
    const char *path, *paths[SESSION_RANKS];
    struct sc_session_options options;
    struct sc_cache_formats formats;
    void (*vary)(int rank, struct sc_session_options *options); /* NULL: the same everywhere */
    struct session_rank ranks[SESSION_RANKS];
};

static inline enum sc_status session_open_rank(struct session_rank *rank)
{
    struct session_case *c = rank->c;
    struct sc_session_options options = c->options;
    struct sc_state_pair *pairs = NULL;
    const char *path = c->paths[rank->rank] ? c->paths[rank->rank] : c->path;
    options.log.fd = -1;
    SC_TRY(sc_session_open_model(rank->world, path, &options.log, &rank->model));
    SC_TRY(sc_world_agree(rank->world, sc_pairs_find(rank->model, &options.n_pairs, &pairs)));
    SC_TRY(sc_world_agree(rank->world, sc_pairs_set_formats(pairs, options.n_pairs, &c->formats)));
    options.pairs = pairs;
    options.pin = -1;
    options.n_threads = options.n_threads ? options.n_threads : 1;
    options.keep_binding = true;
    if (c->vary) {
        c->vary(rank->rank, &options);
    }
    return sc_session_open(rank->world, rank->model, &options, &rank->session);
}

static inline void session_leave(struct session_rank *rank)
{
    sc_session_close(rank->session);
    sc_model_close(rank->model);
    sc_world_free(rank->world);
}

static inline void session_serve(void *arg)
{
    struct session_rank *rank = arg;
    rank->status = session_open_rank(rank);
    if (rank->status == SC_OK) {
        rank->status = sc_session_serve(rank->session);
    }
    rank->error = *sc_error_last();
    session_leave(rank);
}

static inline enum sc_status session_open(struct session_case *c)
{
    struct sc_world *worlds[SESSION_RANKS];
    assert_ok(sc_world_open_local(c->n_ranks, worlds));
    for (int r = c->n_ranks - 1; r >= 0; r--) {
        c->ranks[r] = (struct session_rank){.c = c, .rank = r, .world = worlds[r]};
        if (r > 0) {
            assert_ok(sc_thread_start(session_serve, &c->ranks[r], &c->ranks[r].thread));
        }
    }
    return session_open_rank(&c->ranks[0]);
}

/* Leaves without finishing: after an open that failed. */
static inline void session_abandon(struct session_case *c)
{
    session_leave(&c->ranks[0]);
    for (int r = 1; r < c->n_ranks; r++) {
        sc_thread_join(c->ranks[r].thread);
    }
}

static inline void session_close(struct session_case *c)
{
    assert_ok(sc_session_finish(c->ranks[0].session));
    session_abandon(c);
    for (int r = 1; r < c->n_ranks; r++) {
        if (c->ranks[r].status != SC_OK) {
            fail_msg("rank %d: %s", r, c->ranks[r].error.text);
        }
    }
}

/* Writes a plan file; the caller unlinks `path`. */
static inline void session_write_plan(const char *text, char *path, size_t bytes)
{
    snprintf(path, bytes, "/tmp/sc_plan_%d.json", (int)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
