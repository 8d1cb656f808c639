/* SPDX-License-Identifier: Apache-2.0
 * Heartbeats within a node, between two boxes of this one process, and as they come from another node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "comm/pulse_world.h"

static void beats_reach_the_rank_after(void **state)
{
    (void)state;
    struct sc_shared *nodes[3];
    struct sc_shared_ticket tickets[3];
    struct sc_pulse *pulses[3];
    struct sc_heard heard[SC_PULSE_MOST];
    char host[64] = "";
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sc_shared_create(i, 3, &nodes[i], &tickets[i]), SC_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sc_shared_join(nodes[i], tickets), SC_OK);
        assert_int_equal(sc_pulse_create(nodes[i], 10 + i, &pulses[i]), SC_OK);
        sc_shared_free(nodes[i]); /* the pulse keeps it */
    }
    sc_pulse_say(pulses[2], 3, 5, 77, "a node whose name is far longer than there is room for in a beat, so it is cut");
    assert_int_equal(sc_pulse_hear(pulses[0], heard), 1);
    const int64_t before = heard[0].count;
    assert_int_equal(heard[0].beat.rank, 12);
    assert_int_equal(heard[0].beat.phase, 3);
    assert_int_equal(heard[0].beat.stage, 5);
    assert_int_equal(heard[0].beat.seq, 77);
    assert_int_equal(strlen(heard[0].beat.node), 63);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_string_equal(heard[0].beat.host, host);
    assert_int_equal(heard[0].beat.away, 0); /* threads beat whatever worker 0 does */
    assert_int_equal(sc_pulse_hear(pulses[0], heard), 1);
    assert_int_equal(heard[0].count, before);
    sc_pulse_gone(pulses[2]);
    assert_int_equal(sc_pulse_hear(pulses[0], heard), 1);
    assert_true(heard[0].beat.gone && heard[0].count != before);
    assert_int_equal(sc_pulse_hear(pulses[1], heard), 1);
    assert_false(heard[0].beat.gone);
    for (int i = 0; i < 3; i++) {
        sc_pulse_drop(pulses[i]);
    }
}

static void beats_from_elsewhere_are_counted_and_their_texts_end(void **state)
{
    (void)state;
    struct sc_pulse *pulse;
    struct sc_heard heard[SC_PULSE_MOST];
    struct sc_beat beat;
    assert_int_equal(sc_pulse_create(NULL, 4, &pulse), SC_OK);
    assert_int_equal(sc_pulse_hear(pulse, heard), 0);
    sc_pulse_mine(pulse, &beat);
    assert_true(beat.rank == 4 && beat.away && !beat.gone && beat.stage == -1);
    sc_pulse_away(pulse, false);
    sc_pulse_mine(pulse, &beat);
    assert_false(beat.away);
    memset(beat.host, 'x', sizeof beat.host);
    memset(beat.node, 'y', sizeof beat.node);
    beat.rank = 3;
    sc_pulse_take(pulse, &beat);
    assert_int_equal(sc_pulse_hear(pulse, heard), 1);
    assert_int_equal(heard[0].beat.rank, 3);
    assert_int_equal(heard[0].count, 1);
    assert_int_equal(strlen(heard[0].beat.host), 63);
    assert_int_equal(strlen(heard[0].beat.node), 63);
    assert_false(sc_pulse_ended(pulse));
    sc_pulse_end(pulse);
    assert_true(sc_pulse_ended(pulse));
    sc_pulse_drop(sc_pulse_keep(pulse));
    assert_true(sc_pulse_ended(pulse));
    sc_pulse_drop(pulse);
    sc_pulse_drop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beats_reach_the_rank_after),
        cmocka_unit_test(beats_from_elsewhere_are_counted_and_their_texts_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
