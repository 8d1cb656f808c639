/* SPDX-License-Identifier: Apache-2.0
 * Claims about how many rows running texts can wait for. All times are given: a machine is played, no clock is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "decode/pace.h"

enum { MS = 1000000 };

/* A step of two rows takes 20 ms and a row more 5 ms, on every rank: 10 ms and 5 ms a row. */
static int64_t took_ns(int64_t n_rows)
{
    return (10 + 5 * n_rows) * MS;
}

static struct sc_pace known(void)
{
    struct sc_pace pace = {0};
    for (int i = 0; i < 8; i++) {
        sc_pace_note(&pace, true, 2, took_ns(2));
        sc_pace_note(&pace, false, 64, took_ns(64));
    }
    return pace;
}

static void a_chunk_takes_a_fixed_part_and_one_for_each_row(void **state)
{
    (void)state;
    const struct sc_pace pace = known();
    for (int n = 1; n <= 128; n++) {
        assert_in_range(sc_pace_chunk_ns(&pace, n), took_ns(n) - 10, took_ns(n) + 10);
    }
}

static void what_was_measured_lately_counts(void **state)
{
    (void)state;
    struct sc_pace pace = known();
    assert_int_equal(sc_pace_chunk_ns(&(struct sc_pace){0}, 64), 0);
    for (int i = 0; i < 40; i++) {
        sc_pace_note(&pace, true, 2, 2 * took_ns(2));
        sc_pace_note(&pace, false, 64, 2 * took_ns(64));
    }
    assert_in_range(sc_pace_chunk_ns(&pace, 32), 2 * took_ns(32) - MS / 10, 2 * took_ns(32) + MS / 10);
}

/* Many small ones, as a short bound makes them, do not hide what is known of larger ones. */
static void a_chunk_of_few_rows_says_little_of_larger_ones(void **state)
{
    (void)state;
    struct sc_pace pace = known();
    for (int i = 0; i < 8; i++) {
        sc_pace_note(&pace, false, 1, 2 * took_ns(1));
    }
    assert_in_range(sc_pace_chunk_ns(&pace, 32), took_ns(32) - 5 * MS, took_ns(32) + 5 * MS);
}

/* Of few rows the slope is noise: then time is taken to grow with the rows, which is too much rather than too
 * little. */
static void a_slope_that_is_noise_is_not_drawn_out(void **state)
{
    (void)state;
    struct sc_pace steps = {0}, small = {0}, falling = {0};
    sc_pace_note(&steps, true, 2, 20 * MS);
    assert_int_equal(sc_pace_chunk_ns(&steps, 64), 640 * MS);
    sc_pace_note(&small, true, 4, 20 * MS);
    sc_pace_note(&small, false, 5, 20 * MS + 1);
    assert_in_range(sc_pace_chunk_ns(&small, 50), 200 * MS, 200 * MS + 100);
    sc_pace_note(&falling, true, 2, 20 * MS);
    sc_pace_note(&falling, false, 10, 19 * MS);
    assert_int_equal(sc_pace_chunk_ns(&falling, 20), 38 * MS);
    sc_pace_note(&falling, false, 10, INT64_MAX); /* what a message says is believed up to some point */
    assert_true(sc_pace_chunk_ns(&falling, INT32_MAX) > 0);
}

static struct sc_pace_traffic one_step_in_flight(int n_ranks, int n_rounds, int64_t now_ns)
{
    return (struct sc_pace_traffic){.now_ns = now_ns,
        .n_ranks = n_ranks,
        .n_rounds = n_rounds,
        .n_flights = 1,
        .flights = {{.step = true, .n_rows = 2}}};
}

static void a_chunk_holds_up_the_step_behind_it_on_every_rank(void **state)
{
    (void)state;
    const struct sc_pace pace = known();
    /* The step comes back after 20 ms and goes again at once, behind a chunk of 30 ms that went with it. */
    const struct sc_pace_traffic one = one_step_in_flight(1, 1, 0);
    assert_in_range(sc_pace_gap_ns(&pace, &one, 4), 50 * MS - 10, 50 * MS + 10);
    /* Back after 40 ms; rank 0 has the chunk from 20 to 50 ms and sees it then. Rank 1 has the chunk until 80 ms. */
    const struct sc_pace_traffic two = one_step_in_flight(2, 1, 0);
    assert_in_range(sc_pace_gap_ns(&pace, &two, 4), 50 * MS - 10, 50 * MS + 10);
    /* A chunk of 110 ms: seen after 130 ms; the next runs there from 130 to 150 ms, on rank 1 from 240 to 260 ms. */
    assert_in_range(sc_pace_gap_ns(&pace, &two, 20), 130 * MS - 10, 130 * MS + 10);
    /* One rank with both stages: 40 ms, then 60 and 40. */
    const struct sc_pace_traffic both = one_step_in_flight(1, 2, 0);
    assert_in_range(sc_pace_gap_ns(&pace, &both, 4), 100 * MS - 20, 100 * MS + 20);
    /* A step that was due at 20 ms and is not back at 35 ms: the next ends at 35 + 30 + 20 ms, or so it is taken. */
    const struct sc_pace_traffic late = one_step_in_flight(1, 1, 35 * MS);
    assert_in_range(sc_pace_gap_ns(&pace, &late, 4), 50 * MS - 10, 50 * MS + 10);
}

static void a_step_that_is_about_to_go_waits_for_the_chunk(void **state)
{
    (void)state;
    const struct sc_pace pace = known();
    const struct sc_pace_traffic ready = {.now_ns = 100 * MS,
        .n_ranks = 2,
        .n_rounds = 1,
        .n_ready = 1,
        .flights = {{.step = true, .n_rows = 2, .token_ns = 95 * MS}}};
    assert_in_range(sc_pace_gap_ns(&pace, &ready, 4), 85 * MS - 20, 85 * MS + 20); /* 5, 30 + 30, 20 */
}

static void rows_are_as_many_as_the_bound_allows(void **state)
{
    (void)state;
    const struct sc_pace pace = known(), nothing = {0};
    const struct sc_pace_traffic one = one_step_in_flight(1, 1, 0);
    assert_int_equal(sc_pace_rows(&pace, &one, 130 * MS + 20, 64), 20); /* 10 + 100 + 20 ms */
    assert_int_equal(sc_pace_rows(&pace, &one, 129 * MS, 64), 19);
    assert_int_equal(sc_pace_rows(&pace, &one, 1000 * MS, 64), 64);
    assert_int_equal(sc_pace_rows(&pace, &one, 130 * MS + 20, 7), 7);
    assert_int_equal(sc_pace_rows(&pace, &one, 1, 64), 1); /* a prompt goes on in any case */
    assert_int_equal(sc_pace_rows(&pace, &one, 1000 * MS, 1000), 128); /* no chunk had more than 64 */
    assert_int_equal(sc_pace_rows(&nothing, &one, 1000 * MS, 64), 1);
}

/* Two groups of texts and a prompt on a machine whose every stage takes took_ns: played as ranks and the schedule
 * act. */
struct machine {
    struct sc_pace pace;
    int n_ranks;
    int64_t bound_ns; /* 0: chunks of 64 */
    int64_t now_ns; /* rank 0's */
    int64_t free_ns[8]; /* the other ranks' */
    struct flight {
        int group; /* -1: a chunk */
        int64_t n_rows, sent_ns, back_ns, seen_ns;
    } flights[4096];
    int n_sent, n_run, n_back; /* of them, in order; run: by rank 0 */
    struct group {
        int64_t token_ns;
        bool in_flight, behind_chunk; /* its last step was sent after the last chunk */
    } groups[2];
    int64_t longest_ns;
    int n_chunks;
};

static void launch(struct machine *m, int group, int64_t n_rows)
{
    assert_in_range(m->n_sent, 0, 4095);
    m->flights[m->n_sent++] = (struct flight){.group = group, .n_rows = n_rows, .sent_ns = m->now_ns};
}

static void launch_chunk(struct machine *m, int64_t *left)
{
    const int64_t most = *left < 64 ? *left : 64;
    struct sc_pace_traffic traffic = {.now_ns = m->now_ns, .n_ranks = m->n_ranks, .n_rounds = 1};
    traffic.n_back = m->n_back < 16 ? m->n_back : 16;
    for (int i = m->n_back - traffic.n_back; i < m->n_sent; i++) {
        const struct flight *flight = &m->flights[i];
        traffic.flights[i - m->n_back + traffic.n_back] = (struct sc_pace_flight){.step = flight->group >= 0,
            .n_rows = flight->n_rows,
            .sent_ns = flight->sent_ns,
            .back_ns = flight->seen_ns,
            .token_ns = flight->group >= 0 ? m->groups[flight->group].token_ns : 0};
    }
    traffic.n_flights = m->n_sent - m->n_back;
    const int64_t n = m->bound_ns ? sc_pace_rows(&m->pace, &traffic, m->bound_ns, most) : most;
    launch(m, -1, n);
    *left -= n;
    m->n_chunks++;
    m->groups[0].behind_chunk = m->groups[1].behind_chunk = false;
}

static void see_what_is_back(struct machine *m)
{
    for (; m->n_back < m->n_run && m->flights[m->n_back].back_ns <= m->now_ns; m->n_back++) {
        struct flight *flight = &m->flights[m->n_back];
        flight->seen_ns = m->now_ns;
        sc_pace_note(&m->pace, flight->group >= 0, flight->n_rows, took_ns(flight->n_rows));
        if (flight->group >= 0) {
            struct group *group = &m->groups[flight->group];
            const int64_t gap_ns = m->now_ns - group->token_ns;
            m->longest_ns = m->n_chunks > 0 && gap_ns > m->longest_ns ? gap_ns : m->longest_ns;
            group->token_ns = m->now_ns;
            group->in_flight = false;
        }
    }
}

static void run_next(struct machine *m)
{
    if (m->n_run == m->n_sent) {
        m->now_ns = m->flights[m->n_back].back_ns;
        return;
    }
    struct flight *flight = &m->flights[m->n_run++];
    m->now_ns += took_ns(flight->n_rows);
    flight->back_ns = m->now_ns;
    for (int r = 1; r < m->n_ranks; r++) {
        const int64_t from_ns = flight->back_ns > m->free_ns[r] ? flight->back_ns : m->free_ns[r];
        flight->back_ns = m->free_ns[r] = from_ns + took_ns(flight->n_rows);
    }
}

/* Ten turns by themselves, then a prompt, until each group has gone on behind its last chunk. */
static void play(struct machine *m, int64_t n_prompt)
{
    int64_t left = 0;
    m->pace = known();
    for (int turn = 0; turn <= 10 || left > 0 || m->flights[m->n_sent - 1].group < 0; turn++) {
        see_what_is_back(m);
        for (int g = 0; g < 2; g++) {
            if (!m->groups[g].in_flight) {
                m->groups[g].in_flight = m->groups[g].behind_chunk = true;
                launch(m, g, 2);
            }
        }
        left = turn == 10 ? n_prompt : left;
        if (left > 0 && m->groups[0].behind_chunk && m->groups[1].behind_chunk) {
            launch_chunk(m, &left);
        }
        run_next(m);
    }
    const int n_sent = m->n_sent;
    while (m->n_back < n_sent) {
        see_what_is_back(m);
        run_next(m);
    }
    see_what_is_back(m);
}

static void no_text_waits_longer_than_the_bound(void **state)
{
    (void)state;
    for (int n_ranks = 1; n_ranks <= 8; n_ranks++) {
        struct machine free = {.n_ranks = n_ranks};
        play(&free, 1024);
        assert_int_equal(free.n_chunks, 16);
        const int64_t alone_ns = 20 * MS * (n_ranks > 2 ? n_ranks : 2); /* between two steps of a group */
        const int64_t least_ns = alone_ns + 25 * MS * n_ranks; /* and some rows, on each rank */
        for (int64_t bound_ns = least_ns; bound_ns < free.longest_ns; bound_ns += 10 * MS) {
            struct machine bound = {.n_ranks = n_ranks, .bound_ns = bound_ns};
            play(&bound, 1024);
            assert_in_range(bound.longest_ns, 1, bound_ns);
            assert_in_range(
                bound.n_chunks, 17, 2 * bound_ns < free.longest_ns ? 1024 : 40); /* nor is the bound wasted */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_takes_a_fixed_part_and_one_for_each_row),
        cmocka_unit_test(what_was_measured_lately_counts),
        cmocka_unit_test(a_chunk_of_few_rows_says_little_of_larger_ones),
        cmocka_unit_test(a_slope_that_is_noise_is_not_drawn_out),
        cmocka_unit_test(a_chunk_holds_up_the_step_behind_it_on_every_rank),
        cmocka_unit_test(a_step_that_is_about_to_go_waits_for_the_chunk),
        cmocka_unit_test(rows_are_as_many_as_the_bound_allows),
        cmocka_unit_test(no_text_waits_longer_than_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
