/* SPDX-License-Identifier: Apache-2.0
 * The cases of links between processes, under mpirun with 1 to 3 ranks; SC_LINK says which kind of link. One argument
 * names another program to be:
 *   abort   rank 1 ends the job with exit code 7 while the others wait for its message
 *   alone   the environment says several ranks, MPI says 1: refused */
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>

#include "tests/mpi/link_cases.h"

#include "comm/world_table.h"

/* Sizes around a piece of 1000 bytes. */
static size_t around_a_piece(int64_t number)
{
    static const size_t bytes[] = {999, 1000, 1001, 1, 2000, 2001, 0, 65537, 1500};
    return bytes[number % 9];
}

static void pieces(struct sc_world *world)
{
    unsigned char data[2500] = {0};
    sc_world_mpi_set_piece(world, 1000);
    exchange(world, 300, around_a_piece);
    for (size_t i = 0; sc_world_rank(world) == 0 && i < sizeof data; i++) {
        data[i] = pattern(1, i);
    }
    CHECK(sc_world_broadcast(world, data, sizeof data) == SC_OK);
    for (size_t i = 0; i < sizeof data; i++) {
        CHECK(data[i] == pattern(1, i));
    }
}

/* The receiver only calls sc_world_progress for a second, then nothing; the large message must have left by then. */
static void progress_drives_transfers(struct sc_world *world)
{
    const struct ends ends = ends_of(world);
    const int64_t second_ns = 1000000000;
    all_ranks_meet(world);
    const int64_t start_ns = sc_clock_ns();
    if (ends.out) {
        CHECK(try_send(ends.out, 5, 8000000));
        for (int64_t idle = 0; !sc_link_idle(ends.out); idle++) {
            CHECK(sc_clock_ns() - start_ns < 2 * second_ns);
            sc_world_pause(world, idle);
        }
    }
    if (ends.in) {
        for (int64_t idle = 0; sc_clock_ns() - start_ns < second_ns; idle++) {
            sc_world_progress(world);
            sc_world_pause(world, idle);
        }
        sc_clock_sleep_ns(2 * second_ns);
        struct sc_received received = {0};
        wait_for_message(&ends, &received);
        check_message(&received, 5, 8000000);
        sc_link_give_back(ends.in, &received);
    }
    all_ranks_meet(world);
}

static const struct {
    const char *name;
    void (*fn)(struct sc_world *world);
} cases[] = {
#define X(name) {"link_" #name, name},
    LINK_CASES(X)
#undef X
        {"link_progress_drives_transfers", progress_drives_transfers},
    {"link_pieces", pieces}, /* last: it sets the size of pieces */
};

static bool hears(struct sc_pulse *pulse, int rank, bool gone)
{
    struct sc_heard heard[SC_PULSE_MOST];
    const int n = sc_pulse_hear(pulse, heard);
    bool found = false;
    for (int i = 0; i < n; i++) {
        const struct sc_beat *beat = &heard[i].beat;
        CHECK(beat->host[0]);
        found = found || (beat->rank == rank && (!gone || beat->gone));
    }
    return found;
}

/* Heartbeats go on beside all cases, and to the end of the world. */
static int run_cases(struct sc_world *world)
{
    struct sc_pulse *pulse = NULL;
    const int before = (sc_world_rank(world) + sc_world_size(world) - 1) % sc_world_size(world);
    CHECK(sc_world_watch(world, &pulse) == SC_OK);
    CHECK((pulse != NULL) == (sc_world_size(world) > 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (sc_world_rank(world) == 0) {
            printf("%s\n", cases[i].name);
            fflush(stdout);
        }
        cases[i].fn(world);
    }
    sc_world_away(world, false);
    if (pulse) {
        sc_pulse_say(pulse, 0, -1, -1, "");
        CHECK(hears(pulse, before, false) && !sc_pulse_ended(pulse));
    }
    sc_world_free(world);
    if (pulse) {
        CHECK(sc_pulse_ended(pulse) && hears(pulse, before, true));
        sc_pulse_drop(pulse);
    }
    return 0;
}

static int run_abort(struct sc_world *world)
{
    struct sc_link *link;
    struct sc_received received = {0};
    CHECK(sc_world_size(world) > 1);
    if (sc_world_rank(world) == 1) {
        sc_world_abort(world, 7);
    }
    CHECK(sc_world_link(world, 1, &link) == SC_OK);
    for (int64_t idle = 0; sc_link_poll(link, &received) == SC_OK; idle++) {
        sc_world_pause(world, idle);
    }
    return 0;
}

static int run_alone(void)
{
    struct sc_world *world = NULL;
    CHECK(sc_world_launched());
    CHECK(sc_world_open_mpi(&world) == SC_BAD_USAGE && !world);
    CHECK(strstr(sc_error_last()->text, "MPICH") && strstr(sc_error_last()->text, "PMI_SIZE=2"));
    CHECK(strstr(sc_error_last()->text, "sees 1"));
    return 0;
}

static void check_kind(struct sc_world *world)
{
    const char *kind = getenv("SC_LINK");
    for (int peer = 0; kind && peer < sc_world_size(world); peer++) {
        struct sc_link *link;
        CHECK(sc_world_link(world, peer, &link) == SC_OK);
        const char *want = node_of(world, peer) == node_of(world, sc_world_rank(world)) ? kind : "mpi";
        CHECK(strcmp(link->table->name, peer == sc_world_rank(world) ? "self" : want) == 0);
    }
}

/* Ranks that need not share cores spin before they sleep, whatever their links are; tests do not bind ranks. */
static void check_spinning(const struct sc_world *world)
{
    int local, n_local;
    cpu_set_t cpus;
    sc_world_local(world, &local, &n_local);
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    CHECK((CPU_COUNT(&cpus) >= n_local) == world->roomy);
}

int main(int argc, char **argv)
{
    struct sc_world *world = NULL;
    if (argc > 1 && strcmp(argv[1], "alone") == 0) {
        return run_alone();
    }
    CHECK(sc_world_launched());
    CHECK(sc_world_open_mpi(&world) == SC_OK);
    check_kind(world);
    check_spinning(world);
    return argc > 1 ? run_abort(world) : run_cases(world);
}
