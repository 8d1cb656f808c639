/* SPDX-License-Identifier: Apache-2.0
 * Tables for people: the plan before a run, what the ranks did after it. */
#ifndef SC_LAUNCH_REPORT_H
#define SC_LAUNCH_REPORT_H

#include <stdio.h>

#include "runtime/session.h"

/* Rank 0: the plan of an opened session. */
enum sc_status sc_report_plan(const struct sc_session *session, const struct sc_model *model, FILE *out);

/* Collective: busy, waiting and sending share of every rank, and its memory; printed on rank 0 unless
 * `out` is NULL. */
enum sc_status sc_report_ranks(struct sc_session *session, struct sc_world *world, FILE *out);

#endif
