/* SPDX-License-Identifier: Apache-2.0
 * Merges are stored by the ids of their pair in one open-addressing table. */
#include "text/bpe_merges.h"

#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

/* merge.rank < 0: a free slot */
struct sc_merge_slot {
    int32_t left;
    int32_t right;
    struct sc_merge merge;
};

enum { MAX_AFFIX = 32 };

static struct sc_merge_slot *find_slot(struct sc_merge_slot *slots, size_t n_slots, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    for (size_t i = h & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        struct sc_merge_slot *const slot = &slots[i];
        if (slot->merge.rank < 0 || (slot->left == left && slot->right == right)) {
            return slot;
        }
    }
}

bool sc_merge_find(const struct sc_bpe *bpe, int32_t left, int32_t right, struct sc_merge *merge)
{
    const struct sc_merge_slot *const slot = find_slot(bpe->merges, bpe->n_slots, left, right);
    *merge = slot->merge;
    return slot->merge.rank >= 0;
}

static enum sc_status make_table(struct sc_bpe *bpe, size_t n_merges)
{
    if (n_merges > INT32_MAX / 2) {
        return sc_fail(SC_BAD_MODEL, "%zu merges, at most %d are possible", n_merges, INT32_MAX / 2);
    }
    size_t n_slots = 16;
    while (n_slots < 2 * n_merges) {
        n_slots *= 2;
    }
    bpe->merges = malloc(n_slots * sizeof *bpe->merges);
    if (bpe->merges == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a table of %zu merges", n_merges);
    }
    bpe->n_slots = n_slots;
    memset(bpe->merges, 0xff, n_slots * sizeof *bpe->merges);
    return SC_OK;
}

struct half {
    const char *text;
    size_t bytes;
};

/* ["a", "b"], or "a b" as older files have it. */
static enum sc_status read_pair(const struct sc_json *node, size_t index, struct half *left, struct half *right)
{
    if (sc_json_is_array(node) && sc_json_size(node) == 2) {
        left->text = sc_json_text(sc_json_at(node, 0), &left->bytes);
        right->text = sc_json_text(sc_json_at(node, 1), &right->bytes);
        if (left->text != NULL && right->text != NULL) {
            return SC_OK;
        }
    }
    size_t bytes = 0;
    const char *const line = sc_json_text(node, &bytes);
    const char *const space = line == NULL ? NULL : memchr(line, ' ', bytes);
    if (space == NULL || memchr(space + 1, ' ', bytes - (size_t)(space + 1 - line)) != NULL) {
        return sc_fail(SC_BAD_MODEL, "merge %zu is not a pair of tokens", index);
    }
    *left = (struct half){.text = line, .bytes = (size_t)(space - line)};
    *right = (struct half){.text = space + 1, .bytes = bytes - left->bytes - 1};
    return SC_OK;
}

static enum sc_status find_part(const struct sc_bpe *bpe, size_t index, const char *text, size_t bytes, int32_t *id)
{
    const int64_t found = sc_vocabulary_find(bpe->vocabulary, text, bytes);
    if (found < 0) {
        return sc_fail(
            SC_BAD_MODEL, "merge %zu: '%.*s' is not in the vocabulary", index, (int)(bytes < 60 ? bytes : 60), text);
    }
    *id = (int32_t)found;
    return SC_OK;
}

static enum sc_status read_merge(
    struct sc_bpe *bpe, const struct sc_json *node, size_t index, int32_t rank, struct sc_arena *scratch)
{
    struct half left;
    struct half right;
    SC_TRY(read_pair(node, index, &left, &right));
    int32_t left_id;
    int32_t right_id;
    int32_t merged_id;
    SC_TRY(find_part(bpe, index, left.text, left.bytes, &left_id));
    SC_TRY(find_part(bpe, index, right.text, right.bytes, &right_id));
    /* The second half keeps its prefix only where it stands alone. */
    const size_t n_cut = bpe->prefix_bytes < right.bytes ? bpe->prefix_bytes : right.bytes;
    sc_arena_reset(scratch);
    char *const joined = sc_arena_alloc(scratch, left.bytes + right.bytes + 1);
    if (joined == NULL) {
        return SC_NO_MEMORY;
    }
    memcpy(joined, left.text, left.bytes);
    memcpy(joined + left.bytes, right.text + n_cut, right.bytes - n_cut);
    SC_TRY(find_part(bpe, index, joined, left.bytes + right.bytes - n_cut, &merged_id));
    /* Of a pair that is listed twice the later rank counts. */
    *find_slot(bpe->merges, bpe->n_slots, left_id, right_id) =
        (struct sc_merge_slot){.left = left_id, .right = right_id, .merge = {.rank = rank, .id = merged_id}};
    return SC_OK;
}

static enum sc_status read_merges(struct sc_bpe *bpe, const struct sc_json *list)
{
    static const char version[] = "#version";
    if (!sc_json_is_array(list)) {
        return sc_fail(SC_BAD_MODEL, "the BPE model has no list of merges");
    }
    const size_t n = sc_json_size(list);
    SC_TRY(make_table(bpe, n));
    struct sc_arena scratch = {0};
    enum sc_status status = SC_OK;
    int32_t rank = 0;
    for (size_t i = 0; status == SC_OK && i < n; i++) {
        const struct sc_json *const node = sc_json_at(list, i);
        const char *const line = sc_json_text(node, NULL);
        if (line == NULL || strncmp(line, version, sizeof version - 1) != 0) {
            status = read_merge(bpe, node, i, rank++, &scratch);
        }
    }
    sc_arena_release(&scratch);
    return status;
}

struct vocabulary_reader {
    struct sc_arena *arena;
    struct sc_vocabulary *vocabulary;
};

static enum sc_status read_token(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    const struct vocabulary_reader *const reader = arg;
    if (!sc_json_is_int(value)) {
        return sc_fail(SC_BAD_MODEL, "token '%.60s' has no number as id", key);
    }
    return sc_vocabulary_add(reader->vocabulary, reader->arena, key, key_bytes, sc_json_int(value, -1));
}

static enum sc_status read_affix(
    const struct sc_json *model, const char *key, struct sc_arena *arena, const char **affix, size_t *bytes)
{
    size_t n = 0;
    const char *const text = sc_json_text(sc_json_get(model, key), &n);
    if (text == NULL || n == 0) {
        return SC_OK;
    }
    if (n > MAX_AFFIX) {
        return sc_fail(SC_UNSUPPORTED, "%s of %zu bytes, at most %d are supported", key, n, MAX_AFFIX);
    }
    char *const copy = sc_arena_text(arena, text, n);
    if (copy == NULL) {
        return SC_NO_MEMORY;
    }
    *affix = copy;
    *bytes = n;
    return SC_OK;
}

static enum sc_status check_kind(const struct sc_json *model)
{
    /* Files before tokenizers 0.9 name no type: those with merges are BPE. */
    const char *type = sc_json_text(sc_json_get(model, "type"), NULL);
    if (type == NULL) {
        type = sc_json_is_array(sc_json_get(model, "merges")) ? "BPE" : "(none)";
    }
    if (strcmp(type, "BPE") != 0) {
        return sc_fail(SC_UNSUPPORTED, "tokenizer model '%.60s' is not supported, only BPE and Unigram are", type);
    }
    if (sc_json_real(sc_json_get(model, "dropout"), 0) != 0) {
        return sc_fail(SC_UNSUPPORTED, "BPE with dropout is not supported");
    }
    return SC_OK;
}

enum sc_status sc_bpe_read(
    const struct sc_json *model, struct sc_arena *arena, struct sc_vocabulary *vocabulary, struct sc_bpe *bpe)
{
    SC_TRY(check_kind(model));
    if (!sc_json_is_object(sc_json_get(model, "vocab"))) {
        return sc_fail(SC_BAD_MODEL, "the BPE model has no vocab");
    }
    struct vocabulary_reader reader = {.arena = arena, .vocabulary = vocabulary};
    SC_TRY(sc_json_each(sc_json_get(model, "vocab"), read_token, &reader));
    bpe->vocabulary = vocabulary;
    bpe->fuses_unknown = sc_json_bool(sc_json_get(model, "fuse_unk"), false);
    bpe->byte_fallback = sc_json_bool(sc_json_get(model, "byte_fallback"), false);
    bpe->ignores_merges = sc_json_bool(sc_json_get(model, "ignore_merges"), false);
    SC_TRY(read_affix(model, "continuing_subword_prefix", arena, &bpe->prefix, &bpe->prefix_bytes));
    SC_TRY(read_affix(model, "end_of_word_suffix", arena, &bpe->suffix, &bpe->suffix_bytes));
    bpe->unknown = -1;
    size_t bytes = 0;
    const char *const unknown = sc_json_text(sc_json_get(model, "unk_token"), &bytes);
    if (unknown != NULL) {
        bpe->unknown = sc_vocabulary_find(vocabulary, unknown, bytes);
        bpe->unknown = bpe->unknown < 0 ? -2 : bpe->unknown; /* byte-level models name one that they never need */
    }
    return read_merges(bpe, sc_json_get(model, "merges"));
}

void sc_bpe_release(struct sc_bpe *bpe)
{
    free(bpe->merges);
    sc_arena_release(&bpe->scratch);
    *bpe = (struct sc_bpe){0};
}
