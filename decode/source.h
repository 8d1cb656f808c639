/* SPDX-License-Identifier: Apache-2.0
 * What an encoder reads, once for a text. */
#ifndef SC_DECODE_SOURCE_H
#define SC_DECODE_SOURCE_H

#include "decode/request.h"
#include "passes/passes.h"

/* Inputs of a union (union.h), of one text each: encoder:input_ids [1, n]; encoder:attention_mask [1, n] = 1;
 * encoder:input_features [1, bands, frames]. */
struct sc_source_feeds;

/* *feeds stays NULL for a graph that has no encoder. most: tokens of a source. Fails with SC_UNSUPPORTED for an input
 * of the encoder that is none of these, naming it. Nothing is allocated later. */
enum sc_status sc_source_feeds_create(const struct sc_graph *graph, int64_t most, struct sc_source_feeds **feeds);
void sc_source_feeds_free(struct sc_source_feeds *feeds); /* safe on NULL */

/* An input of the encoder, by its name; what passes may take for granted of it, false: nothing. */
bool sc_source_feeds_know(const char *name);
bool sc_source_feeds_describe(const struct sc_graph *graph, int value, struct sc_pass_input *input);

/* Whether a graph has an encoder. *hears: it reads features of sound. */
bool sc_source_is_read(const struct sc_graph *graph, bool *hears);

/* What it reads: false: tokens; true: features, of so many bands and frames, where the model says (else -1). */
bool sc_source_feeds_features(const struct sc_source_feeds *feeds, int64_t *bands, int64_t *frames);

/* SC_BAD_INPUT for a source that the encoder does not read: none, tokens in place of features, too many, other
 * sizes. */
enum sc_status sc_source_feeds_check(const struct sc_source_feeds *feeds, const struct sc_source *source);

/* One value per graph input, NULL for those that are not the encoder's, valid until the next call; features are shown
 * where they are. */
const struct sc_value *const *sc_source_feeds_make(struct sc_source_feeds *feeds, const struct sc_source *source);

/* For planning, of at most so many tokens: sets the facts of the encoder's inputs, of facts by graph input; how many
 * positions it makes of that, 0 without an encoder. */
int64_t sc_source_facts(const struct sc_graph *graph, int64_t most, struct sc_fact *facts);

#endif
