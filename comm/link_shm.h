/* SPDX-License-Identifier: Apache-2.0
 * Links between ranks of one node over shared memory; for worlds. */
#ifndef SC_COMM_LINK_SHM_H
#define SC_COMM_LINK_SHM_H

#include "comm/shared.h"

/*   place, peer: the other rank's number on the node, and in the world
 * Borrows the node. Between two ranks there is one link on each side. */
enum sc_status sc_link_shm_create(struct sc_shared *node, int place, int peer, struct sc_link **link);
void sc_link_shm_free(struct sc_link *link); /* safe on NULL */

#endif
