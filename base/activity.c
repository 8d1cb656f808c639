/* SPDX-License-Identifier: Apache-2.0
 * Relaxed stores: a reader wants each number, not a consistent set. */
#include "base/activity.h"

#include "base/clock.h"

void sc_activity_enter(struct sc_activity *activity, enum sc_phase phase, int stage, int64_t seq)
{
    const int64_t now = sc_clock_ns();
    const int64_t since = atomic_load_explicit(&activity->since_ns, memory_order_relaxed);
    const int32_t left = atomic_load_explicit(&activity->phase, memory_order_relaxed);
    if (since != 0) {
        (void)atomic_fetch_add_explicit(&activity->phase_ns[left], now - since, memory_order_relaxed);
    }
    atomic_store_explicit(&activity->phase, (int32_t)phase, memory_order_relaxed);
    atomic_store_explicit(&activity->stage, (int32_t)stage, memory_order_relaxed);
    atomic_store_explicit(&activity->node, -1, memory_order_relaxed);
    atomic_store_explicit(&activity->seq, seq, memory_order_relaxed);
    atomic_store_explicit(&activity->since_ns, now, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&activity->tick, 1, memory_order_relaxed);
}

const char *sc_phase_name(enum sc_phase phase)
{
    static const char *const names[] = {"idle", "load", "compute", "wait", "send"};
    return (unsigned)phase < sizeof names / sizeof names[0] ? names[phase] : "unknown phase";
}
