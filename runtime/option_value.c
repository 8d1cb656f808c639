/* SPDX-License-Identifier: Apache-2.0
 * Reading the value of an option: all of the text counts, and it is in range or refused. */
#include "runtime/option_value.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static enum sc_status parse_int(
    const struct sc_option_domain *domain, const char *name, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (end == text || (domain->type == SC_OPTION_INT && *end)) {
        return sc_fail(SC_BAD_USAGE, "option '%s': '%s' is not a whole number", name, text);
    }
    bool huge = errno == ERANGE;
    if (*end) {
        static const char units[] = "KMGT";
        const char *unit = strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!unit || end[1]) {
            return sc_fail(SC_BAD_USAGE, "option '%s': '%s' is not a size such as 512M", name, text);
        }
        const int64_t factor = INT64_C(1) << 10 * (unit - units + 1);
        huge = huge || parsed > INT64_MAX / factor || parsed < -INT64_MAX / factor;
        parsed = huge ? parsed : parsed * factor;
    }
    if (huge || (double)parsed < domain->minimum || (double)parsed > domain->maximum) {
        return sc_fail(
            SC_BAD_USAGE, "option '%s': '%s' is not in %.0f to %.0f", name, text, domain->minimum, domain->maximum);
    }
    *value = parsed;
    return SC_OK;
}

static enum sc_status parse_real(
    const struct sc_option_domain *domain, const char *name, const char *text, double *value)
{
    char *end;
    const double parsed = strtod(text, &end);
    if (end == text || *end || isnan(parsed)) {
        return sc_fail(SC_BAD_USAGE, "option '%s': '%s' is not a number", name, text);
    }
    if (parsed < domain->minimum || parsed > domain->maximum) {
        return sc_fail(
            SC_BAD_USAGE, "option '%s': '%s' is not in %g to %g", name, text, domain->minimum, domain->maximum);
    }
    *value = parsed;
    return SC_OK;
}

static enum sc_status parse_choice(
    const struct sc_option_domain *domain, const char *name, const char *text, int64_t *index)
{
    int64_t i = 0;
    for (const char *at = domain->argument; *at; i++) {
        const size_t length = strcspn(at, "|");
        if (strlen(text) == length && memcmp(text, at, length) == 0) {
            *index = i;
            return SC_OK;
        }
        at += length + (at[length] == '|');
    }
    return sc_fail(SC_BAD_USAGE, "option '%s': '%s' is not one of %s", name, text, domain->argument);
}

enum sc_status sc_option_read(
    const struct sc_option_domain *domain, const char *name, const char *text, struct sc_option_read *value)
{
    value->text = text;
    switch (domain->type) {
    case SC_OPTION_INT:
    case SC_OPTION_SIZE:
        return parse_int(domain, name, text, &value->integer);
    case SC_OPTION_REAL:
        return parse_real(domain, name, text, &value->real);
    case SC_OPTION_CHOICE:
        return parse_choice(domain, name, text, &value->integer);
    case SC_OPTION_TEXT:
    case SC_OPTION_LIST:
    case SC_OPTION_FLAG:
    case SC_OPTION_SWITCH:
        break;
    }
    return SC_OK;
}
