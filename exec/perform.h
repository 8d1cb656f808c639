/* SPDX-License-Identifier: Apache-2.0
 * One function of an operator, called so that the rank stays alive to others. */
#ifndef SC_EXEC_PERFORM_H
#define SC_EXEC_PERFORM_H

#include "exec/step.h"

/* Which function of the operator. */
enum sc_deed { SC_DEED_RESOLVE, SC_DEED_RUN, SC_DEED_EXEC };

/* Calls it; where it works on much and has no short parts (SC_OP_TICKS), by sc_team_relieve. */
enum sc_status sc_step_perform(const struct sc_step *step, const struct sc_call *call, enum sc_deed deed);

#endif
