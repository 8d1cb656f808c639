/* SPDX-License-Identifier: Apache-2.0
 * RE2's syntax, which is less than PCRE2's. */
#ifndef SC_BASE_REGEX_RE2_H
#define SC_BASE_REGEX_RE2_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* SC_BAD_INPUT, with a word, where the pattern has what PCRE2 would take and RE2 refuses or reads otherwise: references
 * to groups, looking around, repetitions that give nothing back or are over 1000, letters after a backslash that RE2
 * lacks (\v among them, which PCRE2 takes for more than one character). Patterns that are no regular expression may
 * pass. */
enum sc_status sc_regex_re2_check(const char *pattern, size_t bytes);

#endif
