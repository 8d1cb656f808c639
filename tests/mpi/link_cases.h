/* SPDX-License-Identifier: Apache-2.0
 * What every kind of link and world must do. Each case is run by all ranks of a world; rank 0 sends to rank 1, or to
 * itself where it is alone. Checks end the process: the other ranks could not go on anyway. */
#ifndef SC_TESTS_LINK_CASES_H
#define SC_TESTS_LINK_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "comm/world.h"

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(                                                                                                   \
                stderr, "%s:%d: %s is not so (last error: %s)\n", __FILE__, __LINE__, #what, sc_error_last()->text);   \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define LINK_CASES(X)                                                                                                  \
    X(order)                                                                                                           \
    X(sizes) X(backpressure) X(moved_out) X(shorter) X(reuse) X(everybody) X(collectives) X(agreement) X(places)

struct ends {
    struct sc_world *world;
    struct sc_link *out, *in; /* NULL where this rank does not send, or does not receive */
};

static struct ends ends_of(struct sc_world *world)
{
    struct ends ends = {.world = world};
    const int receiver = sc_world_size(world) > 1 ? 1 : 0;
    if (sc_world_rank(world) == 0) {
        CHECK(sc_world_link(world, receiver, &ends.out) == SC_OK);
    }
    if (sc_world_rank(world) == receiver) {
        CHECK(sc_world_link(world, 0, &ends.in) == SC_OK);
    }
    return ends;
}

/* Byte i of message number n. */
static unsigned char pattern(int64_t n, size_t i)
{
    return (unsigned char)(n * 31 + (int64_t)(i * 7) + (int64_t)(i >> 8));
}

/* True when it was sent. */
static bool try_send(struct sc_link *link, int64_t number, size_t bytes)
{
    void *buffer = NULL;
    CHECK(sc_link_reserve(link, bytes, &buffer) == SC_OK);
    if (!buffer) {
        return false;
    }
    CHECK((uintptr_t)buffer % 64 == 0);
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)buffer)[i] = pattern(number, i);
    }
    CHECK(sc_link_send(link, buffer, bytes) == SC_OK);
    return true;
}

static void check_message(const struct sc_received *received, int64_t number, size_t bytes)
{
    size_t i = 0;
    CHECK(received->bytes == bytes);
    CHECK((uintptr_t)received->data % 64 == 0);
    while (i < bytes && ((const unsigned char *)received->data)[i] == pattern(number, i)) {
        i++;
    }
    CHECK(i == bytes);
}

static void all_ranks_meet(struct sc_world *world)
{
    CHECK(sc_world_agree(world, SC_OK) == SC_OK);
}

/* Sends `count` messages whose size is size_of(number), and checks that they come whole and in order. */
static void exchange(struct sc_world *world, int64_t count, size_t (*size_of)(int64_t number))
{
    const struct ends ends = ends_of(world);
    int64_t n_sent = ends.out ? 0 : count, n_received = ends.in ? 0 : count, idle = 0;
    while (n_sent < count || n_received < count) {
        bool moved = false;
        if (n_sent < count && try_send(ends.out, n_sent, size_of(n_sent))) {
            n_sent++;
            moved = true;
        }
        struct sc_received received = {0};
        if (n_received < count) {
            CHECK(sc_link_poll(ends.in, &received) == SC_OK);
        }
        if (received.data) {
            check_message(&received, n_received, size_of(n_received));
            sc_link_give_back(ends.in, &received);
            CHECK(!received.data);
            n_received++;
            moved = true;
        }
        idle = moved ? 0 : idle + 1;
        sc_world_progress(world);
        if (!moved) {
            sc_world_pause(world, idle);
        }
    }
    for (idle = 0; ends.out && !sc_link_idle(ends.out); idle++) {
        sc_world_progress(world);
        sc_world_pause(world, idle);
    }
    all_ranks_meet(world);
}

static size_t small(int64_t number)
{
    return (size_t)(number % 100);
}

static size_t mixed(int64_t number)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100000, 3000001};
    return sizes[number % 8];
}

static void order(struct sc_world *world)
{
    exchange(world, 2000, small);
}

static void sizes(struct sc_world *world)
{
    exchange(world, 24, mixed);
}

static void wait_for_message(const struct ends *ends, struct sc_received *received)
{
    for (int64_t idle = 0; !received->data; idle++) {
        CHECK(sc_link_poll(ends->in, received) == SC_OK);
        sc_world_pause(ends->world, idle);
    }
}

/* The sender fills the link; the receiver then takes everything, holds it, and gives it back. */
static void backpressure(struct sc_world *world)
{
    const struct ends ends = ends_of(world);
    int64_t n = 0;
    if (ends.out) {
        while (n <= 1000 && try_send(ends.out, n, 1000)) {
            n++;
        }
        CHECK(n >= SC_LINK_BUFFERS / 2 && n <= SC_LINK_BUFFERS);
    }
    CHECK(sc_world_broadcast(world, &n, sizeof n) == SC_OK);
    if (ends.in) {
        struct sc_received held[SC_LINK_BUFFERS] = {{0}};
        for (int64_t i = 0; i < n; i++) {
            wait_for_message(&ends, &held[i]);
        }
        for (int64_t i = 0; i < n; i++) {
            check_message(&held[i], i, 1000);
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            sc_link_give_back(ends.in, &held[i]);
        }
    }
    for (int64_t idle = 0; ends.out && !try_send(ends.out, n, 1000); idle++) {
        sc_world_pause(world, idle);
    }
    if (ends.in) {
        struct sc_received received = {0};
        wait_for_message(&ends, &received);
        check_message(&received, n, 1000);
        sc_link_give_back(ends.in, &received);
    }
    all_ranks_meet(world);
}

/* The receiver never gives a message back before it has all of them: what it holds leaves the buffers. */
static void moved_out(struct sc_world *world)
{
    enum { MANY = 3 * SC_LINK_BUFFERS };
    const struct ends ends = ends_of(world);
    struct sc_received *held = calloc(MANY, sizeof *held);
    CHECK(held);
    int64_t n_sent = ends.out ? 0 : MANY, n_received = ends.in ? 0 : MANY;
    for (int64_t idle = 0; n_sent < MANY || n_received < MANY; idle++) {
        while (n_sent < MANY && try_send(ends.out, n_sent, 1000)) {
            n_sent++;
            idle = 0;
        }
        struct sc_received received = {0};
        if (n_received < MANY) {
            CHECK(sc_link_poll(ends.in, &received) == SC_OK);
        }
        if (received.data && ends.in->n_held > SC_LINK_BUFFERS / 2) {
            CHECK(sc_link_move_out(ends.in, &received) == SC_OK && ends.in->n_held == SC_LINK_BUFFERS / 2);
        }
        if (received.data) {
            held[n_received++] = received;
            idle = 0;
        } else {
            sc_world_pause(world, idle);
        }
    }
    for (int64_t i = 0; ends.in && i < MANY; i++) {
        check_message(&held[i], i, 1000);
        sc_link_give_back(ends.in, &held[i]);
    }
    CHECK(!ends.in || ends.in->n_held == 0);
    free(held);
    all_ranks_meet(world);
}

/* A buffer may be sent with fewer bytes than were reserved. */
static void shorter(struct sc_world *world)
{
    const struct ends ends = ends_of(world);
    if (ends.out) {
        void *buffer = NULL;
        CHECK(sc_link_reserve(ends.out, 100000, &buffer) == SC_OK && buffer);
        memset(buffer, 7, 100000);
        CHECK(sc_link_send(ends.out, buffer, 3) == SC_OK);
    }
    if (ends.in) {
        struct sc_received received = {0};
        wait_for_message(&ends, &received);
        CHECK(received.bytes == 3 && memcmp(received.data, "\7\7\7", 3) == 0);
        sc_link_give_back(ends.in, &received);
    }
    all_ranks_meet(world);
}

/* Messages of the same size come in a bounded set of buffers. */
static void reuse(struct sc_world *world)
{
    const struct ends ends = ends_of(world);
    const void *seen[SC_LINK_BUFFERS] = {0};
    int n_seen = 0;
    int64_t n_sent = ends.out ? 0 : 500, n_received = ends.in ? 0 : 500;
    while (n_sent < 500 || n_received < 500) {
        if (n_sent < 500 && try_send(ends.out, n_sent, 50000)) {
            n_sent++;
        }
        struct sc_received received = {0};
        if (n_received < 500) {
            CHECK(sc_link_poll(ends.in, &received) == SC_OK);
        }
        if (received.data) {
            int i = 0;
            while (i < n_seen && seen[i] != received.data) {
                i++;
            }
            if (i == n_seen) {
                CHECK(n_seen < SC_LINK_BUFFERS);
                seen[n_seen++] = received.data;
            }
            check_message(&received, n_received++, 50000);
            sc_link_give_back(ends.in, &received);
        }
    }
    all_ranks_meet(world);
}

/* Every rank to every rank, itself included, at the same time. */
static void everybody(struct sc_world *world)
{
    const int size = sc_world_size(world), rank = sc_world_rank(world);
    struct sc_link *links[16];
    bool sent[16] = {false}, received[16] = {false};
    int left = 2 * size;
    CHECK(size <= 16);
    for (int peer = 0; peer < size; peer++) {
        struct sc_link *again;
        CHECK(sc_world_link(world, peer, &links[peer]) == SC_OK);
        CHECK(sc_world_link(world, peer, &again) == SC_OK && again == links[peer]);
        CHECK(links[peer]->peer == peer);
    }
    for (int64_t idle = 0; left > 0; idle++) {
        for (int peer = 0; peer < size; peer++) {
            if (!sent[peer] && try_send(links[peer], rank * 16 + peer, 200000)) {
                sent[peer] = true;
                left--;
            }
            struct sc_received message = {0};
            CHECK(sc_link_poll(links[peer], &message) == SC_OK);
            if (message.data) {
                CHECK(!received[peer]);
                check_message(&message, peer * 16 + rank, 200000);
                sc_link_give_back(links[peer], &message);
                received[peer] = true;
                left--;
            }
        }
        sc_world_pause(world, idle);
    }
    all_ranks_meet(world);
}

static void collectives(struct sc_world *world)
{
    const int size = sc_world_size(world), rank = sc_world_rank(world);
    int32_t all[16] = {0}, numbers[3] = {0};
    const int32_t mine = 100 + rank;
    CHECK(size <= 16);
    if (rank == 0) {
        numbers[0] = 5;
        numbers[2] = -7;
    }
    CHECK(sc_world_broadcast(world, numbers, sizeof numbers) == SC_OK);
    CHECK(numbers[0] == 5 && numbers[1] == 0 && numbers[2] == -7);
    CHECK(sc_world_gather(world, &mine, sizeof mine, rank == 0 ? all : NULL) == SC_OK);
    for (int i = 0; rank == 0 && i < size; i++) {
        CHECK(all[i] == 100 + i);
    }
    CHECK(sc_world_broadcast(world, NULL, 0) == SC_OK);
}

/* The lowest failing rank's error reaches all, with its rank and host. */
static void agreement(struct sc_world *world)
{
    const int size = sc_world_size(world), rank = sc_world_rank(world);
    const int first_bad = size > 1 ? 1 : 0;
    CHECK(sc_world_agree(world, SC_OK) == SC_OK);
    enum sc_status mine = SC_OK;
    if (rank >= first_bad) {
        mine = sc_fail(SC_BAD_MODEL, "rank %d cannot read it", rank);
    }
    CHECK(sc_world_agree(world, mine) == SC_BAD_MODEL);
    const struct sc_error *error = sc_error_last();
    char text[64];
    snprintf(text, sizeof text, "rank %d cannot read it", first_bad);
    CHECK(strcmp(error->text, text) == 0);
    CHECK(error->rank == first_bad && error->code == SC_BAD_MODEL && error->host[0]);
    CHECK(sc_world_agree(world, SC_OK) == SC_OK);
}

/* Tests run on one host, which SC_NODES takes for several. */
static int node_of(const struct sc_world *world, int rank)
{
    const char *nodes = getenv("SC_NODES");
    return nodes ? rank * (int)strtol(nodes, NULL, 10) / sc_world_size(world) : 0;
}

static void places(struct sc_world *world)
{
    const int size = sc_world_size(world), rank = sc_world_rank(world);
    int local_rank = -1, n_local = -1, n = 0, before = 0;
    for (int i = 0; i < size; i++) {
        n += node_of(world, i) == node_of(world, rank);
        before += i < rank && node_of(world, i) == node_of(world, rank);
    }
    sc_world_local(world, &local_rank, &n_local);
    CHECK(n_local == n && local_rank == before);
}

#endif
