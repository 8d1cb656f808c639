/* SPDX-License-Identifier: Apache-2.0
 * What a slot holds, in a file: saved under one plan, loaded under any. */
#ifndef SC_DECODE_STATE_FILE_H
#define SC_DECODE_STATE_FILE_H

#include "runtime/session.h"

/* Layout, numbers little-endian:
 *
 *     "SCSTATE1"          8 bytes
 *     n                   uint64: bytes of the head
 *     head                JSON: {"format": 1, "model": digest, "tokens": [ids], "states": [{"input", "output", "type",
 *                         "dims", "length"}, ...]}
 *     digest              uint64, of the head (base/digest.h)
 *     for each state      its elements, dense, in the order of dims; then uint64, their digest
 *
 * "type" is that of the tensors, or what a run kept them as: pages of "q8_0" are written as they are (runtime/state.h).
 * "model" is a digest of the model's graph, the sizes of its weights and samples of its files. `tokens` are those of
 * the text; states may hold fewer positions, by the token that was drawn last. What an encoder made is among the
 * states, so that its source is not encoded again; the length of these is that of the source. */

/* Whose states: those of a session of this model with these pairs. */
struct sc_state_owner {
    const struct sc_model *model;
    const struct sc_state_pair *pairs;
    int n_pairs;
};

/* Rank 0, under the conditions of sc_session_state_read. The file is there whole or as before. SC_IO names the path. */
enum sc_status sc_state_file_save(const char *path, const struct sc_state_owner *owner, struct sc_session *session,
    int slot, const int64_t *tokens, int64_t n_tokens);

/* A file that is open: its head was checked. */
struct sc_state_file;

/* SC_IO when it cannot be read; SC_BAD_INPUT, naming the path, for a damaged file and one of another model. */
enum sc_status sc_state_file_open(const char *path, const struct sc_state_owner *owner, struct sc_state_file **file);
void sc_state_file_close(struct sc_state_file *file); /* safe on NULL */

const int64_t *sc_state_file_tokens(const struct sc_state_file *file, int64_t *n); /* the file's */
int64_t sc_state_file_length(const struct sc_state_file *file); /* positions that every state of the text holds */
int64_t sc_state_file_source(
    const struct sc_state_file *file); /* that an encoder made of its source; 0: there is none */

/* Rank 0, under the conditions of sc_session_state_write. After a failure the slot is empty: SC_BAD_INPUT for damage,
 * SC_LIMIT where the context has no room. */
enum sc_status sc_state_file_restore(const struct sc_state_file *file, struct sc_session *session, int slot);

#endif
