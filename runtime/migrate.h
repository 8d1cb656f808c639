/* SPDX-License-Identifier: Apache-2.0
 * States that change their owner; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_MIGRATE_H
#define SC_RUNTIME_MIGRATE_H

#include "runtime/session.h"

/* Where a pair is: on a rank, and there in a store. */
struct sc_pair_place {
    int rank;
    struct sc_state_store *store; /* on that rank; NULL elsewhere */
    int index; /* in the store */
};

/* Brings what all slots hold of every pair from its old place to its new one, straight from rank to rank, a chunk at a
 * time. Slots keep the pages that they share. A slot on whose pages the stages do not agree, after a microbatch of it
 * that failed on the way, holds nothing afterwards. The new stores are empty, and their slots and pages are as many as
 * before. Collective: all ranks move the pairs in the same order; after a failure a rank goes on taking what others
 * send. */
enum sc_status sc_migrate(struct sc_session *session, const struct sc_pair_place *from, const struct sc_pair_place *to);

#endif
