/* SPDX-License-Identifier: Apache-2.0
 * A table from the encoder's inputs to parts of a source. */
#include "decode/source.h"

#include <stdlib.h>
#include <string.h>

#include "decode/union.h"

enum source_feed { FEED_NOTHING, FEED_IDS, FEED_ONES, FEED_FEATURES };
enum { PLANNED_TOKENS = 256 };

static const struct {
    const char *name;
    enum source_feed feed;
} known[] = {{SC_UNION_ENCODER "input_ids", FEED_IDS}, {SC_UNION_ENCODER "attention_mask", FEED_ONES},
    {SC_UNION_ENCODER "input_features", FEED_FEATURES}};

struct sc_source_feeds {
    const struct sc_graph *graph;
    struct sc_arena arena;
    int64_t most;
    int features; /* graph input; -1: tokens */
    enum source_feed *feed; /* by graph input */
    struct sc_value *values;
    void **data;
    const struct sc_value **out;
};

bool sc_source_feeds_know(const char *name)
{
    return strncmp(name, SC_UNION_ENCODER, sizeof SC_UNION_ENCODER - 1) == 0;
}

bool sc_source_is_read(const struct sc_graph *graph, bool *hears)
{
    bool any = false;
    *hears = false;
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *name = graph->values[graph->inputs[i]].name;
        any |= sc_source_feeds_know(name);
        *hears |= strcmp(name, SC_UNION_ENCODER "input_features") == 0;
    }
    return any;
}

static enum sc_status find_feed(const struct sc_graph_value *value, enum source_feed *feed)
{
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (strcmp(known[k].name, value->name) != 0) {
            continue;
        }
        *feed = known[k].feed;
        const bool features = *feed == FEED_FEATURES;
        const enum sc_type type = value->fact.type;
        if (features ? type != SC_F32 || value->fact.rank != 3 : type != SC_I64 && type != SC_I32) {
            return sc_fail(SC_BAD_MODEL, "input '%s' is %s of rank %d, want %s", value->name, sc_type_name(type),
                value->fact.rank, features ? "float of rank 3" : "int64 or int32");
        }
        return SC_OK;
    }
    return sc_fail(SC_UNSUPPORTED, "the encoder's input '%s' is none that text generation knows how to feed",
        value->name + sizeof SC_UNION_ENCODER - 1);
}

bool sc_source_feeds_describe(const struct sc_graph *graph, int value, struct sc_pass_input *input)
{
    const struct sc_graph_value *declared = &graph->values[value];
    enum source_feed feed = FEED_NOTHING;
    if (find_feed(declared, &feed) != SC_OK) {
        return false;
    }
    *input = (struct sc_pass_input){.value = value,
        .next = -1,
        .rank = 2,
        .dims = {{.constant = 1}},
        .content = feed == FEED_ONES ? SC_PASS_ONES : SC_PASS_ANYTHING};
    input->dims[1].symbol[SC_PASS_SOURCE] = 1;
    if (feed == FEED_FEATURES) {
        input->rank = 3;
        input->dims[1] = (struct sc_size){.constant = declared->fact.dims[1]};
        input->dims[2] = (struct sc_size){.constant = declared->fact.dims[2]};
        return declared->fact.dims[1] > 0 && declared->fact.dims[2] > 0;
    }
    return true;
}

static enum sc_status make(struct sc_source_feeds *feeds)
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
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (!sc_source_feeds_know(value->name)) {
            continue;
        }
        SC_TRY(find_feed(value, &feeds->feed[i]));
        feeds->features = feeds->feed[i] == FEED_FEATURES ? i : feeds->features;
        const int64_t room = feeds->feed[i] == FEED_FEATURES ? 1 : feeds->most;
        feeds->data[i] = sc_arena_array(&feeds->arena, (size_t)room, sizeof(int64_t));
        feeds->out[i] = &feeds->values[i];
        SC_TRY(feeds->data[i] ? SC_OK : SC_NO_MEMORY);
    }
    return SC_OK;
}

enum sc_status sc_source_feeds_create(const struct sc_graph *graph, int64_t most, struct sc_source_feeds **out)
{
    bool hears;
    if (!sc_source_is_read(graph, &hears)) {
        return SC_OK;
    }
    struct sc_source_feeds *feeds = calloc(1, sizeof *feeds);
    if (!feeds) {
        return sc_fail(SC_NO_MEMORY, "out of memory for inputs of an encoder");
    }
    *feeds = (struct sc_source_feeds){.graph = graph, .most = most, .features = -1};
    const enum sc_status status = make(feeds);
    if (status != SC_OK) {
        sc_source_feeds_free(feeds);
        return status;
    }
    *out = feeds;
    return SC_OK;
}

void sc_source_feeds_free(struct sc_source_feeds *feeds)
{
    if (feeds) {
        sc_arena_release(&feeds->arena);
        free(feeds);
    }
}

bool sc_source_feeds_features(const struct sc_source_feeds *feeds, int64_t *bands, int64_t *frames)
{
    if (feeds->features < 0) {
        return false;
    }
    const struct sc_fact *fact = &feeds->graph->values[feeds->graph->inputs[feeds->features]].fact;
    *bands = fact->dims[1] >= 0 ? fact->dims[1] : -1;
    *frames = fact->dims[2] >= 0 ? fact->dims[2] : -1;
    return true;
}

enum sc_status sc_source_feeds_check(const struct sc_source_feeds *feeds, const struct sc_source *source)
{
    int64_t bands, frames;
    const struct sc_tensor *given = source->features;
    if (!sc_source_feeds_features(feeds, &bands, &frames)) {
        if (!source->ids || source->n < 1) {
            return sc_fail(SC_BAD_INPUT, "the encoder reads tokens, and %s given", given ? "features are" : "none is");
        }
        return source->n <= feeds->most
            ? SC_OK
            : sc_fail(SC_BAD_INPUT, "the encoder is given %lld tokens, it reads at most %lld", (long long)source->n,
                  (long long)feeds->most);
    }
    if (!given) {
        return sc_fail(
            SC_BAD_INPUT, "the encoder reads features of sound, and %s given", source->ids ? "text is" : "none are");
    }
    if (given->type != SC_F32 || given->rank != 2 || (bands >= 0 && given->dims[0] != bands) ||
        (frames >= 0 && given->dims[1] != frames)) {
        return sc_fail(SC_BAD_INPUT, "the encoder is given %lld bands of %lld frames, want %lld of %lld",
            (long long)given->dims[0], (long long)given->dims[1], (long long)bands, (long long)frames);
    }
    return SC_OK;
}

static void fill(struct sc_tensor *tensor, enum source_feed feed, const struct sc_source *source)
{
    for (int64_t i = 0; i < source->n; i++) {
        const int64_t x = feed == FEED_IDS ? source->ids[i] : 1;
        if (tensor->type == SC_I32) {
            ((int32_t *)tensor->data)[i] = (int32_t)x;
        } else {
            ((int64_t *)tensor->data)[i] = x;
        }
    }
}

const struct sc_value *const *sc_source_feeds_make(struct sc_source_feeds *feeds, const struct sc_source *source)
{
    for (int i = 0; i < feeds->graph->n_inputs; i++) {
        struct sc_tensor *tensor = &feeds->values[i].u.tensor;
        if (feeds->feed[i] == FEED_NOTHING) {
            continue;
        }
        feeds->values[i].kind = SC_KIND_TENSOR;
        if (feeds->feed[i] == FEED_FEATURES) {
            const int64_t dims[3] = {1, source->features->dims[0], source->features->dims[1]};
            sc_tensor_init(tensor, SC_F32, 3, dims);
            tensor->data = source->features->data;
            continue;
        }
        const int64_t dims[2] = {1, source->n};
        sc_tensor_init(tensor, feeds->graph->values[feeds->graph->inputs[i]].fact.type, 2, dims);
        tensor->data = feeds->data[i];
        fill(tensor, feeds->feed[i], source);
    }
    return feeds->out;
}

int64_t sc_source_facts(const struct sc_graph *graph, int64_t most, struct sc_fact *facts)
{
    const int64_t n_tokens = most < PLANNED_TOKENS ? most : PLANNED_TOKENS;
    int64_t n = 0;
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        const int64_t dims[2] = {1, n_tokens};
        enum source_feed feed = FEED_NOTHING;
        if (!sc_source_feeds_know(value->name) || find_feed(value, &feed) != SC_OK) {
            continue;
        }
        facts[i] = value->fact;
        if (feed == FEED_FEATURES) {
            n = value->fact.dims[2] > 1 ? value->fact.dims[2] / 2
                                        : 1; /* the first layers of Whisper take two for one */
        } else {
            sc_fact_tensor(&facts[i], facts[i].type, 2, dims);
            n = n_tokens;
        }
    }
    return n;
}
