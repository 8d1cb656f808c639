/* SPDX-License-Identifier: Apache-2.0
 * Worlds over MPI. Collectives are the non-blocking ones with a loop that sleeps, as the blocking ones of Open MPI keep
 * a core busy; only start-up and MPI_Finalize block. */
#include "comm/mpi_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/launcher.h"
#include "comm/link_shm.h"
#include "comm/pulse_world.h"

#define PIECE_BYTES ((size_t)1 << 30)
#define PROGRESS_NS 5000 /* sc_world_progress may be called far more often than messages come */
#define FREE_WAIT_NS 10000000000 /* for sends that nobody takes */

enum sc_status sc_mpi_fail(struct sc_mpi_world *world)
{
    world->failed = true;
    world->error = *sc_error_last();
    return (enum sc_status)world->error.code;
}

static enum sc_status fail_call(int result, const char *call, int peer)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    char with[32] = "";
    int length = 0;
    if (MPI_Error_string(result, text, &length) != MPI_SUCCESS) {
        length = 0;
    }
    if (peer >= 0) {
        snprintf(with, sizeof with, " with rank %d", peer);
    }
    return sc_fail(SC_PEER, "%s%s failed: %s", call, with, text);
}

enum sc_status sc_mpi_check(struct sc_mpi_world *world, int result, const char *call, int peer)
{
    if (result == MPI_SUCCESS) {
        return SC_OK;
    }
    (void)fail_call(result, call, peer);
    return sc_mpi_fail(world);
}

/* For start-up, when there is no world yet. */
#define TRY_MPI(call, name)                                                                                            \
    do {                                                                                                               \
        const int try_result = (call);                                                                                 \
        if (try_result != MPI_SUCCESS) {                                                                               \
            return fail_call(try_result, name, -1);                                                                    \
        }                                                                                                              \
    } while (0)

enum sc_status sc_mpi_wait(struct sc_mpi_world *world, MPI_Request *request, const char *call)
{
    int done = 0;
    for (int64_t idle = 0; !done; idle++) {
        SC_TRY(sc_mpi_check(world, MPI_Test(request, &done, MPI_STATUS_IGNORE), call, -1));
        if (!done) {
            sc_world_pause_polling(&world->world, idle);
        }
    }
    return SC_OK;
}

static enum sc_status broadcast(struct sc_world *base, void *data, size_t bytes)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    if (world->failed) {
        return sc_error_set(&world->error);
    }
    for (size_t at = 0; at < bytes;) {
        const size_t piece = bytes - at < world->piece_bytes ? bytes - at : world->piece_bytes;
        MPI_Request request = MPI_REQUEST_NULL;
        SC_TRY(sc_mpi_check(
            world, MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, 0, world->comm, &request), "MPI_Ibcast", -1));
        SC_TRY(sc_mpi_wait(world, &request, "MPI_Ibcast"));
        at += piece;
    }
    return SC_OK;
}

static enum sc_status gather(struct sc_world *base, const void *mine, size_t bytes, void *all)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    MPI_Request request = MPI_REQUEST_NULL;
    if (world->failed) {
        return sc_error_set(&world->error);
    }
    if (bytes > PIECE_BYTES) {
        return sc_fail(SC_LIMIT, "gather of %zu bytes a rank, at most %zu", bytes, PIECE_BYTES);
    }
    const int count = (int)bytes;
    SC_TRY(sc_mpi_check(
        world, MPI_Igather(mine, count, MPI_BYTE, all, count, MPI_BYTE, 0, world->comm, &request), "MPI_Igather", -1));
    return sc_mpi_wait(world, &request, "MPI_Igather");
}

static enum sc_status make_link(struct sc_world *base, int peer, struct sc_link **link)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    const int place = world->places[peer];
    return place >= 0 ? sc_link_shm_create(base->node, place, peer, link) : sc_mpi_link_create(world, peer, link);
}

static void progress(struct sc_world *base)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    const int64_t now = sc_clock_ns();
    if (!world->failed && now - world->progress_ns >= PROGRESS_NS) {
        world->progress_ns = now;
        if (world->beats) {
            (void)sc_mpi_beats_turn(world, false);
        }
        (void)sc_mpi_pump(world); /* an error is kept in the world, for the next call that can return it */
    }
}

static void beat(struct sc_world *base, bool now)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    if (world->beats && !world->failed) {
        (void)sc_mpi_beats_turn(world, now); /* an error is kept in the world, for the next call that can return it */
    }
}

static enum sc_status watch(struct sc_world *base)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    if (base->size == 1) {
        return SC_OK;
    }
    SC_TRY(sc_pulse_create(base->node, base->rank, &base->pulse));
    return base->bell_tells_all ? SC_OK : sc_mpi_beats_open(world);
}

/* Lets what was sent leave, then meets the others, so that nobody's messages are cut off. */
static enum sc_status wind_up(struct sc_mpi_world *world)
{
    const int64_t until = sc_clock_ns() + FREE_WAIT_NS;
    for (int64_t idle = 0; !sc_mpi_idle(world); idle++) {
        SC_TRY(sc_mpi_pump(world));
        sc_world_pause_polling(&world->world, idle);
        if (sc_clock_ns() > until) {
            (void)sc_fail(SC_TIMEOUT, "messages to other ranks were not taken at the end of the job");
            return sc_mpi_fail(world);
        }
    }
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    SC_TRY(sc_mpi_check(world, MPI_Ibarrier(world->comm, &request), "MPI_Ibarrier", -1));
    for (int64_t idle = 0; !done; idle++) {
        SC_TRY(sc_mpi_check(world, MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Ibarrier", -1));
        SC_TRY(sc_mpi_pump(world)); /* late credits */
        if (!done) {
            sc_world_pause_polling(&world->world, idle);
        }
    }
    if (world->world.pulse) {
        sc_pulse_gone(world->world.pulse);
        SC_TRY(sc_mpi_beats_finish(world));
        sc_pulse_end(world->world.pulse);
    }
    return SC_OK;
}

static void release(struct sc_mpi_world *world)
{
    sc_shared_free(world->world.node);
    free(world->places);
    sc_world_release(&world->world);
    free(world);
}

static void free_world(struct sc_world *base)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    const bool well = !world->failed && wind_up(world) == SC_OK;
    sc_mpi_links_free(world);
    sc_mpi_beats_free(world);
    for (int peer = 0; peer < base->size; peer++) {
        if (base->links[peer] && peer == base->rank) {
            sc_link_self_free(base->links[peer]);
        } else if (world->places[peer] >= 0) {
            sc_link_shm_free(base->links[peer]);
        }
    }
    /* After a failure the others may never come: MPI is left as it is, and the launcher ends what remains of the job.
     */
    if (well) {
        (void)MPI_Comm_free(&world->comm);
        if (world->finalizes) {
            (void)MPI_Finalize();
        }
    }
    release(world);
}

static void abort_job(struct sc_world *base, int exit_code)
{
    struct sc_mpi_world *world = (struct sc_mpi_world *)base;
    (void)MPI_Abort(world->comm, exit_code);
    _exit(exit_code);
}

static const struct sc_world_table table = {.name = "mpi",
    .free = free_world,
    .broadcast = broadcast,
    .gather = gather,
    .link = make_link,
    .progress = progress,
    .watch = watch,
    .beat = beat,
    .abort = abort_job};

/* SC_LINK=mpi|shm forces one kind of link between the ranks of a node, for tests. */
static enum sc_status read_choice(enum sc_shared_links *links)
{
    const char *text = getenv("SC_LINK");
    *links = SC_LINKS_ANY;
    if (text && *text) {
        if (strcmp(text, "mpi") != 0 && strcmp(text, "shm") != 0) {
            return sc_fail(SC_BAD_USAGE, "SC_LINK is '%s', want mpi or shm", text);
        }
        *links = strcmp(text, "mpi") == 0 ? SC_LINKS_MPI : SC_LINKS_SHM;
    }
    return SC_OK;
}

/* All ranks of the node join each other's boxes, or none does and their links go over MPI. */
static enum sc_status join(struct sc_mpi_world *world, MPI_Comm comm, struct sc_shared *node,
    const struct sc_shared_ticket *tickets, bool *joined)
{
    int mine = node != NULL, all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < world->world.n_local; i++) {
        mine = mine && tickets[i].links != SC_LINKS_MPI;
    }
    mine = mine && sc_shared_join(node, tickets) == SC_OK;
    TRY_MPI(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm, &request), "MPI_Iallreduce");
    SC_TRY(sc_mpi_wait(world, &request, "MPI_Iallreduce"));
    *joined = all != 0;
    return SC_OK;
}

static enum sc_status share_memory(struct sc_mpi_world *world, MPI_Comm comm)
{
    struct sc_world *base = &world->world;
    struct sc_shared_ticket mine = {0}, *tickets = calloc((size_t)base->n_local, sizeof *tickets);
    struct sc_shared *node = NULL;
    enum sc_shared_links wanted;
    MPI_Request request = MPI_REQUEST_NULL;
    bool joined = false;
    enum sc_status status = tickets ? read_choice(&wanted) : sc_fail(SC_NO_MEMORY, "out of memory for the world");
    if (status != SC_OK) {
        goto out;
    }
    if (base->n_local == 1) {
        goto out;
    }
    sc_shared_find_cpus(&mine);
    const bool made =
        wanted != SC_LINKS_MPI && sc_shared_create(base->local_rank, base->n_local, &node, &mine) == SC_OK;
    mine.rank = base->rank;
    mine.links = made ? wanted : SC_LINKS_MPI;
    status = sc_mpi_check(world,
        MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, tickets, sizeof mine, MPI_BYTE, comm, &request), "MPI_Iallgather",
        -1);
    status = status == SC_OK ? sc_mpi_wait(world, &request, "MPI_Iallgather") : status;
    status = status == SC_OK ? join(world, comm, node, tickets, &joined) : status;
    if (status == SC_OK && wanted == SC_LINKS_SHM && !joined) {
        status = sc_fail(SC_UNSUPPORTED, "SC_LINK is shm, but memory cannot be shared with every rank of this node");
    }
    if (status != SC_OK) {
        goto out;
    }
    base->roomy = sc_shared_roomy(tickets, base->n_local);
    if (joined) {
        for (int i = 0; i < base->n_local; i++) {
            world->places[tickets[i].rank] = i;
        }
        base->node = node;
        base->bell_tells_all = base->n_local == base->size;
        node = NULL;
    }
out:
    sc_shared_free(node);
    free(tickets);
    return status;
}

/* SC_NODES=N takes the ranks of a node for those of N nodes, for tests. */
static enum sc_status split_by_node(const struct sc_mpi_world *world, MPI_Comm *node)
{
    const int rank = world->world.rank, size = world->world.size;
    const char *text = getenv("SC_NODES");
    const long n = text ? strtol(text, NULL, 10) : 1;
    TRY_MPI(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node), "MPI_Comm_split_type");
    if (n > 1 && n <= size) {
        MPI_Comm part = MPI_COMM_NULL;
        TRY_MPI(MPI_Comm_split(*node, (int)(rank * n / size), rank, &part), "MPI_Comm_split");
        TRY_MPI(MPI_Comm_free(node), "MPI_Comm_free");
        *node = part;
    }
    return SC_OK;
}

/* Fills rank, size and the place on the host. */
static enum sc_status look_around(struct sc_mpi_world *world)
{
    int rank = 0, size = 0;
    MPI_Comm node = MPI_COMM_NULL;
    TRY_MPI(MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    TRY_MPI(MPI_Comm_rank(world->comm, &rank), "MPI_Comm_rank");
    TRY_MPI(MPI_Comm_size(world->comm, &size), "MPI_Comm_size");
    SC_TRY(sc_world_init(&world->world, &table, rank, size));
    world->places = malloc((size_t)size * sizeof *world->places);
    if (!world->places) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the links of %d ranks", size);
    }
    for (int i = 0; i < size; i++) {
        world->places[i] = -1;
    }
    SC_TRY(split_by_node(world, &node));
    TRY_MPI(MPI_Comm_rank(node, &world->world.local_rank), "MPI_Comm_rank");
    TRY_MPI(MPI_Comm_size(node, &world->world.n_local), "MPI_Comm_size");
    (void)sc_launcher_seat(&world->world.seat, &world->world.n_seats);
    world->world.roomy = true; /* alone on its host, unless share_memory finds others */
    const enum sc_status status = share_memory(world, node);
    TRY_MPI(MPI_Comm_free(&node), "MPI_Comm_free");
    return status;
}

static enum sc_status make_world(MPI_Comm parent, struct sc_mpi_world **world)
{
    int provided = MPI_THREAD_SINGLE;
    TRY_MPI(MPI_Query_thread(&provided), "MPI_Query_thread");
    if (provided < MPI_THREAD_FUNNELED) {
        return sc_fail(SC_BAD_USAGE,
            "MPI was initialised for one thread: use MPI_Init_thread with "
            "MPI_THREAD_FUNNELED or more");
    }
    struct sc_mpi_world *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for the world");
    }
    made->piece_bytes = PIECE_BYTES;
    made->comm = MPI_COMM_NULL;
    const int result = MPI_Comm_dup(parent, &made->comm);
    enum sc_status status = result == MPI_SUCCESS ? look_around(made) : fail_call(result, "MPI_Comm_dup", -1);
    if (status != SC_OK) {
        if (made->comm != MPI_COMM_NULL) {
            (void)MPI_Comm_free(&made->comm);
        }
        release(made);
        return status;
    }
    *world = made;
    return SC_OK;
}

char *sc_world_library(char *buffer, size_t bytes)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "unknown";
    int length = 0;
    if (MPI_Get_library_version(library, &length) != MPI_SUCCESS) {
        library[0] = '\0';
    }
    library[strcspn(library, "\n,")] = '\0';
    (void)snprintf(buffer, bytes, "%s", library);
    return buffer;
}

/* A program started by one MPI's launcher but linked with another sees itself alone, N times over.
 *   launcher, rank   as the environment said before MPI was started, which adds variables of its own */
static enum sc_status check_launcher(const struct sc_mpi_world *world, const struct sc_launcher *launcher, int rank)
{
    char library[256];
    if (world->world.size > 1 || (launcher->size <= 1 && rank <= 0)) {
        return SC_OK;
    }
    const bool said = launcher->size > 1; /* else there are at least so many as to have this rank */
    (void)sc_fail(SC_BAD_USAGE,
        "the launcher (%s: %s=%d) started %s%d ranks, but the MPI of this program (%s) sees 1: start it with that "
        "MPI's "
        "own mpirun",
        launcher->name, launcher->variable, said ? launcher->size : rank, said ? "" : "at least ",
        said ? launcher->size : rank + 1, sc_world_library(library, sizeof library));
    sc_error_last()->rank = said ? 0 : rank;
    return SC_BAD_USAGE;
}

enum sc_status sc_world_open_mpi(struct sc_world **world)
{
    int initialized = 0, finalized = 0, provided = 0;
    struct sc_mpi_world *made = NULL;
    struct sc_launcher launcher = {0};
    const int launch_rank = sc_launcher_find(&launcher) ? sc_world_launch_rank() : -1;
    TRY_MPI(MPI_Initialized(&initialized), "MPI_Initialized");
    TRY_MPI(MPI_Finalized(&finalized), "MPI_Finalized");
    if (finalized) {
        return sc_fail(SC_BAD_USAGE, "MPI was finalised already: it cannot be started again");
    }
    if (!initialized) {
        TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
        TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    enum sc_status status = make_world(MPI_COMM_WORLD, &made);
    if (status != SC_OK) {
        return status;
    }
    made->finalizes = !initialized;
    status = check_launcher(made, &launcher, launch_rank);
    if (status != SC_OK) {
        const struct sc_error error = *sc_error_last();
        free_world(&made->world);
        return sc_error_set(&error);
    }
    *world = &made->world;
    return SC_OK;
}

enum sc_status sc_world_from_mpi(int fortran_communicator, struct sc_world **world)
{
    int initialized = 0;
    struct sc_mpi_world *made = NULL;
    TRY_MPI(MPI_Initialized(&initialized), "MPI_Initialized");
    if (!initialized) {
        return sc_fail(SC_BAD_USAGE, "a communicator was given, but MPI is not initialised");
    }
    SC_TRY(make_world(MPI_Comm_f2c((MPI_Fint)fortran_communicator), &made));
    *world = &made->world;
    return SC_OK;
}

void sc_world_abandon(struct sc_world *world)
{
    if (world->table == &table) { /* the other kinds wait for nobody */
        (void)sc_mpi_fail((struct sc_mpi_world *)world);
    }
}

void sc_world_mpi_set_piece(struct sc_world *world, size_t bytes)
{
    if (world->table == &table) {
        ((struct sc_mpi_world *)world)->piece_bytes = bytes;
    }
}
