/* SPDX-License-Identifier: Apache-2.0
 * Elements are compared as f64, those of 64-bit integers as integers. */
#include "launch/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/convert.h"

#define SC_COMPARE_DEPTH 8

enum { WINDOW = 512 }; /* numbers go through a small window of doubles */

struct sc_comparison {
    const char *what;
    const struct sc_tolerance *tolerance;
    const char *reference; /* "recorded was" */
};

static bool close_enough(double a, double r, const struct sc_tolerance *tolerance)
{
    if (isnan(a) || isnan(r)) {
        return isnan(a) && isnan(r);
    }
    if (isinf(a) || isinf(r)) { /* a tolerance relative to infinity would take anything */
        return a == r;
    }
    return fabs(a - r) <= tolerance->absolute + tolerance->relative * fabs(r);
}

static double largest_magnitude(enum sc_type type, const void *data, int64_t n)
{
    double window[WINDOW], largest = 0;
    for (int64_t at = 0; at < n; at += WINDOW) {
        const int64_t count = n - at < WINDOW ? n - at : WINDOW;
        sc_convert(type, (const char *)data + (size_t)at * sc_type_bytes(type), SC_F64, window, count, 0);
        for (int64_t i = 0; i < count; i++) {
            const double magnitude = fabs(window[i]);
            largest = isfinite(magnitude) && magnitude > largest ? magnitude : largest;
        }
    }
    return largest;
}

static enum sc_status compare_numbers(
    const struct sc_comparison *comparison, const struct sc_tensor *a, const struct sc_tensor *r)
{
    double da[WINDOW], dr[WINDOW];
    const bool complex = a->type == SC_C64 || a->type == SC_C128;
    const enum sc_type type = a->type == SC_C64 ? SC_F32 : a->type == SC_C128 ? SC_F64 : a->type;
    const int64_t n = sc_tensor_count(a) * (complex ? 2 : 1);
    const size_t width = sc_type_bytes(type);
    struct sc_tolerance tolerance = *comparison->tolerance;
    if (tolerance.of_largest > 0) {
        tolerance.absolute += tolerance.of_largest * largest_magnitude(type, r->data, n);
    }
    for (int64_t at = 0; at < n; at += WINDOW) {
        const int64_t count = n - at < WINDOW ? n - at : WINDOW;
        sc_convert(type, (const char *)a->data + (size_t)at * width, SC_F64, da, count, 0);
        sc_convert(type, (const char *)r->data + (size_t)at * width, SC_F64, dr, count, 0);
        for (int64_t i = 0; i < count; i++) {
            if (!close_enough(da[i], dr[i], &tolerance)) {
                return sc_fail(SC_BAD_INPUT, "%s: element %" PRId64 " is %.9g, %s %.9g", comparison->what, at + i,
                    da[i], comparison->reference, dr[i]);
            }
        }
    }
    return SC_OK;
}

static enum sc_status compare_exactly(
    const struct sc_comparison *comparison, const struct sc_tensor *a, const struct sc_tensor *r)
{
    const int64_t n = sc_tensor_count(a);
    const size_t width = sc_type_bytes(a->type);
    for (int64_t i = 0; i < n; i++) {
        if (a->type == SC_STRING) {
            const struct sc_string *x = (const struct sc_string *)a->data + i,
                                   *y = (const struct sc_string *)r->data + i;
            if (x->bytes != y->bytes || (x->bytes && memcmp(x->data, y->data, x->bytes) != 0)) {
                return sc_fail(SC_BAD_INPUT, "%s: element %" PRId64 " is \"%.*s\", %s \"%.*s\"", comparison->what, i,
                    (int)(x->bytes < 80 ? x->bytes : 80), x->data, comparison->reference,
                    (int)(y->bytes < 80 ? y->bytes : 80), y->data);
            }
        } else if (memcmp(
                       (const char *)a->data + (size_t)i * width, (const char *)r->data + (size_t)i * width, width)) {
            double x, y;
            sc_convert(a->type, (const char *)a->data + (size_t)i * width, SC_F64, &x, 1, 0);
            sc_convert(r->type, (const char *)r->data + (size_t)i * width, SC_F64, &y, 1, 0);
            return sc_fail(SC_BAD_INPUT, "%s: element %" PRId64 " is %.17g, %s %.17g", comparison->what, i, x,
                comparison->reference, y);
        }
    }
    return SC_OK;
}

static enum sc_status compare_tensors(
    const struct sc_comparison *comparison, const struct sc_tensor *a, const struct sc_tensor *r)
{
    char mine[128], recorded[128];
    if (a->type != r->type || a->rank != r->rank || !sc_dims_equal(a, r)) {
        sc_tensor_text(a, mine, sizeof mine);
        sc_tensor_text(r, recorded, sizeof recorded);
        return sc_fail(SC_BAD_INPUT, "%s: got %s, %s %s", comparison->what, mine, comparison->reference, recorded);
    }
    struct sc_arena passing = {0};
    struct sc_tensor plain = *r;
    enum sc_status status = SC_OK;
    if (r->storage == SC_STORAGE_PACKED) {
        status = sc_tensor_new(&passing, r->type, r->rank, r->dims, &plain);
        if (status == SC_OK) {
            sc_tensor_copy_dense(r, plain.data);
        }
    }
    const bool exact = a->type == SC_STRING || a->type == SC_BOOL || sc_type_is_int(a->type);
    if (status == SC_OK) {
        status = exact ? compare_exactly(comparison, a, &plain) : compare_numbers(comparison, a, &plain);
    }
    sc_arena_release(&passing);
    return status;
}

static enum sc_status compare(
    const struct sc_comparison *comparison, const struct sc_value *a, const struct sc_value *r, int depth);

static enum sc_status compare_items(
    const struct sc_comparison *comparison, const struct sc_value *a, const struct sc_value *r, int depth)
{
    if (a->u.sequence.n != r->u.sequence.n) {
        return sc_fail(SC_BAD_INPUT, "%s: a sequence of %" PRId64 " items, %s %" PRId64, comparison->what,
            a->u.sequence.n, comparison->reference, r->u.sequence.n);
    }
    for (int64_t i = 0; i < a->u.sequence.n; i++) {
        SC_TRY(compare(comparison, &a->u.sequence.items[i], &r->u.sequence.items[i], depth + 1));
    }
    return SC_OK;
}

static enum sc_status compare(
    const struct sc_comparison *comparison, const struct sc_value *a, const struct sc_value *r, int depth)
{
    static const char *const kinds[] = {"nothing", "a tensor", "a sequence", "an optional", "a map", "a state"};
    if (depth > SC_COMPARE_DEPTH) {
        return sc_fail(SC_LIMIT, "%s: values are nested too deep", comparison->what);
    }
    /* a tensor or sequence equals an optional that holds it */
    if (r->kind == SC_KIND_OPTIONAL && r->u.optional.item && a->kind != SC_KIND_OPTIONAL) {
        return compare(comparison, a, r->u.optional.item, depth + 1);
    }
    if (a->kind == SC_KIND_OPTIONAL && a->u.optional.item && r->kind != SC_KIND_OPTIONAL) {
        return compare(comparison, a->u.optional.item, r, depth + 1);
    }
    if (a->kind != r->kind) {
        return sc_fail(
            SC_BAD_INPUT, "%s: got %s, %s %s", comparison->what, kinds[a->kind], comparison->reference, kinds[r->kind]);
    }
    switch (a->kind) {
    case SC_KIND_TENSOR:
        return compare_tensors(comparison, &a->u.tensor, &r->u.tensor);
    case SC_KIND_SEQUENCE:
    case SC_KIND_MAP: /* its two columns */
        return compare_items(comparison, a, r, depth);
    case SC_KIND_OPTIONAL:
        if (!a->u.optional.item != !r->u.optional.item) {
            return sc_fail(SC_BAD_INPUT, "%s: one optional is empty, the other is not", comparison->what);
        }
        return a->u.optional.item ? compare(comparison, a->u.optional.item, r->u.optional.item, depth + 1) : SC_OK;
    default:
        return SC_OK;
    }
}

enum sc_status sc_compare_values(const char *what, const struct sc_value *value, const struct sc_value *reference,
    const struct sc_tolerance *tolerance)
{
    const struct sc_comparison comparison = {.what = what,
        .tolerance = tolerance,
        .reference = tolerance->reference ? tolerance->reference : "recorded was"};
    return compare(&comparison, value, reference, 0);
}
