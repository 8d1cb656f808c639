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

/* 17 digits of a size: d.ddd... times 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
};

static void read_decimal(double value, struct decimal *decimal)
{
    char text[SC_NUMBER_TEXT_BYTES];
    snprintf(text, sizeof text, "%.16e", fabs(value));
    *decimal = (struct decimal){0, 0};
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            decimal->digits = 10 * decimal->digits + (uint64_t)(*at - '0');
        }
    }
    decimal->exponent = (int)strtol(at + 1, NULL, 10);
}

/* The value in n digits as strtod reads it. Numbers below 2^53 and powers of ten up to 22 are exact, and one product or
 * quotient of them is rounded once; what lies in the middle between two texts, as far as 17 digits tell, and the rest,
 * are written and read. */
static double in_digits(double value, const struct decimal *decimal, int n)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const uint64_t unit = (uint64_t)tens[17 - n], rest = decimal->digits % unit;
    const int exponent = decimal->exponent - (n - 1);
    if (n > 15 || 2 * rest == unit || exponent < -22 || exponent > 22) {
        char text[SC_NUMBER_TEXT_BYTES];
        snprintf(text, sizeof text, "%.*e", n - 1, value);
        return strtod(text, NULL);
    }
    const uint64_t whole = decimal->digits / unit + (2 * rest > unit);
    const double digits = (double)whole;
    return copysign(exponent < 0 ? digits / tens[-exponent] : digits * tens[exponent], value);
}

static bool reads_back(enum sc_type type, const void *element, double value, const struct decimal *decimal, int digits)
{
    _Alignas(8) char narrow[8];
    const double back = in_digits(value, decimal, digits);
    sc_convert(SC_F64, &back, type, narrow, 1, SC_CONVERT_SATURATE);
    return memcmp(narrow, element, sc_type_bytes(type)) == 0;
}

/* Shortest digits that read back as the same element, positional between 1e-4 and 1e16, like numpy's str. */
static int write_real(enum sc_type type, const void *element, char *text)
{
    double value;
    sc_convert(type, element, SC_F64, &value, 1, 0);
    if (isnan(value)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, "NaN");
    }
    if (isinf(value)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, value > 0 ? "INF" : "-INF");
    }
    struct decimal decimal;
    read_decimal(value, &decimal);
    int fewest = 1, enough = type == SC_F64 ? 17 : 9; /* what reads back in n digits does in more */
    while (fewest < enough) {
        const int digits = (fewest + enough) / 2;
        if (reads_back(type, element, value, &decimal, digits)) {
            enough = digits;
        } else {
            fewest = digits + 1;
        }
    }
    const double size = fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e16)) {
        return snprintf(text, SC_NUMBER_TEXT_BYTES, "%.*e", enough - 1, value);
    }
    const int places = enough - 1 - decimal.exponent;
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
