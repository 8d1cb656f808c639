/* SPDX-License-Identifier: Apache-2.0
 * Damage to bytes, messages and lines, drawn from a seed. */
#ifndef SC_TESTS_MUTATE_H
#define SC_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

struct sc_draw {
    uint64_t state;
};

uint64_t sc_draw(struct sc_draw *draw);
size_t sc_draw_below(struct sc_draw *draw, size_t n); /* 0 to n - 1; n at least 1 */

/* A number that is small, or at an edge of 32 or 64 bits. */
int64_t sc_draw_number(struct sc_draw *draw);

/* Each returns malloc'd bytes with a NUL behind them. */

/* Flips, cuts, inserts, repeats and overwrites ranges. */
unsigned char *sc_mutate_bytes(struct sc_draw *draw, const unsigned char *data, size_t bytes, size_t *n);

/* Changes, drops and repeats fields of a protobuf message at any depth; lengths around them stay right. */
unsigned char *sc_mutate_message(struct sc_draw *draw, const unsigned char *data, size_t bytes, size_t *n);

/* Drops, repeats and swaps lines, and replaces words by others of the text or by numbers. Words are parted by spaces
 * and by the characters of `marks`. */
char *sc_mutate_text(struct sc_draw *draw, const char *text, const char *marks);

/* Puts other values in the place of values and of keys, or deep nesting, or takes them away. It stays JSON, but for
 * values in the place of keys. */
char *sc_mutate_json(struct sc_draw *draw, const char *text);

/* A file of JSON, damaged in one of these ways. */
unsigned char *sc_mutate_json_file(struct sc_draw *draw, const char *text, size_t *n);

#endif
