/* SPDX-License-Identifier: Apache-2.0
 * TfIdfVectorizer: n-grams of a row are looked up in a hash table of the pool's, which is made once. */
#include <string.h>

#include "ops/infer.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum mode { TF, IDF, TFIDF };

/* A gram of the pool: its first item, and how many it has. */
struct gram {
    int64_t first, length;
};

struct params {
    enum mode mode;
    int64_t shortest, longest, max_skip, width; /* width: of the output */
    int64_t n_grams;
    struct gram *grams;
    int64_t n_slots; /* a power of two */
    int64_t *slots; /* gram number + 1, 0: free */
    const int64_t *numbers; /* pool, one of the two */
    const struct sc_string *strings;
    const int64_t *indexes;
    const float *weights; /* NULL: ones */
};

/* One item of the pool or of the input. */
struct item {
    const void *data;
    size_t bytes;
};

static struct item pool_item(const struct params *p, int64_t i)
{
    return p->strings ? (struct item){p->strings[i].data, p->strings[i].bytes}
                      : (struct item){&p->numbers[i], sizeof(int64_t)};
}

static uint64_t mix(uint64_t hash, struct item item)
{
    const unsigned char *bytes = item.data;
    for (size_t i = 0; i < item.bytes; i++) { /* FNV-1a */
        hash = (hash ^ bytes[i]) * 1099511628211ULL;
    }
    return (hash ^ item.bytes) * 1099511628211ULL;
}

static bool same(struct item a, struct item b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

static enum sc_status add_grams(const struct sc_graph *graph, const struct sc_node *node, struct params *p,
    struct sc_arena *arena, int64_t pool, struct sc_ints counts)
{
    p->grams = sc_arena_array(arena, (size_t)pool + 1, sizeof(*p->grams));
    p->n_slots = 16;
    while (p->n_slots < 2 * pool) {
        p->n_slots *= 2;
    }
    p->slots = sc_arena_array(arena, (size_t)p->n_slots, sizeof(*p->slots));
    if (!p->grams || !p->slots) {
        return SC_NO_MEMORY;
    }
    for (int64_t length = 1; length <= counts.n; length++) {
        const int64_t first = counts.values[length - 1];
        const int64_t end = length < counts.n ? counts.values[length] : pool;
        if (first < 0 || first > end || end > pool || (end - first) % length != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "ngram_counts puts %lld-grams at %lld to %lld of %lld",
                (long long)length, (long long)first, (long long)end, (long long)pool);
        }
        for (int64_t at = first; at < end; at += length) {
            uint64_t hash = 0;
            for (int64_t i = 0; i < length; i++) {
                hash = mix(hash, pool_item(p, at + i));
            }
            int64_t slot = (int64_t)(hash & (uint64_t)(p->n_slots - 1));
            while (p->slots[slot]) {
                slot = (slot + 1) & (p->n_slots - 1);
            }
            p->grams[p->n_grams] = (struct gram){at, length};
            p->slots[slot] = ++p->n_grams;
        }
    }
    return SC_OK;
}

static enum sc_status read_indexes(
    const struct sc_graph *graph, const struct sc_node *node, struct params *p, struct sc_ints indexes)
{
    int n_weights;
    SC_TRY(sc_node_floats(node, "weights", &n_weights, &p->weights));
    if (indexes.n < p->n_grams || (n_weights >= 0 && n_weights < p->n_grams)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "%d ngram_indexes and %d weights for %lld grams", indexes.n,
            n_weights, (long long)p->n_grams);
    }
    p->indexes = indexes.values;
    for (int i = 0; i < indexes.n; i++) {
        if (indexes.values[i] < 0 || indexes.values[i] >= (int64_t)1 << 40) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "ngram_indexes has the entry %lld, want 0 to 2^40",
                (long long)indexes.values[i]);
        }
        p->width = indexes.values[i] >= p->width ? indexes.values[i] + 1 : p->width;
    }
    return SC_OK;
}

static enum sc_status params_tfidf(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const char *mode;
    struct sc_ints counts, indexes, numbers;
    SC_TRY(sc_node_text(node, "mode", "", &mode));
    p->mode = strcmp(mode, "TF") == 0 ? TF : strcmp(mode, "IDF") == 0 ? IDF : TFIDF;
    SC_TRY(sc_node_int(node, "min_gram_length", 1, &p->shortest));
    SC_TRY(sc_node_int(node, "max_gram_length", 1, &p->longest));
    SC_TRY(sc_node_int(node, "max_skip_count", 0, &p->max_skip));
    SC_TRY(sc_node_ints(node, "ngram_counts", &counts.n, &counts.values));
    SC_TRY(sc_node_ints(node, "ngram_indexes", &indexes.n, &indexes.values));
    SC_TRY(sc_node_ints(node, "pool_int64s", &numbers.n, &numbers.values));
    const struct sc_attribute *strings = sc_node_attribute(node, "pool_strings");
    const bool has_strings = strings && strings->type == SC_ATTRIBUTE_STRINGS;
    if (p->mode == TFIDF && strcmp(mode, "TFIDF") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s', want TF, IDF or TFIDF", mode);
    }
    if (p->shortest < 1 || p->longest < p->shortest || p->max_skip < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "grams have %lld to %lld items and skips up to %lld, want 1 or more in order, and 0 or more",
            (long long)p->shortest, (long long)p->longest, (long long)p->max_skip);
    }
    if (counts.n < 1 || has_strings == (numbers.n >= 0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "has %s of 'pool_strings' and 'pool_int64s' and %d ngram_counts, want one of each",
            has_strings ? "both" : "none", counts.n < 0 ? 0 : counts.n);
    }
    p->numbers = numbers.values;
    p->strings = has_strings ? strings->u.strings : NULL;
    p->longest = p->longest < counts.n ? p->longest : counts.n; /* the pool has no longer ones */
    SC_TRY(add_grams(graph, node, p, arena, has_strings ? strings->n : numbers.n, counts));
    return read_indexes(graph, node, p, indexes);
}

static enum sc_status infer_tfidf(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    if (x->type != SC_TYPE_NONE && (x->type == SC_STRING) != (p->strings != NULL)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input and the pool are of different kinds");
    }
    if (x->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), SC_F32);
        return SC_OK;
    }
    if (x->rank < 1 || x->rank > 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank %d, want 1 or 2", x->rank);
    }
    const int64_t dims[2] = {x->rank == 2 ? x->dims[0] : p->width, p->width};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_F32, x->rank, dims);
    }
    return SC_OK;
}

struct row {
    const struct params *p;
    const int64_t *numbers;
    const struct sc_string *strings;
    int64_t n;
    float *counts;
};

static struct item row_item(const struct row *row, int64_t i)
{
    return row->strings ? (struct item){row->strings[i].data, row->strings[i].bytes}
                        : (struct item){&row->numbers[i], sizeof(int64_t)};
}

static bool is_gram(const struct row *row, const struct gram *gram, int64_t first, int64_t step, int64_t length)
{
    bool equal = gram->length == length;
    for (int64_t i = 0; equal && i < length; i++) {
        equal = same(pool_item(row->p, gram->first + i), row_item(row, first + i * step));
    }
    return equal;
}

/* Counts every gram of the pool that begins at `first`. */
static void count_from(const struct row *row, int64_t first, int64_t step)
{
    const struct params *p = row->p;
    uint64_t hash = 0;
    for (int64_t length = 1; length <= p->longest && first + (length - 1) * step < row->n; length++) {
        hash = mix(hash, row_item(row, first + (length - 1) * step));
        if (length < p->shortest || (length == 1 && step > 1)) { /* one item has no skips: counted once */
            continue;
        }
        int64_t slot = (int64_t)(hash & (uint64_t)(p->n_slots - 1));
        while (p->slots[slot]) {
            const int64_t gram = p->slots[slot] - 1;
            if (is_gram(row, &p->grams[gram], first, step, length)) {
                row->counts[gram] += 1.0F;
                break;
            }
            slot = (slot + 1) & (p->n_slots - 1);
        }
    }
}

/* Scratch: counts of the pool's grams, and the row as i64. */
static size_t scratch_tfidf(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int64_t n = x->rank > 0 ? x->dims[x->rank - 1] : 0;
    return (size_t)n * sizeof(int64_t) + (size_t)p->n_grams * sizeof(float);
}

static void run_tfidf(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    float *y = sc_call_out(call, 0)->data;
    const int64_t n = x->dims[x->rank - 1];
    const int64_t rows = x->rank == 2 ? x->dims[0] : 1;
    int64_t *numbers = call->scratch;
    memset(y, 0, sc_tensor_bytes(sc_call_out(call, 0)));
    for (int64_t r = 0; r < rows; r++) {
        const void *from = sc_const_at(x->data, r * n, sc_type_bytes(x->type));
        struct row row = {.p = p, .numbers = numbers, .n = n, .counts = (float *)(void *)(numbers + n)};
        if (p->strings) {
            row.strings = from;
        } else {
            sc_convert(x->type, from, SC_I64, numbers, n, 0);
        }
        memset(row.counts, 0, (size_t)p->n_grams * sizeof(float));
        for (int64_t skip = 0; skip <= p->max_skip && skip < (n > 0 ? n : 1); skip++) {
            for (int64_t first = 0; first < n; first++) {
                count_from(&row, first, skip + 1);
            }
        }
        for (int64_t g = 0; g < p->n_grams; g++) {
            const float weight = p->weights && p->mode != TF ? p->weights[g] : 1.0F;
            const float count = p->mode == IDF && row.counts[g] > 0.0F ? 1.0F : row.counts[g];
            y[r * p->width + p->indexes[g]] += count * weight;
        }
    }
}

const struct sc_op sc_ops_text_tfidf[] = {
    {.domain = "",
        .name = "TfIdfVectorizer",
        .since = 9,
        .flags = SC_OP_PURE,
        .params = params_tfidf,
        .infer = infer_tfidf,
        .scratch = scratch_tfidf,
        .run = run_tfidf},
    {.name = NULL},
};
