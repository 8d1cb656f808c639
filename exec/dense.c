/* SPDX-License-Identifier: Apache-2.0
 * The copying step between a strided value and an operator that wants it dense. */
#include "exec/step.h"

#define PART_BYTES (256 << 10)

static enum sc_status infer(struct sc_infer *infer)
{
    *infer->out[0] = *infer->in[0];
    return SC_OK;
}

/* Parts are ranges of entries of the first axis that has several. */
struct job {
    const struct sc_tensor *from;
    char *to;
    int axis;
    int64_t entry_bytes, per_part;
};

static void copy_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    struct sc_tensor piece = *job->from;
    const int64_t first = part * job->per_part, n = piece.dims[job->axis] - first;
    (void)worker;
    piece.dims[job->axis] = n < job->per_part ? n : job->per_part;
    piece.data = (char *)piece.data + first * piece.strides[job->axis] * (int64_t)sc_type_bytes(piece.type);
    sc_tensor_copy_dense(&piece, job->to + first * job->entry_bytes);
}

static void run(const struct sc_call *call)
{
    if (call->in[0]->kind != SC_KIND_TENSOR) { /* a sequence that went through a view: its tensors are dense already */
        *call->out[0] = *call->in[0];
        return;
    }
    const struct sc_tensor *from = sc_call_in(call, 0);
    struct job job = {.from = from, .to = sc_call_out(call, 0)->data};
    while (job.axis < from->rank - 1 && from->dims[job.axis] == 1) {
        job.axis++;
    }
    const int64_t n = from->rank > 0 ? from->dims[job.axis] : 0, bytes = (int64_t)sc_tensor_bytes(from);
    if (n < 2 || bytes <= PART_BYTES || from->storage != SC_STORAGE_PLAIN) {
        sc_tensor_copy_dense(from, job.to);
        return;
    }
    job.entry_bytes = bytes / n;
    job.per_part = job.entry_bytes < PART_BYTES ? PART_BYTES / job.entry_bytes : 1;
    sc_team_for(call->team, (n + job.per_part - 1) / job.per_part, copy_part, &job);
}

const struct sc_op sc_op_dense = {.domain = "sc",
    .name = "Dense",
    .since = 1,
    .flags = SC_OP_PURE | SC_OP_TICKS,
    .strided = 1,
    .infer = infer,
    .run = run};
