/* SPDX-License-Identifier: Apache-2.0
 * A table from input name to what it is fed with. */
#include "decode/feeds.h"

#include <stdlib.h>
#include <string.h>

#include "decode/pairs.h"
#include "decode/source.h"
#include "decode/union.h"

enum sc_feed {
    SC_FEED_STATE,
    SC_FEED_IDS,
    SC_FEED_POSITIONS,
    SC_FEED_MASK,
    SC_FEED_SOURCE_MASK,
    SC_FEED_TEXT,
    SC_FEED_WRITE_INDEX,
    SC_FEED_LENGTH,
    SC_FEED_MODE,
    SC_FEED_PAST, /* of one row */
    SC_FEED_WIDTH, /* of beams: one */
    SC_FEED_BEAMS /* where each position of a row came from: the only one */
};

static const struct {
    const char *name;
    enum sc_feed feed;
} known[] = {
    {"input_ids", SC_FEED_IDS},
    {"position_ids", SC_FEED_POSITIONS},
    {"attention_mask", SC_FEED_MASK},
    {"encoder_attention_mask", SC_FEED_SOURCE_MASK},
    {"write_indices", SC_FEED_WRITE_INDEX},
    {SC_UNION_LENGTH, SC_FEED_TEXT},
    {"nonpad_kv_seqlen", SC_FEED_LENGTH},
    {"use_cache_branch", SC_FEED_MODE},
    {"past_sequence_length", SC_FEED_PAST},
    {"beam_width", SC_FEED_WIDTH},
    {"cache_indirection", SC_FEED_BEAMS},
};

struct sc_feeds {
    const struct sc_graph *graph;
    int n_pairs;
    const struct sc_state_pair *pairs;
    struct sc_arena arena;
    int64_t context;
    enum sc_feed *feed; /* by graph input */
    struct sc_value *values;
    void **data;
    const struct sc_value **out;
};

static enum sc_status find_feed(const struct sc_graph_value *value, enum sc_feed *feed)
{
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (strcmp(known[k].name, value->name) == 0) {
            *feed = known[k].feed;
            const bool mode = *feed == SC_FEED_MODE;
            if (mode ? value->fact.type != SC_BOOL : value->fact.type != SC_I64 && value->fact.type != SC_I32) {
                return sc_fail(SC_BAD_MODEL, "input '%s' is %s, want %s", value->name, sc_type_name(value->fact.type),
                    mode ? "bool" : "int64 or int32");
            }
            return SC_OK;
        }
    }
    return sc_fail(
        SC_UNSUPPORTED, "input '%s' is neither a state nor one that text generation knows how to feed", value->name);
}

/* Of a number for each row, or for all. */
static bool is_one(enum sc_feed feed)
{
    return feed == SC_FEED_WRITE_INDEX || feed == SC_FEED_LENGTH || feed == SC_FEED_MODE || feed == SC_FEED_PAST ||
        feed == SC_FEED_WIDTH;
}

bool sc_feeds_describe(const struct sc_graph *graph, int value, struct sc_pass_input *input, int8_t *mode)
{
    *mode = 0;
    if (sc_source_feeds_know(graph->values[value].name)) {
        return sc_source_feeds_describe(graph, value, input);
    }
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (strcmp(known[k].name, graph->values[value].name) != 0) {
            continue;
        }
        const bool one = is_one(known[k].feed);
        const bool counts = known[k].feed == SC_FEED_POSITIONS || known[k].feed == SC_FEED_WRITE_INDEX;
        *input = (struct sc_pass_input){.value = value, .next = -1, .rank = one ? 1 : 2, .dims = {{.constant = 1}}};
        if (known[k].feed == SC_FEED_BEAMS) {
            input->rank = 3;
            input->dims[1].constant = 1;
            input->dims[2].symbol[SC_PASS_PAST] = input->dims[2].symbol[SC_PASS_NEW] = 1;
            return true;
        }
        const bool source = known[k].feed == SC_FEED_SOURCE_MASK, masks = known[k].feed == SC_FEED_MASK || source;
        if (known[k].feed == SC_FEED_TEXT) {
            input->dims[0].constant = 0;
            input->dims[1].symbol[SC_PASS_PAST] = input->dims[1].symbol[SC_PASS_NEW] = 1;
        } else if (!one) {
            input->dims[1].symbol[source ? SC_PASS_SOURCE : SC_PASS_NEW] = 1;
            input->dims[1].symbol[SC_PASS_PAST] = known[k].feed == SC_FEED_MASK;
        }
        input->content = counts ? SC_PASS_POSITIONS : masks ? SC_PASS_ONES : SC_PASS_ANYTHING;
        *mode = known[k].feed == SC_FEED_MODE;
        return true;
    }
    return false;
}

static int64_t longest(enum sc_feed feed, int64_t max_tokens, int64_t context)
{
    switch (feed) {
    case SC_FEED_MASK:
    case SC_FEED_SOURCE_MASK:
    case SC_FEED_BEAMS:
        return context;
    case SC_FEED_MODE:
    case SC_FEED_PAST:
    case SC_FEED_WIDTH:
        return 1;
    default:
        return max_tokens;
    }
}

static enum sc_status make(struct sc_feeds *feeds, int64_t max_tokens, int64_t context)
{
    const struct sc_graph *graph = feeds->graph;
    const size_t n = (size_t)graph->n_inputs + 1;
    feeds->feed = sc_arena_array(&feeds->arena, n, sizeof *feeds->feed);
    feeds->values = sc_arena_array(&feeds->arena, n, sizeof *feeds->values);
    feeds->data = sc_arena_array(&feeds->arena, n, sizeof *feeds->data);
    feeds->out = sc_arena_array(&feeds->arena, n, sizeof *feeds->out);
    if (!feeds->feed || !feeds->values || !feeds->data || !feeds->out) {
        return SC_NO_MEMORY;
    }
    bool ids = false;
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (value->weight >= 0 || sc_source_feeds_know(value->name) ||
            sc_pairs_find_input(feeds->pairs, feeds->n_pairs, graph->inputs[i]) >= 0) {
            continue;
        }
        SC_TRY(find_feed(value, &feeds->feed[i]));
        ids |= feeds->feed[i] == SC_FEED_IDS;
        feeds->data[i] =
            sc_arena_array(&feeds->arena, (size_t)longest(feeds->feed[i], max_tokens, context), sizeof(int64_t));
        if (!feeds->data[i]) {
            return SC_NO_MEMORY;
        }
    }
    return ids ? SC_OK : sc_fail(SC_UNSUPPORTED, "the model has no input 'input_ids': it does not generate text");
}

enum sc_status sc_feeds_create(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs,
    int64_t max_tokens, int64_t context, struct sc_feeds **out)
{
    struct sc_feeds *feeds = calloc(1, sizeof *feeds);
    if (!feeds) {
        return sc_fail(SC_NO_MEMORY, "out of memory for inputs");
    }
    feeds->graph = graph;
    feeds->n_pairs = n_pairs;
    feeds->pairs = pairs;
    feeds->context = context;
    const enum sc_status status = make(feeds, max_tokens, context);
    if (status != SC_OK) {
        sc_feeds_free(feeds);
        return status;
    }
    *out = feeds;
    return SC_OK;
}

void sc_feeds_free(struct sc_feeds *feeds)
{
    if (feeds) {
        sc_arena_release(&feeds->arena);
        free(feeds);
    }
}

/* Element i of a row of a feed. */
static int64_t element(enum sc_feed feed, const int64_t *tokens, const struct sc_row *row, int64_t i)
{
    switch (feed) {
    case SC_FEED_IDS:
        return tokens[i];
    case SC_FEED_POSITIONS:
        return row->pos + i;
    case SC_FEED_WRITE_INDEX:
    case SC_FEED_PAST:
        return row->pos;
    case SC_FEED_LENGTH:
        return row->pos + row->n_new;
    case SC_FEED_BEAMS:
        return 0;
    default:
        return 1;
    }
}

/* n_source: entries of what is as long as the source, or as the context. */
static int feed_dims(enum sc_feed feed, const struct sc_row *row, int n_rows, int64_t n_source, int64_t dims[3])
{
    if (feed == SC_FEED_BEAMS) {
        dims[0] = dims[1] = 1;
        dims[2] = n_source;
        return 3;
    }
    const bool one = feed == SC_FEED_MODE || feed == SC_FEED_PAST || feed == SC_FEED_WIDTH;
    dims[0] = one ? 1 : feed == SC_FEED_TEXT ? 0 : n_rows;
    const bool whole = feed == SC_FEED_MASK || feed == SC_FEED_TEXT;
    dims[1] = whole ? row->pos + row->n_new : feed == SC_FEED_SOURCE_MASK ? n_source : row->n_new;
    return is_one(feed) ? 1 : 2;
}

/* As long as the past, or its length. */
static bool is_of_one_row(enum sc_feed feed)
{
    return feed == SC_FEED_MASK || feed == SC_FEED_SOURCE_MASK || feed == SC_FEED_BEAMS || feed == SC_FEED_PAST;
}

static void fill(struct sc_tensor *tensor, enum sc_feed feed, const struct sc_row *rows, const int64_t *tokens)
{
    const int64_t n_rows = tensor->dims[0], n = sc_dims_product(tensor->dims, 1, tensor->rank);
    for (int64_t e = 0; e < n_rows * n; e++) {
        const struct sc_row *row = &rows[e / n];
        const int64_t x = element(feed, tokens + e / n * row->n_new, row, e % n);
        if (tensor->type == SC_BOOL) {
            ((uint8_t *)tensor->data)[e] = x != 0;
        } else if (tensor->type == SC_I32) {
            ((int32_t *)tensor->data)[e] = (int32_t)x;
        } else {
            ((int64_t *)tensor->data)[e] = x;
        }
    }
}

const struct sc_value *const *sc_feeds_make(
    struct sc_feeds *feeds, const struct sc_row *rows, int n_rows, const int64_t *tokens, int64_t n_source)
{
    const struct sc_graph *graph = feeds->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        const enum sc_feed feed = feeds->feed[i];
        feeds->out[i] = NULL;
        if (!feeds->data[i] || (n_rows > 1 && is_of_one_row(feed)) ||
            (feed == SC_FEED_SOURCE_MASK && n_source > feeds->context)) {
            continue;
        }
        int64_t dims[3];
        struct sc_tensor *tensor = &feeds->values[i].u.tensor;
        const int rank = feed_dims(feed, rows, n_rows, feed == SC_FEED_BEAMS ? feeds->context : n_source, dims);
        feeds->values[i].kind = SC_KIND_TENSOR;
        sc_tensor_init(tensor, graph->values[graph->inputs[i]].fact.type, rank, dims);
        tensor->data = feeds->data[i];
        fill(tensor, feed, rows, tokens);
        feeds->out[i] = &feeds->values[i];
    }
    return feeds->out;
}

void sc_feeds_facts(const struct sc_feeds *feeds, int64_t n, int64_t pos, struct sc_fact *facts)
{
    const struct sc_graph *graph = feeds->graph;
    const int64_t n_source = sc_source_facts(graph, feeds->context, facts);
    for (int i = 0; i < graph->n_inputs; i++) {
        const int p = sc_pairs_find_input(feeds->pairs, feeds->n_pairs, graph->inputs[i]);
        if (sc_source_feeds_know(graph->values[graph->inputs[i]].name)) {
            continue;
        }
        facts[i] = graph->values[graph->inputs[i]].fact;
        if (feeds->data[i]) {
            int64_t dims[3];
            const struct sc_row row = {.n_new = (int32_t)n, .pos = pos};
            const bool beams = feeds->feed[i] == SC_FEED_BEAMS;
            const int rank = feed_dims(feeds->feed[i], &row, 1, beams ? feeds->context : n_source, dims);
            sc_fact_tensor(&facts[i], facts[i].type, rank, dims);
        } else if (p >= 0 && feeds->pairs[p].kind != SC_STATE_PAGED) {
            const int64_t length = feeds->pairs[p].kind == SC_STATE_CONSTANT ? n_source : pos;
            int64_t dims[SC_MAX_RANK];
            for (int d = 0; d < feeds->pairs[p].rank; d++) {
                dims[d] = feeds->pairs[p].dims[d] == 0 ? length : feeds->pairs[p].dims[d];
            }
            sc_fact_tensor(&facts[i], feeds->pairs[p].type, feeds->pairs[p].rank, dims);
        }
    }
}

bool sc_feeds_sizes(
    const struct sc_feeds *feeds, int64_t chunk, int64_t pos, struct sc_fact *step_facts, struct sc_fact *chunk_facts)
{
    const int64_t most = sc_feeds_take_one_token(feeds->graph) ? 1 : pos + 1;
    const int64_t n = chunk < most ? chunk : most;
    sc_feeds_facts(feeds, 1, pos, step_facts);
    sc_feeds_facts(feeds, n, pos + 1 - n, chunk_facts);
    return n > 1;
}

bool sc_feeds_take_one_token(const struct sc_graph *graph)
{
    bool one = false;
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        one |= strcmp(value->name, "input_ids") == 0 && value->fact.rank == 2 && value->fact.dims[1] == 1;
    }
    return one;
}
