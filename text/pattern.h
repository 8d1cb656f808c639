/* SPDX-License-Identifier: Apache-2.0
 * What steps of a tokenizer look for: a literal, a regular expression or a class of characters. */
#ifndef SC_TEXT_PATTERN_H
#define SC_TEXT_PATTERN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/regex.h"

/* One of the three is set: regex, is_member or literal. Zeros: none; release is safe on it. */
struct sc_pattern {
    struct sc_regex *regex;
    bool (*is_member)(uint32_t code); /* each character of the class is a match of its own */
    const char *literal; /* in the arena of its tokenizer */
    size_t literal_bytes;
};

/* A part of a text: parts follow each other without gaps. An empty part is always a match. */
struct sc_match {
    size_t start;
    size_t end;
    bool is_match;
};

/* Reads {"String": "..."} or {"Regex": "..."}. */
enum sc_status sc_pattern_read(const struct sc_json *node, struct sc_arena *arena, struct sc_pattern *pattern);
enum sc_status sc_pattern_literal(const char *text, size_t bytes, struct sc_arena *arena, struct sc_pattern *pattern);
void sc_pattern_release(struct sc_pattern *pattern);

/* Cuts valid UTF-8 into matches and what is between. */
enum sc_status sc_pattern_cut(const struct sc_pattern *pattern, const char *text, size_t bytes, struct sc_arena *arena,
    struct sc_match **parts, size_t *n_parts);

/* A copy of text with every match replaced. */
enum sc_status sc_pattern_replace(const struct sc_pattern *pattern, const char *text, size_t bytes, const char *content,
    size_t content_bytes, struct sc_arena *arena, const char **replaced, size_t *replaced_bytes);

#endif
