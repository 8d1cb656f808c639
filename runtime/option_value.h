/* SPDX-License-Identifier: Apache-2.0
 * The value of an option: what may be given, and how it is read. For the command line and for the library. */
#ifndef SC_RUNTIME_OPTION_VALUE_H
#define SC_RUNTIME_OPTION_VALUE_H

#include "base/error.h"

enum sc_option_type {
    SC_OPTION_FLAG, /* given or not */
    SC_OPTION_SWITCH, /* --name or --no-name */
    SC_OPTION_INT, /* whole number in [minimum, maximum] */
    SC_OPTION_SIZE, /* bytes, with an optional K, M, G or T (powers of 1024) */
    SC_OPTION_REAL, /* finite number in [minimum, maximum] */
    SC_OPTION_TEXT,
    SC_OPTION_CHOICE, /* one of the words of `argument`, which '|' separates */
    SC_OPTION_LIST /* text, may be given again */
};

struct sc_option_domain {
    enum sc_option_type type;
    const char *argument; /* what help calls it; the words of a choice; NULL for flags and switches */
    double minimum, maximum;
};

struct sc_option_read {
    int64_t integer; /* int, size; index of a choice */
    double real;
    const char *text; /* as given */
};

/* Reads `text`. Fails with SC_BAD_USAGE and one line that names the option as `name` and the value. */
enum sc_status sc_option_read(
    const struct sc_option_domain *domain, const char *name, const char *text, struct sc_option_read *value);

#endif
