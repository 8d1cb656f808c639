/* SPDX-License-Identifier: Apache-2.0
 * DFT and STFT: rows of samples, real or complex, that lie some way apart; in double, rounded once. */
#include <string.h>

#include "ops/math/fft.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define PART_SAMPLES 4096

struct params {
    bool inverse, onesided;
    int64_t axis; /* when it is no input */
};

/* Rows of n samples in, bins out. Places in elements: row r starts at r / inner * outer + r % inner * between. */
struct side {
    const struct sc_tensor *tensor;
    int64_t outer, between, step; /* step: from one sample to the next */
    int64_t n; /* samples that are there, or bins that are wanted */
    int channels; /* 1: real, 2: complex */
};

struct job {
    struct sc_fft fft;
    struct side in, out;
    const double *window; /* NULL: ones */
    bool inverse, half; /* half: the input has the first bins of a real signal's spectrum alone */
    int64_t n_rows, inner, per_part;
    char *work;
    size_t work_bytes;
};

static void read_row(const struct job *job, int64_t row, double *x)
{
    const struct side *in = &job->in;
    const enum sc_type type = in->tensor->type;
    const size_t bytes = sc_type_bytes(type);
    const int64_t at = row / job->inner * in->outer + row % job->inner * in->between;
    memset(x, 0, 2 * (size_t)job->fft.n * sizeof *x);
    for (int64_t k = 0; k < in->n; k++) {
        sc_convert(type, sc_const_at(in->tensor->data, at + k * in->step, bytes), SC_F64, x + 2 * k, in->channels, 0);
        x[2 * k + 1] = job->inverse ? -x[2 * k + 1] : x[2 * k + 1];
        if (job->window) {
            x[2 * k] *= job->window[k];
            x[2 * k + 1] *= job->window[k];
        }
    }
    for (int64_t k = job->fft.n / 2 + 1; job->half && k < job->fft.n; k++) {
        x[2 * k] = x[2 * (job->fft.n - k)];
        x[2 * k + 1] = -x[2 * (job->fft.n - k) + 1];
    }
}

static void write_row(const struct job *job, int64_t row, double *x)
{
    const struct side *out = &job->out;
    const enum sc_type type = out->tensor->type;
    const size_t bytes = sc_type_bytes(type);
    const int64_t at = row / job->inner * out->outer + row % job->inner * out->between;
    for (int64_t k = 0; k < out->n; k++) {
        if (job->inverse) {
            x[2 * k] /= (double)job->fft.n;
            x[2 * k + 1] /= -(double)job->fft.n;
        }
        sc_convert(SC_F64, x + 2 * k, type, sc_at(out->tensor->data, at + k * out->step, bytes), out->channels, 0);
    }
}

static void transform_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int64_t end = (part + 1) * job->per_part < job->n_rows ? (part + 1) * job->per_part : job->n_rows;
    double *x = (double *)(void *)(job->work + (size_t)worker * job->work_bytes);
    for (int64_t row = part * job->per_part; row < end; row++) {
        read_row(job, row, x);
        sc_fft_run(&job->fft, x, x + 2 * job->fft.n);
        write_row(job, row, x);
    }
}

static size_t worker_bytes(int64_t n)
{
    return 2 * (size_t)n * sizeof(double) + sc_fft_work_bytes(n);
}

static size_t scratch_of(const struct sc_call *call, int64_t n)
{
    return (size_t)n * sizeof(double) + sc_fft_table_bytes(n) + worker_bytes(n) * (size_t)sc_team_size(call->team);
}

/* n is the length of the transform; scratch is what scratch_of asks for at least. */
static void transform(const struct sc_call *call, struct job *job, int64_t n)
{
    double *scratch = call->scratch;
    sc_fft_init(&job->fft, n, scratch + n);
    job->work = (char *)(scratch + n) + sc_fft_table_bytes(n);
    job->work_bytes = worker_bytes(n);
    job->per_part = 1 + PART_SAMPLES / n;
    sc_team_for(call->team, sc_parts(job->n_rows, job->per_part), transform_part, job);
}

static enum sc_status params_dft(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    int64_t inverse, onesided;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const bool stft = strcmp(node->op, "STFT") == 0;
    SC_TRY(sc_node_int(node, "axis", node->version < 20 ? 1 : -2, &p->axis));
    SC_TRY(sc_node_int(node, "inverse", 0, &inverse));
    SC_TRY(sc_node_int(node, "onesided", stft ? 1 : 0, &onesided));
    p->inverse = inverse != 0;
    p->onesided = onesided != 0;
    return SC_OK;
}

/* The one element of an optional scalar: *known is false when it is there and its content is not. */
static enum sc_status read_scalar(
    const struct sc_infer *infer, int input, const char *name, int64_t *value, bool *known)
{
    const struct sc_fact *fact = sc_infer_in(infer, input);
    *known = !fact || fact->value;
    if (!fact || !fact->value) {
        return SC_OK;
    }
    if (sc_tensor_count(fact->value) != 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has %lld elements, want 1", name,
            (long long)sc_tensor_count(fact->value));
    }
    *value = sc_index_at(fact->value, 0);
    return SC_OK;
}

static enum sc_status check_channels(const struct sc_infer *infer, const char *name, bool real, bool complex)
{
    const struct sc_fact *x = infer->in[0];
    const int64_t channels = x->dims[x->rank - 1];
    if (channels < 0 || (channels == 1 && real) || (channels == 2 && complex)) {
        return SC_OK;
    }
    return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the last dim of %s is %lld, want %s", name,
        (long long)channels,
        real && complex ? "1 or 2"
            : real      ? "1, as onesided needs a real signal"
                        : "2");
}

/* The axis; *known as in read_scalar. */
static enum sc_status dft_axis(const struct sc_infer *infer, int *axis, bool *known)
{
    const struct params *p = infer->params;
    const int rank = infer->in[0]->rank;
    int64_t given = p->axis;
    SC_TRY(read_scalar(infer, 2, "axis", &given, known));
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", given, rank, axis));
    if (*axis == rank - 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "axis %d is that of the complex numbers", *axis);
    }
    return SC_OK;
}

/* The length of the transform, SC_DIM_UNKNOWN when it is not known. */
static enum sc_status dft_length(const struct sc_infer *infer, int axis, int64_t *length)
{
    const struct params *p = infer->params;
    const int64_t dim = infer->in[0]->dims[axis];
    const bool half = p->inverse && p->onesided;
    bool known;
    *length = dim < 0 ? SC_DIM_UNKNOWN : half ? 2 * (dim - 1) : dim;
    SC_TRY(read_scalar(infer, 1, "dft_length", length, &known));
    *length = known ? *length : SC_DIM_UNKNOWN;
    if (known && (*length < 1 || *length > INT64_MAX / 64) && (dim >= 0 || sc_infer_in(infer, 1))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a transform has %lld samples, want 1 or more",
            (long long)*length);
    }
    return SC_OK;
}

static enum sc_status infer_dft(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank < 0 || !out) {
        return SC_OK;
    }
    if (x->rank < 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has rank %d, want 2 or more", x->rank);
    }
    SC_TRY(check_channels(infer, "input", !(p->inverse && p->onesided), p->inverse || !p->onesided));
    int axis;
    bool known;
    SC_TRY(dft_axis(infer, &axis, &known));
    sc_fact_of_rank(out, x->type, x->rank);
    out->dims[x->rank - 1] = p->inverse && p->onesided ? 1 : 2;
    if (known) {
        int64_t length;
        SC_TRY(dft_length(infer, axis, &length));
        memcpy(out->dims, x->dims, (size_t)(x->rank - 1) * sizeof *out->dims);
        out->dims[axis] = p->onesided && !p->inverse && length >= 0 ? length / 2 + 1 : length;
    }
    return SC_OK;
}

/* Which axis, and how long: resolve has seen that both are in range. */
static void dft_sizes(const struct sc_call *call, int *axis, int64_t *length)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *given = sc_call_in(call, 1), *at = sc_call_in(call, 2);
    const int64_t any = at ? sc_index_at(at, 0) : p->axis;
    *axis = (int)(any < 0 ? any + x->rank : any);
    *length = p->inverse && p->onesided ? 2 * (x->dims[*axis] - 1) : x->dims[*axis];
    *length = given ? sc_index_at(given, 0) : *length;
}

/* The axis may be an input: the longest that there can be. */
static size_t scratch_dft(const struct sc_call *call)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    int64_t most = 1;
    for (int d = 0; d < out->rank - 1; d++) {
        most = 2 * out->dims[d] > most ? 2 * out->dims[d] : most;
    }
    return scratch_of(call, most);
}

static void run_dft(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *out = sc_call_out(call, 0);
    int axis;
    int64_t n;
    dft_sizes(call, &axis, &n);
    if (sc_tensor_count(out) == 0) {
        return;
    }
    struct job job = {.inverse = p->inverse, .half = p->inverse && p->onesided};
    job.inner = sc_dims_product(x->dims, axis + 1, x->rank - 1);
    job.n_rows = sc_dims_product(x->dims, 0, axis) * job.inner;
    const int channels[2] = {(int)x->dims[x->rank - 1], (int)out->dims[x->rank - 1]};
    const int64_t most = job.half ? n / 2 + 1 : n;
    job.in = (struct side){x, x->dims[axis] * job.inner * channels[0], channels[0], job.inner * channels[0],
        x->dims[axis] < most ? x->dims[axis] : most, channels[0]};
    job.out = (struct side){out, out->dims[axis] * job.inner * channels[1], channels[1], job.inner * channels[1],
        out->dims[axis], channels[1]};
    transform(call, &job, n);
}

/* The length of frames: of frame_length, of the window, or of the signal. SC_DIM_UNKNOWN when it is not known. */
static enum sc_status frame_length(const struct sc_infer *infer, int64_t *length)
{
    const struct sc_fact *window = sc_infer_in(infer, 2);
    const int64_t signal = infer->in[0]->dims[1];
    bool known;
    SC_TRY(sc_infer_want(infer, 2, "window", 1, (const int64_t[]){SC_DIM_UNKNOWN}));
    const int64_t width = window && window->rank == 1 ? window->dims[0] : SC_DIM_UNKNOWN;
    *length = window ? width : signal;
    SC_TRY(read_scalar(infer, 3, "frame_length", length, &known));
    *length = known && *length >= 0 ? *length : known && sc_infer_in(infer, 3) ? 0 : SC_DIM_UNKNOWN;
    if (*length == 0 || (signal >= 0 && *length > signal)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "frames of %lld samples do not fit a signal of %lld", (long long)*length, (long long)signal);
    }
    return *length < 0 ? SC_OK : sc_infer_want(infer, 2, "window", 1, length);
}

static enum sc_status infer_stft(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank < 0 || !out) {
        return SC_OK;
    }
    if (x->rank != 2) { /* the clause wants [batch, length, 1]; torch's TorchScript exporter leaves the 1 out */
        const int64_t any[3] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
        SC_TRY(sc_infer_want(infer, 0, "signal", 3, any));
        SC_TRY(check_channels(infer, "signal", true, !p->onesided));
    }
    int64_t step = 1, length;
    bool known;
    SC_TRY(read_scalar(infer, 1, "frame_step", &step, &known));
    if (step < 1) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "frame_step is %lld, want 1 or more", (long long)step);
    }
    SC_TRY(frame_length(infer, &length));
    const bool counted = known && length >= 0 && x->dims[1] >= 0;
    const int64_t dims[4] = {x->dims[0], counted ? (x->dims[1] - length) / step + 1 : SC_DIM_UNKNOWN,
        length < 0        ? SC_DIM_UNKNOWN
            : p->onesided ? length / 2 + 1
                          : length,
        2};
    sc_fact_tensor(out, x->type, 4, dims);
    return SC_OK;
}

static size_t scratch_stft(const struct sc_call *call)
{
    return scratch_of(call, sc_call_in(call, 0)->dims[1] + 1);
}

static void run_stft(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *window = sc_call_in(call, 2), *given = sc_call_in(call, 3);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t step = sc_index_at(sc_call_in(call, 1), 0), channels = x->rank == 3 ? x->dims[2] : 1;
    const int64_t n = given ? sc_index_at(given, 0) : window ? window->dims[0] : x->dims[1];
    if (sc_tensor_count(out) == 0) {
        return;
    }
    struct job job = {.inner = out->dims[1], .n_rows = out->dims[0] * out->dims[1]};
    if (window) {
        sc_convert(window->type, window->data, SC_F64, call->scratch, n, 0);
        job.window = call->scratch;
    }
    job.in = (struct side){x, x->dims[1] * channels, step * channels, channels, n, (int)channels};
    job.out = (struct side){out, job.inner * out->dims[2] * 2, out->dims[2] * 2, 2, out->dims[2], 2};
    transform(call, &job, n);
}

#define DFT(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "DFT", .since = (version), .flags = SC_OP_PURE, .params = params_dft,                    \
        .infer = infer_dft, .scratch = scratch_dft, .resolve = sc_resolve_by_infer, .run = run_dft                     \
    }

const struct sc_op sc_ops_math_dft[] = {
    DFT(17),
    DFT(20),
    {.domain = "",
        .name = "STFT",
        .since = 17,
        .flags = SC_OP_PURE,
        .params = params_dft,
        .infer = infer_stft,
        .scratch = scratch_stft,
        .resolve = sc_resolve_by_infer,
        .run = run_stft},
    {.name = NULL},
};
