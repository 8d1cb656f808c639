/* SPDX-License-Identifier: Apache-2.0
 * What rank 0 knows of inputs before any is given: which replace their default and what stands in where they do not,
 * and booleans that are always the same, which choose branches. */
#ifndef SC_RUNTIME_DEFAULTS_H
#define SC_RUNTIME_DEFAULTS_H

#include "runtime/session.h"

/* Sets session->given and session->modes on all ranks as rank 0's options say; collective. Fails on all ranks with
 * SC_BAD_USAGE when the option 'override' names something else than an input with a default. */
enum sc_status sc_session_share_inputs(struct sc_session *session);

/* Rank 0: the content of the defaults that stay inputs, for microbatches that leave them out. */
enum sc_status sc_session_read_defaults(struct sc_session *session);

#endif
