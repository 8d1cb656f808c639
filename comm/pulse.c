/* SPDX-License-Identifier: Apache-2.0
 * The lock is between the thread that watches and the one that drives the world; nobody holds it for long. */
#include "comm/pulse_world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"

struct sc_pulse {
    _Atomic int n_users;
    _Atomic bool ended;
    struct sc_lock *lock; /* over the rest */
    struct sc_shared *node;
    struct sc_beat mine;
    bool hears_elsewhere;
    struct sc_heard elsewhere;
};

/* Holding the lock, where others know the pulse. */
static void publish(struct sc_pulse *pulse)
{
    if (pulse->node) {
        sc_shared_beat(pulse->node, &pulse->mine);
    }
}

enum sc_status sc_pulse_create(struct sc_shared *node, int rank, struct sc_pulse **pulse)
{
    struct sc_pulse *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for heartbeats");
    }
    const enum sc_status status = sc_lock_create(&made->lock);
    if (status != SC_OK) {
        free(made);
        return status;
    }
    made->mine = (struct sc_beat){.rank = rank, .stage = -1, .seq = -1, .away = 1};
    if (gethostname(made->mine.host, sizeof made->mine.host - 1) != 0) {
        made->mine.host[0] = '\0';
    }
    atomic_store(&made->n_users, 1);
    made->node = sc_shared_keep(node);
    publish(made);
    *pulse = made;
    return SC_OK;
}

struct sc_pulse *sc_pulse_keep(struct sc_pulse *pulse)
{
    (void)atomic_fetch_add(&pulse->n_users, 1);
    return pulse;
}

void sc_pulse_drop(struct sc_pulse *pulse)
{
    if (pulse && atomic_fetch_sub(&pulse->n_users, 1) == 1) {
        sc_shared_free(pulse->node);
        sc_lock_free(pulse->lock);
        free(pulse);
    }
}

void sc_pulse_say(struct sc_pulse *pulse, int phase, int stage, int64_t seq, const char *node)
{
    sc_lock_enter(pulse->lock);
    pulse->mine.phase = phase;
    pulse->mine.stage = stage;
    pulse->mine.seq = seq;
    snprintf(pulse->mine.node, sizeof pulse->mine.node, "%s", node);
    publish(pulse);
    sc_lock_leave(pulse->lock);
}

/* Texts of another process end. */
static void check(struct sc_beat *beat)
{
    beat->host[sizeof beat->host - 1] = '\0';
    beat->node[sizeof beat->node - 1] = '\0';
}

int sc_pulse_hear(struct sc_pulse *pulse, struct sc_heard heard[SC_PULSE_MOST])
{
    int n = 0;
    sc_lock_enter(pulse->lock);
    if (pulse->node && sc_shared_heard(pulse->node, &heard[n].count, &heard[n].beat)) {
        heard[n].beat.away = 0; /* there beats come from a thread that nothing holds up */
        check(&heard[n++].beat);
    }
    if (pulse->hears_elsewhere) {
        heard[n++] = pulse->elsewhere;
    }
    sc_lock_leave(pulse->lock);
    return n;
}

bool sc_pulse_ended(const struct sc_pulse *pulse)
{
    return atomic_load(&pulse->ended);
}

void sc_pulse_mine(struct sc_pulse *pulse, struct sc_beat *beat)
{
    sc_lock_enter(pulse->lock);
    *beat = pulse->mine;
    sc_lock_leave(pulse->lock);
}

void sc_pulse_take(struct sc_pulse *pulse, const struct sc_beat *beat)
{
    sc_lock_enter(pulse->lock);
    pulse->hears_elsewhere = true;
    pulse->elsewhere.count++;
    pulse->elsewhere.beat = *beat;
    check(&pulse->elsewhere.beat);
    sc_lock_leave(pulse->lock);
}

void sc_pulse_away(struct sc_pulse *pulse, bool away)
{
    sc_lock_enter(pulse->lock);
    pulse->mine.away = away;
    sc_lock_leave(pulse->lock);
}

void sc_pulse_gone(struct sc_pulse *pulse)
{
    sc_lock_enter(pulse->lock);
    pulse->mine.gone = 1;
    publish(pulse);
    sc_lock_leave(pulse->lock);
}

void sc_pulse_end(struct sc_pulse *pulse)
{
    atomic_store(&pulse->ended, true);
}
