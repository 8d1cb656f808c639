/* SPDX-License-Identifier: Apache-2.0
 * Weights from rank 0 to ranks that cannot open the model; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_STREAM_H
#define SC_RUNTIME_STREAM_H

#include "runtime/session.h"

/* While they load, ranks whose model is remote ask rank 0 for the parts of files that they need, a few chunks ahead,
 * and rank 0 reads each chunk from the file when it is asked for. So neither holds more than some chunks beside its own
 * weights, and the links, on which nothing else travels before the session is open, are as large as these.
 *
 *   rank 0:   find ──► serve, until every such rank has finished ──► loads its own stages
 *   others:   find ──► begin ──► load, which fetches ──► finish, also after a failure */

/* Says which ranks stream. Collective. */
enum sc_status sc_stream_find(struct sc_session *session);

/* Rank 0. Fails with its own trouble (SC_IO: the file), which those that asked have been told. */
enum sc_status sc_stream_serve(struct sc_session *session);

/* The others; where the model is not remote nothing is asked for. */
void sc_stream_begin(struct sc_session *session);
enum sc_status sc_stream_finish(struct sc_session *session);

#endif
