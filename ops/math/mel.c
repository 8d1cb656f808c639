/* SPDX-License-Identifier: Apache-2.0
 * MelWeightMatrix: triangles over the bins of a spectrum, with their corners evenly spaced on the mel scale. */
#include <math.h>

#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { N_BANDS, DFT_LENGTH, SAMPLE_RATE, N_COUNTS };

struct params {
    enum sc_type type;
};

static enum sc_status params_mel(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_math_output_type(graph, node, &((struct params *)*params)->type);
}

static enum sc_status check_count(const struct sc_infer *infer, int i, int64_t *count)
{
    static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate"};
    const struct sc_tensor *value = infer->in[i]->value;
    *count = value && sc_tensor_count(value) == 1 ? sc_index_at(value, 0) : -1;
    if (value && *count < (i == SAMPLE_RATE ? 1 : 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s is not one number of %d or more", names[i],
            i == SAMPLE_RATE ? 1 : 0);
    }
    return SC_OK;
}

static enum sc_status infer_mel(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    int64_t counts[N_COUNTS];
    SC_TRY(sc_infer_needs(infer, 5));
    for (int i = 0; i < N_COUNTS; i++) {
        SC_TRY(check_count(infer, i, &counts[i]));
    }
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_rank(out, p->type, 2);
    if (out) {
        out->dims[0] = counts[DFT_LENGTH] < 0 ? SC_DIM_UNKNOWN : counts[DFT_LENGTH] / 2 + 1;
        out->dims[1] = counts[N_BANDS] < 0 ? SC_DIM_UNKNOWN : counts[N_BANDS];
    }
    return SC_OK;
}

static double number(const struct sc_call *call, int input)
{
    return sc_number_at(sc_call_in(call, input), 0);
}

static double to_mel(double hertz)
{
    return 2595.0 * log1p(hertz / 700.0) / log(10.0);
}

/* The bin of corner i of n_bands + 2. */
static double corner(const struct sc_call *call, int64_t i)
{
    const double low = to_mel(number(call, 3)), high = to_mel(number(call, 4));
    const double bands = number(call, N_BANDS);
    const double mel = (double)i * ((high - low) / (bands + 2.0)) + low;
    const double hertz = 700.0 * expm1(mel / 2595.0 * log(10.0));
    return floor((number(call, DFT_LENGTH) + 1.0) * hertz / number(call, SAMPLE_RATE));
}

static enum sc_status resolve_mel(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    for (int i = 3; i < 5; i++) {
        if (sc_tensor_count(sc_call_in(call, i)) != 1) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "an edge has %lld elements, want 1",
                (long long)sc_tensor_count(sc_call_in(call, i)));
        }
    }
    const double low = number(call, 3), high = number(call, 4);
    const double bins = floor(number(call, DFT_LENGTH) / 2.0) + 1.0;
    const double last = corner(call, (int64_t)number(call, N_BANDS) + 1);
    if (!(low >= 0.0) || !(high >= low) || !(last <= bins)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "edges at %g and %g hertz are not within a spectrum of %g bins, or not in order", low, high, bins);
    }
    return SC_OK;
}

static double triangle(double low, double center, double high, double bin)
{
    if (bin < low || (bin > center && bin >= high)) {
        return 0.0;
    }
    return bin == center ? 1.0 : bin < center ? (bin - low) / (center - low) : (high - bin) / (high - center);
}

static void run_mel(const struct sc_call *call)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    const int64_t n_bands = out->dims[1];
    for (int64_t band = 0; band < n_bands; band++) {
        const double low = corner(call, band), center = corner(call, band + 1), high = corner(call, band + 2);
        for (int64_t bin = 0; bin < out->dims[0]; bin++) {
            const double y = triangle(low, center, high, (double)bin);
            sc_convert(SC_F64, &y, out->type, sc_at(out->data, bin * n_bands + band, bytes), 1, 0);
        }
    }
}

const struct sc_op sc_ops_math_mel[] = {
    {.domain = "",
        .name = "MelWeightMatrix",
        .since = 17,
        .flags = SC_OP_PURE,
        .params = params_mel,
        .infer = infer_mel,
        .resolve = resolve_mel,
        .run = run_mel},
    {.name = NULL},
};
