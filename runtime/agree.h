/* SPDX-License-Identifier: Apache-2.0
 * What the ranks agree on before they load; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_AGREE_H
#define SC_RUNTIME_AGREE_H

#include "runtime/stage.h"

/* Same program, same model, same options: the first difference is named. Then the lowest instruction set level of all
 * ranks. Collective; all ranks succeed or fail together. */
enum sc_status sc_session_agree(struct sc_session *session);

/* What each rank may use goes to rank 0, which plans by it: --memory of that rank, else its share of its host.
 * Collective. */
enum sc_status sc_session_gather_memory(struct sc_session *session);

/* Whether this rank's stages fit into what it may use; SC_LIMIT says what is needed and what is there. */
enum sc_status sc_session_check_memory(const struct sc_session *session);

/* On rank 0: a plan to go on with, beside the prefill plan if there is one, needs no more of any rank than it has while
 * caches move to it, those of the plans at work counted too. The file and the rank are named. */
enum sc_status sc_session_check_plan_memory(
    const struct sc_session *session, const char *path, const struct sc_plan *plan);

/* Rank 0: facts at planning dims, then the plan that the path has (NULL: one that is made). */
enum sc_status sc_session_make_plan(struct sc_session *session, const char *path, struct sc_plan **plan);

/* Rank 0: as many as the options ask for. */
enum sc_status sc_session_make_plans(struct sc_session *session);

/* Rank 0's plan to all. Collective. */
enum sc_status sc_session_share_plan(struct sc_session *session, struct sc_pipe *pipe);

#endif
