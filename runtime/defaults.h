/* SPDX-License-Identifier: Apache-2.0
 * Inputs that have a default: which of them the caller gives, and what stands in where it does not. */
#ifndef SC_RUNTIME_DEFAULTS_H
#define SC_RUNTIME_DEFAULTS_H

#include "runtime/session.h"

/* Sets session->given on all ranks as rank 0's options say; collective. Fails on all ranks with SC_BAD_USAGE when the
 * option 'override' names something else than an input with a default. */
enum sc_status sc_session_share_given(struct sc_session *session);

/* Rank 0: the content of the defaults that stay inputs, for microbatches that leave them out. */
enum sc_status sc_session_read_defaults(struct sc_session *session);

#endif
