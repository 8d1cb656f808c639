/* SPDX-License-Identifier: Apache-2.0
 * A broadcast is a loop nest in which some operands stand still on some axes. Neighbouring axes over which every
 * operand moves evenly are one axis; what remains is walked as runs along the innermost one. */
#include "ops/broadcast.h"

#include <assert.h>

#include "ops/infer.h"

bool sc_broadcast_dim(int64_t a, int64_t b, int64_t *dim)
{
    if (a == b || b == 1) {
        *dim = a;
    } else if (a == 1) {
        *dim = b;
    } else if (a >= 0 && b >= 0) {
        return false;
    } else if (a >= 0 || b >= 0) {
        *dim = a >= 0 ? a : b; /* a known dim other than 1 wins over any other: that can only be equal or 1 */
    } else {
        *dim = SC_DIM_UNKNOWN;
    }
    return true;
}

static enum sc_status join(
    const struct sc_graph *graph, const struct sc_node *node, const struct sc_fact *in, struct sc_fact *out)
{
    const int rank = in->rank > out->rank ? in->rank : out->rank;
    int64_t dims[SC_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        const int of_in = d - (rank - in->rank), of_out = d - (rank - out->rank);
        const int64_t a = of_out >= 0 ? out->dims[of_out] : 1, b = of_in >= 0 ? in->dims[of_in] : 1;
        if (!sc_broadcast_dim(a, b, &dims[d])) {
            char x[200], y[200];
            return sc_node_fail(graph, node, SC_BAD_MODEL, "shapes %s and %s do not broadcast",
                sc_dims_text(out->rank, out->dims, x, sizeof x), sc_dims_text(in->rank, in->dims, y, sizeof y));
        }
    }
    out->rank = rank;
    for (int d = 0; d < rank; d++) {
        out->dims[d] = dims[d];
    }
    return SC_OK;
}

enum sc_status sc_broadcast_facts(const struct sc_graph *graph, const struct sc_node *node, int n,
    const struct sc_fact *const *in, struct sc_fact *out)
{
    out->rank = 0;
    bool unknown = false;
    for (int i = 0; i < n; i++) {
        if (in[i] && in[i]->rank >= 0) {
            SC_TRY(join(graph, node, in[i], out));
        } else if (in[i]) {
            unknown = true;
        }
    }
    if (unknown) {
        out->rank = -1;
    }
    return SC_OK;
}

/* Whether axis `inner` continues axis `outer` for every operand, so that both are one. */
static bool continues(const struct sc_broadcast *loop, int outer, int inner)
{
    for (int i = 0; i < loop->n; i++) {
        if (loop->steps[i][outer] != loop->steps[i][inner] * loop->dims[inner]) {
            return false;
        }
    }
    return true;
}

static void collapse(struct sc_broadcast *loop)
{
    int kept = 0;
    for (int d = 1; d < loop->rank; d++) {
        if (continues(loop, kept, d)) {
            loop->dims[kept] *= loop->dims[d];
        } else {
            loop->dims[++kept] = loop->dims[d];
        }
        for (int i = 0; i < loop->n; i++) {
            loop->steps[i][kept] = loop->steps[i][d];
        }
    }
    loop->rank = kept + 1;
}

void sc_broadcast_init(struct sc_broadcast *loop, int n, const struct sc_tensor *const *in, const struct sc_tensor *out)
{
    assert(n <= SC_BROADCAST_MAX);
    loop->n = n;
    loop->rank = 0;
    loop->count = sc_tensor_count(out);
    loop->out = out->data;
    loop->out_bytes = sc_type_bytes(out->type);
    for (int i = 0; i < n; i++) {
        loop->in[i] = in[i]->data;
        loop->in_bytes[i] = sc_type_bytes(in[i]->type);
    }
    for (int d = 0; d < out->rank; d++) {
        if (out->dims[d] == 1) {
            continue;
        }
        for (int i = 0; i < n; i++) {
            const int of_in = d - (out->rank - in[i]->rank);
            const bool moves = of_in >= 0 && in[i]->dims[of_in] != 1;
            loop->steps[i][loop->rank] = moves ? in[i]->strides[of_in] * (int64_t)loop->in_bytes[i] : 0;
        }
        loop->dims[loop->rank++] = out->dims[d];
    }
    if (loop->rank == 0) {
        loop->rank = 1;
        loop->dims[0] = 1;
        for (int i = 0; i < n; i++) {
            loop->steps[i][0] = 0;
        }
    } else if (loop->count > 0) {
        collapse(loop);
    }
}

struct job {
    const struct sc_broadcast *loop;
    sc_span_fn *fn;
    void *arg;
};

static void run_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_broadcast *loop = job->loop;
    int64_t at = part * SC_BROADCAST_PART;
    const int64_t end = at + SC_BROADCAST_PART < loop->count ? at + SC_BROADCAST_PART : loop->count;
    const int last = loop->rank - 1;
    int64_t index[SC_MAX_RANK], rest = at;
    const char *base[SC_BROADCAST_MAX];
    for (int d = last; d >= 0; d--) {
        index[d] = rest % loop->dims[d];
        rest /= loop->dims[d];
    }
    for (int i = 0; i < loop->n; i++) {
        base[i] = loop->in[i];
        for (int d = 0; d < last; d++) {
            base[i] += index[d] * loop->steps[i][d];
        }
    }
    struct sc_span span = {.worker = worker};
    for (int i = 0; i < loop->n; i++) {
        span.step[i] = loop->steps[i][last] / (int64_t)loop->in_bytes[i];
    }
    while (at < end) {
        span.n = loop->dims[last] - index[last];
        if (span.n > end - at) {
            span.n = end - at;
        }
        for (int i = 0; i < loop->n; i++) {
            span.in[i] = base[i] + index[last] * loop->steps[i][last];
        }
        span.out = loop->out + (size_t)at * loop->out_bytes;
        span.at = at;
        job->fn(job->arg, &span);
        at += span.n;
        index[last] = 0;
        for (int d = last - 1; d >= 0; d--) { /* the next run: an odometer over the outer axes */
            for (int i = 0; i < loop->n; i++) {
                base[i] += loop->steps[i][d];
            }
            if (++index[d] < loop->dims[d]) {
                break;
            }
            for (int i = 0; i < loop->n; i++) {
                base[i] -= loop->steps[i][d] * loop->dims[d];
            }
            index[d] = 0;
        }
    }
}

void sc_broadcast_run(const struct sc_broadcast *loop, struct sc_team *team, sc_span_fn *fn, void *arg)
{
    struct job job = {loop, fn, arg};
    const int64_t n_parts = (loop->count + SC_BROADCAST_PART - 1) / SC_BROADCAST_PART;
    if (n_parts == 1) {
        run_part(&job, 0, 0);
    } else if (n_parts > 1) {
        sc_team_for(team, n_parts, run_part, &job);
    }
}
