/* SPDX-License-Identifier: Apache-2.0
 * Numbers to numbers: Binarizer, Scaler, Normalizer, Imputer, FeatureVectorizer, ArrayFeatureExtractor. Features are
 * the last axis. In double, rounded once; Imputer and ArrayFeatureExtractor move elements. */
#include <math.h>
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum norm { MAX, L1, L2 };

struct params {
    float threshold, replaced_float;
    int64_t replaced_int;
    enum norm norm;
    int n_offsets, n_scales, n_floats, n_ints, n_dims; /* -1: absent */
    const float *offsets, *scales, *floats;
    const int64_t *ints, *dims;
};

static enum sc_status params_features(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    static const char *const norms[] = {"MAX", "L1", "L2"};
    const char *norm;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_float(node, "threshold", 0.0F, &p->threshold));
    SC_TRY(sc_node_float(node, "replaced_value_float", 0.0F, &p->replaced_float));
    SC_TRY(sc_node_int(node, "replaced_value_int64", 0, &p->replaced_int));
    SC_TRY(sc_node_floats(node, "offset", &p->n_offsets, &p->offsets));
    SC_TRY(sc_node_floats(node, "scale", &p->n_scales, &p->scales));
    SC_TRY(sc_node_floats(node, "imputed_value_floats", &p->n_floats, &p->floats));
    SC_TRY(sc_node_ints(node, "imputed_value_int64s", &p->n_ints, &p->ints));
    SC_TRY(sc_node_ints(node, "inputdimensions", &p->n_dims, &p->dims));
    SC_TRY(sc_node_text(node, "norm", "MAX", &norm));
    for (int i = MAX; i <= L2; i++) {
        if (strcmp(norm, norms[i]) == 0) {
            p->norm = (enum norm)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "norm is '%s', want MAX, L1 or L2", norm);
}

/* A list has an entry for each feature, or one for all. */
static enum sc_status check_list(const struct sc_infer *infer, const char *name, int n)
{
    const struct sc_fact *x = infer->in[0];
    const int64_t features = x->rank > 0 ? x->dims[x->rank - 1] : SC_DIM_UNKNOWN;
    return n <= 0 || n == 1 || features < 0 || features == n
        ? SC_OK
        : sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "'%s' has %d entries for %lld features", name, n,
              (long long)features);
}

static enum sc_status infer_float(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    if (x->rank == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank 0, and so no features");
    }
    SC_TRY(check_list(infer, "offset", p->n_offsets));
    SC_TRY(check_list(infer, "scale", p->n_scales));
    sc_infer_shape_of(infer, 0, x, SC_F32);
    return SC_OK;
}

static double entry(const float *list, int n, int64_t feature, double otherwise)
{
    return n <= 0 ? otherwise : (double)list[n == 1 ? 0 : feature];
}

static void run_scaler(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    const int64_t features = x->dims[x->rank - 1];
    for (int64_t i = 0; i < sc_tensor_count(x); i++) {
        const double offset = entry(p->offsets, p->n_offsets, i % features, 0.0);
        sc_number_put(y, i, (sc_number_at(x, i) - offset) * entry(p->scales, p->n_scales, i % features, 1.0));
    }
}

static void run_binarizer(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    for (int64_t i = 0; i < sc_tensor_count(x); i++) {
        sc_number_put(y, i, sc_number_at(x, i) > (double)p->threshold ? 1.0 : 0.0);
    }
}

/* What a row is divided by: its largest element, the sum of their sizes, or the root of their squares' sum. */
static double divisor(const double *row, int64_t features, enum norm norm)
{
    double most = -INFINITY, sum = 0.0;
    for (int64_t f = 0; f < features && norm == MAX; f++) {
        most = row[f] > most || isnan(row[f]) ? row[f] : most;
    }
    for (int64_t f = 0; f < features && norm != MAX; f++) {
        sum += norm == L1 ? fabs(row[f]) : row[f] * row[f];
    }
    return norm == MAX ? most : norm == L1 ? sum : sqrt(sum);
}

static size_t scratch_normalizer(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    return (size_t)x->dims[x->rank - 1] * sizeof(double) * (size_t)sc_team_size(call->team);
}

static void normalize_row(void *arg, int64_t row, int worker)
{
    const struct sc_call *call = *(const struct sc_call **)arg;
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    const int64_t features = x->dims[x->rank - 1];
    double *wide = (double *)call->scratch + worker * features;
    sc_convert(x->type, sc_const_at(x->data, row * features, sc_type_bytes(x->type)), SC_F64, wide, features, 0);
    const double by = divisor(wide, features, p->norm);
    for (int64_t f = 0; f < features && by != 0.0; f++) {
        wide[f] /= by;
    }
    sc_convert(SC_F64, wide, SC_F32, (float *)y->data + row * features, features, 0);
}

static void run_normalizer(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int64_t count = sc_tensor_count(x);
    sc_team_for(call->team, count ? count / x->dims[x->rank - 1] : 0, normalize_row, &call);
}

static enum sc_status infer_imputer(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    const bool floats = sc_type_is_float(x->type);
    if (x->type != SC_TYPE_NONE && (floats ? p->n_floats : p->n_ints) <= 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "has no '%s' for X of type %s",
            floats ? "imputed_value_floats" : "imputed_value_int64s", sc_type_name(x->type));
    }
    if (x->rank == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank 0, and so no features");
    }
    SC_TRY(check_list(infer, "imputed_value_floats", floats ? p->n_floats : 0));
    SC_TRY(check_list(infer, "imputed_value_int64s", floats ? 0 : p->n_ints));
    return sc_infer_same(infer);
}

static void run_imputer(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    const int64_t features = x->dims[x->rank - 1];
    const size_t bytes = sc_type_bytes(x->type);
    sc_tensor_copy_dense(x, y->data);
    for (int64_t i = 0; i < sc_tensor_count(x); i++) {
        if (sc_type_is_float(x->type)) {
            const double v = sc_number_at(x, i), replaced = (double)p->replaced_float;
            if (v == replaced || (isnan(v) && isnan(replaced))) {
                sc_number_put(y, i, (double)p->floats[p->n_floats == 1 ? 0 : i % features]);
            }
        } else if (sc_index_at(x, i) == p->replaced_int) {
            sc_convert(SC_I64, &p->ints[p->n_ints == 1 ? 0 : i % features], x->type, sc_at(y->data, i, bytes), 1, 0);
        }
    }
}

/* How many features of input i the output has. A list is one row. */
static int64_t width_of(const struct params *p, int i, int rank, const int64_t *dims)
{
    return p->n_dims > 0 ? p->dims[i] : rank == 2 ? dims[1] : rank == 1 ? dims[0] : SC_DIM_UNKNOWN;
}

static enum sc_status infer_vectorizer(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, infer->n_in));
    if (p->n_dims > 0 && p->n_dims != infer->n_in) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "inputdimensions has %d entries for %d inputs",
            p->n_dims, infer->n_in);
    }
    int64_t dims[2] = {SC_DIM_UNKNOWN, 0};
    for (int i = 0; i < infer->n_in; i++) {
        const struct sc_fact *x = infer->in[i];
        if (x->rank >= 0 && x->rank != 1 && x->rank != 2) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "input %d has rank %d, want 1 or 2", i, x->rank);
        }
        const int64_t width = width_of(p, i, x->rank, x->dims);
        if (p->n_dims > 0 && (width < 0 || width > INT32_MAX)) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL,
                "inputdimensions has the entry %lld, want 0 to %d", (long long)width, INT32_MAX);
        }
        const int64_t rows = x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : SC_DIM_UNKNOWN;
        if (dims[0] >= 0 && rows >= 0 && rows != dims[0]) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d has %lld rows, want %lld", i,
                (long long)rows, (long long)dims[0]);
        }
        dims[0] = dims[0] < 0 ? rows : dims[0];
        dims[1] = dims[1] < 0 || width < 0 ? SC_DIM_UNKNOWN : dims[1] + width;
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_F32, 2, dims);
    }
    return SC_OK;
}

/* Inputs beside each other, cut or filled with zeros to their widths. */
static void run_vectorizer(const struct sc_call *call)
{
    const struct sc_tensor *y = sc_call_out(call, 0);
    const int64_t total = y->dims[1];
    int64_t at = 0;
    memset(y->data, 0, sc_tensor_bytes(y));
    for (int i = 0; i < call->n_in; i++) {
        const struct sc_tensor *x = sc_call_in(call, i);
        const int64_t width = width_of(call->params, i, x->rank, x->dims), have = x->dims[x->rank - 1];
        for (int64_t row = 0; row < y->dims[0]; row++) {
            sc_convert(x->type, sc_const_at(x->data, row * have, sc_type_bytes(x->type)), SC_F32,
                (float *)y->data + row * total + at, width < have ? width : have, 0);
        }
        at += width;
    }
}

static enum sc_status infer_extractor(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0], *places = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank 0, and so no features");
    }
    if (x->rank < 0 || !out) {
        return SC_OK;
    }
    int64_t dims[SC_MAX_RANK] = {1}; /* a list gives a matrix of one row */
    const int rank = x->rank == 1 ? 2 : x->rank;
    memcpy(dims, x->dims, (size_t)(x->rank - 1) * sizeof *dims);
    dims[rank - 1] = places->rank < 0 ? SC_DIM_UNKNOWN : sc_fact_product(places, 0, places->rank);
    sc_fact_tensor(out, x->type, rank, dims);
    return SC_OK;
}

static enum sc_status resolve_extractor(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0), *places = sc_call_in(call, 1);
    for (int64_t i = 0; i < sc_tensor_count(places); i++) {
        const int64_t place = sc_index_at(places, i);
        if (place < 0 || place >= x->dims[x->rank - 1]) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "Y has the index %lld, want one in [0, %lld)",
                (long long)place, (long long)x->dims[x->rank - 1]);
        }
    }
    return SC_OK;
}

static void run_extractor(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *places = sc_call_in(call, 1), *z = sc_call_out(call, 0);
    const int64_t n = sc_tensor_count(places), features = x->dims[x->rank - 1];
    const size_t bytes = sc_type_bytes(x->type);
    const int64_t rows = n ? sc_tensor_count(z) / n : 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = row * features + sc_index_at(places, i);
            sc_copy_element(sc_at(z->data, row * n + i, bytes), sc_const_at(x->data, from, bytes), bytes);
        }
    }
}

#define ROW(op, infer_, run_)                                                                                          \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = 1, .flags = SC_OP_PURE, .params = params_features,              \
        .infer = (infer_), .run = (run_)                                                                               \
    }

const struct sc_op sc_ops_ml_features[] = {
    {.domain = "ai.onnx.ml",
        .name = "ArrayFeatureExtractor",
        .since = 1,
        .flags = SC_OP_PURE,
        .infer = infer_extractor,
        .resolve = resolve_extractor,
        .run = run_extractor},
    ROW("Binarizer", sc_infer_same, run_binarizer),
    ROW("FeatureVectorizer", infer_vectorizer, run_vectorizer),
    ROW("Imputer", infer_imputer, run_imputer),
    {.domain = "ai.onnx.ml",
        .name = "Normalizer",
        .since = 1,
        .flags = SC_OP_PURE,
        .params = params_features,
        .infer = infer_float,
        .scratch = scratch_normalizer,
        .run = run_normalizer},
    ROW("Scaler", infer_float, run_scaler),
    {.name = NULL},
};
