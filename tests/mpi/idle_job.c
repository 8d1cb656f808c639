/* SPDX-License-Identifier: Apache-2.0
 * A job whose session is open and gets no request: for end_test. Usage: idle_job MODEL SECONDS */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/session.h"
#include "runtime/settings.h"

static enum sc_status idle(struct sc_world *world, struct sc_session *session, int64_t until_ns)
{
    if (sc_world_rank(world) != 0) {
        return sc_session_serve(session);
    }
    fputs("ready\n", stderr);
    for (int64_t i = 0; sc_clock_ns() < until_ns; i++) {
        sc_world_pause(world, i);
    }
    return sc_session_finish(session);
}

static enum sc_status run(const char *path, int64_t until_ns, struct sc_watchdog **watchdog)
{
    struct sc_world *world = NULL;
    struct sc_model *model = NULL;
    struct sc_session *session = NULL;
    struct sc_session_options options;
    sc_session_options_init(&options);
    SC_TRY(sc_watchdog_start(2000000000, "idle_job", watchdog));
    SC_TRY(sc_world_open_mpi(&world));
    SC_TRY(sc_watchdog_world(*watchdog, world));
    SC_TRY(sc_session_open_model(world, path, &options.log, &model));
    options.watchdog = *watchdog;
    options.n_threads = 1;
    SC_TRY(sc_session_open(world, model, &options, &session));
    SC_TRY(idle(world, session, until_ns));
    sc_session_close(session);
    sc_model_close(model);
    sc_world_free(world);
    return SC_OK;
}

int main(int argc, char **argv)
{
    struct sc_watchdog *watchdog = NULL;
    if (argc != 3) {
        return 2;
    }
    const int64_t until_ns = sc_clock_ns() + strtoll(argv[2], NULL, 10) * 1000000000;
    if (run(argv[1], until_ns, &watchdog) != SC_OK) {
        fprintf(stderr, "idle_job: %s\n", sc_error_last()->text);
        return 1;
    }
    sc_watchdog_stop(watchdog);
    return 0;
}
