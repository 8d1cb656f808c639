/* SPDX-License-Identifier: Apache-2.0
 * Tables for people: the plan before a run, what the ranks did after it. */
#ifndef SC_LAUNCH_REPORT_H
#define SC_LAUNCH_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "runtime/session.h"

/* Rank 0: the plan of an opened session. */
enum sc_status sc_report_plan(const struct sc_session *session, const struct sc_model *model, FILE *out);

/* Collective: what every rank did, and its memory. On rank 0 printed to `out`, and with the plan added to `document`
 * (report_file.h); NULL: not. n_tokens: rank 0, that went through the model, prompts too; 0: not said. */
enum sc_status sc_report_ranks(struct sc_session *session, const struct sc_model *model, struct sc_world *world,
    int64_t n_tokens, FILE *out, struct sc_json *document);

#endif
