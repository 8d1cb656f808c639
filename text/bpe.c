/* SPDX-License-Identifier: Apache-2.0
 * The symbols of a word are a linked list in an array; a heap holds the pairs that can merge, the lowest rank and then
 * the leftmost first. Pairs in the heap are not removed when a neighbour changes: they are checked when they come up.
 * Source: Word::merge_all of Hugging Face's tokenizers 0.23. */
#include "text/bpe.h"

#include <string.h>

#include "base/unicode.h"
#include "text/bpe_merges.h"

/* dead: id < 0. next and previous are -1 at the ends. */
struct symbol {
    int32_t id;
    int32_t previous;
    int32_t next;
};

struct candidate {
    int32_t rank;
    int32_t at; /* index of the left symbol */
    int32_t merged;
};

struct word {
    struct symbol *symbols;
    int32_t n;
    struct candidate *heap;
    size_t n_heap;
};

enum { MAX_WORD = 1 << 28 }; /* indices are 32-bit, and so is three times this */

static bool comes_before(struct candidate a, struct candidate b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void push(struct word *word, struct candidate candidate)
{
    size_t at = word->n_heap++;
    while (at > 0 && comes_before(candidate, word->heap[(at - 1) / 2])) {
        word->heap[at] = word->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    word->heap[at] = candidate;
}

static struct candidate pop(struct word *word)
{
    const struct candidate first = word->heap[0];
    const struct candidate moved = word->heap[--word->n_heap];
    size_t at = 0;
    for (size_t child = 1; child < word->n_heap; child = 2 * at + 1) {
        if (child + 1 < word->n_heap && comes_before(word->heap[child + 1], word->heap[child])) {
            child++;
        }
        if (!comes_before(word->heap[child], moved)) {
            break;
        }
        word->heap[at] = word->heap[child];
        at = child;
    }
    word->heap[at] = moved;
    return first;
}

static void push_pair(const struct sc_bpe *bpe, struct word *word, int32_t left)
{
    const int32_t right = word->symbols[left].next;
    struct sc_merge merge;
    if (right >= 0 && sc_merge_find(bpe, word->symbols[left].id, word->symbols[right].id, &merge)) {
        push(word, (struct candidate){.rank = merge.rank, .at = left, .merged = merge.id});
    }
}

static void merge_all(const struct sc_bpe *bpe, struct word *word)
{
    for (int32_t i = 0; i + 1 < word->n; i++) {
        push_pair(bpe, word, i);
    }
    while (word->n_heap > 0) {
        const struct candidate top = pop(word);
        struct symbol *const left = &word->symbols[top.at];
        if (left->id < 0 || left->next < 0) {
            continue;
        }
        struct symbol *const right = &word->symbols[left->next];
        struct sc_merge merge;
        if (!sc_merge_find(bpe, left->id, right->id, &merge) || merge.id != top.merged) {
            continue; /* a neighbour was merged away meanwhile */
        }
        left->id = top.merged;
        left->next = right->next;
        right->id = -1;
        if (left->next >= 0) {
            word->symbols[left->next].previous = top.at;
        }
        if (left->previous >= 0) {
            push_pair(bpe, word, left->previous);
        }
        push_pair(bpe, word, top.at);
    }
}

static void add_symbol(struct word *word, int64_t id)
{
    const int32_t at = word->n++;
    word->symbols[at] = (struct symbol){.id = (int32_t)id, .previous = at - 1, .next = -1};
    if (at > 0) {
        word->symbols[at - 1].next = at;
    }
}

/* Adds the <0xHH> tokens of a symbol, if all exist. */
static bool add_bytes(const struct sc_bpe *bpe, struct word *word, const char *symbol, size_t bytes)
{
    static const char hex[] = "0123456789ABCDEF";
    const int32_t n_before = word->n;
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)symbol[i];
        const char name[6] = {'<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>'};
        const int64_t id = sc_vocabulary_find(bpe->vocabulary, name, sizeof name);
        if (id < 0) {
            word->n = n_before;
            if (n_before > 0) {
                word->symbols[n_before - 1].next = -1;
            }
            return false;
        }
        add_symbol(word, id);
    }
    return true;
}

/* A symbol of the word with prefix and suffix around it. `room` has space for all three. */
static const char *spell_symbol(
    const struct sc_bpe *bpe, const char *text, size_t *bytes, bool first, bool last, char *room)
{
    const size_t n_prefix = first ? 0 : bpe->prefix_bytes;
    const size_t n_suffix = last ? bpe->suffix_bytes : 0;
    if (n_prefix + n_suffix == 0) {
        return text;
    }
    memcpy(room, n_prefix == 0 ? "" : bpe->prefix, n_prefix);
    memcpy(room + n_prefix, text, *bytes);
    memcpy(room + n_prefix + *bytes, n_suffix == 0 ? "" : bpe->suffix, n_suffix);
    *bytes += n_prefix + n_suffix;
    return room;
}

/* The order in which unknown tokens come out beside byte tokens, odd as it is, is that of the source. */
static enum sc_status split_word(
    const struct sc_bpe *bpe, struct word *word, const char *text, size_t bytes, char *room)
{
    int n_pending = 0; /* unknown tokens not yet added */
    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        const size_t length = sc_utf8_decode(text + at, &code);
        size_t n = length;
        const char *const symbol = spell_symbol(bpe, text + at, &n, at == 0, at + length == bytes, room);
        at += length;
        const int64_t id = sc_vocabulary_find(bpe->vocabulary, symbol, n);
        if (id >= 0) {
            if (n_pending != 0) {
                add_symbol(word, bpe->unknown);
                n_pending = 0;
            }
            add_symbol(word, id);
        } else if (bpe->byte_fallback && add_bytes(bpe, word, symbol, n)) {
            continue;
        } else if (bpe->unknown == -2) {
            return sc_fail(SC_BAD_MODEL, "a character has no token, and the token for such is not in the vocabulary");
        } else if (bpe->unknown >= 0) {
            if (n_pending != 0 && !bpe->fuses_unknown) {
                add_symbol(word, bpe->unknown);
            }
            n_pending = 1;
        }
    }
    if (n_pending != 0) {
        add_symbol(word, bpe->unknown);
    }
    return SC_OK;
}

enum sc_status sc_bpe_encode(struct sc_bpe *bpe, const char *word, size_t bytes, const int32_t **ids, size_t *n_ids)
{
    sc_arena_reset(&bpe->scratch);
    /* By fallback every byte may become a symbol, those of a prefix and suffix too. */
    const size_t n_around = bpe->prefix_bytes + bpe->suffix_bytes;
    const size_t n_each = bpe->byte_fallback ? n_around + 1 : 1;
    if (bytes > MAX_WORD / n_each) {
        return sc_fail(SC_LIMIT, "a word of %zu bytes, at most %zu are supported", bytes, MAX_WORD / n_each);
    }
    const size_t n_most = bytes * n_each;
    struct word work = {0};
    int32_t *const out = sc_arena_array(&bpe->scratch, n_most + 1, sizeof *out);
    if (out == NULL) {
        return SC_NO_MEMORY;
    }
    *ids = out;
    const int64_t whole = bpe->ignores_merges ? sc_vocabulary_find(bpe->vocabulary, word, bytes) : -1;
    if (whole >= 0) {
        out[0] = (int32_t)whole;
        *n_ids = 1;
        return SC_OK;
    }
    char *const room = sc_arena_alloc(&bpe->scratch, n_around + 8);
    work.symbols = sc_arena_array(&bpe->scratch, n_most + 1, sizeof *work.symbols);
    /* Each pair of neighbours once, and two more for each merge. */
    work.heap = sc_arena_array(&bpe->scratch, 3 * n_most + 1, sizeof *work.heap);
    if (room == NULL || work.symbols == NULL || work.heap == NULL) {
        return SC_NO_MEMORY;
    }
    SC_TRY(split_word(bpe, &work, word, bytes, room));
    merge_all(bpe, &work);
    size_t n = 0;
    for (int32_t i = 0; i < work.n; i++) {
        if (work.symbols[i].id >= 0) {
            out[n++] = work.symbols[i].id;
        }
    }
    *n_ids = n;
    return SC_OK;
}
