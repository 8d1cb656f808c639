/* SPDX-License-Identifier: Apache-2.0
 * Reading the lists of steps of a tokenizer.json. */
#ifndef SC_TEXT_STEPS_H
#define SC_TEXT_STEPS_H

#include "base/json.h"

/* A step: {"type": "Kind", ...}. A Sequence is replaced by its members, however nested: the order is the same. */
struct sc_step_source {
    const char *what; /* "normalizer", ...: for messages */
    const char *members; /* the key under which a Sequence has its members */
    enum sc_status (*read)(void *arg, const char *type, const struct sc_json *step);
    void *arg;
};

/* Calls read for each step that is no Sequence. NULL and null: no steps. */
enum sc_status sc_steps_read(const struct sc_json *root, const struct sc_step_source *source);

/* The text under `key`, which must be there; `what` is for messages. */
enum sc_status sc_step_text(
    const struct sc_json *step, const char *what, const char *key, const char **text, size_t *bytes);

#endif
