/* SPDX-License-Identifier: Apache-2.0
 * Digits by libc, in both directions. */
#include "ops/math/number_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/convert.h"

#define NUMBER_TEXT 400 /* longest text that is read as a number; the largest double has 309 digits */

/* A text as a number of one of three types: an integer where it is one that fits, else a double. */
struct number {
    enum sc_type type;
    union {
        int64_t i;
        uint64_t u;
        double real;
    } is;
};

/* False when it is no number. */
static bool read_number(const struct sc_string *text, struct number *number)
{
    char buffer[NUMBER_TEXT];
    if (text->bytes == 0 || text->bytes >= sizeof buffer || memchr(text->data, 0, text->bytes)) {
        return false;
    }
    memcpy(buffer, text->data, text->bytes);
    buffer[text->bytes] = 0;
    char *end;
    errno = 0;
    number->type = SC_I64;
    number->is.i = strtoll(buffer, &end, 10);
    if (*end == 0 && errno == ERANGE && number->is.i > 0) {
        errno = 0;
        number->type = SC_U64;
        number->is.u = strtoull(buffer, &end, 10);
    }
    if (*end == 0 && errno == 0 && !(number->is.u == 0 && buffer[0] == '-')) { /* -0 has its sign in a double */
        return true;
    }
    number->type = SC_F64;
    number->is.real = strtod(buffer, &end); /* knows inf and nan in any case */
    return *end == 0;
}

/* A text has no bytes of its own kind to go through sc_convert: it goes by way of a number. */
bool sc_text_to_number(const struct sc_string *text, enum sc_type to, void *out, unsigned flags)
{
    struct number number;
    if (!read_number(text, &number)) {
        return false;
    }
    sc_convert(number.type, &number.is, to, out, 1, flags);
    return true;
}

/* Shortest digits that read back as the same element, positional between 1e-4 and 1e16, like numpy's str. */
static int write_real(enum sc_type type, const void *element, char *text)
{
    double value, back;
    sc_convert(type, element, SC_F64, &value, 1, 0);
    if (isnan(value)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, "NaN");
    }
    if (isinf(value)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, value > 0 ? "INF" : "-INF");
    }
    int digits = 1;
    for (; digits < 17; digits++) {
        _Alignas(8) char narrow[8];
        snprintf(text, SC_NUMBER_TEXT_BYTES, "%.*e", digits - 1, value);
        back = strtod(text, NULL);
        sc_convert(SC_F64, &back, type, narrow, 1, SC_CONVERT_SATURATE);
        if (memcmp(narrow, element, sc_type_bytes(type)) == 0) {
            break;
        }
    }
    const double size = fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e16)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, "%.*e", digits - 1, value);
    }
    const int exponent = size == 0 ? 0 : (int)floor(log10(size));
    int places = digits - 1 - exponent;
    return snprintf(text, SC_NUMBER_TEXT_BYTES, "%.*f", places < 1 ? 1 : places, value);
}

int sc_number_to_text(enum sc_type type, const void *element, char *text)
{
    if (type == SC_U64) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, "%llu", (unsigned long long)*(const uint64_t *)element);
    }
    const bool whole =
        sc_type_is_int(type) || type == SC_BOOL || type == SC_U4 || type == SC_I4 || type == SC_U2 || type == SC_I2;
    if (!whole) {
        return write_real(type, element, text);
    }
    int64_t value;
    sc_convert(type, element, SC_I64, &value, 1, 0);
    return snprintf(text, SC_NUMBER_TEXT_BYTES, "%lld", (long long)value);
}
