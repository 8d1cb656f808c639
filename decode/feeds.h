/* SPDX-License-Identifier: Apache-2.0
 * Inputs of a decoder that are not states: token ids, positions, masks, made for each microbatch. */
#ifndef SC_DECODE_FEEDS_H
#define SC_DECODE_FEEDS_H

#include "model/model.h"
#include "passes/passes.h"
#include "runtime/session.h"

/* By the names that exporters use, for rows of n new tokens each, at positions of their own:
 *   input_ids [rows, n]; position_ids [rows, n] = pos ..; attention_mask [1, pos + n] = 1, of one row alone;
 *   write_indices [rows] = pos; nonpad_kv_seqlen [rows] = pos + n; use_cache_branch [1] = true (an
 * empty cache is a cache); encoder_attention_mask [1, source] = 1;
 * a union's length_of_text [0, pos + n], of one row alone. What an encoder reads is source.h's. */
struct sc_feeds;

/* Fails with SC_UNSUPPORTED for an input that is none of these, naming it; SC_BAD_MODEL for types that are not
 * integers. max_tokens: the most that a microbatch brings; context: the most positions. Nothing is allocated later. */
enum sc_status sc_feeds_create(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs,
    int64_t max_tokens, int64_t context, struct sc_feeds **feeds);
/* What passes may take for granted of an input that is none of the states; *mode: 1 when it is a boolean that is always
 * true, else 0. false: nothing is known of it. */
bool sc_feeds_describe(const struct sc_graph *graph, int value, struct sc_pass_input *input, int8_t *mode);

void sc_feeds_free(struct sc_feeds *feeds); /* safe on NULL */

/* One value per graph input (NULL for states, for the encoder's inputs, and for masks of several rows, which differ in
 * length: they are for graphs that do not read them), valid until the next call. tokens: [n_rows, n_new], the same
 * n_new in all rows; n_source: positions that the encoder had for the first row. */
const struct sc_value *const *sc_feeds_make(
    struct sc_feeds *feeds, const struct sc_row *rows, int n_rows, const int64_t *tokens, int64_t n_source);

/* Facts of every graph input for planning: n new tokens at position pos, and what an encoder may be given. facts: one
 * per graph input. */
void sc_feeds_facts(const struct sc_feeds *feeds, int64_t n, int64_t pos, struct sc_fact *facts);

/* The same for both sizes of microbatch, with the last token at position pos: facts of a step, of a chunk of at most so
 * many. false: chunks are steps. */
bool sc_feeds_sizes(
    const struct sc_feeds *feeds, int64_t chunk, int64_t pos, struct sc_fact *step_facts, struct sc_fact *chunk_facts);

/* Some exporters fix the steps after the first to one token. */
bool sc_feeds_take_one_token(const struct sc_graph *graph);

#endif
