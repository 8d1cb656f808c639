/* SPDX-License-Identifier: Apache-2.0
 * A hop between two ranks: links of both kinds beside a plain MPI_Isend / MPI_Irecv + MPI_Test ping-pong, and what a
 * waiting rank costs. Run on two free cores: mpirun --bind-to core -n 2 bench_link. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "comm/world.h"

#define N_SIZES 3
#define N_HOPS 2000
#define N_LATE 50
#define LATE_NS 5000000
#define WAIT_NS 2000000000
#define LARGEST 65536

static const size_t sizes[N_SIZES] = {1024, 4096, LARGEST};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_link: %s failed: %s\n", what, sc_error_last()->text);
        exit(1);
    }
}

/* One way to move messages between the two ranks. The first 8 bytes of a message are the time of its sending. */
struct way {
    struct sc_world *world; /* NULL: plain MPI */
    struct sc_link *link;
    int peer;
    char *out, *in; /* of plain MPI */
    MPI_Request sending;
};

static void send_message(struct way *way, size_t bytes)
{
    void *buffer = way->out;
    int done = 0;
    for (int64_t idle = 0; way->world && (idle == 0 || !buffer); idle++) {
        must(sc_link_reserve(way->link, bytes, &buffer) == SC_OK, "reserve");
    }
    while (!way->world && !done) {
        must(MPI_Test(&way->sending, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Test");
    }
    memset(buffer, 1, bytes);
    const int64_t now_ns = sc_clock_ns();
    memcpy(buffer, &now_ns, sizeof now_ns);
    if (way->world) {
        must(sc_link_send(way->link, buffer, bytes) == SC_OK, "send");
    } else {
        must(MPI_Isend(buffer, (int)bytes, MPI_BYTE, way->peer, 1, MPI_COMM_WORLD, &way->sending) == MPI_SUCCESS,
            "MPI_Isend");
    }
}

/* Returns when the message was sent. */
static int64_t receive_message(struct way *way)
{
    int64_t sent_ns = 0;
    if (way->world) {
        struct sc_received received = {0};
        for (int64_t idle = 0; !received.data; idle++) {
            must(sc_link_poll(way->link, &received) == SC_OK, "poll");
            if (!received.data) {
                sc_world_pause(way->world, idle);
            }
        }
        memcpy(&sent_ns, received.data, sizeof sent_ns);
        sc_link_give_back(way->link, &received);
    } else {
        MPI_Request request;
        must(MPI_Irecv(way->in, LARGEST, MPI_BYTE, way->peer, 1, MPI_COMM_WORLD, &request) == MPI_SUCCESS, "MPI_Irecv");
        for (int done = 0; !done;) {
            must(MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Test");
        }
        memcpy(&sent_ns, way->in, sizeof sent_ns);
    }
    return sent_ns;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

/* Half of a round trip, in microseconds. */
static double hop(struct way *way, size_t bytes)
{
    static double us[N_HOPS];
    for (int i = -100; i < N_HOPS; i++) {
        const int64_t start_ns = sc_clock_ns();
        if (way->peer == 1) {
            send_message(way, bytes);
            (void)receive_message(way);
            us[i < 0 ? 0 : i] = (double)(sc_clock_ns() - start_ns) / 2e3;
        } else {
            (void)receive_message(way);
            send_message(way, bytes);
        }
    }
    return median(us, N_HOPS);
}

/* From sending to receipt when the receiver has waited for milliseconds. */
static double late_hop(struct way *way)
{
    static double us[N_LATE];
    for (int i = 0; i < N_LATE; i++) {
        if (way->peer == 0) {
            (void)receive_message(way);
            sc_clock_sleep_ns(LATE_NS);
            send_message(way, 4096);
        } else {
            send_message(way, 4096);
            const int64_t sent_ns = receive_message(way);
            us[i] = (double)(sc_clock_ns() - sent_ns) / 1e3;
        }
    }
    return median(us, N_LATE);
}

static double cpu_s(void)
{
    struct timespec used = {0};
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0, "clock_gettime");
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Share of a core that rank 0 uses while rank 1 keeps it waiting, in percent. */
static double waiting_share(struct way *way)
{
    const double before_s = cpu_s();
    const int64_t start_ns = sc_clock_ns();
    if (way->peer == 0) {
        sc_clock_sleep_ns(WAIT_NS);
        send_message(way, 4096);
        return 0;
    }
    (void)receive_message(way);
    return 100 * (cpu_s() - before_s) * 1e9 / (double)(sc_clock_ns() - start_ns);
}

static void measure(struct way *way, const char *name)
{
    double us[N_SIZES];
    for (int i = 0; i < N_SIZES; i++) {
        us[i] = hop(way, sizes[i]);
    }
    const double late_us = late_hop(way), share = waiting_share(way);
    if (way->peer == 1) {
        printf("%-22s %8.1f %8.1f %8.1f %12.1f %10.1f %%\n", name, us[0], us[1], us[2], late_us, share);
        fflush(stdout);
    }
}

static void measure_links(const char *kind, int rank)
{
    char name[32];
    struct way way = {.peer = 1 - rank};
    must(setenv("SC_LINK", kind, 1) == 0, "setenv");
    must(sc_world_from_mpi((int)MPI_Comm_c2f(MPI_COMM_WORLD), &way.world) == SC_OK, "opening the world");
    must(sc_world_link(way.world, way.peer, &way.link) == SC_OK, "opening the link");
    snprintf(name, sizeof name, "link %s", kind);
    measure(&way, name);
    sc_world_free(way.world);
}

int main(void)
{
    static char out[LARGEST], in[LARGEST];
    int rank = 0, size = 0, provided = 0;
    must(prctl(PR_SET_TIMERSLACK, 1000UL) == 0, "prctl"); /* as the program does */
    must(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS, "MPI_Init_thread");
    must(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS, "MPI_Comm_rank");
    must(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == 2, "running on two ranks");
    if (rank == 0) {
        printf("one way, median, us       1 KiB    4 KiB   64 KiB   after 5 ms  waiting rank\n");
    }
    struct way plain = {.peer = 1 - rank, .out = out, .in = in, .sending = MPI_REQUEST_NULL};
    measure(&plain, "MPI_Isend, MPI_Test");
    must(MPI_Wait(&plain.sending, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    measure_links("mpi", rank);
    measure_links("shm", rank);
    must(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    return 0;
}
