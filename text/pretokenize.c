/* SPDX-License-Identifier: Apache-2.0
 * Every kind is at most three things in this order: a prefix or replacement, a cut by a pattern with one of five
 * behaviours, and the spelling of bytes. A row of the table says how a step of the file is read into them. */
#include "text/pretokenize.h"

#include <string.h>

#include "base/unicode.h"
#include "text/bytelevel.h"
#include "text/pattern.h"
#include "text/steps.h"

enum behavior { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };

enum prefix { PREFIX_NEVER, PREFIX_ALWAYS, PREFIX_FIRST };

struct sc_pretokenize_step {
    bool replaces_spaces; /* Metaspace: ' ' becomes `mark` */
    enum prefix prefix; /* put `mark` before a text that does not begin with it */
    const char *mark;
    size_t mark_bytes;
    bool cuts;
    struct sc_pattern pattern;
    bool inverts; /* what lies between matches counts as match */
    enum behavior behavior;
    bool spells_bytes;
};

static const char gpt2_words[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* Words of Rust's regex crate, whose \w has Join_Control. */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}"
static const char rust_words[] = "[" WORD "]+|[^" WORD "\\s]+";

/* The list of steps that is being read. */
struct reader {
    struct sc_arena *arena;
    struct sc_pretokenizer *pretokenizer;
};

enum { MAX_STEPS = 64 };

static enum sc_status add_step(const struct reader *reader, struct sc_pretokenize_step **step)
{
    struct sc_pretokenizer *const pretokenizer = reader->pretokenizer;
    if (pretokenizer->n_steps == MAX_STEPS) {
        return sc_fail(SC_UNSUPPORTED, "more than %d pre-tokenizers", MAX_STEPS);
    }
    *step = &pretokenizer->steps[pretokenizer->n_steps++];
    return SC_OK;
}

static enum sc_status add_class(const struct reader *reader, bool (*is_member)(uint32_t code), enum behavior behavior)
{
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    step->cuts = true;
    step->pattern.is_member = is_member;
    step->behavior = behavior;
    return SC_OK;
}

static enum sc_status read_behavior(const struct sc_json *node, const char *type, enum behavior *behavior)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const char *const name = sc_json_text(sc_json_get(node, "behavior"), NULL);
    for (int i = 0; name != NULL && i <= CONTIGUOUS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *behavior = (enum behavior)i;
            return SC_OK;
        }
    }
    return sc_fail(SC_BAD_MODEL, "pre-tokenizer %s: behavior '%.40s' is unknown", type, name == NULL ? "" : name);
}

static enum sc_status read_bytelevel(const struct reader *reader, const struct sc_json *node)
{
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    step->mark = " ";
    step->mark_bytes = 1;
    step->prefix = sc_json_bool(sc_json_get(node, "add_prefix_space"), true) ? PREFIX_ALWAYS : PREFIX_NEVER;
    step->cuts = sc_json_bool(sc_json_get(node, "use_regex"), true);
    step->behavior = ISOLATED;
    step->spells_bytes = true;
    return step->cuts ? sc_regex_compile(gpt2_words, strlen(gpt2_words), SC_REGEX_ONIGURUMA, &step->pattern.regex)
                      : SC_OK;
}

static enum sc_status read_split(const struct reader *reader, const struct sc_json *node)
{
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    step->cuts = true;
    step->inverts = sc_json_bool(sc_json_get(node, "invert"), false);
    SC_TRY(read_behavior(node, "Split", &step->behavior));
    return sc_pattern_read(sc_json_get(node, "pattern"), reader->arena, &step->pattern);
}

static enum sc_status read_metaspace(const struct reader *reader, const struct sc_json *node)
{
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    const char *mark;
    size_t bytes;
    SC_TRY(sc_step_text(node, "pre-tokenizer Metaspace", "replacement", &mark, &bytes));
    SC_TRY(sc_pattern_literal(mark, bytes, reader->arena, &step->pattern));
    step->mark = step->pattern.literal;
    step->mark_bytes = bytes;
    step->replaces_spaces = true;
    const char *const scheme = sc_json_text(sc_json_get(node, "prepend_scheme"), NULL);
    if (scheme == NULL) {
        step->prefix = sc_json_bool(sc_json_get(node, "add_prefix_space"), true) ? PREFIX_ALWAYS : PREFIX_NEVER;
    } else if (strcmp(scheme, "always") == 0) {
        step->prefix = PREFIX_ALWAYS;
    } else if (strcmp(scheme, "first") == 0) {
        step->prefix = PREFIX_FIRST;
    } else if (strcmp(scheme, "never") != 0) {
        return sc_fail(SC_BAD_MODEL, "pre-tokenizer Metaspace: prepend_scheme '%.40s' is unknown", scheme);
    }
    step->cuts = sc_json_bool(sc_json_get(node, "split"), true);
    step->behavior = MERGED_WITH_NEXT;
    return SC_OK;
}

static enum sc_status read_digits(const struct reader *reader, const struct sc_json *node)
{
    const bool single = sc_json_bool(sc_json_get(node, "individual_digits"), false);
    return add_class(reader, sc_unicode_is_number, single ? ISOLATED : CONTIGUOUS);
}

static bool is_punctuation(uint32_t code)
{
    const bool ascii_symbol = code == '$' || code == '+' || code == '<' || code == '=' || code == '>' || code == '^' ||
        code == '`' || code == '|' || code == '~';
    return ascii_symbol || sc_unicode_is_punctuation(code);
}

static enum sc_status read_punctuation(const struct reader *reader, const struct sc_json *node)
{
    enum behavior behavior = ISOLATED;
    if (sc_json_get(node, "behavior") != NULL) {
        SC_TRY(read_behavior(node, "Punctuation", &behavior));
    }
    return add_class(reader, is_punctuation, behavior);
}

static enum sc_status read_whitespace(const struct reader *reader, const struct sc_json *node)
{
    (void)node;
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    step->cuts = true;
    step->inverts = true;
    step->behavior = REMOVED;
    return sc_regex_compile(rust_words, strlen(rust_words), SC_REGEX_ONIGURUMA, &step->pattern.regex);
}

static enum sc_status read_whitespace_split(const struct reader *reader, const struct sc_json *node)
{
    (void)node;
    return add_class(reader, sc_unicode_is_space, REMOVED);
}

static enum sc_status read_bert(const struct reader *reader, const struct sc_json *node)
{
    (void)node;
    SC_TRY(add_class(reader, sc_unicode_is_space, REMOVED));
    return add_class(reader, is_punctuation, ISOLATED);
}

static enum sc_status read_delimiter(const struct reader *reader, const struct sc_json *node)
{
    struct sc_pretokenize_step *step;
    SC_TRY(add_step(reader, &step));
    const char *text;
    size_t bytes;
    SC_TRY(sc_step_text(node, "pre-tokenizer CharDelimiterSplit", "delimiter", &text, &bytes));
    step->cuts = true;
    step->behavior = REMOVED;
    return sc_pattern_literal(text, bytes, reader->arena, &step->pattern);
}

static const struct kind {
    const char *type;
    enum sc_status (*read)(const struct reader *reader, const struct sc_json *node);
} kinds[] = {
    {"ByteLevel", read_bytelevel},
    {"Split", read_split},
    {"Metaspace", read_metaspace},
    {"Digits", read_digits},
    {"Punctuation", read_punctuation},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
    {"BertPreTokenizer", read_bert},
    {"CharDelimiterSplit", read_delimiter},
};

static enum sc_status read_step(void *arg, const char *type, const struct sc_json *node)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].read(arg, node);
        }
    }
    return sc_fail(SC_UNSUPPORTED, "pre-tokenizer '%.100s' is not supported", type);
}

enum sc_status sc_pretokenizer_read(
    const struct sc_json *node, struct sc_arena *arena, struct sc_pretokenizer *pretokenizer)
{
    pretokenizer->n_steps = 0;
    pretokenizer->steps = sc_arena_array(arena, MAX_STEPS, sizeof *pretokenizer->steps);
    if (pretokenizer->steps == NULL) {
        return SC_NO_MEMORY;
    }
    struct reader reader = {.arena = arena, .pretokenizer = pretokenizer};
    const struct sc_step_source source = {
        .what = "pre-tokenizer", .members = "pretokenizers", .read = read_step, .arg = &reader};
    return sc_steps_read(node, &source);
}

void sc_pretokenizer_release(struct sc_pretokenizer *pretokenizer)
{
    for (size_t i = 0; i < pretokenizer->n_steps; i++) {
        sc_pattern_release(&pretokenizer->steps[i].pattern);
    }
    *pretokenizer = (struct sc_pretokenizer){0};
}

/* Joins neighbours in place, as the behaviour says; returns how many parts are left. The rules, quirks included, are
 * those of NormalizedString::split: a match joins only a part that is no match. */
static size_t join_parts(struct sc_match *parts, size_t n, enum behavior behavior)
{
    if (behavior == REMOVED || behavior == ISOLATED || n == 0) {
        return n;
    }
    size_t n_joined = 0;
    bool previous = false;
    for (size_t i = 0; i < n; i++) {
        const struct sc_match part = parts[behavior == MERGED_WITH_NEXT ? n - 1 - i : i];
        const bool joins =
            n_joined > 0 && (behavior == CONTIGUOUS ? part.is_match == previous : part.is_match && !previous);
        previous = part.is_match;
        if (behavior == MERGED_WITH_NEXT) { /* from the end; the joined parts grow from the end of the array */
            if (joins) {
                parts[n - n_joined].start = part.start;
            } else {
                parts[n - ++n_joined] = part;
            }
        } else if (joins) {
            parts[n_joined - 1].end = part.end;
        } else {
            parts[n_joined++] = part;
        }
    }
    if (behavior == MERGED_WITH_NEXT) {
        memmove(parts, parts + (n - n_joined), n_joined * sizeof *parts);
    }
    return n_joined;
}

static enum sc_status cut(const struct sc_pretokenize_step *step, const struct sc_piece *piece, struct sc_pieces *words)
{
    struct sc_match *parts;
    size_t n;
    SC_TRY(sc_pattern_cut(&step->pattern, piece->text, piece->bytes, words->arena, &parts, &n));
    for (size_t i = 0; i < n; i++) {
        parts[i].is_match ^= step->inverts;
    }
    n = join_parts(parts, n, step->behavior);
    for (size_t i = 0; i < n; i++) {
        if (step->behavior == REMOVED && parts[i].is_match) {
            continue;
        }
        struct sc_piece word = *piece;
        word.text += parts[i].start;
        word.bytes = parts[i].end - parts[i].start;
        word.at_start = piece->at_start && parts[i].start == 0;
        SC_TRY(sc_pieces_add(words, word));
    }
    return SC_OK;
}

static enum sc_status put_prefix(const struct sc_pretokenize_step *step, struct sc_arena *arena, struct sc_piece *piece)
{
    const bool wanted = step->prefix == PREFIX_ALWAYS || (step->prefix == PREFIX_FIRST && piece->at_start);
    const size_t n = step->mark_bytes;
    if (!wanted || (piece->bytes >= n && memcmp(piece->text, step->mark, n) == 0)) {
        return SC_OK;
    }
    char *const joined = sc_arena_alloc(arena, n + piece->bytes + 1);
    if (joined == NULL) {
        return SC_NO_MEMORY;
    }
    memcpy(joined, step->mark, n);
    memcpy(joined + n, piece->text, piece->bytes);
    piece->text = joined;
    piece->bytes += n;
    return SC_OK;
}

static enum sc_status run_step(const struct sc_pretokenize_step *step, struct sc_piece piece, struct sc_pieces *words)
{
    if (step->replaces_spaces) {
        const struct sc_pattern space = {.literal = " ", .literal_bytes = 1};
        SC_TRY(sc_pattern_replace(
            &space, piece.text, piece.bytes, step->mark, step->mark_bytes, words->arena, &piece.text, &piece.bytes));
    }
    SC_TRY(put_prefix(step, words->arena, &piece));
    const size_t first = words->n;
    SC_TRY(step->cuts ? cut(step, &piece, words) : sc_pieces_add(words, piece));
    for (size_t i = first; step->spells_bytes && i < words->n; i++) {
        struct sc_piece *const word = &words->items[i];
        SC_TRY(sc_bytelevel_spell(word->text, word->bytes, words->arena, &word->text, &word->bytes));
    }
    return SC_OK;
}

enum sc_status sc_pretokenizer_run(const struct sc_pretokenizer *pretokenizer, struct sc_pieces *pieces)
{
    for (size_t i = 0; i < pretokenizer->n_steps; i++) {
        struct sc_pieces words = {.arena = pieces->arena};
        size_t total = 0;
        for (size_t k = 0; k < pieces->n; k++) {
            const struct sc_piece piece = pieces->items[k];
            total += piece.bytes;
            if (total > SC_MAX_TEXT) {
                return sc_fail(SC_LIMIT, "words of over %d bytes together", SC_MAX_TEXT);
            }
            SC_TRY(piece.id >= 0 ? sc_pieces_add(&words, piece) : run_step(&pretokenizer->steps[i], piece, &words));
        }
        *pieces = words;
    }
    return SC_OK;
}
