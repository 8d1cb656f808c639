/* SPDX-License-Identifier: Apache-2.0
 * Which inputs and outputs of a graph are one state. */
#ifndef SC_DECODE_PAIRS_H
#define SC_DECODE_PAIRS_H

#include "model/model.h"
#include "runtime/state.h"

/* Finds state pairs of a decoder; what passes have put together counts too (sc_decode_rewrite). In order:
 *   - by the operator that joins them: Attention-23 and GroupQueryAttention with past_key and past_value, Attention of
 *     com.microsoft with both in one past, TensorScatter-24 whose cache is read by Attention alone: paged, appended to
 *     in place;
 *   - by the operator that goes on from it: LinearAttention, CausalConvWithState, LSTM, GRU, RNN: dense;
 *   - by what the user says (sc_pairs_say): dense;
 *   - by the names that exporters use: past_key_values.N.key → present.N.key, past_N → present_N, X → updated_X; of
 *     rank 3 state → stateN, h → hn, c → cn: dense;
 * past_key_values.N.encoder.key → cross:present.N.encoder.key: constant; where Attention alone reads keys and values,
 * they are caches of a row each to it.
 * pairs are in the model's arena. A state input without its output, or a pair whose types differ, is SC_BAD_MODEL
 * naming it. No pair at all is SC_OK with *n == 0. */
enum sc_status sc_pairs_find(struct sc_model *model, int *n, struct sc_state_pair **pairs);

/* "IN=OUT", an input and an output of the graph, whose names may contain '='; their indices. SC_BAD_USAGE when it is
 * not. */
enum sc_status sc_pairs_parse(const struct sc_graph *graph, const char *text, int *in, int *out);

/* Says what is a state where neither operator nor name tells: n texts as sc_pairs_parse takes them. Once for a
 * model. */
enum sc_status sc_pairs_say(struct sc_model *model, int n, const char *const *texts);

/* By its name a state that never changes: keys and values of cross-attention, which are made once for a text of what an
 * encoder says. It is a pair where the graph makes it (decode/union.h); else an ordinary input, whether or not an
 * output has its name. */
bool sc_pairs_is_constant(const char *input);

/* Whether the output of that name makes such a state, for a graph that reads it. */
bool sc_pairs_makes_constant(const struct sc_graph *reader, const char *output);

/* How pages of keys and of values hold numbers; SC_PAGE_AS_TYPE: as the model's tensors do. */
struct sc_cache_formats {
    enum sc_page_format keys, values;
};

/* Pages of the pairs will hold numbers so. SC_BAD_USAGE where a format is asked for and no pair has pages;
 * SC_UNSUPPORTED where they hold doubles. */
enum sc_status sc_pairs_set_formats(struct sc_state_pair *pairs, int n, const struct sc_cache_formats *formats);

/* The pair that has this graph input, or -1. */
int sc_pairs_find_input(const struct sc_state_pair *pairs, int n, int value);

#endif
