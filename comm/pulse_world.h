/* SPDX-License-Identifier: Apache-2.0
 * The world's side of a pulse; for the files of comm/ alone. */
#ifndef SC_COMM_PULSE_WORLD_H
#define SC_COMM_PULSE_WORLD_H

#include "comm/shared.h"
#include "comm/pulse.h"

/* node: NULL when no memory is shared; kept until the last drop. */
enum sc_status sc_pulse_create(struct sc_shared *node, int rank, struct sc_pulse **pulse);
struct sc_pulse *sc_pulse_keep(struct sc_pulse *pulse); /* one more drop */

void sc_pulse_mine(struct sc_pulse *pulse, struct sc_beat *beat); /* what to send to another node */
void sc_pulse_take(struct sc_pulse *pulse, const struct sc_beat *beat); /* came from another node, unchecked */
void sc_pulse_away(struct sc_pulse *pulse, bool away);
void sc_pulse_gone(struct sc_pulse *pulse); /* to those who watch, from the next beat on; on this node now */
void sc_pulse_end(struct sc_pulse *pulse);

#endif
